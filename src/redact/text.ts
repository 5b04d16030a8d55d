import { isNumeric, type Numeric } from "../lib/exact-number.ts";
import { define, isObject, tryParseJson, stringifyJson } from "../lib/json.ts";
import { serverEvent, type ServerEvent } from "../lib/server-event.ts";
import { counted } from "../lib/text.ts";
import type { Secrets } from "./keys.ts";

/** Replaces a credential. */
const mask = "***";

/** Names of fields, headers and parameters whose values are credentials. */
const credentials =
  "authorization|cookie|api[-_]?key|auth[-_]token|access[-_]token|refresh[-_]token|secret|password|passwd";
/**
 * Names whose values may be credentials, masked in reports only: a recording is data, but an error
 * report is pasted somewhere and should rather show too little.
 */
const suspects = "signature|sign|sig|credentials?|token|key";

/** Finds names that end in one of these, and lines of headers with such a name (server §15.5). */
const namePatterns = (names: string) => ({
  field: new RegExp(`(?:^|[-_.])(?:${names})$`, "i"),
  header: new RegExp(`^((?:[\\w-]*[-_])?(?:${names})[ \\t]*:[ \\t]*)\\S.*$`, "gim"),
});
const inRecordings = namePatterns(credentials);
const anyName = `${credentials}|${suspects}`;
const inReports = namePatterns(anyName);

const inJson = new RegExp(
  `("(?:[\\w.-]*[-_.])?(?:${anyName})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*(?:"|$)`,
  "gi",
);
const inQuery = new RegExp(
  `(^|[?&])((?:[\\w.-]*[-_.])?(?:${anyName})=)(?!\\*\\*\\*)[^&\\s"'<>#]+`,
  "gi",
);

/** Credentials within text, each with its replacement. */
const forms: readonly (readonly [RegExp, string])[] = [
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

const maskForms = (text: string): string =>
  forms.reduce((all, [form, masked]) => all.replace(form, masked), text);

/** A quick test of the text of an event, because most contain no credentials. */
export const mayHoldSecret = new RegExp(
  `${credentials}|bearer|basic|(?:app|dataset|sk)-|[?&](?:sig|token|key|x-amz)|://[^/"]*@`,
  "i",
);

/** May a field, header or parameter of that name hold a credential? */
const isNamed = (pattern: RegExp, name: string): boolean =>
  pattern.test(name.replace(/([a-z])([A-Z])/g, "$1-$2"));

/**
 * Masks the credentials in the data of a recording; returns the same value if there are none. Only
 * the request of an HTTP node, in `process_data`, contains lines of headers.
 */
export const redactSecrets = (value: unknown): unknown =>
  mapTexts(value, {
    start: { name: "", inRequest: false },
    text({ name, inRequest }, text) {
      if (text !== "" && isNamed(inRecordings.field, name)) return mask;
      const masked = maskForms(text);
      return inRequest ? masked.replace(inRecordings.header, `$1${mask}`) : masked;
    },
    inside: ({ inRequest }, name) => ({ name, inRequest: inRequest || name === "process_data" }),
  });

/** Masks the credentials in a JSON value of a report, by the name of the field or by their form. */
export const redactValue = (value: unknown, name = ""): unknown =>
  mapTexts(value, {
    start: name,
    text(field, text) {
      if (text !== "" && isNamed(inReports.field, field)) return mask;
      return maskForms(text).replace(inRecordings.header, `$1${mask}`);
    },
    number: (field, number) => (isNamed(inReports.field, field) ? mask : number),
    // Everything within `credentials` is one, whatever its name.
    inside: (field, inner) => (isNamed(inReports.field, field) ? field : inner),
  });

/**
 * Masks all credentials in any text, by name or form; JSON becomes one line. The keys in use are
 * masked by `Secrets`.
 */
export function redactText(text: string): string {
  const value = tryParseJson(text);
  if (typeof value !== "object" || value === null) return redactWords(text);
  try {
    return stringifyJson(redactValue(value));
  } catch {
    return redactWords(text); // nested too deeply to be walked through
  }
}

const redactWords = (text: string) =>
  maskForms(text)
    .replace(inJson, `$1"${mask}"`)
    .replace(inReports.header, `$1${mask}`)
    .replace(inQuery, `$1$2${mask}`);

/** Shortens a text and appends its length: `abcdef` → `abc… (6 characters)`. */
export function truncate(maxLength: number, text: string): string {
  return text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength)}… (${text.length} characters)`;
}

/** How to map a JSON value; `State` is what is known about a place in it. */
interface Mapping<State> {
  readonly start: State;
  readonly text: (state: State, text: string) => string;
  /** By default numbers stay. */
  readonly number?: (state: State, number: Numeric) => string | Numeric;
  /** By default names stay, too. */
  readonly name?: (name: string) => string;
  /** The state of a field; the items of a list have the state of the list. */
  readonly inside: (state: State, name: string, value: unknown) => State;
}

/** Maps all texts and numbers of a JSON value; what does not change stays the same object. */
export function mapTexts<State>(value: unknown, mapping: Mapping<State>): unknown {
  const { start, text, number, name: nameOf = String, inside } = mapping;
  if (typeof value === "string") return text(start, value);
  if (isNumeric(value)) return number ? number(start, value) : value;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, mapping));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  let changed = false;
  for (const [name, each] of Object.entries(value)) {
    const mapped = mapTexts(each, { ...mapping, start: inside(start, name, each) });
    changed ||= mapped !== each || nameOf(name) !== name;
    define(result, nameOf(name), mapped);
  }
  return changed ? result : value;
}

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
  if (redact) return stringifyJson(redactValues(masked, []));
  return masked === data ? raw : stringifyJson(masked);
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
