import { createHash } from "node:crypto";
import { isObject, valueAt } from "../../lib/json.ts";
import { countCharacters } from "../../lib/text.ts";
import { appId, tenantId, toSeconds, workflowId } from "./ids.ts";
import { atLeast } from "../../lib/version.ts";
import events from "./run-events.json" with { type: "json" };

type Values = Readonly<Record<string, unknown>>;

/** Conversions of values; times are ms since 1970. */
const conversions: Readonly<Record<string, (value: never) => unknown>> = {
  seconds: (ms: number | null) => (ms === null ? null : toSeconds(ms)),
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
 * seconds"` for a converted one. `{"$since": "1.15.0", "value": …, "before": …}` is another shape from
 * that server on; it needs the value `version`. Throws an Error for a value that is not given;
 * undefined omits the field.
 */
export const fill = (shape: object, values: Values) =>
  filled(shape, values) as Record<string, unknown>; // as in the file

function filled(shape: unknown, values: Values): unknown {
  if (Array.isArray(shape)) return shape.map((item) => filled(item, values));
  if (isObject(shape)) {
    const { $since: since, value, before } = shape;
    if (since !== undefined)
      return filled(atLeast(`${values["version"]}`, `${since}`) ? value : before, values);
    const fields = Object.entries(shape).map(([name, field]) => [name, filled(field, values)]);
    return Object.fromEntries(fields);
  }
  if (typeof shape !== "string" || !shape.startsWith("$")) return shape;
  const [path = "", conversion = ""] = shape.slice(1).split(" as ");
  const value = values[path] ?? valueAt(values, path);
  if (value === undefined && !Object.hasOwn(values, path)) {
    throw new Error(`the shape needs a value for ${shape}`);
  }
  return conversions[conversion]?.(value as never) ?? value;
}

/** An event without its envelope: `data` for runs, other fields for messages. */
export interface RunEvent {
  readonly event: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Returns an event of a run. */
export function runEvent(
  event: keyof (typeof events.data & typeof events.fields),
  values: Values,
): RunEvent {
  const kinds: Readonly<Record<keyof typeof events, Partial<Record<string, object>>>> = events;
  const data = kinds.data[event];
  if (data) return { event, data: fill(data, values) };
  return { event, fields: fill(kinds.fields[event] ?? {}, values) };
}
