import { define, isObject } from "../lib/json.ts";

/** How to map a JSON value; `State` is what is known about a place in it. */
interface Mapping<State> {
  readonly start: State;
  readonly text: (state: State, text: string) => string;
  /** By default numbers stay. */
  readonly number?: (state: State, number: number) => string | number;
  /** By default names stay, too. */
  readonly name?: (name: string) => string;
  /** The state of a field; the items of a list have the state of the list. */
  readonly inside: (state: State, name: string, value: unknown) => State;
}

/** Maps all texts and numbers of a JSON value; what does not change stays the same object. */
export function mapTexts<State>(value: unknown, mapping: Mapping<State>): unknown {
  const { start, text, number, name: nameOf = String, inside } = mapping;
  if (typeof value === "string") return text(start, value);
  if (typeof value === "number") return number ? number(start, value) : value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, mapping));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  let changed = false;
  for (const [name, each] of Object.entries(value)) {
    const mapped = mapTexts(each, { ...mapping, start: inside(start, name, each) });
    changed ||= mapped !== each || nameOf(name) !== name;
    define(result, nameOf(name), mapped);
  }
  return changed ? result : value;
}
