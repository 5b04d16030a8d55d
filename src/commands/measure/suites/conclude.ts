import { CliError } from "../../../errors.ts";
import { collect, groupBy } from "../../../lib/collect.ts";
import { junitSuites } from "../../../lib/formats/junit.ts";
import type { JUnitCase, JUnitSuite } from "../../../lib/formats/junit.ts";
import { sum } from "../../../lib/numbers.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { prepareOutputs, writeOutput } from "../../task/files.ts";
import { gateError } from "../../wf/expect/index.ts";
import { calibrationNotes } from "./answers/index.ts";
import type { resultParams } from "./command.ts";
import { compareSuites, suiteText } from "./comparison.ts";
import type { ComparedWith, SuiteComparison, Verdict } from "./comparison.ts";
import { testNameOf } from "./plan-runs.ts";
import { problemsOf, quarantined } from "./results.ts";
import type { SuiteOutcome, TestResult } from "./results.ts";
import { overBudget } from "./run-tests.ts";
import { addToHistory, historyOf, prepareHistory, readSavedResults } from "./saved-results.ts";
import type { DatedResults, SavedResults } from "./saved-results.ts";
import { passedText, suiteReport, verdictText } from "./suite-report.ts";
import type { SuiteRun } from "./suite-report.ts";
import { stringifyJson } from "../../../lib/json.ts";

type ResultInput = Input<typeof resultParams>;

const DEFAULT_LEVEL = 0.05;

/** Results that a comparison reads: more tell hardly more of the differences between times. */
const MAX_COMPARED = 20;

/** Reads what is compared and prepares the files to write, before anything is asked. */
export async function prepareConclusion(input: ResultInput, context: Context) {
  const { level: whole = DEFAULT_LEVEL, save, junit, history } = input;
  const { host } = context;
  const baseline =
    input.baseline === undefined
      ? undefined
      : await readSavedResults("--baseline ", input.baseline, host);
  const earlierRuns =
    history === undefined ? [] : await collect(historyOf(history, context, MAX_COMPARED));
  if (!context.options.dryRun) {
    await prepareOutputs({ save, junit }, host);
    if (history !== undefined) await prepareHistory(history, context);
  }
  return {
    /** The earlier run of --baseline. */
    baseline,
    /**
     * Yields the report, writes the files and calls `onWritten`. Throws what ended the run, otherwise `partial` if a
     * test could not be judged, and otherwise `gate` if one failed; with an earlier run, if that comparison fails.
     */
    async *conclude(
      outcome: SuiteOutcome,
      onWritten?: () => Promise<void>,
    ): AsyncGenerator<Report> {
      const { tests, selection, stopped } = outcome;
      const { excused, notes } = quarantined(tests, host.now());
      const counting = tests.filter(({ name }) => !excused.has(name));
      // All shards together have the level.
      const level = whole / (selection.shard?.count ?? 1);
      const earlier = comparedWith({ ...outcome, tests: counting }, excused, baseline, earlierRuns);
      const confirm = selection.confirm ?? 0;
      const compared = earlier && compareSuites(counting, earlier, { level, confirm });
      const failures = failuresOf(counting, compared, input);
      const file = selection.against ?? baseline?.file ?? "";
      const turns = tests.flatMap(({ results }) => results.flatMap((each) => each.turns));
      const isJudged = turns.some(({ judge }) => judge);
      const judges = isJudged ? await calibrationNotes(turns, context) : [];
      const run: SuiteRun = {
        ...outcome,
        level,
        baseline: compared && { file, compared },
        judges,
        notes,
        history: earlierRuns,
        at: host.now(),
      };
      const report = suiteReport(run);
      yield { ...report, page: async () => (await import("./suite-page.ts")).suitePage(run) };
      if (save !== undefined)
        await writeOutput("--save", save, `${stringifyJson(report.data)}\n`, host);
      if (history !== undefined) await addToHistory(history, report.data, context);
      if (junit !== undefined) {
        const cases = junitSuitesOf(outcome, { excused, compared, failures });
        await writeOutput("--junit", junit, junitSuites("wf test", cases), host);
      }
      await onWritten?.();
      const error =
        stopped?.with({ outputFirst: true }) ??
        unjudgedError([...counting, ...(outcome.old ?? [])]) ??
        verdictError(failures) ??
        budgetError(outcome);
      if (error) throw error;
      const open = compared ? namesOf(compared, "undecided") : [];
      if (open.length > 0) await context.notice(`warning: ${undecidedText(open)}`);
      if (context.options.format === "jsonl") context.summary(passedText(tests));
    },
  };
}

/** What a run is compared with: the other side of --against, or an earlier run and its history. */
function comparedWith(
  { tests, old, skipped, selection }: SuiteOutcome,
  excused: ReadonlySet<string>,
  baseline: SavedResults | undefined,
  history: readonly DatedResults[],
): ComparedWith | undefined {
  const names = new Set(tests.map(({ name }) => name));
  if (old) {
    const mine = old.filter(({ name }) => names.has(name));
    return { tests: mine, isInterleaved: true, history: [], skipped: new Set() };
  }
  if (!baseline) return undefined;
  const results = ({ tests: all }: SavedResults) => JSON.stringify(all.map((test) => test.results));
  const own = results(baseline);
  // The other shards have the other tests.
  const isMine = ({ name }: TestResult) => selection.shard === null || names.has(name);
  return {
    tests: baseline.tests.filter(isMine),
    isInterleaved: false,
    history: history
      .filter((each) => each.selection.server === selection.server && results(each) !== own)
      .map((each) => each.tests),
    skipped: new Set([...skipped.map(testNameOf), ...excused]),
  };
}

const namesOf = ({ tests }: SuiteComparison, verdict: Verdict): string[] =>
  tests.flatMap((test) => (test.verdict === verdict ? [test.name] : []));

const undecidedText = (names: readonly string[]): string =>
  `it is inconclusive whether ${counted(names.length, "test")} ${names.length === 1 ? "is" : "are"} worse: ${firstNames(names)}`;

/** The error of suites that used too much; undefined if none did. */
function budgetError({ tests, selection }: SuiteOutcome): CliError | undefined {
  const over = overBudget(tests, selection);
  return over.length > 0
    ? gateError(`over budget: ${over.join(", ")}`, { budget: over })
    : undefined;
}

/** The error of answers that could not be judged, on either side of --against; undefined if all could. */
function unjudgedError(tests: readonly TestResult[]): CliError | undefined {
  const errors = tests.filter((test) => test.errors > 0);
  if (errors.length === 0) return undefined;
  return new CliError("partial", `${counted(errors.length, "test")} could not be judged`, {
    outputFirst: true,
    hint: `the reasons are in the report: ${firstNames(errors.map(({ name }) => name))}`,
  });
}

type Failures = ReturnType<typeof failuresOf>;

/** What is wrong with a run of tests whose answers were judged: names of tests, and the suite as a whole. */
function failuresOf(
  tests: readonly TestResult[],
  compared: SuiteComparison | undefined,
  { strict, allow_removed: allowRemoved }: ResultInput,
) {
  const isNew = new Set(compared && namesOf(compared, "new"));
  const failed = tests
    .filter(({ name, status }) => status === "failed" && (!compared || isNew.has(name)))
    .map(({ name }) => name);
  const broken = compared ? namesOf(compared, "broken") : [];
  const open = compared && strict ? namesOf(compared, "undecided") : [];
  const removed = allowRemoved ? [] : (compared?.removed ?? []);
  const worse = compared?.isWorse ? `the suite is worse: ${suiteText(compared)}` : undefined;
  return { worse, broken, failed, open, removed };
}

const REMOVED = "removed since the baseline (--allow-removed)";

function verdictError({ worse, broken, failed, open, removed }: Failures): CliError | undefined {
  const reasons = [
    ...(worse === undefined ? [] : [worse]),
    ...named(broken, "broke"),
    ...named(failed, "failed"),
    ...(open.length > 0 ? [undecidedText(open)] : []),
    ...named(removed, REMOVED),
  ];
  if (reasons.length === 0) return undefined;
  return gateError(reasons.join("; "), { tests: [...broken, ...failed, ...open, ...removed] });
}

/** `2 tests failed: a, b` */
const named = (names: readonly string[], what: string): string[] =>
  names.length === 0 ? [] : [`${counted(names.length, "test")} ${what}: ${firstNames(names)}`];

/**
 * The suites with one case for each test; its time is that of all repeats. Failures are those of the exit code:
 * what a comparison lets pass is skipped, as are tests in quarantine, and what is wrong beside the tests has cases
 * of its own. Of shards, the first one has the tests that were skipped.
 */
function junitSuitesOf(
  { tests, old = [], skipped, selection }: SuiteOutcome,
  {
    excused,
    compared,
    failures: { worse, broken, failed, open, removed },
  }: {
    readonly excused: ReadonlySet<string>;
    readonly compared: SuiteComparison | undefined;
    readonly failures: Failures;
  },
): JUnitSuite[] {
  const left = (selection.shard?.index ?? 1) === 1 ? skipped : [];
  const fails = new Set([...broken, ...failed, ...open]);
  const verdicts = new Map(compared?.tests.map(({ name, verdict }) => [name, verdict]));
  const unjudged = old.filter(({ errors }) => errors > 0);
  const suite = "comparison";
  const cases = [
    ...tests.map((test) => {
      if (excused.has(test.name)) return { suite: test.suite, name: test.test, skipped: true };
      const how = { fails: fails.has(test.name), verdict: verdicts.get(test.name) };
      return { suite: test.suite, ...junitCase(test, how) };
    }),
    ...left.map((each) => ({ suite: each.suite, name: each.test, skipped: true })),
    ...(compared ? [{ suite, name: "the suite as a whole", failure: worse }] : []),
    ...removed.map((name) => ({ suite, name, failure: REMOVED })),
    ...unjudged.map(({ name, results }) => ({
      suite,
      name: `${name} (old)`,
      error: problemText(results),
    })),
    ...overBudget(tests, selection).map((failure) => ({
      suite: "budget",
      name: "budget",
      failure,
    })),
  ];
  return [...groupBy(cases, (each) => each.suite)].map(([name, all]) => ({ name, cases: all }));
}

function junitCase(
  { test, status, results }: TestResult,
  { fails, verdict }: { readonly fails: boolean; readonly verdict: Verdict | undefined },
): JUnitCase {
  const own = { name: test, seconds: sum(results.map(({ seconds }) => seconds ?? 0)) };
  const problem = problemText(results) || status;
  const text = verdict === undefined ? problem : `${verdictText(verdict)}: ${problem}`;
  if (status === "error") return { ...own, error: problem };
  if (fails) return { ...own, failure: text };
  if (status === "passed") return own;
  return { ...own, skipped: status === "not run" || text };
}

/** The unmet expectations of a test, a line each with the actual state, and the recordings. */
const problemText = (results: TestResult["results"]): string =>
  problemsOf(results)
    .map(({ check, actual, recordings }) => {
      const problem = check === undefined ? actual : `${check}: ${actual}`;
      return [problem, ...recordings.map((file) => `recording: ${file}`)].join("\n");
    })
    .join("\n");
