import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError, signalKinds, usage } from "../../../errors.ts";
import { requireNear } from "../../../host/safe-path.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { ReportStep } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { parseShard, startIn } from "../../task/shard.ts";
import type { testRunParams } from "./command.ts";
import { requireAllowed } from "./answers/index.ts";
import { prepareConclusion } from "./conclude.ts";
import { filesIn, readSuite } from "./file/index.ts";
import type { Suite } from "./file/index.ts";
import { openKeeper } from "./keep-recordings.ts";
import type { Keeper } from "./keep-recordings.ts";
import { planRuns, selectTests } from "./plan-runs.ts";
import type { PlannedRun, SelectedSuites } from "./plan-runs.ts";
import { TestBoard, testResults } from "./results.ts";
import { openRunJournal } from "./run-journal.ts";
import type { RunJournal } from "./run-journal.ts";
import { runTest, testNotRun } from "./run-tests.ts";
import type { TestRun } from "./run-tests.ts";
import { readFailedTests } from "./saved-results.ts";

type TestRunInput = Input<typeof testRunParams>;

/**
 * Runs suites of tests and compares them with a baseline. Yields the tests as they run, the result of
 * each run in order, and the report. Throws as a conclusion does, or what ended the run early.
 */
export async function* run(input: TestRunInput, context: Context): AsyncGenerator<ReportStep> {
  const conclude = await prepareConclusion(input, context);
  const { suites, selection, skipped } = await readSelection(input, context);
  const keeper = await openKeeper(input, context);
  const planned = await planRuns(suites, selection.repeat, context);
  if (context.options.dryRun && planned.every(({ test }) => test.turns.length === 0)) {
    const searches = suites.reduce((sum, { tests }) => sum + tests.length, 0);
    return await context.notice(
      `the suites only search: ${counted(searches, "read")}, which --dry-run does not send`,
    );
  }
  const { keep, keep_to: keepTo, redact } = input;
  const { only, failed_from: failedFrom, repeat, shard } = selection;
  const { user } = context.options.flags;
  const values = [only, failedFrom, repeat, shard, user, keep, keepTo, redact];
  const journal = await openRunJournal(planned, values, context);
  try {
    await noticeResumed(planned, journal, context);
    const { fail_fast: failFast = false } = input;
    const how = { start: startIn(shard), failFast, journal, keeper };
    const { runs, stopped } = yield* runAll(planned, how, context);
    if (stopped) await explainStop(stopped, runs, journal, context);
    // Until its files are written, the same command asks nothing again.
    const forget = stopped ? undefined : journal.remove;
    yield* conclude({ tests: testResults(runs), selection, skipped, stopped }, forget);
    if (keeper?.problem) throw keeper.problem;
  } finally {
    journal.release();
  }
}

/** The tests of the command line. Throws usage if there are none, unless the shard has none. */
async function readSelection(
  { suites: paths, only = [], failed_from, repeat = 1, shard: share, allow_run }: TestRunInput,
  { host, notice, api, options: { flags } }: Context,
): Promise<SelectedSuites> {
  const failed = failed_from === undefined ? undefined : await readFailedTests(failed_from, host);
  const shard = parseShard(share, host.env) ?? null;
  const all: Suite[] = [];
  for (const path of paths) all.push(await readSuite(path, host.files));
  const server = await api.baseUrl();
  const choice = { only, failed_from: failed_from ?? null, repeat, server, shard };
  const selected = selectTests(all, choice, failed);
  for (const suite of selected.suites)
    for (const path of filesIn(suite))
      await requireNear(path, { file: suite.path, allowed: flags.allowFiles }, host);
  requireAllowed(selected.suites, { suites: paths, allow_run });
  if (selected.suites.every(({ tests }) => tests.length === 0)) {
    if (!shard)
      throw usage(
        failed ? `no test of these suites failed in ${failed_from}` : "no test is selected",
      );
    await notice(`shard ${shard.index}/${shard.count} has no tests`);
  }
  return selected;
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

/**
 * Says how to continue. Throws the error if nothing can be reported: after an interrupt, and if nothing
 * was asked successfully before.
 */
async function explainStop(
  error: CliError,
  runs: readonly TestRun[],
  journal: RunJournal,
  { notice }: Context,
): Promise<void> {
  const done = runs.filter(({ status }) => status === "passed" || status === "failed").length;
  if (done > 0 && journal.isRecording) {
    const all = counted(runs.length, "run");
    await notice(`${done} of ${all} of tests are recorded; run the same command again to continue`);
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
}

/**
 * Carries out runs of tests, several at a time, and yields their results in the order of the plan, each
 * as soon as those before it are there. Returns them with the error that every further question would
 * have met, which is not thrown.
 */
async function* runAll(
  planned: readonly PlannedRun[],
  { start, failFast, journal, keeper }: RunnerOptions,
  context: Context,
): AsyncGenerator<
  ReportStep,
  { readonly runs: TestRun[]; readonly stopped: CliError | undefined }
> {
  const { signal, abortError, options } = context;
  const ended: { failed: boolean; stopped: CliError | undefined } = {
    failed: false,
    stopped: undefined,
  };
  const resultOf = async (run: PlannedRun): Promise<TestRun> => {
    const known = journal.known(run);
    if (known) return known;
    if (signal.aborted) ended.stopped ??= abortError();
    if (ended.stopped || (failFast && ended.failed)) return testNotRun(run);
    try {
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
    if (result.status === "failed" || result.status === "error") ended.failed = true;
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
