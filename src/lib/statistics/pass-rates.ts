/** Figures about tests that run several times. Formulas and sources: docs/test-suites.md. */

/** A share and the interval that holds the true one with 95 % confidence. */
export interface PassRate {
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/** The two-sided 95 % quantile of the standard normal distribution. */
export const NORMAL_95 = 1.959963984540054;

/**
 * The share of passes with its score interval (E. B. Wilson, "Probable inference, the law of
 * succession, and statistical inference", 1927), without continuity correction. Null without runs.
 */
export function passRate(passes: number, runs: number): PassRate | null {
  if (runs === 0) return null;
  const rate = passes / runs;
  const square = (NORMAL_95 * NORMAL_95) / runs;
  const center = (rate + square / 2) / (1 + square);
  const half =
    (NORMAL_95 / (1 + square)) * Math.sqrt((rate * (1 - rate)) / runs + square / (4 * runs));
  return { rate, low: Math.max(0, center - half), high: Math.min(1, center + half) };
}

/** Passes among the runs of a test. */
export interface Passes {
  readonly passes: number;
  readonly runs: number;
}

/** Where a number of passes lies among all that are possible with the same sums. */
export interface Tail {
  /** The chance of so few passes, or fewer, where nothing has changed. */
  readonly p: number;
  /** All values that `p` can have with these sums, in ascending order; undefined if any. */
  readonly possible?: readonly number[] | undefined;
}

/**
 * The one-sided exact test of Fisher ("The logic of inductive inference", 1935): whether `now` has fewer
 * passes than chance explains. With `odds` below 1 it has fewer by that ratio of odds even without a change.
 */
export function fisherFewer(before: Passes, now: Passes, odds = 1) {
  const { first, chances } = passesByChance(before, now, odds);
  const possible: number[] = [];
  let total = 0;
  for (const chance of chances) possible.push(Math.min(1, (total += chance)));
  return { p: possible[now.passes - first] ?? 1, possible };
}

/** The chances of `first`, `first + 1` and so on passes in `now`, given all passes and runs. */
function passesByChance(before: Passes, now: Passes, odds = 1) {
  const passes = before.passes + now.passes;
  const first = Math.max(0, passes - before.runs);
  const count = Math.min(now.runs, passes) - first + 1;
  const logs = Float64Array.from({ length: count }, (_, index) => {
    const mine = first + index;
    const tables = logChoose(now.runs, mine) + logChoose(before.runs, passes - mine);
    return tables + index * Math.log(odds);
  });
  const most = logs.reduce((largest, log) => Math.max(largest, log));
  const weights = logs.map((log) => Math.exp(log - most));
  const all = weights.reduce((sum, weight) => sum + weight);
  return { first, chances: weights.map((weight) => weight / all) };
}

/** Sums of passes up to which the chances of all tests together are computed exactly. */
const MAX_EXACT = 2000;

/**
 * The chance that all tests together have so few passes now where none has changed, test by test
 * (N. Mantel and W. Haenszel, "Statistical aspects of the analysis of data from retrospective studies of
 * disease", 1959). Exact up to 2,000 uncertain passes (C. R. Mehta, N. R. Patel and R. Gray, "Computing an exact
 * confidence interval for the common odds ratio", 1985); beyond, normal with continuity correction.
 */
export function fewerInAll(pairs: readonly PassPair[]): number {
  const strata = pairs.map(({ before, now }) => ({ now, ...passesByChance(before, now) }));
  const open = strata.filter(({ chances }) => chances.length > 1);
  const above = open.reduce((sum, { now, first }) => sum + now.passes - first, 0);
  const most = open.reduce((sum, { chances }) => sum + chances.length - 1, 0);
  if (most > MAX_EXACT)
    return fewerByNormal(
      open.map(({ chances }) => chances),
      above,
    );
  let all = Float64Array.of(1);
  for (const { chances } of open) all = convolved(all, chances);
  return Math.min(
    1,
    all.slice(0, above + 1).reduce((sum, chance) => sum + chance, 0),
  );
}

function fewerByNormal(strata: readonly Float64Array[], above: number): number {
  let mean = 0;
  let variance = 0;
  for (const chances of strata) {
    const own = chances.reduce((sum, chance, index) => sum + chance * index, 0);
    mean += own;
    variance += chances.reduce((sum, chance, index) => sum + chance * (index - own) ** 2, 0);
  }
  return normalBelow((above + 0.5 - mean) / Math.sqrt(variance));
}

/** The chances of the sums of two independent numbers. */
function convolved(one: Float64Array, other: Float64Array): Float64Array<ArrayBuffer> {
  const sums = new Float64Array(one.length + other.length - 1);
  for (const [index, chance] of one.entries())
    for (let more = 0; more < other.length; more++)
      sums[index + more] = (sums[index + more] ?? 0) + chance * (other[more] ?? 0);
  return sums;
}

/** Passes of a test before and now. */
export interface PassPair {
  readonly before: Passes;
  readonly now: Passes;
}

/**
 * The p-values of several exact tests, corrected for their number step by step as Holm's are, where each of the
 * others counts with the p-values that it can have (P. H. Westfall and R. D. Wolfinger, "Multiple tests with
 * discrete distributions", 1997): one that cannot be significant costs nothing. In the order given.
 */
export function correctedTails(tails: readonly Tail[]): number[] {
  const order = tails.map((tail, index) => ({ tail, index }));
  order.sort((a, b) => a.tail.p - b.tail.p);
  const corrected = Array.from({ length: tails.length }, () => 1);
  let least = 0;
  for (const [rank, { tail, index }] of order.entries()) {
    const { p } = tail;
    const chance = order.slice(rank).reduce((sum, other) => sum + reached(other.tail, p), 0);
    least = Math.max(least, Math.min(1, chance));
    if (least === 1) break; // as is all that follows
    corrected[index] = least;
  }
  return corrected;
}

/** The chance that a test has a p-value up to this one. */
const reached = ({ possible }: Tail, p: number): number =>
  // Equal tables differ in their last digits.
  possible ? (possible.findLast((each) => each <= p * (1 + 1e-9)) ?? 0) : p;

/**
 * The p-values of several tests, corrected for their number (S. Holm, "A simple sequentially rejective
 * multiple test procedure", 1979), in the order given.
 */
export const holm = (pValues: readonly number[]): number[] =>
  correctedTails(pValues.map((p) => ({ p })));

/** `77–97 %`: the interval that holds the true share. */
export function intervalText({ low, high }: Interval): string {
  const percent = (share: number) => Math.round(share * 100);
  return `${percent(low)}–${percent(high)} %`;
}

/** The two-sided p-value of the sign test: `more` of the pairs that differ have a greater second value. */
export function signTest(more: number, fewer: number): number {
  let tail = 0;
  for (let count = 0; count <= Math.min(more, fewer); count++)
    tail += binomial(more + fewer, count, 0.5);
  return Math.min(1, 2 * tail);
}

/**
 * The chance of a Student's t below `t`, for a whole number of degrees of freedom (M. Abramowitz and
 * I. A. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.3 and 26.7.4).
 */
export function studentBelow(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const [sine, square] = [Math.sin(angle), Math.cos(angle) ** 2];
  const isOdd = degrees % 2 === 1;
  let term = isOdd ? Math.cos(angle) : 1;
  let sum = 0;
  for (let index = isOdd ? 3 : 2; index <= degrees; index += 2) {
    sum += term;
    term *= (square * (index - 1)) / index;
  }
  const within = isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
  return (1 + within) / 2;
}

/**
 * The chance of a standard normal number below `z`, to 1e-7 (M. Abramowitz and I. A. Stegun, 1964, 26.2.17).
 */
export function normalBelow(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const terms = [0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429];
  const sum = terms.reduceRight((rest, term) => (rest + term) * t, 0);
  const above = (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * sum;
  return z > 0 ? 1 - above : above;
}

/** The number below which a standard normal one lies with this chance, to 1e-6. */
export function quantile(chance: number): number {
  let [low, high] = [-40, 40];
  while (high - low > 1e-6) {
    const middle = (low + high) / 2;
    if (normalBelow(middle) < chance) low = middle;
    else high = middle;
  }
  return low;
}

/** Two numbers between which the true one lies with the confidence that is asked for. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/**
 * The interval of a median, whatever the distribution: two of the values in order (W. R. Thompson, "On
 * confidence ranges for the median", 1936). It misses the true one at most as often as the level says. Null
 * if there are too few values.
 */
export function medianInterval(values: readonly number[], level: number): Interval | null {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let tail = 0;
  let rank = 0;
  while (rank < count) {
    tail += Math.exp(logChoose(count, rank) - count * Math.LN2);
    if (2 * tail > level) break;
    rank++;
  }
  const [low, high] = [sorted[rank - 1], sorted[count - rank]];
  return low === undefined || high === undefined ? null : { low, high };
}

/** The chance of so many passes in these runs, if each passes with this rate. */
export const binomial = (runs: number, passes: number, rate: number): number =>
  Math.exp(logChoose(runs, passes)) * rate ** passes * (1 - rate) ** (runs - passes);

/** Natural logarithm of the binomial coefficient. */
const logChoose = (n: number, k: number): number =>
  logFactorial(n) - logFactorial(k) - logFactorial(n - k);

const logFactorials = [0];

function logFactorial(n: number): number {
  for (let next = logFactorials.length; next <= n; next++)
    logFactorials.push((logFactorials[next - 1] ?? 0) + Math.log(next));
  return logFactorials[n] ?? Number.NaN;
}
