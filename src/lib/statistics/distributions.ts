/** The normal distribution, Student's t and the binomial distribution. */

/** The two-sided 95 % quantile of the standard normal distribution. */
export const NORMAL_95 = 1.959963984540054;

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

/** The number below which a standard normal one lies with this chance, which is met to 1e-7. */
export function quantile(chance: number): number {
  let [low, high] = [-40, 40];
  while (high - low > 1e-6) {
    const middle = (low + high) / 2;
    if (normalBelow(middle) < chance) low = middle;
    else high = middle;
  }
  return low;
}

/** The chance of so many passes in these runs, if each passes with this rate. */
export const binomial = (runs: number, passes: number, rate: number): number =>
  Math.exp(logChoose(runs, passes)) * rate ** passes * (1 - rate) ** (runs - passes);

/** The chance of at most so many passes. */
export function binomialUpTo(runs: number, passes: number, rate: number): number {
  let chance = 0;
  for (let count = 0; count <= passes; count++) chance += binomial(runs, count, rate);
  return Math.min(1, chance);
}

/** Natural logarithm of the binomial coefficient. */
export const logChoose = (n: number, k: number): number =>
  logFactorial(n) - logFactorial(k) - logFactorial(n - k);

const logFactorials = [0];

function logFactorial(n: number): number {
  for (let next = logFactorials.length; next <= n; next++)
    logFactorials.push((logFactorials[next - 1] ?? 0) + Math.log(next));
  return logFactorials[n] ?? Number.NaN;
}
