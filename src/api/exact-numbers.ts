import { define } from "../lib/json.ts";

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
  /** The field of an integer that may have lost digits. */
  readonly inexact: string | undefined;
}

/** Parses JSON. Numbers that overflow become the largest one, because JSON has no Infinity. */
export function parseNumbers(text: string): ParsedNumbers {
  const value: unknown = JSON.parse(text);
  if (!largeNumber.test(text)) return { value, inexact: undefined };
  const root = { value };
  let inexact: string | undefined;
  // An explicit stack, because responses may be nested deeper than the call stack allows.
  const open: [holder: object, name: string][] = [[root, ""]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [holder, name] = next;
    for (const [key, each] of Object.entries(holder) as [string, unknown][]) {
      const field = Array.isArray(holder) ? name : key;
      if (typeof each === "object" && each !== null) open.push([each, field]);
      if (!isInexact(each)) continue;
      define(holder, key, finite(each));
      inexact = field;
    }
  }
  return { value: root.value, inexact };
}

/** Called with the field of a number that may have lost digits, or undefined. */
export type OnInexact = (field: string | undefined) => Promise<void>;

/** Prints a notice for the first field whose number may have lost digits. */
export function inexactNotice(notice: (text: string) => Promise<void>): OnInexact {
  let noticed = false;
  return async (field) => {
    if (field === undefined || noticed) return;
    noticed = true;
    await notice(`some numbers are too large to be exact: ${field}`);
  };
}
