import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, signalKinds, usage } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { sum } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { ReportStep } from "../../../output/report-model.ts";
import type { Context, Ending } from "../../task/command-spec.ts";
import { parseShard, startIn } from "../../task/shard.ts";
import { warnOfJudges } from "./answers/index.ts";
import type { TestRun, TestSelection } from "./answers/index.ts";
import type { testRunParams } from "./command.ts";
import { askAgain, askBothAgain } from "./ask-again.ts";
import type { Ask, AskingAgain, RunsEnd } from "./ask-again.ts";
import { prepareConclusion, gateRulesOf } from "./conclude.ts";
import type { Baseline } from "./baseline.ts";
import type { Compared } from "./gate-input.ts";
import { findsDeadTest, mostFresh, usualRules } from "./gate/index.ts";
import type { GateRules } from "./gate/index.ts";
import {
  isExcused,
  openKeeper,
  openRunJournal,
  planRuns,
  readSelected,
  runTest,
  TestBoard,
  testNameOf,
  testNotRun,
  testResults,
} from "./runs/index.ts";
import type { Keeper, PlannedRun, RunJournal, RunPlan, SelectedSuites } from "./runs/index.ts";
import { readFailedTests } from "./saved-results.ts";
import { judgedByNow, openReuse } from "./score.ts";
import type { Reuse } from "./score.ts";

type TestRunInput = Input<typeof testRunParams>;

/**
 * Runs suites of tests and compares them with an earlier run or another application. Yields the tests as they
 * run, the result of each run in order, and the report. Throws as a conclusion does, or what ended the run early.
 */
export async function* run(
  input: TestRunInput,
  context: Context,
): AsyncGenerator<ReportStep, Ending | void> {
  const { baseline, conclude } = await prepareConclusion(input, context);
  const { suites, selection, skipped } = await readSelection(input, context);
  const keeper = await openKeeper(input, context);
  const plan = await planRuns(suites, selection, context);
  await warnOfJudges(
    suites.flatMap(({ tests }) => tests.flatMap(({ turns }) => turns)),
    context,
  );
  if (context.options.dryRun && plan.runs.every(({ test }) => test.turns.length === 0)) {
    const searches = suites.reduce((sum, { tests }) => sum + tests.length, 0);
    return await context.notice(
      `the suites only search: ${counted(searches, "read")}, which --dry-run does not send`,
    );
  }
  const { keep, keep_to: keepTo, redact } = input;
  const { suites: _, server: __, ...chosen } = selection;
  const { user } = context.options.flags;
  // Which tests are asked again depends on the baseline.
  const values = [chosen, user, keep, keepTo, redact, baseline?.sha256];
  const journal = await openRunJournal(plan.runs, values, context);
  try {
    await noticeResumed(plan.runs, journal, context);
    const rules = gateRulesOf(selection, input);
    if (baseline) await noticeOfRules(plan, baseline, rules, context);
    const { fail_fast: failFast = false } = input;
    const reuse = input.reuse === undefined ? undefined : await openReuse(input.reuse, context);
    const how = { start: startIn(selection.shard), failFast, journal, keeper, reuse };
    const board = new TestBoard(plan.runs, context.host.elapsed);
    yield board;
    const first = yield* runAll(plan.runs, board, how, context);
    const judged = baseline && (await judgedByNow(baseline.tests, plan.runs));
    const before = baseline && judged && { ...baseline, ...judged };
    const ask: Ask = (runs, shown) => runAll(runs, shown, { ...how, failFast: false }, context);
    const left = new Set(skipped.map(testNameOf));
    const again = { plan, ask, suites: selection.suites, context };
    const compared = before && { rules, baseline: before, skipped: left };
    const { runs, stopped } = yield* withRunsAgain(first, compared, selection, again);
    if (reuse) await context.notice(`reused ${reuse.taken} of ${counted(runs.length, "answer")}`);
    if (stopped) await explainStop(stopped, runs, journal, context);
    const tests = testResults(runs.filter(({ side }) => side === "new"));
    const old = selection.against === null ? undefined : testResults(runs.filter(isOld));
    // Until its files are written, the same command asks nothing again.
    const forget = stopped ? undefined : journal.remove;
    const { serverVersion } = plan;
    yield* conclude({ tests, old, selection, skipped, stopped, before, serverVersion }, forget);
    if (keeper?.problem) throw keeper.problem;
    return { success: "" }; // the report says how many passed
  } finally {
    journal.release();
  }
}

const isOld = ({ side }: TestRun): boolean => side === "old";

/** The runs, and those of tests that are asked again. */
async function* withRunsAgain(
  first: RunsEnd,
  compared: Omit<Compared, "tests"> | undefined,
  { confirm, against }: TestSelection,
  again: AskingAgain,
): AsyncGenerator<ReportStep, RunsEnd> {
  if (!confirm || first.stopped || again.context.options.dryRun) return first;
  if (against !== null) return yield* askBothAgain(first, confirm, again);
  return compared ? yield* askAgain(first, compared, again) : first;
}

/** The tests of the command line. Throws usage if there are none, unless the shard has none. */
async function readSelection(input: TestRunInput, context: Context): Promise<SelectedSuites> {
  const { host, notice } = context;
  const { suites: paths, only = [], failed_from, first, repeat = 1, shard: share } = input;
  const { baseline, against = null, confirm = usualRules.confirm } = input;
  requireComparison(input);
  const failed = failed_from === undefined ? undefined : await readFailedTests(failed_from, host);
  const shard = parseShard(share, host.env) ?? null;
  const choice = {
    only,
    failed_from: failed_from ?? null,
    first: first ?? null,
    repeat,
    confirm: baseline === undefined && against === null ? null : confirm,
    against,
    server: undefined,
    shard,
  };
  const allowing = commandLine("wf test run", paths, { "allow-run": true });
  const line = { failed, allow_run: input.allow_run, allowing };
  const selected = await readSelected(paths, choice, line, context);
  if (selected.suites.every(({ tests }) => tests.length === 0)) {
    if (!shard)
      throw usage(
        failed ? `no test of these suites failed in ${failed_from}` : "no test is selected",
      );
    await notice(`shard ${shard.index}/${shard.count} has no tests`);
  }
  return selected;
}

/** Throws usage for flags about a comparison without one, and for two at once. */
function requireComparison({ baseline, against, history, reuse, ...flags }: TestRunInput): void {
  if (baseline !== undefined && against !== undefined)
    throw usage("--against asks what it compares with, so it takes no --baseline");
  const compares = baseline !== undefined || against !== undefined;
  if (reuse !== undefined && (compares || history !== undefined))
    throw usage("--reuse adds no new observations, so nothing is compared with its answers");
  const { confirm, strict, allow_removed } = flags;
  const given = { confirm, strict, "allow-removed": allow_removed };
  const unused = Object.entries(given).find(([, value]) => value !== undefined);
  if (unused && !compares) throw usage(`--${unused[0]} requires --baseline or --against`);
}

async function noticeResumed(
  planned: readonly PlannedRun[],
  journal: RunJournal,
  { notice }: Context,
): Promise<void> {
  const done = planned.filter((each) => journal.known(each)).length;
  if (done === 0) return;
  const all = counted(planned.length, "run");
  await notice(
    `resuming: ${done} of ${all} of tests already done; delete ${journal.path} to start over`,
  );
}

/** What the rules of a comparison mean for this run: how much they ask at most, and whether they can find a dead test. */
async function noticeOfRules(
  { runs }: RunPlan,
  { tests }: Baseline,
  rules: GateRules,
  { notice, options }: Context,
): Promise<void> {
  const repeats = [...groupBy(runs, ({ name }) => name).values()].map(({ length }) => length);
  const again = rules.confirm > 0 ? mostFresh(rules) : 0;
  if (options.dryRun) {
    const most = sum(repeats.map((count) => 2 * count + again));
    await notice(
      `asks ${counted(runs.length, "run")}, and at most ${most}: tests that miss are asked up to ${again} times more, and once more after errors`,
    );
  }
  const known = tests.map((test) => test.runs).filter((count) => count > 0);
  const fewest = { before: Math.min(...known), now: Math.min(...repeats) };
  if (known.length > 0 && !findsDeadTest(fewest.before, fewest.now, rules))
    await notice(
      `warning: with --level ${rules.level}, --confirm ${rules.confirm} and ${counted(fewest.before, "run")} of a test in the baseline, a test that never passes any more cannot be called broken; a baseline with --repeat 5 can`,
    );
}

const signals: ReadonlySet<string> = new Set(Object.values(signalKinds));

/** Says how to continue. Throws the error if nothing can be reported. */
async function explainStop(
  error: CliError,
  runs: readonly TestRun[],
  journal: RunJournal,
  { notice }: Context,
): Promise<void> {
  const done = runs.filter(({ status }) => status === "passed" || status === "failed").length;
  if (done > 0 && journal.isRecording) {
    const all = counted(runs.length, "test run");
    await notice(`${done} of ${all} recorded; run the same command again to continue`);
  } else await journal.remove();
  const isReported = error.kind === "deadline" || done > 0;
  if (signals.has(error.kind) || !isReported) throw error;
}

/** How runs of tests are carried out. */
interface RunnerOptions {
  /** Requests at a time at first. */
  readonly start: number | undefined;
  readonly failFast: boolean;
  readonly journal: RunJournal;
  readonly keeper: Keeper | undefined;
  readonly reuse: Reuse | undefined;
}

/**
 * Carries out runs of tests, several at a time, shows them on a board and yields their results in the order of the plan, each
 * as soon as those before it are there. Returns them with the error that every further question would
 * have met, which is not thrown.
 */
async function* runAll(
  planned: readonly PlannedRun[],
  board: TestBoard,
  { start, failFast, journal, keeper, reuse }: RunnerOptions,
  context: Context,
): AsyncGenerator<ReportStep, RunsEnd> {
  const { host, abortError, options } = context;
  let hasFailed = false;
  let stopped: CliError | undefined;
  const resultOf = async (run: PlannedRun): Promise<TestRun> => {
    const known = journal.known(run);
    if (known) return known;
    if (host.signal.aborted) stopped ??= abortError();
    if (stopped || (failFast && hasFailed)) return testNotRun(run);
    try {
      const reused = await reuse?.take(run);
      if (reused) return reused;
      const result = await runTest(run, keeper?.tape(run), {
        started: journal.started(run),
        onStart: (id) => journal.addStart(run, id),
      });
      await journal.add(run, result);
      return result;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      stopped ??= error;
      return testNotRun(run);
    }
  };
  const limiter = context.api.limitConcurrency({ start });
  const results = mapConcurrent(planned, limiter, async (run) => {
    board.start(run);
    const result = await resultOf(run);
    const isBad = result.status === "failed" || result.status === "error";
    if (isBad && !isExcused(result, context.host.now())) hasFailed = true;
    board.end(run, result);
    // A terminal that is redrawn shows the tests themselves.
    if (!options.redraws) context.progress(board.progress());
    return result;
  });
  const runs: TestRun[] = [];
  for await (const row of results) {
    runs.push(row);
    yield { row };
  }
  return { runs, stopped };
}
