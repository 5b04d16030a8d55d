import { seededRandom, sum } from "../numbers.ts";
import { sampleVariance } from "./averages.ts";
import { quantile } from "./distributions.ts";
import { SAMPLE_SEED } from "./intervals.ts";

/** The number of samples; the p-value of a real difference is then at least 1 in 10,000. */
const SAMPLES = 9_999;
/** Up to so many questions that differ, all signs are tried. */
const MAX_EXACT = 13;
/** Differences of sums that are equal but for their last digits. */
const TINY = 1e-9;

/**
 * Fisher's paired randomization test of the mean difference (R. A. Fisher, "The design of experiments", 1935;
 * for retrieval M. D. Smucker, J. Allan and B. Carterette, "A comparison of statistical significance tests for
 * information retrieval evaluation", 2007): if both are equally good, the sign of each question's difference is
 * chance. All signs are tried for up to 13 questions that differ, 9,999 random ones beyond. Gives the chances of a mean
 * difference as low, as high, and as far from 0.
 */
export function randomizationTest(differences: readonly number[]) {
  const open = differences.filter((each) => Math.abs(each) > TINY);
  const observed = sum(open);
  const isExact = open.length <= MAX_EXACT;
  const samples = isExact ? 2 ** open.length : SAMPLES;
  const random = seededRandom(SAMPLE_SEED);
  let [lower, higher, either] = [0, 0, 0];
  for (let sample = 0; sample < samples; sample++) {
    let total = 0;
    for (const [index, each] of open.entries()) {
      const isFlipped = isExact ? (sample >> index) & 1 : random() < 0.5;
      total += isFlipped ? -each : each;
    }
    if (total <= observed + TINY) lower++;
    if (total >= observed - TINY) higher++;
    if (Math.abs(total) >= Math.abs(observed) - TINY) either++;
  }
  // The observed signs are one of the samples: a p-value is never 0.
  const p = (count: number) => (isExact ? count / samples : (count + 1) / (samples + 1));
  const difference = differences.length === 0 ? 0 : observed / differences.length;
  return { difference, lower: p(lower), higher: p(higher), either: p(either) };
}

/**
 * The number of questions with which a mean difference is found in 80 of 100 cases, by a test in its direction that
 * alone is wrong with a chance of `level`, where single differences vary as these do: n = (z + z')² s² / d²
 * (G. W. Snedecor and W. G. Cochran, "Statistical Methods", 1967). Null if they do not vary.
 */
export function neededQuestions(
  differences: readonly number[],
  difference: number,
  level: number,
): number | null {
  const variance = sampleVariance(differences) ?? 0;
  if (variance === 0) return null;
  return Math.ceil(((quantile(level) + quantile(0.2)) ** 2 * variance) / difference ** 2);
}
