import { secondsIn, timeOf } from "../api/windows.ts";
import { CliError } from "../errors.ts";
import type { FileInput } from "../operations/operation.ts";
import type { Report } from "../report.ts";
import { parseCondition } from "./condition.ts";
import { figureKinds } from "./stats-fields.ts";
import type { Grouping } from "./stats-fields.ts";
import { count, figuresOf, tally } from "./stats-figures.ts";
import { gate, judged } from "./stats-gate.ts";
import { reading, see } from "./stats-reading.ts";
import { statsReport } from "./stats-report.ts";
import { fromFile, fromServer } from "./stats-sources.ts";
import type { Asked, Filters, Sink } from "./stats-sources.ts";
import type { Context } from "./task.ts";

/** Input of `wf stats`. */
export interface StatsInput extends Filters {
  readonly since?: string | undefined;
  readonly from?: FileInput | undefined;
  readonly by?: readonly Grouping[] | undefined;
  readonly top?: number | undefined;
  readonly no_compare?: boolean | undefined;
  readonly fail_if?: readonly string[] | undefined;
  readonly pass_without_runs?: boolean | undefined;
}

/** Seconds. */
const usualSpan = 86_400;
const usualTop = 10;

/**
 * Figures of the runs in the log of the application, or in a file of it. Throws `gate` as a verdict
 * when a condition holds, and `partial` when not all runs could be read.
 */
export async function* run(input: StatsInput, context: Context): AsyncGenerator<Report> {
  const conditions = (input.fail_if ?? []).map((text) =>
    parseCondition("--fail-if", text, figureKinds),
  );
  const asked = askedBy(input, context);
  const found = reading(input.by ?? []);
  const before = tally();
  const sink: Sink = {
    now: (each) => see(found, each),
    before: (each) => count(before, each),
  };
  const incomplete = input.from
    ? await fromFile(input.from, input, asked, sink, context)
    : await fromServer(input, asked, sink, context);

  const since = asked.since ?? found.first;
  // A run may be ahead of our clock.
  const until = Math.max(asked.until ?? -Infinity, found.last ?? -Infinity);
  const verdicts = judged(conditions, figuresOf(found.all));
  // A file may begin where the time asked for begins: no run before it says nothing.
  const compared = asked.before && (input.from === undefined || before.runs > 0);
  yield statsReport({
    span: since === undefined || until < since ? undefined : { since, until },
    reading: found,
    before: compared ? { span: asked.before, tally: before } : undefined,
    judged: verdicts,
    incomplete: incomplete?.message,
    file: input.from?.name,
    timeZone: context.asked.timeZone(),
    top: input.top ?? usualTop,
  });

  const closed = gate(verdicts, input.pass_without_runs === true);
  if (closed && incomplete) await context.notice(incomplete.message);
  const end = closed ?? incomplete;
  if (end) throw end;
}

/** A file is read whole where no beginning is given; the server's log is long. */
function askedBy(input: StatsInput, context: Context): Asked {
  const now = Math.floor(context.host.now().getTime() / 1000);
  const whole = input.from !== undefined && input.since === undefined;
  const until = secondsIn(input.until, Math.floor) ?? (whole ? undefined : now);
  const since =
    secondsIn(input.since, Math.ceil) ?? (whole ? undefined : (until ?? now) - usualSpan);
  if (since === undefined || until === undefined) return { since, until, before: undefined };
  if (since > until) {
    throw new CliError("usage", `--since ${timeOf(since)} is after --until ${timeOf(until)}`, {
      changed: "nothing",
    });
  }
  const length = until - since + 1; // both ends are included
  const before = input.no_compare ? undefined : { since: since - length, until: since - 1 };
  return { since, until, before };
}
