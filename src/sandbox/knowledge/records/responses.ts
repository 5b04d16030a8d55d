import { isObject } from "../../../lib/json.ts";
import { errorsOf } from "../../protocol/errors.ts";
import { fill } from "../../protocol/fill.ts";
import { account } from "../../protocol/ids.ts";
import texts from "./errors.json" with { type: "json" };
import shapes from "./shapes.json" with { type: "json" };

/** Returns the error with that name. */
export const knowledgeError = errorsOf(texts);

/** A record in a response: its fields and `more` in a recorded shape, which names those it uses. */
export const toResponse = (
  shape: keyof typeof shapes,
  row: object & { readonly disabled_at?: number | null },
  more: Readonly<Record<string, unknown>> = {},
) =>
  fill(shapes[shape], {
    account_id: account.id,
    account_name: account.name,
    disabled_by: row.disabled_at === null ? null : account.id,
    ...row,
    ...more,
  });

/** A chunk in a response; a search shows fewer of its fields. */
export const segmentResponse = (
  row: { readonly tokens: number | null; readonly indexing_at: number },
  more: Readonly<Record<string, unknown>>,
) =>
  toResponse("segment", row, {
    child_chunks: [],
    tokens: row.tokens ?? 0,
    indexing_at: row.indexing_at || null, // chunks of pipelines have none
    ...more,
  });

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
