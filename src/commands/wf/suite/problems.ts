import type { TestRun } from "./run-tests.ts";

/** What kept a test from passing, over all its repeats. */
export interface TestProblem {
  /** The expectation; undefined if an answer could not be judged. */
  readonly check: string | undefined;
  /** The actual state, or why the answer could not be judged. */
  readonly actual: string;
  /** In how many runs. */
  readonly times: number;
  /** Recordings of these turns, if they are kept. */
  readonly recordings: readonly string[];
}

/** Each unmet expectation once, with the actual state of the first run that did not meet it. */
export function problemsOf(runs: readonly TestRun[]): TestProblem[] {
  const problems = new Map<string | undefined, TestProblem>();
  const add = (check: string | undefined, actual: string, recording: string | undefined) => {
    const known = problems.get(check) ?? { check, actual, times: 0, recordings: [] };
    const all = recording === undefined ? [] : [recording];
    const recordings = [...new Set([...known.recordings, ...all])];
    problems.set(check, { ...known, times: known.times + 1, recordings });
  };
  for (const run of runs) {
    const { checks, error, recordings } = run;
    for (const { turn, check, passed, actual } of checks)
      if (!passed) add(check, actual, recordings[turn - 1] ?? recordings.at(-1));
    if (error !== null) add(undefined, error, recordings.at(-1));
  }
  return [...problems.values()];
}
