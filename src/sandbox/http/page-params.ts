import type { Call } from "./handler.ts";
import { atLeast } from "./router.ts";
import { isBooleanWord, validationError } from "./pydantic.ts";

/**
 * Parses an integer of the query; throws HttpError with the server's validation text, which contains
 * the model (server §3).
 */
export function numberParam(
  query: URLSearchParams,
  model: string,
  name: string,
  defaultValue: number,
  [min, max]: readonly [number, number],
): number {
  const text = query.get(name);
  if (text === null) return defaultValue;
  const value = Number(text);
  const place = { field: name, value: text };
  if (text.trim() === "" || !Number.isInteger(value)) {
    throw validationError(model, { ...place, type: "int_parsing" });
  }
  if (value < min) {
    const reason = `Input should be greater than or equal to ${min}`;
    throw validationError(model, { ...place, type: "greater_than_equal", reason });
  }
  if (value > max) {
    const reason = `Input should be less than or equal to ${max}`;
    throw validationError(model, { ...place, type: "less_than_equal", reason });
  }
  return value;
}

/** Throws HttpError for a flag of the query that is not a boolean; since 1.15 (server §5). */
export function checkFlag({ query, version }: Call, name: string, model: string): void {
  const text = query.get(name);
  if (text === null || !atLeast(version, "1.15.0") || isBooleanWord(text)) return;
  throw validationError(model, { field: name, type: "bool_parsing", value: text });
}
