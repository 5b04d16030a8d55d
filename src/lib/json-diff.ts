import { isObject } from "./json.ts";

/** A place in which two values differ; undefined where one of them has nothing there. */
export interface JsonDifference {
  /** `list.0.name`; empty for the values themselves. */
  readonly path: string;
  readonly a: unknown;
  readonly b: unknown;
}

/** Deeper than this, values are compared as text. */
const deepest = 100;

/** Places in which two JSON values differ, in the order of the first. */
export function* diffJson(
  a: unknown,
  b: unknown,
  path: readonly string[] = [],
): Generator<JsonDifference> {
  const [left, right] = [fieldsOf(a), fieldsOf(b)];
  if (left && right && Array.isArray(a) === Array.isArray(b) && path.length < deepest) {
    for (const key of new Set([...left.keys(), ...right.keys()]))
      yield* diffJson(left.get(key), right.get(key), [...path, key]);
  } else if (JSON.stringify(a) !== JSON.stringify(b)) {
    yield { path: path.join("."), a, b };
  }
}

const fieldsOf = (value: unknown): ReadonlyMap<string, unknown> | undefined =>
  Array.isArray(value) || isObject(value) ? new Map(Object.entries(value)) : undefined;

/** Characters in front of the first difference that show where it is. */
const before = 20;

/** Both texts from shortly before the first place in which they differ. */
export function fromDifference(a: string, b: string): readonly [a: string, b: string] {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at++;
  const start = at - before;
  if (start <= 1) return [a, b];
  const tail = (text: string) => `…${text.slice(start)}`;
  return [tail(a), tail(b)];
}
