/** Random values of distributions, from random numbers between 0 and 1. */
type Random = () => number;

/** A standard normal value (G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958). */
export const normalValue = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** A value of the distribution Beta(a, b), also where a or b is near 0: a share of two gamma values. */
export function betaValue(a: number, b: number, random: Random): number {
  const [one, other] = [logGammaValue(a, random), logGammaValue(b, random)];
  return 1 / (1 + Math.exp(other - one));
}

/**
 * The logarithm of a gamma value, which itself may be too small for a number (G. Marsaglia and W. W. Tsang, "A simple
 * method for generating gamma variables", 2000).
 */
function logGammaValue(shape: number, random: Random): number {
  if (shape < 1) return logGammaValue(shape + 1, random) + Math.log(1 - random()) / shape;
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const normal = normalValue(random);
    const cube = (1 + c * normal) ** 3;
    if (cube > 0 && Math.log(1 - random()) < normal ** 2 / 2 + d - d * cube + d * Math.log(cube))
      return Math.log(d * cube);
  }
}
