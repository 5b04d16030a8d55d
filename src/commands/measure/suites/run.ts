import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, signalKinds, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { ReportStep } from "../../../output/report-model.ts";
import type { Context, Ending } from "../../task/command-spec.ts";
import { parseShard, startIn } from "../../task/shard.ts";
import { warnOfJudges } from "./answers/index.ts";
import type { TestRun } from "./answers/index.ts";
import type { testRunParams } from "./command.ts";
import { doubtfulTests } from "./comparison.ts";
import { prepareConclusion } from "./conclude.ts";
import { openKeeper } from "./keep-recordings.ts";
import type { Keeper } from "./keep-recordings.ts";
import { planRuns, readSelected, testNameOf } from "./plan-runs.ts";
import type { PlannedRun, RunPlan, SelectedSuites } from "./plan-runs.ts";
import { isExcused, TestBoard, testResults } from "./results.ts";
import { openRunJournal } from "./run-journal.ts";
import type { RunJournal } from "./run-journal.ts";
import { runTest, testNotRun } from "./run-tests.ts";
import { readFailedTests } from "./saved-results.ts";
import type { SavedResults } from "./saved-results.ts";
import { openReuse } from "./score.ts";
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
  const { shard, confirm, against } = selection;
  const { user } = context.options.flags;
  // Which tests are asked again depends on the baseline.
  const before = baseline?.tests.map(({ name, passes, runs }) => [name, passes, runs]);
  const values = [chosen, user, keep, keepTo, redact, before];
  const journal = await openRunJournal(plan.runs, values, context);
  try {
    await noticeResumed(plan.runs, journal, context);
    const { fail_fast: failFast = false } = input;
    const reuse = input.reuse === undefined ? undefined : await openReuse(input.reuse, context);
    const how = { start: startIn(shard), failFast, journal, keeper, reuse };
    const first = yield* runAll(plan.runs, how, context);
    const left = new Set(skipped.map(testNameOf));
    const more = yield* runAgain(plan, { first, confirm, baseline, left }, how, context);
    const runs = [...first.runs, ...more.runs];
    if (reuse) await context.notice(`reused ${reuse.taken} of ${counted(runs.length, "answer")}`);
    const { stopped } = more;
    if (stopped) await explainStop(stopped, runs, journal, context);
    const tests = testResults(runs.filter(({ side }) => side === "new"));
    const old = against === null ? undefined : testResults(runs.filter(isOld));
    // Until its files are written, the same command asks nothing again.
    const forget = stopped ? undefined : journal.remove;
    yield* conclude({ tests, old, selection, skipped, stopped }, forget);
    if (keeper?.problem) throw keeper.problem;
    return { success: "" }; // the report says how many passed
  } finally {
    journal.release();
  }
}

const isOld = ({ side }: TestRun): boolean => side === "old";

/** Asks the tests again that miss what they passed before; `first` are the runs so far. */
async function* runAgain(
  plan: RunPlan,
  {
    first,
    confirm,
    baseline,
    left,
  }: {
    readonly first: RunsEnd;
    readonly confirm: number | null;
    readonly baseline: SavedResults | undefined;
    readonly left: ReadonlySet<string>;
  },
  how: RunnerOptions,
  context: Context,
): AsyncGenerator<ReportStep, RunsEnd> {
  const none = { runs: [], stopped: first.stopped };
  if (!confirm || first.stopped || context.options.dryRun) return none;
  const now = testResults(first.runs.filter((run) => !isOld(run)));
  const before = baseline?.tests ?? testResults(first.runs.filter(isOld));
  const names = doubtfulTests(now, { tests: before, skipped: left });
  if (names.size === 0) return none;
  await context.notice(
    `asking ${counted(names.size, "test")} again, ${counted(confirm, "time")} each: ${firstNames([...names])}`,
  );
  return yield* runAll(plan.again(names, confirm), { ...how, failFast: false }, context);
}

/** The tests of the command line. Throws usage if there are none, unless the shard has none. */
async function readSelection(input: TestRunInput, context: Context): Promise<SelectedSuites> {
  const { host, notice } = context;
  const { suites: paths, only = [], failed_from, first, repeat = 1, shard: share } = input;
  const { baseline, against = null, confirm = DEFAULT_CONFIRM } = input;
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

/** How often a test is asked again that misses what it passed. */
const DEFAULT_CONFIRM = 5;

/** What became of runs, and what ended them before all were carried out. */
interface RunsEnd {
  readonly runs: readonly TestRun[];
  readonly stopped: CliError | undefined;
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
 * Carries out runs of tests, several at a time, and yields their results in the order of the plan, each
 * as soon as those before it are there. Returns them with the error that every further question would
 * have met, which is not thrown.
 */
async function* runAll(
  planned: readonly PlannedRun[],
  { start, failFast, journal, keeper, reuse }: RunnerOptions,
  context: Context,
): AsyncGenerator<ReportStep, RunsEnd> {
  const { host, abortError, options } = context;
  const ended: { failed: boolean; stopped: CliError | undefined } = {
    failed: false,
    stopped: undefined,
  };
  const resultOf = async (run: PlannedRun): Promise<TestRun> => {
    const known = journal.known(run);
    if (known) return known;
    if (host.signal.aborted) ended.stopped ??= abortError();
    if (ended.stopped || (failFast && ended.failed)) return testNotRun(run);
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
      ended.stopped ??= error;
      return testNotRun(run);
    }
  };
  const board = new TestBoard(planned, context.host.elapsed);
  yield board;
  const limiter = context.api.limitConcurrency({ start });
  const results = mapConcurrent(planned, limiter, async (run) => {
    board.start(run);
    const result = await resultOf(run);
    const isBad = result.status === "failed" || result.status === "error";
    if (isBad && !isExcused(result, context.host.now())) ended.failed = true;
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
  return { runs, stopped: ended.stopped };
}
