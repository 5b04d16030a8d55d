import { counted } from "../lib/text.ts";
import { serverEvent } from "../lib/server-event.ts";
import type { ServerEvent } from "../lib/server-event.ts";
import { isObject } from "../lib/json.ts";
import type { Secrets } from "./keys.ts";
import { mapTexts, mayHoldSecret, redactSecrets } from "./text.ts";

/** The event with the keys in use masked, in its text as well as in its data. */
export function redactKeys(event: ServerEvent, { masked }: Secrets): ServerEvent {
  if (masked(event.raw) === event.raw) return event;
  const data = mapTexts(event.data, {
    start: undefined,
    text: (_, text) => masked(text),
    name: masked,
    inside: () => undefined,
  });
  return { ...event, ...serverEvent(isObject(data) ? data : {}) };
}

/**
 * The JSON text of an event for a recording. Credentials are always masked; with `redact`, all text
 * of users and models is replaced by its length, in the same structure.
 */
export function recordingText({ raw, data }: ServerEvent, redact: boolean): string {
  // The text of the server is kept unless something in it has to be masked.
  const masked = mayHoldSecret.test(raw) ? redactSecrets(data) : data;
  if (redact) return JSON.stringify(redactValues(masked, []));
  return masked === data ? raw : JSON.stringify(masked);
}

/** Objects of an event, by path, that the server itself fills; all others hold text of users or models. */
const serverObjects: ReadonlySet<string> = new Set([
  "",
  "data",
  "data.actions",
  "data.created_by",
  "data.execution_metadata",
  "data.execution_metadata.iteration_duration_map",
  "data.execution_metadata.loop_duration_map",
  "data.metadata",
  "data.reasons",
  "data.reasons.actions",
  "metadata",
  "metadata.usage",
]);

/** Fields of these objects whose text is kept: names and statuses. */
const serverTexts: ReadonlySet<string> = new Set([
  "TYPE",
  "action_id",
  "belongs_to",
  "button_style",
  "code",
  "conversation_id",
  "currency",
  "event",
  "form_id",
  "from_variable_selector",
  "id",
  "iteration_id",
  "loop_id",
  "message_id",
  "missing",
  "node_execution_id",
  "node_id",
  "node_title",
  "node_type",
  "output",
  "parent_id",
  "paused_nodes",
  "predecessor_node_id",
  "reason",
  "status",
  "task_id",
  "title",
  "total_price",
  "type",
  "workflow_id",
  "workflow_run_id",
]);

/** Fields whose numbers are kept: times, counts and indexes. */
const serverNumbers = /^\d+$|(^|_)(at|time|tokens|steps|count|index|length|latency|status)$/;

/** Error messages by the server itself, for a stopped run (server §13). */
const serverErrors = /^(Aborted: User requested stop|Stopped by user\.?)$/;

/** Replaces all text and numbers: `{ name: "Ann" }` → `{ name: "<3 characters>" }`. */
export const redactStructure = (value: unknown): unknown => redactValues(value, undefined);

/** `start` leads to the value through objects that the server fills; undefined outside of them. */
const redactValues = (value: unknown, start: readonly string[] | undefined): unknown =>
  mapTexts(value, {
    start: { path: start, name: "" },
    text({ path, name }, text) {
      if (text === "" || (path && serverTexts.has(name))) return text;
      if (path && name === "error" && serverErrors.test(text)) return text;
      return `<${counted([...text].length, "character")}>`;
    },
    number: ({ path, name }, number) => (path && serverNumbers.test(name) ? number : "<number>"),
    inside({ path }, name, inner) {
      const own = path && serverObjects.has(path.join(".")) ? path : undefined;
      // Plain text and lists of text belong to their object; a nested object has a path of its own.
      return { path: own && isNested(inner) ? [...own, name] : own, name };
    },
  });

const isNested = (value: unknown): boolean =>
  isObject(value) || (Array.isArray(value) && value.some(isObject));
