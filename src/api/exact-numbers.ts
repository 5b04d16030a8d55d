import { define } from "../lib/json.ts";

/** Digits of an integer that a double may not hold, or an exponent of that size. */
const suspicious = /\d{16}|\de\+?\d{3}/i;

const isInexact = (value: unknown): value is number =>
  typeof value === "number" && !Number.isSafeInteger(value) && !(value % 1);

const finite = (value: number): number =>
  Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));

/** JSON of the server as a value. */
export interface Parsed {
  readonly value: unknown;
  /** Field of an integer that may have lost digits. */
  readonly inexact: string | undefined;
}

/** Reads JSON. What is beyond all numbers is the largest one: JSON cannot say Infinity. */
export function parsedNumbers(text: string): Parsed {
  const value: unknown = JSON.parse(text);
  if (!suspicious.test(text)) return { value, inexact: undefined };
  const root = { value };
  let inexact: string | undefined;
  // A list of open places, not calls: answers may be nested deeper than those can be.
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

/** Hears of the field of a number that may have lost digits, where there is one. */
export type TellInexact = (field: string | undefined) => Promise<void>;

/** Says that numbers may have lost digits, the first time that it is told a field. */
export function inexactNotice(notice: (text: string) => Promise<void>): TellInexact {
  let said = false;
  return async (field) => {
    if (field === undefined || said) return;
    said = true;
    await notice(`some numbers are too large to be exact here: ${field}`);
  };
}
