import { define } from "../lib/json.ts";
import { firstNames } from "../lib/plural.ts";

/**
 * An integer with more digits than a double holds, or an exponent of that size. Digits are
 * counted only from the first one on: from each of them took 1.7 times as long.
 */
const largeNumber = /(?<!\d)\d{16}|\de\+?\d{3}/i;

const isInexact = (value: unknown): value is number =>
  typeof value === "number" && !Number.isSafeInteger(value) && !(value % 1);

const finite = (value: number): number =>
  Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));

/** A parsed JSON text. */
export interface ParsedNumbers {
  readonly value: unknown;
  /** The fields of integers that may have lost digits. */
  readonly inexact: ReadonlySet<string>;
}

/** Parses JSON. Numbers that overflow become the largest one, because JSON has no Infinity. */
export function parseNumbers(text: string): ParsedNumbers {
  const value: unknown = JSON.parse(text);
  const inexact = new Set<string>();
  if (!largeNumber.test(text)) return { value, inexact };
  const root = { value };
  // An explicit stack, because responses may be nested deeper than the call stack allows.
  const open: [holder: object, name: string][] = [[root, ""]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [holder, name] = next;
    for (const [key, each] of Object.entries(holder) as [string, unknown][]) {
      const field = Array.isArray(holder) ? name : key;
      if (typeof each === "object" && each !== null) open.push([each, field]);
      if (!isInexact(each)) continue;
      define(holder, key, finite(each));
      inexact.add(field);
    }
  }
  return { value: root.value, inexact };
}

/** Called with the fields of numbers that may have lost digits. */
export type OnInexact = (fields: ReadonlySet<string>) => Promise<void>;

/** Prints a notice for fields whose numbers may have lost digits, once for each. */
export function inexactNotice(notice: (text: string) => Promise<void>): OnInexact {
  const noticed = new Set<string>();
  return async (fields) => {
    const names = [...fields].filter((field) => !noticed.has(field));
    if (names.length === 0) return;
    for (const name of names) noticed.add(name);
    await notice(`some numbers are too large to be exact: ${firstNames(names)}`);
  };
}
