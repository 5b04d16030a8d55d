import { compareWords } from "./answers/index.ts";
import { usualSimilarity } from "./file/index.ts";
import { fisherExact, holm, neededRuns, signTest } from "./statistics.ts";
import type { Passes } from "./statistics.ts";

/** What the runs of one test gave. */
export interface TestFigures extends Passes {
  readonly name: string;
  /** Hashes of the different answers. */
  readonly answers: readonly string[];
  readonly results: readonly { readonly answer: string | null }[];
  /** Median of the runs; null if unknown. */
  readonly seconds: number | null;
  readonly tokens: number | null;
}

/**
 * How a test compares with its baseline: `broken` and `fixed` passed less or more often; `noise` too,
 * but that may be chance; `changed` passed as often with answers that are not similar; `new` has no baseline.
 */
export type Verdict = "broken" | "fixed" | "noise" | "changed" | "same" | "new";

/** A test and what became of it. */
export interface TestComparison {
  readonly name: string;
  readonly verdict: Verdict;
  /** The corrected p-value; null without a baseline. */
  readonly p: number | null;
  /** Whether p is at most the level. */
  readonly significant: boolean;
}

/** How a figure has moved over all tests that have it on both sides. */
export interface Shift {
  readonly more: number;
  readonly fewer: number;
  /** Of the sign test. */
  readonly p: number;
}

/** A run of suites compared with an earlier one. */
export interface SuiteComparison {
  /** In the order of the tests that were run. */
  readonly tests: readonly TestComparison[];
  readonly seconds: Shift;
  readonly tokens: Shift;
  /** Runs of each test that one needs to be found broken at the level; undefined if it had them. */
  readonly needed: number | undefined;
}

/**
 * Compares tests with their baselines by name: Fisher's exact test on the passes, corrected for the
 * number of tests. A test that passed every time and now never does is broken even where there are too
 * few runs for significance.
 */
export function compareSuites(
  now: readonly TestFigures[],
  baseline: readonly TestFigures[],
  level: number,
): SuiteComparison {
  const before = new Map(baseline.map((figures) => [figures.name, figures]));
  const pairs = now.flatMap((after) => {
    const earlier = before.get(after.name);
    return earlier && earlier.runs > 0 && after.runs > 0 ? [{ after, earlier }] : [];
  });
  const pValues = holm(pairs.map(({ after, earlier }) => fisherExact(after, earlier)));
  const compared = new Map(
    pairs.map(({ after, earlier }, index) => {
      const p = pValues[index] ?? 1;
      const significant = p <= level;
      const verdict = verdictOf(earlier, after, significant);
      return [after.name, { name: after.name, verdict, p, significant }];
    }),
  );
  const unpaired = { verdict: "new", p: null, significant: false } as const;
  const needed = neededRuns(Math.max(1, pairs.length), level);
  const has = Math.min(...pairs.flatMap(({ after, earlier }) => [after.runs, earlier.runs]));
  return {
    tests: now.map(({ name }) => compared.get(name) ?? { name, ...unpaired }),
    seconds: shiftOf(pairs.map(({ after, earlier }) => [earlier.seconds, after.seconds])),
    tokens: shiftOf(pairs.map(({ after, earlier }) => [earlier.tokens, after.tokens])),
    needed: has < needed ? needed : undefined,
  };
}

function verdictOf(before: TestFigures, now: TestFigures, significant: boolean): Verdict {
  const change = now.passes / now.runs - before.passes / before.runs;
  if (significant || Math.abs(change) === 1) return change < 0 ? "broken" : "fixed";
  if (change !== 0) return "noise";
  return now.answers.length > 0 && !isAlike(before, now) ? "changed" : "same";
}

/** Answers of each side that are compared: two long ones take a second. */
const MAX_COMPARED = 5;

/** Whether an answer is one of those before, or similar to one. */
function isAlike(before: TestFigures, now: TestFigures): boolean {
  if (now.answers.some((answer) => before.answers.includes(answer))) return true;
  const textsOf = ({ results }: TestFigures) =>
    results.flatMap(({ answer }) => answer ?? []).slice(0, MAX_COMPARED);
  const others = textsOf(before);
  return textsOf(now).some((text) =>
    others.some((other) => (compareWords(text, other).similarity ?? 0) >= usualSimilarity),
  );
}

function shiftOf(pairs: readonly (readonly [number | null, number | null])[]): Shift {
  const differences = pairs.flatMap(([before, now]) =>
    before === null || now === null ? [] : [now - before],
  );
  const more = differences.filter((difference) => difference > 0).length;
  const fewer = differences.filter((difference) => difference < 0).length;
  return { more, fewer, p: signTest(more, fewer) };
}
