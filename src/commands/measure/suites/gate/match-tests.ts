import { groupBy } from "../../../../lib/collect.ts";

/** What became of one run of a test. */
export interface GateRun {
  readonly status: "passed" | "failed" | "error";
  readonly answer: string;
  /** Did a model write the answer? */
  readonly byModel: boolean;
}

/** A test of the baseline. */
export interface TestBefore {
  readonly name: string;
  /** Hash of the question and the expectations. */
  readonly content: string;
  readonly runs: readonly GateRun[];
}

/** A test as it is run now. */
export interface TestNow {
  readonly name: string;
  readonly content: string;
  readonly planned: readonly GateRun[];
  /** Runs of a test that was asked again. */
  readonly fresh: readonly GateRun[];
  /** The share of runs that a new test has to pass, where the suite says one. */
  readonly rate?: number | undefined;
}

/** A test of now, and the one of the baseline that it is compared with. */
export type MatchedTest =
  /** Of the same content, judged on both sides; `renamed` is its name in the baseline if that was another. */
  | {
      readonly kind: "pair";
      readonly now: TestNow;
      readonly before: TestBefore;
      readonly renamed?: string | undefined;
    }
  /** No judged run of the same content to compare with, or none now. */
  | { readonly kind: "new" | "edited" | "not judged"; readonly now: TestNow };

/** A test of now and the baseline that has both. */
export type Pair = Extract<MatchedTest, { readonly kind: "pair" }>;

/** The runs that were judged: those with an error tell nothing of the application's answers. */
export const judgedRuns = (runs: readonly GateRun[]): readonly GateRun[] =>
  runs.filter(({ status }) => status !== "error");

/**
 * Matches the tests of now with those of the baseline: by name, and otherwise by content with those whose name is
 * gone. `removed` are names of the baseline that no test has and that were not skipped.
 */
export function matchTests(
  before: readonly TestBefore[],
  now: readonly TestNow[],
  skipped: ReadonlySet<string>,
): { readonly tests: readonly MatchedTest[]; readonly removed: readonly string[] } {
  const names = new Set(now.map(({ name }) => name));
  const byName = new Map(before.map((test) => [test.name, test]));
  const gone = before.filter(({ name }) => !names.has(name));
  const byContent = groupBy(
    gone.filter(({ name }) => !skipped.has(name)),
    ({ content }) => content,
  );
  const taken = new Set<string>();
  const tests = now.map((test): MatchedTest => {
    const same = byName.get(test.name);
    const other = same
      ? undefined
      : byContent.get(test.content)?.find(({ name }) => !taken.has(name));
    if (other) taken.add(other.name);
    const found = same ?? other;
    if (judgedRuns(test.planned).length === 0) return { kind: "not judged", now: test };
    if (!found || judgedRuns(found.runs).length === 0) return { kind: "new", now: test };
    if (found.content !== test.content) return { kind: "edited", now: test };
    return { kind: "pair", now: test, before: found, renamed: other?.name };
  });
  const isRemoved = (name: string) => !taken.has(name) && !skipped.has(name);
  return { tests, removed: gone.map(({ name }) => name).filter(isRemoved) };
}
