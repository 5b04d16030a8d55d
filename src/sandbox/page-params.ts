import { Refused } from "./handler.ts";

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
    new Refused(
      400,
      "invalid_param",
      `1 validation error for ${model}\n${name}\n  ${reason} [type=${type}, input_value='${text}', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.12/v/${type}`,
    );
  if (text.trim() === "" || !Number.isInteger(value)) {
    throw refuse(
      "Input should be a valid integer, unable to parse string as an integer",
      "int_parsing",
    );
  }
  if (value < least) {
    throw refuse(`Input should be greater than or equal to ${least}`, "greater_than_equal");
  }
  if (value > most) {
    throw refuse(`Input should be less than or equal to ${most}`, "less_than_equal");
  }
  return value;
}
