import type { Call } from "./handler.ts";
import { atLeast } from "./router.ts";
import { validationError } from "./validation.ts";

/**
 * An integer of the query within its bounds; throws Refused with the server's validation text,
 * which names its model (server §3).
 */
export function numberParam(
  query: URLSearchParams,
  model: string,
  name: string,
  otherwise: number,
  [least, most]: readonly [number, number],
): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = Number(text);
  const refuse = (reason: string, type: string) =>
    validationError(model, { field: name, reason, type, value: text });
  if (text.trim() === "" || !Number.isInteger(value)) {
    const reason = "Input should be a valid integer, unable to parse string as an integer";
    throw refuse(reason, "int_parsing");
  }
  if (value < least) {
    throw refuse(`Input should be greater than or equal to ${least}`, "greater_than_equal");
  }
  if (value > most) {
    throw refuse(`Input should be less than or equal to ${most}`, "less_than_equal");
  }
  return value;
}

const flagWords = new Set("true false 1 0 yes no on off t f y n".split(" "));

/** Throws Refused for a switch of the query that is neither on nor off: since 1.15 (server §5). */
export function checkFlag({ query, version }: Call, name: string, model: string): void {
  const text = query.get(name);
  if (text === null || !atLeast(version, "1.15.0") || flagWords.has(text.toLowerCase())) return;
  const reason = "Input should be a valid boolean, unable to interpret input";
  throw validationError(model, { field: name, reason, type: "bool_parsing", value: text });
}
