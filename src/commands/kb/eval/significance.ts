import { seededRandom } from "../../../lib/numbers.ts";
import { quantile } from "../../wf/test/verdict/index.ts";

/** The number of samples; the p-value of a real difference is then at least 1 in 10,000. */
const SAMPLES = 9_999;
/** Fixed, so that the same results get the same figures. */
const SEED = 20_261_127;
/** Up to so many questions that differ, all signs are tried. */
const MAX_EXACT = 13;
/** Differences of sums that are equal but for their last digits. */
const TINY = 1e-9;

/** The interval that holds 95 % of the means of samples; of few questions, the true mean less often. */
export interface MeanInterval {
  readonly low: number;
  readonly high: number;
}

/**
 * The percentile bootstrap interval of a mean over questions (B. Efron, "Bootstrap methods: another look at the
 * jackknife", 1979). Null for fewer than two.
 */
export function bootstrapInterval(values: readonly number[]): MeanInterval | null {
  if (values.length < 2) return null;
  const random = seededRandom(SEED);
  const means = new Float64Array(BOOTSTRAPS);
  for (let sample = 0; sample < BOOTSTRAPS; sample++) {
    let sum = 0;
    for (let count = 0; count < values.length; count++)
      sum += values[Math.floor(random() * values.length)] ?? 0;
    means[sample] = sum / values.length;
  }
  means.sort();
  const at = (share: number) => means[Math.floor(share * BOOTSTRAPS)] ?? Number.NaN;
  return { low: at(0.025), high: at(0.975) };
}

const BOOTSTRAPS = 2_000;

/** Chances of such a difference where both settings are equally good. */
export interface PairedTest {
  readonly difference: number;
  /** Of a mean difference as low, as high, and as far from 0. */
  readonly lower: number;
  readonly higher: number;
  readonly either: number;
}

/**
 * Fisher's paired randomization test of the mean difference (R. A. Fisher, "The design of experiments", 1935;
 * for retrieval M. D. Smucker, J. Allan and B. Carterette, "A comparison of statistical significance tests for
 * information retrieval evaluation", 2007): if both are equally good, the sign of each question's difference is
 * chance. All signs are tried for up to 13 questions that differ, 9,999 random ones beyond.
 */
export function randomizationTest(differences: readonly number[]): PairedTest {
  const open = differences.filter((each) => Math.abs(each) > TINY);
  const observed = open.reduce((sum, each) => sum + each, 0);
  const isExact = open.length <= MAX_EXACT;
  const samples = isExact ? 2 ** open.length : SAMPLES;
  const random = seededRandom(SEED);
  let [lower, higher, either] = [0, 0, 0];
  for (let sample = 0; sample < samples; sample++) {
    let sum = 0;
    for (const [index, each] of open.entries()) {
      const isFlipped = isExact ? (sample >> index) & 1 : random() < 0.5;
      sum += isFlipped ? -each : each;
    }
    if (sum <= observed + TINY) lower++;
    if (sum >= observed - TINY) higher++;
    if (Math.abs(sum) >= Math.abs(observed) - TINY) either++;
  }
  // The observed signs are one of the samples: a p-value is never 0.
  const p = (count: number) => (isExact ? count / samples : (count + 1) / (samples + 1));
  const difference = differences.length === 0 ? 0 : observed / differences.length;
  return { difference, lower: p(lower), higher: p(higher), either: p(either) };
}

/**
 * The number of questions with which a mean difference is found in 80 of 100 cases, by a test in its direction that
 * alone is wrong with a chance of `level`, where single differences vary as these do. Null if they do not vary.
 */
export function neededQuestions(
  differences: readonly number[],
  difference: number,
  level: number,
): number | null {
  const mean = differences.reduce((sum, each) => sum + each, 0) / differences.length;
  const squares = differences.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  const variance = differences.length < 2 ? 0 : squares / (differences.length - 1);
  if (variance === 0) return null;
  return Math.ceil(((quantile(level) + quantile(0.2)) ** 2 * variance) / difference ** 2);
}
