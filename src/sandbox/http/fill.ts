import { isObject } from "../../lib/json.ts";

/**
 * Fills a recorded shape, which has the fields in the server's order and its constants: `"$name"`
 * stands for the value of that name. Throws an Error if there is none; undefined omits the field.
 */
export function fill(shape: unknown, values: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(shape)) return shape.map((item) => fill(item, values));
  if (isObject(shape)) {
    return Object.fromEntries(
      Object.entries(shape).map(([name, field]) => [name, fill(field, values)]),
    );
  }
  if (typeof shape !== "string" || !shape.startsWith("$")) return shape;
  const name = shape.slice(1);
  if (!Object.hasOwn(values, name)) throw new Error(`the shape needs a value for ${shape}`);
  return values[name];
}
