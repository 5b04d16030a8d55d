import { serverEvent } from "../lib/server-event.ts";
import type { ServerEvent } from "../lib/server-event.ts";
import { define, isObject } from "../lib/json.ts";
import type { Secrets } from "./keys.ts";

/** The event with the keys in use masked, in its text as well as in its data. */
export function redactKeys(event: ServerEvent, { masked }: Secrets): ServerEvent {
  if (masked(event.raw) === event.raw) return event;
  const maskAll = (value: unknown): unknown => {
    if (typeof value === "string") return masked(value);
    if (Array.isArray(value)) return value.map(maskAll);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [masked(name), maskAll(each)]),
    );
  };
  const data = maskAll(event.data) as ServerEvent["data"]; // an object stays one
  return { ...event, ...serverEvent(data) };
}

/**
 * The JSON text of an event for a recording. Credentials are always masked; with `redact`, all text
 * of users and models is replaced by its length, in the same structure.
 */
export function recordingText({ raw, data }: ServerEvent, redact: boolean): string {
  // The text of the server is kept unless something in it has to be masked.
  const masked = mayHoldSecret.test(raw) ? redactSecrets(data, "") : data;
  if (redact) return JSON.stringify(redactEvent(masked));
  return masked === data ? raw : JSON.stringify(masked);
}

/** Replaces a credential. */
export const mask = "***";

/** Names of fields and headers whose values are credentials. */
const secretNames =
  "authorization|cookie|api[-_]?key|auth[-_]token|access[-_]token|refresh[-_]token|secret|password|passwd";
const secretField = new RegExp(`^(?:[\\w-]*[-_])?(?:${secretNames})$`, "i");
/** A header on a line of its own, as in the request of an HTTP node (server §15.5). */
const headerLine = new RegExp(`^((?:[\\w-]*[-_])?(?:${secretNames})[ \\t]*:[ \\t]*)\\S.*$`, "gim");

/** Credentials within text, each with its replacement. */
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer|Basic)(\s+)(?=[\w.~+/=-]{0,300}\d)[\w.~+/=-]{10,}/gi, `$1$2${mask}`],
  // Keys of this platform and of model providers. Words with hyphens have no digits or capitals.
  [/\b(app|dataset|sk)-(?=[\w-]{0,100}[A-Z\d])[\w-]{10,}/g, `$1-${mask}`],
  // Signatures, tokens and passwords in URLs.
  [
    /([?&](?:sign|sig|signature|token|access_token|api_?key|key|x-amz-signature|x-amz-security-token)=)[^&\s"'<>#]+/gi,
    `$1${mask}`,
  ],
  [/:\/\/[^\s/@:]+:[^\s/@]+@/g, `://${mask}@`],
];

/** A quick test of the text of an event, because most contain no credentials. */
const mayHoldSecret = new RegExp(
  `${secretNames}|bearer|basic|(?:app|dataset|sk)-|[?&](?:sig|token|key|x-amz)|://[^/"]*@`,
  "i",
);

/**
 * Masks the credentials in a value; returns the same value if there are none. `key` is the name of
 * its field. With `inRequest`, text may contain lines of headers.
 */
export function redactSecrets(value: unknown, key: string, inRequest = false): unknown {
  if (typeof value === "string") {
    if (value !== "" && secretField.test(key)) return mask;
    const text = secretTexts.reduce((all, [secret, masked]) => all.replace(secret, masked), value);
    return inRequest ? text.replace(headerLine, `$1${mask}`) : text;
  }
  const inside = inRequest || key === "process_data";
  if (Array.isArray(value)) {
    const items = value.map((item) => redactSecrets(item, key, inside));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  return mapValues(value, (each, name) => redactSecrets(each, name, inside));
}

/** Maps the values of an object; returns the same object if none changes. */
function mapValues(
  object: Record<string, unknown>,
  to: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  let changed = false;
  for (const [key, value] of Object.entries(object)) {
    const mapped = to(value, key);
    changed ||= mapped !== value;
    define(result, key, mapped);
  }
  return changed ? result : object;
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

const redactEvent = (data: unknown): unknown => redactValues(data, []);

/** `path` leads to the value through objects that the server fills; undefined outside of them. */
function redactValues(value: unknown, path: readonly string[] | undefined, key = ""): unknown {
  const byServer = path !== undefined;
  if (typeof value === "string") {
    if (value === "" || (byServer && serverTexts.has(key))) return value;
    if (byServer && key === "error" && serverErrors.test(value)) return value;
    const count = [...value].length;
    return `<${count} character${count === 1 ? "" : "s"}>`;
  }
  if (typeof value === "number") return byServer && serverNumbers.test(key) ? value : "<number>";
  if (Array.isArray(value)) return value.map((item) => redactValues(item, path, key));
  if (!isObject(value)) return value;
  const own = byServer && serverObjects.has(path.join(".")) ? path : undefined;
  return mapValues(value, (each, name) => {
    // Plain text and lists of text belong to their object; a nested object has a path of its own.
    const inner = own && isNested(each) ? [...own, name] : own;
    return redactValues(each, inner, name);
  });
}

const isNested = (value: unknown): boolean =>
  isObject(value) || (Array.isArray(value) && value.some(isObject));
