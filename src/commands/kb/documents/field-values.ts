import { CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";

/** Types of metadata fields. */
export type FieldType = "string" | "number" | "time";

/** Types of fields by their names. */
export type FieldTypes = ReadonlyMap<string, FieldType>;

/** What stands in a metadata field of a document; times are Unix seconds. */
export type FieldValue = string | number;

/** Values by the names of their fields. */
export type FieldValues = Readonly<Record<string, FieldValue>>;

/** Text that may be a time: what only looks a little like one would be guessed at. */
const dated = /^\s*\d{4}-\d{2}/;

/**
 * A value as a field of a type stores it: numbers, and times as Unix seconds, which is what the
 * platform itself stores. Undefined for what such a field cannot hold. One value of another type
 * makes every search fail that compares the field (server §11).
 */
export function fieldValue(type: FieldType, given: FieldValue): FieldValue | undefined {
  if (type === "string") return String(given);
  const value = typeof given === "string" && given.trim() === "" ? Number.NaN : Number(given);
  if (Number.isFinite(value)) return value;
  const time = type === "time" && dated.test(String(given)) ? Date.parse(String(given)) : NaN;
  return Number.isNaN(time) ? undefined : Math.floor(time / 1000);
}

/** The error for a value that its field cannot hold; `place` is where it was written. */
export const unfitValue = (
  place: string,
  { name, type }: { readonly name: string; readonly type: FieldType },
  value: FieldValue,
): CliError =>
  new CliError("usage", `${place}: ${name}=${JSON.stringify(value)} is not a valid ${type}`, {
    sideEffect: "none",
    hint: type === "time" ? "times look like 2026-05-01T10:00:00Z or epoch seconds" : undefined,
  });

/** The types that fields take: those that are there, and for others what all values have in common. */
export function typesFor(known: FieldTypes, all: Iterable<FieldValues>): FieldTypes {
  const types = new Map<string, FieldType>();
  for (const values of all) {
    for (const [name, value] of Object.entries(values)) {
      if (typeof value === "string") types.set(name, "string");
      else if (!types.has(name)) types.set(name, "number");
    }
  }
  return new Map([...types, ...known]);
}

/** Values as their fields store them. Throws usage that names place, field and value. */
export const fittingValues = (values: FieldValues, types: FieldTypes, place: string): FieldValues =>
  Object.fromEntries(
    Object.entries(values).map(([name, given]) => {
      const type = types.get(name) ?? "string";
      const value = fieldValue(type, given);
      if (value === undefined) throw unfitValue(place, { name, type }, given);
      return [name, value];
    }),
  );

/** One value as documents show it. */
export interface ShownValue {
  readonly id: string;
  readonly name: string;
  readonly value: FieldValue | null;
}

/**
 * The values that a document shows, built-in ones aside. Lists of some servers have null for a
 * document without any (server §9.5); whatever is no list of values is none.
 */
export function shownValues(doc_metadata: unknown): readonly ShownValue[] {
  if (!Array.isArray(doc_metadata)) return [];
  return doc_metadata.flatMap((each: unknown): ShownValue[] => {
    if (!isObject(each) || each["id"] === "built-in") return [];
    const { id, name, value } = each;
    if (typeof id !== "string" || typeof name !== "string") return [];
    if (typeof value === "boolean") return [{ id, name, value: Number(value) }];
    const plain = typeof value === "string" || typeof value === "number";
    return [{ id, name, value: plain ? value : null }];
  });
}

/**
 * The values of a document by name, as their fields store them: lists of some servers show numbers
 * as text (server §9.5). What does not fit its field stays as it is shown.
 */
export const storedValues = (doc_metadata: unknown, types: FieldTypes): FieldValues =>
  Object.fromEntries(
    shownValues(doc_metadata).flatMap(({ name, value }) =>
      value === null ? [] : [[name, fieldValue(types.get(name) ?? "string", value) ?? value]],
    ),
  );

/** The values of a document by name, as they are shown. */
export const asShown = (doc_metadata: unknown): FieldValues =>
  Object.fromEntries(
    shownValues(doc_metadata).flatMap(({ name, value }) => (value === null ? [] : [[name, value]])),
  );

/** Does a list leave open whether a value of the document is a number, or a text where one belongs? */
export const isOpen = (doc_metadata: unknown, types: FieldTypes): boolean =>
  shownValues(doc_metadata).some(
    ({ name, value }) => typeof value === "string" && (types.get(name) ?? "string") !== "string",
  );
