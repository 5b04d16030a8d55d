import { counted, shortened } from "../../../lib/text.ts";
import type { ProgressStep, LiveItem, LiveItems, TextLine } from "../../../output/report-model.ts";
import { testNameOf } from "./plan-runs.ts";
import type { PlannedRun } from "./plan-runs.ts";
import { problemsOf, testResult } from "./results.ts";
import type { TestRun } from "./run-tests.ts";

/** A test while its repeats are run. */
interface OpenTest {
  readonly name: string;
  readonly planned: number;
  /** By the clock of the board; undefined until its first run began. */
  startedAt: number | undefined;
  readonly runs: TestRun[];
}

/** The tests of a command, as a terminal shows them: a test ends with the last of its repeats. */
export class TestBoard implements LiveItems {
  readonly #now: () => number;
  readonly #tests = new Map<string, OpenTest>();
  readonly #running = new Set<OpenTest>();
  readonly #total: number;
  #ended: OpenTest[] = [];
  #done = 0;
  #failed = 0;

  /** `now` gives ms. */
  constructor(planned: readonly PlannedRun[], now: () => number) {
    this.#now = now;
    this.#total = planned.length;
    for (const each of planned) {
      const name = nameOf(each);
      const count = (this.#tests.get(name)?.planned ?? 0) + 1;
      this.#tests.set(name, { name, planned: count, startedAt: undefined, runs: [] });
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

const nameOf = ({ suite, test }: PlannedRun): string =>
  testNameOf({ suite: suite.name, test: test.name });

function endedItem({ name, planned, runs }: OpenTest): LiveItem {
  const { status, seconds, passes } = testResult(name, runs);
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
