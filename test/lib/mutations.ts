/** What can be wrong with one field of a JSON answer. */

/** The way to a value inside a JSON value. */
export type Path = readonly (string | number)[];

/** One field that is damaged in one way. */
export interface Mutation {
  readonly path: Path;
  readonly how: keyof typeof damages;
}

const removed = Symbol("removed");
/** A number that no reader of JSON can hold. */
const endless = "a number without end";
const deep = (levels: number): unknown => (levels === 0 ? [] : [{ deeper: deep(levels - 1) }]);

/** What stands where something else should. */
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

const ways = Object.keys(damages) as (keyof typeof damages)[]; // the keys of a constant

/** The ways to all values inside: of lists to the first, middle and last. The value itself has the way []. */
export function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const steps = Array.isArray(value)
    ? [...new Set([0, value.length >> 1, value.length - 1])].filter((at) => at in value)
    : Object.keys(value);
  return [path, ...steps.flatMap((step) => pathsIn(at(value, step), [...path, step]))];
}

/** Every damage of every field. */
export const mutationsOf = (value: unknown): Mutation[] =>
  pathsIn(value).flatMap((path) =>
    ways.filter((how) => damages[how] !== removed || path.length > 0).map((how) => ({ path, how })),
  );

/** JSON text of the value with one field damaged. */
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
