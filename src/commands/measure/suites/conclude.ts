import { CliError } from "../../../errors.ts";
import { junitSuites } from "../../../lib/formats/junit.ts";
import { stringifyJson } from "../../../lib/json.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { prepareOutputs, writeOutput } from "../../task/files.ts";
import { gateError } from "../../wf/expect/index.ts";
import { judgeNotes } from "./answers/index.ts";
import type { TestSelection } from "./answers/index.ts";
import { openLooks, readCompared } from "./baseline.ts";
import type { Baseline } from "./baseline.ts";
import type { resultParams } from "./command.ts";
import { compareAsked, comparedWithBaseline } from "./comparison.ts";
import type { SuiteComparison } from "./comparison.ts";
import { exitOf, isRedSuite, isRedTest, usualRules } from "./gate/index.ts";
import type { GateRules } from "./gate/index.ts";
import { junitSuitesOf, REMOVED } from "./junit-report.ts";
import { overBudget, quarantined, testNameOf } from "./runs/index.ts";
import type { SuiteOutcome, TestResult } from "./runs/index.ts";
import { addToHistory, prepareHistory } from "./saved-results.ts";
import { passedText, suiteReport } from "./suite-report.ts";
import type { SuiteRun } from "./suite-run.ts";
import { suiteText, testText } from "./verdict-text.ts";

type ResultInput = Input<typeof resultParams>;

/** How a run with these flags decides: all shards together have the level. */
export const gateRulesOf = (
  { shard, confirm }: TestSelection,
  { level = usualRules.level }: Pick<ResultInput, "level">,
): GateRules => ({ level: level / (shard?.count ?? 1), confirm: confirm ?? 0 });

/** What a run ended with, and the baseline as it is compared with. */
interface ConcludedOutcome extends SuiteOutcome {
  readonly before?: Baseline | undefined;
  readonly serverVersion?: string | null | undefined;
  /** When the answers were given (default: now). */
  readonly at?: Date | undefined;
  /** Whether the results are those of shards, so that nothing can be asked again. */
  readonly isMerge?: boolean;
}

/** Reads what is compared and prepares the files to write, before anything is asked. */
export async function prepareConclusion(input: ResultInput, context: Context) {
  const { save, junit, history: directory } = input;
  const { host } = context;
  const { history, baseline } = await readCompared(input, context);
  const looks = baseline && (await openLooks(baseline, directory !== undefined, context));
  if (!context.options.dryRun) {
    await prepareOutputs({ save, junit }, host);
    if (directory !== undefined) await prepareHistory(directory, context);
  }
  return {
    /** The earlier run of --baseline. */
    baseline,
    /**
     * Yields the report, writes the files and calls `onWritten`. Throws what ended the run; otherwise `gate` if a test
     * failed or, with something to compare with, if that comparison fails; otherwise `partial` if one was not judged.
     */
    async *conclude(
      outcome: ConcludedOutcome,
      onWritten?: () => Promise<void>,
    ): AsyncGenerator<Report> {
      const { tests, selection, stopped } = outcome;
      const { excused, notes } = quarantined(tests, host.now());
      const counting = tests.filter(({ name }) => !excused.has(name));
      const rules = gateRulesOf(selection, input);
      const before = outcome.before ?? baseline;
      // Of a dry run there are no answers.
      const { dryRun } = context.options;
      const compared = dryRun
        ? undefined
        : compare({ ...outcome, tests: counting, before }, excused, rules);
      const judges = await judgeNotes(tests, context);
      const decided = dryRun ? undefined : decide({ ...outcome, tests: counting }, compared, input);
      const run: SuiteRun = {
        ...outcome,
        level: rules.level,
        baseline: before && { ...before, looks: looks?.count },
        compared,
        isAlarm: compared !== undefined && exitOf(compared, flagsOf(input)) === "gate",
        judges,
        notes,
        history,
        at: outcome.at ?? host.now(),
      };
      const report = suiteReport(run);
      yield { ...report, page: async () => (await import("./suite-page.ts")).suitePage(run) };
      if (save !== undefined)
        await writeOutput("--save", save, `${stringifyJson(report.data)}\n`, host);
      if (directory !== undefined) await addToHistory(directory, report.data, context);
      if (junit !== undefined) {
        const cases = junitSuitesOf({ ...outcome, excused, compared }, flagsOf(input));
        await writeOutput("--junit", junit, junitSuites("wf test", cases), host);
      }
      if (!stopped) await looks?.remember();
      await onWritten?.();
      const error = stopped?.with({ outputFirst: true }) ?? decided;
      if (error) throw error;
      for (const text of warningsOf(compared)) await context.notice(`warning: ${text}`);
      if (context.options.format === "jsonl") context.summary(passedText(tests));
    },
  };
}

/** The comparison with the other side of --against, or with a baseline. */
function compare(
  { tests, old, skipped, selection, before, isMerge }: ConcludedOutcome,
  excused: ReadonlySet<string>,
  rules: GateRules,
): SuiteComparison | undefined {
  if (old) return compareAsked(tests, old, rules);
  if (!before) return undefined;
  const names = new Set(tests.map(({ name }) => name));
  // The other shards have the other tests.
  const isMine = ({ name }: TestResult) => selection.shard === null || names.has(name);
  const baseline = { ...before, tests: before.tests.filter(isMine) };
  const left = new Set([...skipped.map(testNameOf), ...excused]);
  return comparedWithBaseline({ tests, baseline, skipped: left, rules }, isMerge);
}

/** What is named after a run that is not red: it may still be worse. */
function warningsOf(compared: SuiteComparison | undefined): string[] {
  if (!compared) return [];
  const { suite, tests } = compared;
  const isDoubt = suite.verdict === "worse then" || suite.verdict === "inconclusive";
  return [
    ...(isDoubt ? [suiteText(compared)] : []),
    ...tests.filter(({ verdict }) => verdict === "inconclusive").map(testText),
  ];
}

/** The flags of a comparison. */
const flagsOf = ({ strict = false, allow_removed: allowRemoved = false }: ResultInput) => ({
  strict,
  allowRemoved,
});

/**
 * The error that a run ends with. What is red in a comparison is so whatever was not judged, and both are named; without
 * one, answers that could not be judged come first.
 */
function decide(
  { tests, selection }: SuiteOutcome,
  compared: SuiteComparison | undefined,
  input: ResultInput,
): CliError | undefined {
  const { strict, allowRemoved } = flagsOf(input);
  const over = overBudget(tests, selection);
  const unjudged = unjudgedOf(tests, compared);
  const removed = allowRemoved ? [] : (compared?.removed ?? []);
  const red = compared
    ? compared.tests.filter((test) => isRedTest(test, strict)).map(({ name }) => name)
    : tests.filter(({ status }) => status === "failed").map(({ name }) => name);
  const partial =
    unjudged.length > 0
      ? new CliError("partial", `${counted(unjudged.length, "test")} could not be judged`, {
          outputFirst: true,
          hint: `the reasons are in the report: ${firstNames(unjudged)}`,
        })
      : undefined;
  if (!compared && partial) return partial;
  const reasons = [
    ...(compared && isRedSuite(compared.suite, strict) ? [suiteText(compared)] : []),
    ...(compared ? redTexts(compared, strict) : named(red, "failed")),
    ...named(removed, REMOVED),
    ...(over.length > 0 ? [`over budget: ${over.join(", ")}`] : []),
  ];
  if (reasons.length > 0)
    return gateError([...reasons, ...named(unjudged, "could not be judged")].join("; "), {
      tests: [...red, ...removed],
      ...(over.length > 0 && { budget: over }),
    });
  return partial;
}

/** The tests of which too much is not known: with something to compare with, those of which no answer was judged. */
const unjudgedOf = (
  tests: readonly TestResult[],
  compared: SuiteComparison | undefined,
): readonly string[] =>
  compared
    ? compared.tests.filter(({ verdict }) => verdict === "not judged").map(({ name }) => name)
    : tests.filter(({ errors }) => errors > 0).map(({ name }) => name);

/** What is red about single tests, a text for each verdict. */
function redTexts({ tests }: SuiteComparison, strict: boolean): string[] {
  const red = tests.filter((test) => isRedTest(test, strict));
  const verdicts = new Set(red.map(({ verdict }) => verdict));
  return [...verdicts].flatMap((verdict) => {
    const same = red.filter((test) => test.verdict === verdict);
    const names = firstNames(same.map(({ name }) => name));
    return `${same.length} ${verdictWord[verdict] ?? verdict}: ${names}`;
  });
}

const verdictWord: Readonly<Record<string, string>> = {
  fails: "missing every time",
  new: "new and below its rate",
  edited: "edited and below its rate",
};

/** `2 tests failed: a, b` */
const named = (names: readonly string[], what: string): string[] =>
  names.length === 0 ? [] : [`${counted(names.length, "test")} ${what}: ${firstNames(names)}`];
