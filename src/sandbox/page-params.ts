import { invalid } from "./validation.ts";

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
    invalid(model, { field: name, reason, type, value: text });
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
