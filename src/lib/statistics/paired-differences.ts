import { seededRandom, sum } from "../numbers.ts";
import { quantile } from "./distributions.ts";
import { SAMPLE_SEED } from "./intervals.ts";

/** The number of samples; the p-value of a real difference is then at least 1 in 10,000. */
const SAMPLES = 9_999;
/** Up to so many documents that differ, all signs are tried. */
const MAX_EXACT = 13;
/** Differences of sums that are equal but for their last digits. */
const TINY = 1e-9;

/** The differences of questions, those about one document together. */
export type Differences = readonly (readonly number[])[];

/**
 * Fisher's paired randomization test of the mean difference (R. A. Fisher, "The design of experiments", 1935; for
 * retrieval M. D. Smucker, J. Allan and B. Carterette, "A comparison of statistical significance tests for
 * information retrieval evaluation", 2007), by document: questions about one document are alike, so that chance gives
 * a sign to the sum of their differences, not to each (M. H. Gail and others, "On design considerations and
 * randomization-based inference for community intervention trials", 1996; I. A. Canay, J. P. Romano and A. M. Shaikh,
 * "Randomization tests under an approximate symmetry assumption", 2017). All signs are tried for up to 13 documents
 * that differ, 9,999 random ones beyond. Gives the chances of a mean difference as low, as high, and as far from 0.
 */
export function randomizationTest(documents: Differences) {
  const open = documents.map(sum).filter((each) => Math.abs(each) > TINY);
  const observed = sum(open);
  const isExact = open.length <= MAX_EXACT;
  const samples = isExact ? 2 ** open.length : SAMPLES;
  const random = seededRandom(SAMPLE_SEED);
  let [lower, higher, either] = [0, 0, 0];
  for (let sample = 0; sample < samples; sample++) {
    let total = 0;
    for (let index = 0; index < open.length; index++) {
      const each = open[index] ?? 0;
      const isFlipped = isExact ? (sample >> index) & 1 : random() < 0.5;
      total += isFlipped ? -each : each;
    }
    if (total <= observed + TINY) lower++;
    if (total >= observed - TINY) higher++;
    if (Math.abs(total) >= Math.abs(observed) - TINY) either++;
  }
  // The observed signs are one of the samples: a p-value is never 0.
  const p = (count: number) => (isExact ? count / samples : (count + 1) / (samples + 1));
  const questions = documents.flat().length;
  const difference = questions === 0 ? 0 : observed / questions;
  return { difference, lower: p(lower), higher: p(higher), either: p(either) };
}

/** The fewest documents with which the test can have a one-sided p-value of `level`: one of 2ⁿ signs. */
export const fewestDocuments = (level: number): number => Math.ceil(-Math.log2(level));

/**
 * The number of questions, with as many for each document as here, with which a mean difference is found in 80 of
 * 100 cases by a one-sided test that alone is wrong with a chance of `level`. Questions differ as here, without the
 * difference seen here, and more of them differ, in steps as large, which make the difference that is looked for: at
 * least so many must (R. J. Connor, "Sample size for testing differences in proportions for the paired-sample
 * design", 1987; continuity correction of J. L. Fleiss, A. Tytun and H. K. Ury, 1980). The variance is larger by what
 * questions about one document have in common (L. Kish, "Survey Sampling", 1965), and taken from its upper 80 %
 * limit, because few questions estimate it badly (R. H. Browne, "On the use of a pilot sample for sample size
 * determination", 1995). Null for fewer than two documents, and if nothing differs.
 */
export function neededQuestions(
  documents: Differences,
  difference: number,
  level: number,
): number | null {
  const values = documents.flat();
  const [count, groups] = [values.length, documents.length];
  const size = sum(values.map(Math.abs));
  if (groups < 2 || size <= TINY) return null;
  const mean = sum(values) / count;
  const squares = sum(values.map((each) => each ** 2));
  const step = squares / size;
  const noise = squares / count - Math.abs(mean) * step;
  const unchanged = noise + difference * step;
  const changed = Math.max(0, unchanged - difference ** 2);
  const spread = -quantile(level) * Math.sqrt(unchanged) - quantile(0.2) * Math.sqrt(changed);
  const simple = (spread / difference) ** 2;
  const corrected = (simple / 4) * (1 + Math.sqrt(1 + (2 * step) / (simple * difference))) ** 2;
  const needed = corrected * designEffect(documents, mean) * upperVariance(groups - 1);
  return Math.ceil(Math.max(needed, (fewestDocuments(level) * count) / groups) - TINY);
}

/** How many times larger the variance of the mean is than if questions about one document had nothing in common. */
function designEffect(documents: Differences, mean: number): number {
  const values = documents.flat();
  const single =
    (sum(values.map((each) => (each - mean) ** 2)) / (values.length - 1)) * values.length;
  const sums = documents.map((each) => (sum(each) - mean * each.length) ** 2);
  const shared = (sum(sums) / (documents.length - 1)) * documents.length;
  return single <= TINY ? 1 : Math.max(1, shared / single);
}

/** The upper 80 % limit of a variance, as a multiple (E. B. Wilson and M. M. Hilferty, "The distribution of chi-square", 1931). */
function upperVariance(degrees: number): number {
  const part = 2 / (9 * degrees);
  return 1 / (1 - part + quantile(0.2) * Math.sqrt(part)) ** 3;
}
