/** How well a judge agrees with people. Formulas and sources: docs/verdicts.md. */
import { sum } from "../numbers.ts";
import { NORMAL_95 } from "./distributions.ts";
import { fisherFewer, signTest } from "./exact-tests.ts";
import { holm } from "./multiple-tests.ts";
import { passRate } from "./pass-rates.ts";
import type { PassRate } from "./pass-rates.ts";

/** An answer that people and a judge have marked. */
interface Marked {
  readonly isGood: boolean;
  readonly passed: boolean;
}

/** How often a judge and people say what about the same answers: bad ones that passed, good ones that failed. */
export type Agreement = ReturnType<typeof agreementOf>;

export function agreementOf(all: readonly Marked[]) {
  const count = (isGood: boolean, ...passed: readonly boolean[]) =>
    all.filter((each) => each.isGood === isGood && passed.includes(each.passed)).length;
  return {
    good: count(true, true, false),
    bad: count(false, true, false),
    false_passes: count(false, true),
    false_fails: count(true, false),
  };
}

/** Agreement beyond chance: Cohen's kappa with the ends of its 95 % interval, if there is one. */
export type Kappa = readonly [value: number, low?: number, high?: number];

/**
 * Cohen's kappa (1960) with its large-sample variance (Fleiss, Cohen and Everitt, 1969). Null if
 * judge and people say the same one thing about all answers. Without an interval where the variance is 0,
 * which says nothing: they agree always, or the judge says the same about all.
 */
export function kappaOf({ good, bad, false_passes, false_fails }: Agreement): Kappa | null {
  const n = good + bad;
  const [pp, fp] = [(good - false_fails) / n, false_passes / n];
  const [pf, ff] = [false_fails / n, (bad - false_passes) / n];
  // Shares of passes and of failures: of people, and of the judge.
  const [people, judge] = [pp + pf, pp + fp];
  const [peopleNot, judgeNot] = [fp + ff, pf + ff];
  const chance = people * judge + peopleNot * judgeNot;
  if (!(chance < 1)) return null;
  const kappa = (pp + ff - chance) / (1 - chance);
  const rest = 1 - kappa;
  const agreeing =
    pp * (1 - (people + judge) * rest) ** 2 + ff * (1 - (peopleNot + judgeNot) * rest) ** 2;
  const differing = rest ** 2 * (fp * (judgeNot + people) ** 2 + pf * (judge + peopleNot) ** 2);
  const spread = agreeing + differing - (kappa - chance * rest) ** 2;
  if (spread < 1e-12) return [kappa];
  const half = (NORMAL_95 * Math.sqrt(spread / n)) / (1 - chance);
  return [kappa, Math.max(-1, kappa - half), Math.min(1, kappa + half)];
}

/** The chance with which a judge that guesses counts as better. */
const GUESSED = 0.025;

/**
 * Whether a judge agrees with people more often than chance: by the interval of kappa, or where that has none because
 * they agree always or never, by the exact test of Fisher.
 */
export function comparedWithChance(
  { good, bad, false_passes, false_fails }: Agreement,
  kappa: Kappa | null,
): "better" | "worse" | "inconclusive" {
  const [value = 0, low, high] = kappa ?? [];
  if (low !== undefined && high !== undefined) {
    if (low > 0) return "better";
    return high < 0 ? "worse" : "inconclusive";
  }
  const passed = { passes: good - false_fails, runs: good };
  const wronglyPassed = { passes: false_passes, runs: bad };
  if (value > 0 && fisherFewer(passed, wronglyPassed).p <= GUESSED) return "better";
  if (value < 0 && fisherFewer(wronglyPassed, passed).p <= GUESSED) return "worse";
  return "inconclusive";
}

/**
 * The share of good answers among those of which a judge passed a share, with the errors that it makes on good and on bad
 * ones (W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening test", 1978). Its ends are the
 * outermost ones that the 95 % intervals of all three shares allow. Null unless the judge surely passes good answers more
 * often than bad ones.
 */
export function rateByJudge(
  passed: PassRate,
  { good, bad, false_passes, false_fails }: Agreement,
): PassRate | null {
  const [hits, alarms] = [passRate(good - false_fails, good), passRate(false_passes, bad)];
  if (!hits || !alarms || hits.low <= alarms.high) return null;
  const share = (all: number, hit: number, alarm: number) =>
    Math.min(1, Math.max(0, (all - alarm) / (hit - alarm)));
  return {
    rate: share(passed.rate, hits.rate, alarms.rate),
    low: share(passed.low, hits.high, alarms.high),
    high: share(passed.high, hits.low, alarms.low),
  };
}

/** A score that an answer got from a judge. */
interface Scored {
  readonly isGood: boolean;
  readonly score: number;
}

/**
 * The threshold that fits people's marks best, halfway between two scores, and the agreement where each answer is
 * judged by the threshold that fits all others; undefined without two scores.
 */
export function bestThreshold(all: readonly Scored[]) {
  const scores = [...new Set(all.map(({ score }) => score))].sort((a, b) => a - b);
  const counts = scores.map((score) => {
    const same = all.filter((each) => each.score === score);
    const good = same.filter(({ isGood }) => isGood).length;
    return { score, good, bad: same.length - good };
  });
  const at_least = fitted(counts);
  if (at_least === undefined) return undefined;
  // Answers of the same kind with the same score are judged by the same threshold.
  const marked = counts.flatMap(({ score, ...count }, index) =>
    (["good", "bad"] as const).flatMap((kind): Marked[] => {
      const others = counts.map((each, at) =>
        at === index ? { ...each, [kind]: each[kind] - 1 } : each,
      );
      const passed = count[kind] > 0 && score >= (fitted(others) ?? at_least);
      return Array.from({ length: count[kind] }, () => ({ isGood: kind === "good", passed }));
    }),
  );
  return { at_least, agreement: agreementOf(marked) };
}

/** Answers with this score, in ascending order. */
interface ScoreCount {
  readonly score: number;
  readonly good: number;
  readonly bad: number;
}

/** The lowest of the best thresholds. */
function fitted(all: readonly ScoreCount[]): number | undefined {
  const counts = all.filter((each) => each.good + each.bad > 0);
  const total = (kind: "good" | "bad") => sum(counts.map((each) => each[kind]));
  const [good, bad] = [total("good"), total("bad")];
  let [false_passes, false_fails] = [bad, 0];
  let best: { readonly at: number; readonly kappa: number } | undefined;
  for (const [index, { score }] of counts.entries()) {
    const before = counts[index - 1];
    if (!before) continue;
    false_passes -= before.bad;
    false_fails += before.good;
    const [kappa = -1] = kappaOf({ good, bad, false_passes, false_fails }) ?? [];
    if (!best || kappa > best.kappa + 1e-9) best = { at: (before.score + score) / 2, kappa };
  }
  return best?.at;
}

/** Verdicts about the same answers without and with a change that should not matter. */
type Pairs = readonly (readonly [before: boolean, after: boolean])[];

/**
 * What changes do to verdicts: how many answers pass only with each, and only without it, with the p-value
 * of McNemar's exact test, two-sided, which Holm's method corrects for the number of changes.
 */
export function biasesOf<Name extends string>(
  changes: readonly (readonly [name: Name, pairs: Pairs])[],
) {
  const counts = changes.map(([change, pairs]) => ({
    change,
    pairs: pairs.length,
    more: pairs.filter(([before, after]) => after && !before).length,
    fewer: pairs.filter(([before, after]) => before && !after).length,
  }));
  // On the pairs that differ, McNemar's exact test is the sign test.
  const corrected = holm(counts.map(({ more, fewer }) => signTest(more, fewer)));
  return counts.map((count, index) => ({ ...count, p: corrected[index] ?? 1 }));
}
