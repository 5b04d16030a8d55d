import { isObject } from "../../lib/json.ts";
import { fill } from "../http/fill.ts";
import { account, toSeconds } from "../storage/ids.ts";
import shapes from "./shapes.json" with { type: "json" };

/**
 * A record in a response: the fields of its row, with times (`…_at`) in Unix seconds, and `more`, in
 * a recorded shape. Shapes name only the fields that they use.
 */
export function toResponse(
  shape: keyof typeof shapes,
  row: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const fields = Object.entries(row).map(([name, value]) => [
    name,
    name.endsWith("_at") && typeof value === "number" ? toSeconds(value) : value,
  ]);
  const values = {
    account_id: account.id,
    account_name: account.name,
    disabled_by: row["disabled_at"] === null ? null : account.id,
    ...Object.fromEntries(fields),
    ...more,
  };
  return fill(shapes[shape], values) as Record<string, unknown>; // shapes are objects
}

/** The fields of a shape, with its constants for those that are null or missing in the value. */
export const withDefaults = (shape: keyof typeof shapes, value: unknown): object =>
  merge(shapes[shape], value) as object; // shapes are objects

function merge(defaults: unknown, value: unknown): unknown {
  if (value === undefined || value === null) return defaults;
  if (!isObject(defaults) || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(defaults).map(([name, each]) => [name, merge(each, value[name])]),
  );
}
