import { createHash } from "node:crypto";
import { isObject, valueAt } from "../../lib/json.ts";
import { countCharacters } from "../../lib/utf8.ts";
import { appId, tenantId, toSecondsOrNull, workflowId } from "../storage/ids.ts";
import { atLeast } from "./router.ts";

type Values = Readonly<Record<string, unknown>>;

/** Conversions of values; times are ms since 1970. */
const conversions: Readonly<Record<string, (value: never) => unknown>> = {
  seconds: toSecondsOrNull,
  "exact seconds": (ms: number) => ms / 1000,
  /** `2026-11-21T00:10:38`: UTC without a zone (server §1). */
  time: (ms: number) => new Date(ms).toISOString().slice(0, 19),
  /** `2026-11-21T00:10:38.123000`. */
  "exact time": (ms: number) => new Date(ms).toISOString().replace("Z", "000"),
  "app ID": appId,
  "workflow ID": workflowId,
  "tenant ID": () => tenantId,
  "SHA-256": (text: string) => createHash("sha256").update(text).digest("hex"),
  characters: countCharacters,
};

/**
 * Fills a recorded shape, which has the fields in the server's order and its constants: `"$name"`
 * stands for the value of that name, `"$run.id"` for one inside a value, `"$run.created_at as
 * seconds"` for a converted one. `{"$since": "1.15.0", "value": …}` is a constant that exists from
 * that server on; it needs the value `version`. Throws an Error for a value that is not given;
 * undefined omits the field.
 */
export function fill(shape: unknown, values: Values): unknown {
  if (Array.isArray(shape)) return shape.map((item) => fill(item, values));
  if (isObject(shape)) {
    const { $since: since, value } = shape;
    if (since !== undefined) return atLeast(`${values["version"]}`, `${since}`) ? value : undefined;
    return Object.fromEntries(
      Object.entries(shape).map(([name, field]) => [name, fill(field, values)]),
    );
  }
  if (typeof shape !== "string" || !shape.startsWith("$")) return shape;
  const [path = "", conversion] = shape.slice(1).split(" as ");
  const value = valueAt(values, path);
  if (value === undefined && !Object.hasOwn(values, path)) {
    throw new Error(`the shape needs a value for ${shape}`);
  }
  return conversion === undefined ? value : conversions[conversion]?.(value as never);
}
