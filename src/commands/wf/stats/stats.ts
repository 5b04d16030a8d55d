import type { CliError } from "../../../errors.ts";
import type { FileInput } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import { parseCondition } from "../../condition.ts";
import { logQuery, tellKeyword } from "../logs/index.ts";
import type { LogFilters } from "../log-filters.ts";
import { statsData } from "./json.ts";
import { figureKinds } from "../stats-fields.ts";
import type { Grouping } from "../stats-fields.ts";
import { addRun, newStatsCounts } from "./figures.ts";
import { checkStatsConditions, judgeConditions } from "./gate.ts";
import { newAccumulator, addToAccumulator } from "./accumulator.ts";
import { statsSections } from "./tables.ts";
import { fromFile, fromServer } from "./sources.ts";
import type { Sink } from "./sources.ts";
import { summarize } from "./summary.ts";
import type { Summary } from "./summary.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `wf stats`. */
export interface StatsInput extends LogFilters {
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
  const query = logQuery(input);
  if (!input.from) await tellKeyword(query, context);
  const now = Math.floor(context.host.now().getTime() / 1000);
  const found = newAccumulator(input.by ?? []);
  const before = newStatsCounts();
  const sink: Sink = {
    now: (each) => addToAccumulator(found, each),
    before: input.no_compare ? undefined : (each) => addRun(before, each),
  };
  const read = input.from
    ? await fromFile(input.from, input, query, sink, context)
    : await fromServer(query, query.since ?? (query.until ?? now) - usualSpan, sink, context);

  const since = read.since ?? found.first;
  const until = read.until ?? found.last;
  const stats = summarize(
    found,
    since === undefined || until === undefined ? undefined : { since, until },
    read.before && { span: read.before, tally: before },
    { timeZone: context.options.timeZone(), top: input.top ?? usualTop },
  );
  const { incomplete } = read;
  const verdicts = judgeConditions(conditions, stats.figures);
  yield {
    data: statsData(stats, verdicts, input.from?.name, incomplete === undefined),
    sections: statsSections(stats, verdicts, notesOn(stats, input, incomplete)),
  };

  const closed = checkStatsConditions(verdicts, input.pass_without_runs === true);
  if (closed && incomplete) await context.notice(incomplete.message);
  const end = closed ?? incomplete;
  if (end) throw end;
}

/** What the figures leave out. */
const notesOn = (
  { figures, byClock }: Summary,
  { from }: StatsInput,
  incomplete: CliError | undefined,
): string[] => [
  // Server §12.
  ...(figures.runs === 0
    ? [from ? "no runs" : "no runs; the log of a chatflow is always empty"]
    : []),
  ...(incomplete ? [`incomplete: ${incomplete.message}`] : []),
  ...(byClock > 0
    ? [`times from start to finish, because the server has that of a part of the run: ${byClock}`]
    : []),
];
