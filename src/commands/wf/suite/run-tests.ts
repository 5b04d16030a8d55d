import { join } from "node:path";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { CliError } from "../../../errors.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { isObject } from "../../../lib/json.ts";
import { counted } from "../../../lib/plural.ts";
import type { Context } from "../../command-spec.ts";
import { checkExpectation, namedEnds, runSucceeded } from "../expect/index.ts";
import { openAsker, stopsSuite } from "./ask.ts";
import type { SuiteAnswer, Asker } from "./ask.ts";
import type { Suite, SuiteTest, SuiteTurn } from "./read-suite.ts";

/** A condition and whether an answer met it. */
interface CheckedCondition {
  /** From 1. */
  readonly turn: number;
  readonly check: string;
  readonly passed: boolean;
  /** The actual state, on one line. */
  readonly actual: string;
}

/** What became of one run of a test. */
export interface TestRun {
  readonly suite: string;
  readonly test: string;
  /** Number of the repeat, from 1. */
  readonly repeat: number;
  /** `error`: the answer could not be judged. */
  readonly status: "passed" | "failed" | "error" | "not run";
  readonly checks: readonly CheckedCondition[];
  /** The last answer, and the documents that it cites. */
  readonly answer: string | null;
  readonly cited: readonly string[];
  /** From the question to the end of the answer, summed over the turns. */
  readonly seconds: number | null;
  readonly tokens: number | null;
  /** IDs of the last run or message. */
  readonly run: string | null;
  readonly conversation: string | null;
  readonly error: string | null;
}

/** How tests are run. */
export interface RunOptions {
  readonly repeat: number;
  readonly concurrency: number | undefined;
  readonly failFast: boolean;
}

/** One run of a test to do. */
interface Planned {
  readonly suite: Suite;
  readonly test: SuiteTest;
  readonly repeat: number;
  readonly asker: Asker;
}

/** The tests to run: with `only` in a suite, those; otherwise all but skipped ones. */
export function selectedTests(suite: Suite, tags: readonly string[]): readonly SuiteTest[] {
  const tagged = suite.tests.filter(
    (test) => tags.length === 0 || test.tags.some((tag) => tags.includes(tag)),
  );
  const hasOnly = tagged.some(({ only }) => only);
  return tagged.filter(({ only, skip }) => !skip && (only || !hasOnly));
}

/**
 * Runs the tests of suites, each repeat after the other, several at a time, and yields what became of
 * them in order. Answers are kept on disk until all are there, so that the same command continues after
 * a kill and asks nothing twice. Throws what would keep every test from being asked.
 */
export async function* runTests(
  suites: readonly Suite[],
  { repeat, concurrency, failFast }: RunOptions,
  identity: { readonly values: readonly unknown[]; readonly content: Uint8Array },
  context: Context,
): AsyncGenerator<TestRun> {
  const planned: Planned[] = [];
  for (const suite of suites) {
    const asker = await openAsker(suite, context);
    for (const test of suite.tests)
      for (let index = 1; index <= (test.repeat ?? repeat); index++)
        planned.push({ suite, test, repeat: index, asker });
  }
  const journal = await openResults(identity, context);
  const earlier = new Map(journal.entries.flatMap(({ key, result }) => entryOf(key, result)));
  const done = planned.filter((each) => earlier.has(keyOf(each))).length;
  if (done > 0)
    await context.notice(
      `resuming: ${done} of ${counted(planned.length, "run")} of tests already done`,
    );
  let [ended, failed, stopped] = [0, 0, false];
  const runOne = async (each: Planned): Promise<TestRun> => {
    const known = earlier.get(keyOf(each));
    const result = known ?? (stopped ? notRun(each) : await runTest(each));
    if (!known && result.status !== "not run") await journal.append([{ key: keyOf(each), result }]);
    if (result.status === "failed" || result.status === "error") failed++;
    stopped ||= failFast && failed > 0;
    context.progress({ done: ++ended, total: planned.length, unit: "runs of tests", failed });
    return result;
  };
  yield* mapConcurrent(planned, context.limitConcurrency(concurrency), runOne);
  await journal.remove();
}

async function openResults(
  { values, content }: { readonly values: readonly unknown[]; readonly content: Uint8Array },
  context: Context,
): Promise<Journal> {
  const { directories, files } = context.host;
  await files.makeDirectory(directories.state, 0o700);
  const identity = await context.fingerprint(["wf test run", ...values], content);
  return openJournal(join(directories.state, `suite-${identity}.jsonl`), files);
}

const keyOf = ({ suite, test, repeat }: Planned): string =>
  JSON.stringify([suite.path, test.name, repeat]);

/** A result of an earlier command; none for a damaged line. Errors are tried again. */
function entryOf(key: unknown, result: unknown): [string, TestRun][] {
  if (typeof key !== "string" || !isObject(result) || !Array.isArray(result["checks"])) return [];
  const isJudged = result["status"] === "passed" || result["status"] === "failed";
  return isJudged ? [[key, result as unknown as TestRun]] : []; // as this program wrote it
}

const blank = ({ suite, test, repeat }: Planned) => ({
  suite: suite.name,
  test: test.name,
  repeat,
  checks: [],
  answer: null,
  cited: [],
  seconds: null,
  tokens: null,
  run: null,
  conversation: null,
  error: null,
});

const notRun = (each: Planned): TestRun => ({ ...blank(each), status: "not run" });

async function runTest(each: Planned): Promise<TestRun> {
  const { test, asker } = each;
  const { host, signal, abortError } = asker.context;
  const start = host.elapsed();
  const checks: CheckedCondition[] = [];
  let last: SuiteAnswer | undefined;
  let tokens: number | null = null;
  let error: string | null = null;
  try {
    for (const [index, turn] of test.turns.entries()) {
      last = await asker.ask(turn, last?.conversation);
      tokens = last.trace.tokens === undefined ? tokens : (tokens ?? 0) + last.trace.tokens;
      error = unjudged(last, turn);
      if (error !== null) break;
      checks.push(...checked(last, turn).map((check) => ({ turn: index + 1, ...check })));
    }
  } catch (failure) {
    if (signal.aborted) throw abortError();
    if (!(failure instanceof CliError) || stopsSuite(failure)) throw failure;
    error = host.secrets.masked(failure.message);
  }
  const passed = checks.every((check) => check.passed);
  const judged = passed ? "passed" : "failed";
  return {
    ...blank(each),
    status: error === null ? judged : "error",
    checks,
    answer: last?.trace.text ?? null,
    cited: last?.trace.citations ?? [],
    seconds: (host.elapsed() - start) / 1000,
    tokens,
    run: last?.trace.runId ?? null,
    conversation: last?.conversation ?? null,
    error,
  };
}

/** Why an answer cannot be judged; null if it can. */
function unjudged({ trace }: SuiteAnswer, { expectations }: SuiteTurn): string | null {
  if (trace.status !== "paused" || expectations.flatMap(namedEnds).includes("paused")) return null;
  return "the run is waiting for human input";
}

/** The conditions of a turn; that the run succeeded is one of them unless another names its end. */
function checked({ trace }: SuiteAnswer, { expectations }: SuiteTurn) {
  const names = expectations.flatMap(namedEnds);
  const all = names.length > 0 ? expectations : [runSucceeded, ...expectations];
  return all.map((each) => {
    const { name, result } = checkExpectation(each, trace);
    return { check: name, passed: result.passed, actual: result.actual };
  });
}
