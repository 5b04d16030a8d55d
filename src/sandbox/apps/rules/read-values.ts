/** Readers of the values in a file of rules. Each throws RuleMistake for a value of another kind. */
import { didYouMean } from "../../../lib/did-you-mean.ts";
import { parseDuration } from "../../../lib/duration.ts";
import { isObject, own } from "../../../lib/json.ts";

/** The keys and indexes that lead to a value. */
export type RulePath = readonly (string | number)[];

/** A mistake in a file of rules, and where it is. */
export class RuleMistake extends Error {
  readonly path: RulePath;

  constructor(path: RulePath, message: string) {
    super(message);
    this.path = path;
  }
}

export type ReadValue<T> = (value: unknown, path: RulePath) => T;

/** The readers of the keys of a mapping. */
export type ReadKeys<T> = { readonly [Key in keyof T]-?: ReadValue<T[Key]> };

/** A mapping with these keys, each of them optional. */
export const mapping =
  <T extends object>(readers: ReadKeys<T>): ReadValue<Partial<T>> =>
  (value, path) => {
    if (!isObject(value)) throw new RuleMistake(path, "expected a mapping of keys");
    const known = readers as Readonly<Record<string, ReadValue<unknown>>>;
    const entries = Object.entries(value).map(([key, each]) => {
      const read = own(known, key);
      if (!read) throw new RuleMistake([...path, key], unknownKey(key, Object.keys(known)));
      return [key, read(each, [...path, key])];
    });
    return Object.fromEntries(entries) as Partial<T>; // each by the reader of its key
  };

function unknownKey(key: string, names: readonly string[]): string {
  const near = didYouMean(key, names);
  const help = near === undefined ? `the keys are ${names.join(", ")}` : `did you mean ${near}?`;
  return `unknown key ${JSON.stringify(key)} (${help})`;
}

/** A list with at least one item. */
export const listOf =
  <T>(item: ReadValue<T>): ReadValue<readonly T[]> =>
  (value, path) => {
    if (!Array.isArray(value) || value.length === 0)
      throw new RuleMistake(path, "expected a list that is not empty");
    return value.map((each, index) => item(each, [...path, index]));
  };

export const plainText: ReadValue<string> = (value, path) => {
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  throw new RuleMistake(path, "expected a text");
};

/** A number that is valid; `what` names such a number. */
export const numberThat =
  (what: string, isValid: (value: number) => boolean): ReadValue<number> =>
  (value, path) => {
    if (typeof value === "number" && Number.isFinite(value) && isValid(value)) return value;
    throw new RuleMistake(path, `expected ${what}`);
  };

export const oneOfWords =
  <T extends string>(words: readonly T[]): ReadValue<T> =>
  (value, path) => {
    const found = words.find((word) => word === value);
    if (found !== undefined) return found;
    throw new RuleMistake(path, `expected one of ${words.join(", ")}`);
  };

/** A duration in ms. */
export const durationText: ReadValue<number> = (value, path) => {
  const ms = typeof value === "string" ? parseDuration(value) : undefined;
  if (ms !== undefined) return ms;
  throw new RuleMistake(path, "expected a duration such as 300ms or 2s");
};
