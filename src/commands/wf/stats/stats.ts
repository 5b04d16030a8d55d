import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import type { Report } from "../../../output/report-model.ts";
import { counted } from "../../../lib/text.ts";
import { knownApplication } from "../app/index.ts";
import { evaluateGate, failedGate, parseGate } from "../../conditions/index.ts";
import type { ConditionField, Scope } from "../../conditions/index.ts";
import { logQuery, warnIfKeywordTruncated } from "../logs/index.ts";
import { formatFigure, statsData } from "./data.ts";
import { Accumulator, StatsCounts } from "./figures.ts";
import { statsScreen, statsSections } from "./tables.ts";
import { readRuns } from "./sources.ts";
import type { RunSink } from "./sources.ts";
import { figureKinds, figureNames, groupings, units } from "./command.ts";
import type { FigureName, Unit } from "./command.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { statsParams } from "./command.ts";

type StatsInput = Input<typeof statsParams>;

const DEFAULT_TOP = 10;

/**
 * Shows figures of the runs in the log of the application or in a file. Throws, as a result, `gate` if
 * a condition holds and `partial` if not all runs could be read.
 */
export async function* run(input: StatsInput, context: Context): AsyncGenerator<Report> {
  const conditions = parseGate(input.fail_if ?? [], figureScope);
  const query = logQuery(input);
  if (!input.from) await warnIfKeywordTruncated(query, context);
  const by = input.by ?? [];
  const unit = requestedUnit(by);
  const runs = new Accumulator(groupings.filter((grouping) => by.includes(grouping)));
  const before = new StatsCounts();
  const isMetrics = context.options.format === "openmetrics";
  const sink: RunSink = {
    now: (each) => runs.add(each),
    before: input.no_compare || isMetrics ? undefined : (each) => before.add(each),
  };
  const { from } = input;
  const times = await readRuns(input, query, sink, context);

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
  // Only the screen shows it.
  const isScreen = [undefined, "grid"].includes(context.options.format);
  const isAsked = from === undefined && context.options.terminal && isScreen;
  const application = isAsked ? (await knownApplication(context))?.name : undefined;
  const screen = {
    notes,
    application,
    periods: unit !== undefined,
    top: input.top !== undefined,
  };
  yield {
    data: all,
    title: "Statistics",
    sections: statsSections(all, notes),
    screen: statsScreen(all, screen),
    texts: {
      openmetrics: async () => (await import("./metrics.ts")).statsMetrics(all, runs.all, context),
    },
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

const notesOn = (
  { runs, untimed }: StatsCounts,
  { from }: StatsInput,
  incomplete: CliError | undefined,
): string[] => [
  // Server §12.
  ...(runs === 0 ? [from ? "no runs" : "no runs; only workflows have logs"] : []),
  ...(incomplete ? [`incomplete: ${incomplete.message}`] : []),
  ...(untimed > 0
    ? [`not in the times: ${counted(untimed, "run that was", "runs that were")} paused`]
    : []),
];

type Figures = Readonly<Record<FigureName, number | null>>;

const field = (name: FigureName): ConditionField<Figures> => ({
  kind: figureKinds[name],
  read({ [name]: value }) {
    if (value === null)
      return { value: undefined, missing: "unknown", actual: `no data for ${name}` };
    return { value, actual: `${name} is ${formatFigure(name, value)}` };
  },
});

/** What conditions of --fail-if can be about: the figures. */
export const figureScope: Scope<Figures> = {
  fields: Object.fromEntries(figureNames.map((name) => [name, field(name)])),
};
