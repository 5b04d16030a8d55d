import type { Call } from "./handler.ts";
import { atLeast } from "./router.ts";
import { validationError } from "./validation.ts";

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
  const error = (reason: string, type: string) =>
    validationError(model, { field: name, reason, type, value: text });
  if (text.trim() === "" || !Number.isInteger(value)) {
    const reason = "Input should be a valid integer, unable to parse string as an integer";
    throw error(reason, "int_parsing");
  }
  if (value < min) {
    throw error(`Input should be greater than or equal to ${min}`, "greater_than_equal");
  }
  if (value > max) {
    throw error(`Input should be less than or equal to ${max}`, "less_than_equal");
  }
  return value;
}

const FLAG_WORDS = new Set("true false 1 0 yes no on off t f y n".split(" "));

/** Throws HttpError for a flag of the query that is not a boolean; since 1.15 (server §5). */
export function checkFlag({ query, version }: Call, name: string, model: string): void {
  const text = query.get(name);
  if (text === null || !atLeast(version, "1.15.0") || FLAG_WORDS.has(text.toLowerCase())) return;
  const reason = "Input should be a valid boolean, unable to interpret input";
  throw validationError(model, { field: name, reason, type: "bool_parsing", value: text });
}
