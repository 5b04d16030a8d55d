import type { CliError } from "../../../../errors.ts";
import { groupBy } from "../../../../lib/collect.ts";
import { median } from "../../../../lib/statistics/averages.ts";
import { sha256 } from "../../../../lib/sha256.ts";
import { counted, shortened } from "../../../../lib/text.ts";
import type {
  LiveItem,
  LiveItems,
  ProgressStep,
  TextLine,
} from "../../../../output/report-model.ts";
import type { TestRun, TestSelection } from "../answers/index.ts";
import { testNameOf } from "./plan-runs.ts";
import type { PlannedRun, SkippedTest } from "./plan-runs.ts";
import { passRate } from "../../../../lib/statistics/pass-rates.ts";
import type { PassRate } from "../../../../lib/statistics/pass-rates.ts";

/** One test over all its repeats, as `-o json` prints it and a baseline stores it. */
export type TestResult = ReturnType<typeof testResult>;

/** What a run of tests gave, or the runs of all shards. */
export interface SuiteOutcome {
  readonly tests: readonly TestResult[];
  /** The same tests of what --against names, asked in turn with them. */
  readonly old?: readonly TestResult[] | undefined;
  readonly selection: TestSelection;
  readonly skipped: readonly SkippedTest[];
  /** What ended it before all tests were run. */
  readonly stopped?: CliError | undefined;
}

/** The results of tests in the order in which they began; `runs` counts those that were judged. */
export function testResults(runs: readonly TestRun[]): TestResult[] {
  return [...groupBy(runs, testNameOf)].map(([name, results]) => testResult(name, results));
}

/** One test over its repeats. */
export function testResult(name: string, results: readonly TestRun[]) {
  const planned = results.filter(({ confirms }) => !confirms);
  const judged = planned.filter(isJudged);
  const passes = judged.filter(hasPassed).length;
  const errors = results.filter(({ status }) => status === "error").length;
  const rate = passRate(passes, judged.length);
  const fresh = results.filter((run) => run.confirms && !run.second_look && isJudged(run));
  const [first] = results;
  return {
    name,
    suite: first?.suite ?? "",
    path: first?.path ?? "",
    test: first?.test ?? "",
    status: statusOf(planned, rate),
    passes,
    runs: judged.length,
    /** Runs whose answer could not be judged. */
    errors,
    rate,
    /** Runs of the test that was asked again; they are not among the others, nor those of a second look. */
    fresh: fresh.length > 0 ? { passes: fresh.filter(hasPassed).length, runs: fresh.length } : null,
    /** Medians of the runs; null if unknown. */
    score: medianOf(judged.map(({ score }) => score)),
    seconds: medianOf(judged.map(({ seconds }) => seconds)),
    tokens: medianOf(judged.map(({ tokens }) => tokens)),
    /** Whether its answer is compared by its wording, so that a wrong one that is worded alike passes. */
    wording: results.some(({ checks }) => checks.some(isOfWording)),
    /** Hashes of the different answers. */
    answers: [...new Set(judged.flatMap(({ answer }) => answer ?? []))].map((answer) =>
      sha256(answer).slice(0, 16),
    ),
    results,
  };
}

const isOfWording = ({ kind, check }: TestRun["checks"][number]): boolean =>
  kind === "answer" && check.startsWith("answer is similar to ");

const hasPassed = ({ status }: TestRun): boolean => status === "passed";

/** Whether an answer was judged. */
export const isJudged = (run: TestRun): boolean => hasPassed(run) || run.status === "failed";

/** The worst status of the repeats that were run; whether it has passed is up to its rule. */
function statusOf(runs: readonly TestRun[], rate: PassRate | null): TestRun["status"] {
  if (runs.some(({ status }) => status === "error")) return "error";
  const [first] = runs;
  if (!first || !rate) return "not run";
  return rate.rate >= first.pass.rate && rate.low >= first.pass.lower_bound ? "passed" : "failed";
}

const medianOf = (values: readonly (number | null)[]): number | null =>
  median(values.filter((value) => value !== null));

/** An unmet expectation, or undefined where an answer could not be judged, with the actual state and the recording. */
type Problem = readonly [check: string | undefined, actual: string, recording: string | undefined];

/** Each unmet expectation once, with the actual state of the first run that did not meet it. */
export function problemsOf(runs: readonly TestRun[]) {
  const problems: Problem[] = [];
  for (const run of runs) {
    const { checks, error, recordings, status } = run;
    if (status === "passed") continue; // a mean score may outweigh a check
    for (const { turn, check, passed, actual } of checks)
      if (!passed) problems.push([check, actual, recordings[turn - 1] ?? recordings.at(-1)]);
    if (error !== null) problems.push([undefined, error, recordings.at(-1)]);
  }
  return [...groupBy(problems, ([check]) => check)].map(([check, all]) => ({
    check,
    actual: all[0]?.[1] ?? "",
    /** In how many runs. */
    times: all.length,
    /** Recordings of these turns, if they are kept. */
    recordings: [...new Set(all.flatMap(([, , recording]) => recording ?? []))],
  }));
}

/** A test while its repeats are run. */
interface OpenTest {
  readonly name: string;
  planned: number;
  /** By the clock of the board; undefined until its first run began. */
  startedAt: number | undefined;
  readonly runs: TestRun[];
}

/** The tests of a command, as a terminal shows them: a test ends with the last of its repeats. */
export class TestBoard implements LiveItems {
  readonly #now: () => number;
  readonly #tests = new Map<string, OpenTest>();
  readonly #running = new Set<OpenTest>();
  #total = 0;
  #ended: OpenTest[] = [];
  #done = 0;
  #failed = 0;

  /** `now` gives ms. */
  constructor(planned: readonly PlannedRun[], now: () => number) {
    this.#now = now;
    this.add(planned);
  }

  /** More runs, of these tests or others. */
  add(planned: readonly PlannedRun[]): void {
    this.#total += planned.length;
    for (const each of planned) {
      const name = nameOf(each);
      const test = this.#tests.get(name) ?? { name, planned: 0, startedAt: undefined, runs: [] };
      test.planned++;
      this.#tests.set(name, test);
    }
  }

  start(run: PlannedRun): void {
    const test = this.#tests.get(nameOf(run));
    if (!test) return;
    test.startedAt ??= this.#now();
    this.#running.add(test);
  }

  end(run: PlannedRun, result: TestRun): void {
    const test = this.#tests.get(nameOf(run));
    if (!test) return;
    test.runs.push(result);
    this.#done++;
    if (result.status === "failed" || result.status === "error") this.#failed++;
    if (test.runs.length < test.planned) return;
    this.#running.delete(test);
    this.#ended.push(test);
  }

  running(): readonly LiveItem[] {
    return [...this.#running].map(({ name, planned, startedAt = this.#now(), runs }) => ({
      state: "running",
      seconds: (this.#now() - startedAt) / 1000,
      name,
      note: planned > 1 ? `${runs.length}/${planned}` : undefined,
    }));
  }

  takeEnded(): readonly LiveItem[] {
    const ended = this.#ended;
    this.#ended = [];
    // Tests that were not run are only counted.
    return ended
      .filter(({ runs }) => runs.some(({ status }) => status !== "not run"))
      .map(endedItem);
  }

  progress(): ProgressStep {
    const hasRepeats = this.#total > this.#tests.size;
    const unit = hasRepeats ? "runs of tests" : "tests";
    return { done: this.#done, total: this.#total, unit, failed: this.#failed };
  }
}

const nameOf = ({ name, side, confirms }: PlannedRun): string =>
  `${name}${side === "old" ? " (old)" : ""}${confirms ? " (again)" : ""}`;

function endedItem({ name, planned, runs }: OpenTest): LiveItem {
  const shown = runs.map((run) => ({ ...run, confirms: false }));
  const { status, seconds, passes } = testResult(name, shown);
  return {
    state: status,
    seconds: seconds ?? runs[0]?.seconds ?? null,
    name,
    note: planned > 1 ? `${passes}/${planned}` : undefined,
    lines: problemsOf(runs).flatMap(({ check, actual, times, recordings }) => [
      ...(check === undefined ? [] : [detail("expected", check)]),
      detail(check === undefined ? "error" : "actual", actual, planned > 1 ? times : undefined),
      ...(recordings[0] === undefined ? [] : [detail("recording", recordings[0])]),
    ]),
  };
}

/** Characters of a text from the server: a whole answer would hide the tests before it. */
const MAX_DETAIL = 600;

function detail(label: string, text: string, times?: number): TextLine {
  const count =
    times === undefined ? [] : [{ text: `(${counted(times, "run")})`, tone: "dim" as const }];
  return {
    lead: `  ${label.padEnd(9)}  `,
    parts: [{ text: shortened(text, MAX_DETAIL) }, ...count],
  };
}

const isOpen = ({ until }: NonNullable<TestRun["quarantine"]>, now: Date): boolean =>
  now.toISOString().slice(0, until.length) <= until;

/** Whether a run, or a test, does not decide at a time. */
export const isExcused = (
  { quarantine }: { readonly quarantine?: TestRun["quarantine"] | undefined },
  now: Date,
): boolean => !!quarantine && isOpen(quarantine, now);

/** Which tests that did not pass are in quarantine at a time; a note names them, and those whose quarantine has ended. */
export function quarantined(tests: readonly TestResult[], now: Date) {
  const all = tests.flatMap(({ name, status, results }) => {
    const found = results[0]?.quarantine;
    return found && (status === "failed" || status === "error") ? [{ name, ...found }] : [];
  });
  return {
    excused: new Set(all.filter((test) => isOpen(test, now)).map(({ name }) => name)),
    notes: all.map((test) => {
      const why = test.reason === null ? "" : ` (${test.reason})`;
      return isOpen(test, now)
        ? `in quarantine until ${test.until}, so it does not count: ${test.name}${why}`
        : `the quarantine ended on ${test.until}, so it counts: ${test.name}${why}`;
    }),
  };
}
