/** Mutations of one field of a JSON response. */

/** The path to a value inside a JSON value. */
export type Path = readonly (string | number)[];

/** One mutation of one field. */
export interface Mutation {
  readonly path: Path;
  readonly how: keyof typeof damages;
}

const removed = Symbol("removed");
/** Replaced by a number beyond the range of a double. */
const endless = "a number without end";
const deep = (levels: number): unknown => (levels === 0 ? [] : [{ deeper: deep(levels - 1) }]);

/** Replacement values by description. */
const damages = {
  removed,
  null: null,
  "a number": 7,
  "a negative number": -1,
  "a huge number": 1e300,
  "a number that is too large": endless,
  "a text": "x",
  "an empty text": "",
  true: true,
  false: false,
  "an empty list": [],
  "a list": ["x", null],
  "an empty object": {},
  "an object": { x: 1 },
  "something deep": deep(50),
} as const;

const kinds = Object.keys(damages) as (keyof typeof damages)[]; // the keys of a constant

/** The paths to all inner values, of lists to the first, middle and last; the value itself has the path []. */
export function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const steps = Array.isArray(value)
    ? [...new Set([0, value.length >> 1, value.length - 1])].filter((at) => at in value)
    : Object.keys(value);
  return [path, ...steps.flatMap((step) => pathsIn(at(value, step), [...path, step]))];
}

/** Every mutation of every field. */
export const mutationsOf = (value: unknown): Mutation[] =>
  pathsIn(value).flatMap((path) =>
    kinds
      .filter((how) => damages[how] !== removed || path.length > 0)
      .map((how) => ({ path, how })),
  );

/** The JSON of the value with one field changed. */
export function damaged(value: unknown, { path, how }: Mutation): string {
  const [step, ...rest] = path;
  const put = (within: unknown, [first, ...further]: Path): unknown => {
    if (first === undefined) return damages[how];
    const copy = (Array.isArray(within) ? [...within] : { ...(within as object) }) as Record<
      string,
      unknown
    >; // a list is indexed like an object
    const inner = put(copy[first], further);
    if (inner !== removed) copy[first] = inner;
    else if (Array.isArray(copy)) copy.splice(Number(first), 1);
    else delete copy[first];
    return copy;
  };
  const whole = step === undefined ? damages[how] : put(value, [step, ...rest]);
  return (JSON.stringify(whole) ?? "").replaceAll(JSON.stringify(endless), "1e400");
}

const at = (value: object, step: string | number): unknown =>
  (value as Record<string | number, unknown>)[step];
