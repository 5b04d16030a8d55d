import { isObject, stringifyJson } from "../json.ts";

/** A difference between two values; undefined on the side that has no value. */
export interface JsonDifference {
  /** `list.0.name`; empty for the values themselves. */
  readonly path: string;
  readonly a: unknown;
  readonly b: unknown;
}

/** Deeper values are compared as text. */
const MAX_DEPTH = 100;

/** The differences between two JSON values, in the order of the first. */
export function* diffJson(
  a: unknown,
  b: unknown,
  path: readonly string[] = [],
): Generator<JsonDifference> {
  const [left, right] = [fieldsOf(a), fieldsOf(b)];
  if (left && right && Array.isArray(a) === Array.isArray(b) && path.length < MAX_DEPTH) {
    for (const key of new Set([...left.keys(), ...right.keys()]))
      yield* diffJson(left.get(key), right.get(key), [...path, key]);
  } else if (stringifyJson(a) !== stringifyJson(b)) {
    yield { path: path.join("."), a, b };
  }
}

const fieldsOf = (value: unknown): ReadonlyMap<string, unknown> | undefined =>
  Array.isArray(value) || isObject(value) ? new Map(Object.entries(value)) : undefined;

/** Characters of context before the first difference. */
const CONTEXT = 20;

/** Both texts, starting shortly before their first difference. */
export function fromDifference(a: string, b: string): readonly [a: string, b: string] {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  const start = at - CONTEXT;
  if (start <= 1) return [a, b];
  const tail = (text: string) => `…${text.slice(start)}`;
  return [tail(a), tail(b)];
}
