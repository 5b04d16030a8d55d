/** Figures about tests that run several times. Formulas and sources: docs/test-suites.md. */

/** A share and the interval that holds the true one with 95 % confidence. */
export interface PassRate {
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/** The two-sided 95 % quantile of the standard normal distribution. */
const Z = 1.959963984540054;

/**
 * The share of passes with its score interval (E. B. Wilson, "Probable inference, the law of
 * succession, and statistical inference", 1927), without continuity correction. Null without runs.
 */
export function passRate(passes: number, runs: number): PassRate | null {
  if (runs === 0) return null;
  const rate = passes / runs;
  const square = (Z * Z) / runs;
  const center = (rate + square / 2) / (1 + square);
  const half = (Z / (1 + square)) * Math.sqrt((rate * (1 - rate)) / runs + square / (4 * runs));
  return { rate, low: Math.max(0, center - half), high: Math.min(1, center + half) };
}

/** Passes among the runs of a test. */
export interface Passes {
  readonly passes: number;
  readonly runs: number;
}

/**
 * The two-sided p-value of Fisher's exact test for two numbers of passes: the probability of all
 * tables with the same sums that are at most as likely as this one.
 */
export function fisherExact(one: Passes, other: Passes): number {
  const passes = one.passes + other.passes;
  const runs = one.runs + other.runs;
  const all = logChoose(runs, passes);
  const logOf = (mine: number) =>
    logChoose(one.runs, mine) + logChoose(other.runs, passes - mine) - all;
  // Equally likely tables differ in their last digits.
  const most = logOf(one.passes) + 1e-7;
  let p = 0;
  const last = Math.min(one.runs, passes);
  for (let mine = Math.max(0, passes - other.runs); mine <= last; mine++) {
    const log = logOf(mine);
    if (log <= most) p += Math.exp(log);
  }
  return Math.min(1, p);
}

/**
 * The p-values of several tests, corrected for their number (S. Holm, "A simple sequentially rejective
 * multiple test procedure", 1979), in the order given.
 */
export function holm(pValues: readonly number[]): number[] {
  const order = pValues.map((p, index) => ({ p, index })).toSorted((a, b) => a.p - b.p);
  const corrected = Array.from({ length: pValues.length }, () => 1);
  let least = 0;
  for (const [rank, { p, index }] of order.entries()) {
    least = Math.max(least, Math.min(1, p * (order.length - rank)));
    corrected[index] = least;
  }
  return corrected;
}

/** The two-sided p-value of the sign test: `more` of the pairs that differ have a greater second value. */
export function signTest(more: number, fewer: number): number {
  const pairs = more + fewer;
  let tail = 0;
  for (let count = 0; count <= Math.min(more, fewer); count++)
    tail += Math.exp(logChoose(pairs, count) - pairs * Math.LN2);
  return Math.min(1, 2 * tail);
}

/**
 * The fewest runs of each test with which one of `tests` that passed every time and now fails every
 * time is significant at `level`.
 */
export function neededRuns(tests: number, level: number): number {
  let runs = 1;
  while (fisherExact({ passes: runs, runs }, { passes: 0, runs }) * tests > level) runs++;
  return runs;
}

/** Natural logarithm of the binomial coefficient. */
const logChoose = (n: number, k: number): number =>
  logFactorial(n) - logFactorial(k) - logFactorial(n - k);

const logFactorials = [0];

function logFactorial(n: number): number {
  for (let next = logFactorials.length; next <= n; next++)
    logFactorials.push((logFactorials[next - 1] ?? 0) + Math.log(next));
  return logFactorials[n] ?? Number.NaN;
}
