import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import type { Report } from "../../../output/report-model.ts";
import { counted } from "../../../lib/text.ts";
import { evaluateGate, failedGate, parseGate } from "../../conditions/index.ts";
import { logQuery, warnIfKeywordTruncated } from "../logs/index.ts";
import { statsData } from "./data.ts";
import { addRun, addToAccumulator, newAccumulator, newStatsCounts } from "./figures.ts";
import type { StatsCounts } from "./figures.ts";
import { statsScreen } from "./screen.ts";
import { statsSections } from "./tables.ts";
import { runsFromFile, runsFromServer } from "./sources.ts";
import type { RunSink } from "./sources.ts";
import { figureScope, groupings, units } from "./fields.ts";
import type { Unit } from "./fields.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { statsParams } from "./command.ts";

type StatsInput = Input<typeof statsParams>;

const DEFAULT_SECONDS = 86_400;
const DEFAULT_TOP = 10;

/**
 * Shows figures of the runs in the log of the application or in a file. Throws, as a result, `gate` if
 * a condition holds and `partial` if not all runs could be read.
 */
export async function* run(input: StatsInput, context: Context): AsyncGenerator<Report> {
  const conditions = parseGate(input.fail_if ?? [], figureScope);
  const query = logQuery(input);
  if (!input.from) await warnIfKeywordTruncated(query, context);
  const now = Math.floor(context.host.now().getTime() / 1000);
  const by = input.by ?? [];
  const unit = requestedUnit(by);
  const runs = newAccumulator(groupings.filter((grouping) => by.includes(grouping)));
  const before = newStatsCounts();
  const sink: RunSink = {
    now: (each) => addToAccumulator(runs, each),
    before: input.no_compare ? undefined : (each) => addRun(before, each),
  };
  const start = query.since ?? (query.until ?? now) - DEFAULT_SECONDS;
  const { from } = input;
  const times = from
    ? await runsFromFile({ ...input, from }, query, sink, context)
    : await runsFromServer(query, start, sink, context);

  const { incomplete } = times;
  const data = statsData(runs, before, times, {
    file: from?.name,
    timeZone: context.options.timeZone(),
    top: input.top ?? DEFAULT_TOP,
    unit,
  });
  const results = evaluateGate(conditions, figureScope, [{ subject: data.figures }]);
  const all = { ...data, conditions: results };
  const notes = notesOn(runs.all, input, incomplete);
  const screen = { notes, periods: unit !== undefined, top: input.top !== undefined };
  yield {
    data: all,
    title: "Statistics",
    sections: statsSections(all, notes),
    screen: statsScreen(all, screen),
    page: async () => (await import("./page.ts")).statsPage(all, notes, context),
  };

  const failed = failedGate(results, {
    allowed: input.pass_without_runs === true,
    hint: "pass --pass-without-runs to ignore conditions without data",
  });
  if (failed && incomplete) await context.notice(incomplete.message);
  const error = failed ?? incomplete;
  if (error) throw error;
}

/** The unit of the periods, if one is requested. Throws `usage` for several. */
function requestedUnit(by: NonNullable<StatsInput["by"]>): Unit | undefined {
  const [unit, ...others] = units.filter((each) => by.includes(each));
  if (others.length > 0) throw usage(`--by takes only one of ${units.join(", ")}`);
  return unit;
}

/** Notes on missing and approximate data. */
const notesOn = (
  { runs, untimed }: StatsCounts,
  { from }: StatsInput,
  incomplete: CliError | undefined,
): string[] => [
  // Server §12.
  ...(runs === 0 ? [from ? "no runs" : "no runs; the log of a chatflow is always empty"] : []),
  ...(incomplete ? [`incomplete: ${incomplete.message}`] : []),
  ...(untimed > 0
    ? [`not in the times: ${counted(untimed, "run that was", "runs that were")} paused`]
    : []),
];
