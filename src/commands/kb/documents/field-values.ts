import { isFiniteNumber, isNumeric, typedNumber } from "../../../lib/exact-number.ts";
import type { Numeric } from "../../../lib/exact-number.ts";
import { secondsMeant, spanOf } from "../../../lib/times.ts";
import { CliError, usage } from "../../../errors.ts";
import { isObject, stringifyJson } from "../../../lib/json.ts";

export type FieldType = "string" | "number" | "time";

/** Types of metadata fields, by name. */
export type FieldTypes = ReadonlyMap<string, FieldType>;

/** The value of a metadata field; times are Unix seconds. */
export type FieldValue = string | Numeric;

/** Values of metadata fields, by name. */
export type FieldValues = Readonly<Record<string, FieldValue>>;

/**
 * Converts a value to what a field of this type stores: numbers, and times as Unix seconds, as the
 * platform itself does. Undefined for a value that the field cannot hold: one value of another type
 * makes every search fail that compares the field (server §11).
 *
 *     ("number", "7") → 7    ("time", "2026-01-01") → 1767225600    ("number", "x") → undefined
 */
export function fieldValue(type: FieldType, input: FieldValue): FieldValue | undefined {
  if (type === "string") return String(input);
  const value = typeof input === "string" ? typedNumber(input) : input;
  if (value !== undefined && isFiniteNumber(value)) return value;
  return type === "time" ? spanOf(String(input).trim())?.first : undefined;
}

/** The same for a value on a command line or in a file; milliseconds are invalid there, but servers may hold some. */
export const writtenValue: typeof fieldValue = (type, input) =>
  type === "time" && secondsMeant(input) !== undefined ? undefined : fieldValue(type, input);

/** The error for a value that its field cannot hold; `place` is where the user wrote it. */
export const invalidFieldValue = (
  place: string,
  { name, type }: { readonly name: string; readonly type: FieldType },
  value: FieldValue,
): CliError => {
  const meant = secondsMeant(value);
  const line = `${place.startsWith("--") ? `${place} ` : ""}${name}=${meant}`;
  const example = "use a time such as 2026-05-01T10:00:00Z, or Unix seconds";
  const hint = meant === undefined ? example : `times are in seconds: ${line}`;
  return usage(
    `${place}: ${name}=${stringifyJson(value)} is not a valid ${type}`,
    type === "time" ? hint : undefined,
  );
};

/** Types of all fields: known ones keep theirs, a new one holds numbers if all its values are. */
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

/** Converts values to what their fields store. Throws usage with place, field and value. */
export const convertValues = (
  values: FieldValues,
  types: FieldTypes,
  place: string,
  convert = fieldValue,
): FieldValues =>
  Object.fromEntries(
    Object.entries(values).map(([name, input]) => {
      const type = types.get(name) ?? "string";
      const value = convert(type, input);
      if (value === undefined) throw invalidFieldValue(place, { name, type }, input);
      return [name, value];
    }),
  );

/** One metadata value in the response for a document. */
export interface ResponseValue {
  readonly id: string;
  readonly name: string;
  readonly value: FieldValue | null;
}

/**
 * The metadata values in the response for a document, without built-in fields. Lists of some servers
 * have null for a document without values (server §9.5); anything but a list counts as empty.
 */
export function responseValues(doc_metadata: unknown): readonly ResponseValue[] {
  if (!Array.isArray(doc_metadata)) return [];
  return doc_metadata.flatMap((each: unknown): ResponseValue[] => {
    if (!isObject(each) || each["id"] === "built-in") return [];
    const { id, name, value } = each;
    if (typeof id !== "string" || typeof name !== "string" || name === "") return [];
    if (typeof value === "boolean") return [{ id, name, value: Number(value) }];
    const isPlain = typeof value === "string" || isNumeric(value);
    return [{ id, name, value: isPlain ? value : null }];
  });
}

/**
 * The values of a document by name, as their fields store them: lists of some servers return numbers as
 * text (server §9.5). A value that does not fit its field stays as it is, as do all without `types`.
 */
export const storedValues = (doc_metadata: unknown, types?: FieldTypes): FieldValues =>
  Object.fromEntries(
    responseValues(doc_metadata).flatMap(({ name, value }) => {
      if (value === null) return [];
      return [[name, (types && fieldValue(types.get(name) ?? "string", value)) ?? value]];
    }),
  );

/** May a text in the list be a number? For a field of numbers or times, only the detail shows it. */
export const hasAmbiguousValue = (doc_metadata: unknown, types: FieldTypes): boolean =>
  responseValues(doc_metadata).some(
    ({ name, value }) => typeof value === "string" && (types.get(name) ?? "string") !== "string",
  );
