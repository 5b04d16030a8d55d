/**
 * A number that neither a double nor a bigint holds, as it was written: `0.1234567890123456789`, `1e400`.
 * Computing with it throws, and so does JSON.stringify.
 */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }

  /** JSON.stringify would write an object; for a bigint it throws. */
  toJSON(): bigint {
    return 0n;
  }

  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return this.text;
    throw new TypeError(`${this.text} cannot be computed with`);
  }
}

/** A number with all its digits; integers that a double cannot hold are bigints. */
export type Numeric = number | bigint | ExactNumber;

/** Whether a value is a number of any length. */
export const isNumeric = (value: unknown): value is Numeric =>
  typeof value === "number" || typeof value === "bigint" || value instanceof ExactNumber;

/** Longer integers stay text: converting them takes more than linear time. */
const MAX_BIGINT = 1000;

/** The number that a number of JSON means. */
export function numericOf(text: string): Numeric {
  const number = Number(text);
  if (!/^-?\d+$/.test(text))
    return Number.isFinite(number) && orderOfTexts(text, String(number)) === 0
      ? number
      : new ExactNumber(text);
  if (Number.isSafeInteger(number)) return number;
  return text.length <= MAX_BIGINT ? BigInt(text) : new ExactNumber(text);
}

/**
 * Compares two numbers: below 0 if the first one is less, above if it is greater. Integers are compared
 * digit by digit, others as doubles, because servers round fractions (server §11).
 */
export function compareNumbers(one: Numeric, other: Numeric): number {
  const [a, b] = [String(one), String(other)];
  if (/^-?\d+$/.test(a) && /^-?\d+$/.test(b)) return orderOfTexts(a, b);
  return Number(a) === Number(b) ? 0 : Number(a) - Number(b);
}

/** Whether two values are the same text, number or other single value. */
export const isSameValue = (one: unknown, other: unknown): boolean =>
  one === other || (isNumeric(one) && isNumeric(other) && compareNumbers(one, other) === 0);

function orderOfTexts(one: string, other: string): number {
  const [a, b] = [placesOf(one), placesOf(other)];
  if (a.sign !== b.sign) return a.sign - b.sign;
  if (a.first !== b.first) return a.sign * (a.first - b.first);
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -a.sign : a.sign;
}

/** The sign of a decimal number, the place of its first digit, and its digits without outer zeros. */
function placesOf(text: string) {
  const [, minus = "", whole = "", fraction = "", exponent = "0"] = decimal.exec(text) ?? [];
  const all = whole + fraction;
  let [start, end] = [0, all.length];
  while (all[start] === "0") start++;
  while (end > start && all[end - 1] === "0") end--;
  if (start === end) return { sign: 0, first: 0, digits: "" };
  const first = whole.length - start + Number(exponent);
  return { sign: minus === "" ? 1 : -1, first, digits: all.slice(start, end) };
}

const decimal = /^(-?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;

/** The number in a text on a command line: `+5`, `007` and `.5`, too. Undefined for any other text. */
export function typedNumber(typed: string): Numeric | undefined {
  const text = typed.trim();
  const [, minus = "", digits] = /^(?:\+|(-?))(\d.*|\.\d.*)$/.exec(text) ?? [];
  if (digits !== undefined && decimal.test(digits)) {
    const inJson = `0${digits}`.replace(/^0+(?=\d)/, "").replace(/\.(?=e|$)/i, "");
    return numericOf(minus + inJson);
  }
  const other = text === "" ? Number.NaN : Number(text); // 0x1F
  if (Number.isFinite(other)) return Number.isSafeInteger(other) ? other : BigInt(text);
  return undefined;
}

/** Whether a number is one to servers, which take those beyond the largest double for infinite. */
export const isFiniteNumber = (value: Numeric): boolean =>
  typeof value === "bigint" || Number.isFinite(Number(String(value)));
