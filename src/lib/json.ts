import { ExactNumber, isNumeric, numericOf } from "./exact-number.ts";
import type { Numeric } from "./exact-number.ts";

/** Whether a value is a JSON object (not an array, not null). */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof ExactNumber);

/** The value of an own property, for keys from outside such as `constructor`. */
export const own = <T>(
  object: Readonly<Record<string, T>> | undefined,
  key: string,
): T | undefined => (object && Object.hasOwn(object, key) ? object[key] : undefined);

/** The object without its null fields. */
export const withoutNulls = (object: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));

/** Numbers that JSON.parse may change: of sixteen or more digits, or with an exponent. */
const longNumbers = /(?:^|[:,[])\s*(-?\d(?:[\d.]{15}|[\d.]*e)[\d.e+-]*)/gi;

/** Parses JSON; numbers keep all their digits. Throws what JSON.parse throws. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  for (const [, digits = ""] of text.matchAll(longNumbers))
    if (typeof numericOf(digits) !== "number") return parseExactly(text);
  return value;
}

/**
 * Integers that JSON.parse and JSON.stringify keep, and that stand for long numbers: the first one for the
 * first of them. Any other number of this size is made a long one, so none is mistaken.
 */
const STAND_IN = 2 ** 53;
const standIn = (index: number): number => STAND_IN + 2 * index;
const standsFor = <T>(numbers: readonly T[], value: unknown): T | undefined =>
  numbers[(Number(value) - STAND_IN) / 2];

function parseExactly(text: string): unknown {
  const numbers: Numeric[] = [];
  const short = withNumbers(text, (digits) => {
    const number = numericOf(digits);
    if (typeof number === "number" && Math.abs(number) < STAND_IN) return digits;
    return String(standIn(numbers.push(number) - 1));
  });
  const root = { value: JSON.parse(short) as unknown };
  // A stack, because a text may be nested deeper than calls can be.
  const open: object[] = [root];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const [key, each] of Object.entries(next) as [string, unknown][]) {
      if (typeof each === "object" && each !== null) open.push(each);
      if (typeof each === "number" && each >= STAND_IN) define(next, key, standsFor(numbers, each));
    }
  }
  return root.value;
}

/** Replaces the numbers of a JSON text. */
function withNumbers(text: string, replace: (digits: string) => string): string {
  let [result, at] = ["", 0];
  while (at < text.length) {
    const quote = text.indexOf('"', at);
    const start = quote === -1 ? text.length : quote;
    const end = endOfString(text, start);
    result += text.slice(at, start).replace(/-?\d[\d.e+-]*/gi, replace) + text.slice(start, end);
    at = end;
  }
  return result;
}

/** Where the string that starts at a quote ends. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let before = at;
    while (text[before - 1] === "\\") before--;
    if ((at - before) % 2 === 0) return at + 1; // not escaped
  }
  return text.length;
}

/** Formats a value as JSON.stringify does; numbers of any length keep their digits. */
export function stringifyJson(value: unknown, indent?: string | number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const numbers: string[] = [];
  function replacer(this: Readonly<Record<string, unknown>>, key: string, each: unknown) {
    const number = this[key]; // `each` is what toJSON made of it
    const isLong = typeof number === "number" ? Math.abs(number) >= STAND_IN : isNumeric(number);
    if (!isLong || Math.abs(Number(each)) === Infinity) return each;
    return standIn(numbers.push(String(number)) - 1);
  }
  const short = JSON.stringify(value, replacer, indent);
  return withNumbers(short, (digits) => standsFor(numbers, digits) ?? digits);
}

/** Parses JSON; undefined if it is invalid or nested too deeply to be serialized again. */
export const tryParseJson = (text: string): unknown =>
  attempt(() => {
    const value = parseJson(text);
    stringifyJson(value);
    return value;
  });

/** The value of JSON text; any other text unchanged. */
export function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** The value at a path such as `a.b.0.c`; undefined if there is none. */
export const valueAt = (value: unknown, path: string): unknown => readerOf(path)(value);

/** Reads the value at a path of many values: the path is split once. */
export function readerOf(path: string): (value: unknown) => unknown {
  const steps = path === "" ? [] : path.split(".");
  return (value) => {
    let at = value;
    for (const step of steps) {
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return undefined;
      at = (at as Record<string, unknown>)[step];
    }
    return at;
  };
}

/**
 * Sets the value at a path such as `a.b.0.c`. Creates missing objects, and lists if the next step is
 * a number. Returns false if an index would leave a gap in a list.
 */
export function setAt(tree: Record<string, unknown>, path: string, value: unknown): boolean {
  const steps = path.split(".");
  let at: Record<string, unknown> = tree;
  for (const [index, step] of steps.entries()) {
    if (Array.isArray(at) && !(isIndex(step) && Number(step) <= at.length)) return false;
    if (index === steps.length - 1) {
      define(at, step, value);
      break;
    }
    const next = Object.hasOwn(at, step) ? at[step] : undefined;
    if (typeof next === "object" && next !== null) {
      at = next as Record<string, unknown>; // lists are indexed like objects
    } else {
      const made: Record<string, unknown> | unknown[] = isIndex(steps[index + 1] ?? "") ? [] : {};
      define(at, step, made);
      at = made as Record<string, unknown>;
    }
  }
  return true;
}

const isIndex = (step: string): boolean => /^(0|[1-9]\d*)$/.test(step);

/** Sets a field of any name: assigning to `__proto__` would set the prototype. */
export const define = (object: object, key: string, value: unknown) =>
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });

/** The result of the work; undefined if it throws. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** The JSON of a field of an object that a text holds: `{"inputs": {…}, "user": "abc"}`; otherwise the text. */
export function fieldText(text: string, name: string): string {
  const value = jsonOrText(text);
  const field = isObject(value) ? own(value, name) : undefined;
  return isObject(field) ? stringifyJson(field) : text;
}
