import { createHash } from "node:crypto";
import { isObject, valueAt } from "../../lib/json.ts";
import { countCharacters } from "../../lib/text.ts";
import { appId, tenantId, toSecondsOrNull, workflowId } from "./ids.ts";
import { atLeast } from "../../lib/version.ts";
import events from "./run-events.json" with { type: "json" };

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
 * seconds"` for a converted one. `{"$since": "1.15.0", "value": …, "before": …}` is another shape from
 * that server on; it needs the value `version`. Throws an Error for a value that is not given;
 * undefined omits the field.
 */
export function fill(shape: object, values: Values): Record<string, unknown> {
  const known = compiled.get(shape) ?? compile(shape);
  compiled.set(shape, known);
  return known(values) as Record<string, unknown>; // as in the file
}

type Fill = (values: Values) => unknown;

/** Shapes are read once: reading them again for each row made a list of 20 a tenth slower. */
const compiled = new WeakMap<object, Fill>();

function compile(shape: unknown): Fill {
  if (Array.isArray(shape)) {
    const items = shape.map(compile);
    return (values) => items.map((item) => item(values));
  }
  if (isObject(shape)) return compileObject(shape);
  if (typeof shape !== "string" || !shape.startsWith("$")) return () => shape;
  const [path = "", conversion] = shape.slice(1).split(" as ");
  const convert = conversion === undefined ? undefined : conversions[conversion];
  return (values) => {
    const value = values[path] ?? valueAt(values, path);
    if (value === undefined && !Object.hasOwn(values, path)) {
      throw new Error(`the shape needs a value for ${shape}`);
    }
    return convert === undefined ? value : convert(value as never);
  };
}

function compileObject(shape: Readonly<Record<string, unknown>>): Fill {
  const { $since: since, value, before } = shape;
  if (since !== undefined) {
    const [now, then] = [compile(value), compile(before)];
    return (values) => (atLeast(`${values["version"]}`, `${since}`) ? now : then)(values);
  }
  const fields = Object.entries(shape).map(([name, field]) => [name, compile(field)] as const);
  return (values) => {
    const filled: Record<string, unknown> = {};
    for (const [name, field] of fields) filled[name] = field(values);
    return filled;
  };
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
