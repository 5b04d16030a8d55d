import type { ServerEvent } from "../api/sse.ts";
import { define, isObject } from "../lib/json.ts";
import type { Secrets } from "./keys.ts";

/** The event as the server would have sent it without the keys in use. */
export function redactKeys(event: ServerEvent, { masked }: Secrets): ServerEvent {
  if (masked(event.raw) === event.raw) return event;
  const plain = (value: unknown): unknown => {
    if (typeof value === "string") return masked(value);
    if (Array.isArray(value)) return value.map(plain);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [masked(name), plain(each)]),
    );
  };
  const data = plain(event.data) as ServerEvent["data"]; // an object stays one
  return { ...event, raw: JSON.stringify(data), data };
}

/**
 * The JSON text of an event as it may lie in a file. Credentials are masked always; with `redact`
 * nothing that people or models wrote stays either, only its length, in the same structure.
 */
export function writable({ raw, data }: ServerEvent, redact: boolean): string {
  // The server's own text stays as it is wherever it can.
  const masked = mayHoldSecret.test(raw) ? redactSecrets(data, "") : data;
  if (redact) return JSON.stringify(shape(masked, []));
  return masked === data ? raw : JSON.stringify(masked);
}

/** Stands where a credential stood. */
export const mask = "***";

/** Fields and headers whose values are credentials by their name. */
const secretNames =
  "authorization|cookie|api[-_]?key|auth[-_]token|access[-_]token|refresh[-_]token|secret|password|passwd";
const secretField = new RegExp(`^(?:[\\w-]*[-_])?(?:${secretNames})$`, "i");
/** A header as a request of an http node holds it, on a line of its own (server §15.5). */
const headerLine = new RegExp(`^((?:[\\w-]*[-_])?(?:${secretNames})[ \\t]*:[ \\t]*)\\S.*$`, "gim");

/** Credentials inside of texts, each with what stays of it. */
const secretTexts: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer|Basic)(\s+)(?=[\w.~+/=-]{0,300}\d)[\w.~+/=-]{10,}/gi, `$1$2${mask}`],
  // Keys of this platform and of model providers; words joined by hyphens have no digits or capitals.
  [/\b(app|dataset|sk)-(?=[\w-]{0,100}[A-Z\d])[\w-]{10,}/g, `$1-${mask}`],
  // Addresses that open what they name: signatures, tokens and passwords in them.
  [
    /([?&](?:sign|sig|signature|token|access_token|api_?key|key|x-amz-signature|x-amz-security-token)=)[^&\s"'<>#]+/gi,
    `$1${mask}`,
  ],
  [/:\/\/[^\s/@:]+:[^\s/@]+@/g, `://${mask}@`],
];

/** Quick look at the text of a whole event: most hold none, and need not be read field by field. */
const mayHoldSecret = new RegExp(
  `${secretNames}|bearer|basic|(?:app|dataset|sk)-|[?&](?:sig|token|key|x-amz)|://[^/"]*@`,
  "i",
);

/**
 * The value with credentials masked; the same value when nothing in it is one. `key` is the field it
 * stands in; texts of a request may hold lines of headers.
 */
export function redactSecrets(value: unknown, key: string, inRequest = false): unknown {
  if (typeof value === "string") {
    if (value !== "" && secretField.test(key)) return mask;
    const plain = secretTexts.reduce((text, [secret, kept]) => text.replace(secret, kept), value);
    return inRequest ? plain.replace(headerLine, `$1${mask}`) : plain;
  }
  const inside = inRequest || key === "process_data";
  if (Array.isArray(value)) {
    const items = value.map((item) => redactSecrets(item, key, inside));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  return isObject(value) ? mapped(value, (each, name) => redactSecrets(each, name, inside)) : value;
}

/** An object with other values; the same one where all are the same. */
function mapped(
  object: Record<string, unknown>,
  to: (value: unknown, key: string) => unknown,
): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  let changed = false;
  for (const [key, value] of Object.entries(object)) {
    const other = to(value, key);
    changed ||= other !== value;
    define(made, key, other);
  }
  return changed ? made : object;
}

/** Parts of an event that are the server's own, by path; all others hold what people or models wrote. */
const ownParts: ReadonlySet<string> = new Set([
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

/** Texts that stay in those parts: names of things, and how they ended. */
const ownTexts: ReadonlySet<string> = new Set([
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

/** Numbers that stay in those parts: times, counts and places in a row. */
const ownNumbers = /^\d+$|(^|_)(at|time|tokens|steps|count|index|length|latency|status)$/;

/** What the server itself says of a run that was stopped, not people (server §13). */
const ownWords = /^(Aborted: User requested stop|Stopped by user\.?)$/;

/** The same structure without a text or number in it: `{ name: "<8 characters>" }`. */
export const redactStructure = (value: unknown): unknown => shape(value, undefined);

/** The structure of an event. `path` leads there through parts of the server's own. */
function shape(value: unknown, path: readonly string[] | undefined, key = ""): unknown {
  const own = path !== undefined;
  if (typeof value === "string") {
    if (value === "" || (own && ownTexts.has(key))) return value;
    if (own && key === "error" && ownWords.test(value)) return value;
    const count = [...value].length;
    return `<${count} character${count === 1 ? "" : "s"}>`;
  }
  if (typeof value === "number") return own && ownNumbers.test(key) ? value : "<number>";
  if (Array.isArray(value)) return value.map((item) => shape(item, path, key));
  if (!isObject(value)) return value;
  const part = path !== undefined && ownParts.has(path.join(".")) ? path : undefined;
  return mapped(value, (each, name) => {
    // A list of texts is one when its field is; an object is, where its path says so.
    const deeper = part && (isNested(each) ? [...part, name] : part);
    return shape(each, deeper, name);
  });
}

const isNested = (value: unknown): boolean =>
  isObject(value) || (Array.isArray(value) && value.some(isObject));
