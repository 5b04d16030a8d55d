import { isObject, stringifyJson } from "./json.ts";

/** Fields that an event may have outside of its inner object `data`, as messages and errors do. */
const envelopeTypes = {
  workflow_run_id: "text",
  task_id: "text",
  message_id: "text",
  conversation_id: "text",
  answer: "text",
  message: "text",
  code: "text",
  reason: "text",
  type: "text",
  url: "text",
  tool: "text",
  tool_input: "text",
  observation: "text",
  output: "text",
  missing: "list",
  from_variable_selector: "list",
  metadata: "any",
} as const;

/**
 * The fields that the program reads, by type. A name has the same meaning in every event (server §15.5),
 * except `inputs`: the fields of a form, or the values of a node.
 */
const fieldTypes = {
  ...envelopeTypes,
  workflow_id: "text",
  id: "text",
  node_id: "text",
  node_title: "text",
  node_type: "text",
  title: "text",
  label: "text",
  iteration_id: "text",
  loop_id: "text",
  status: "text",
  error: "text",
  text: "text",
  reasoning: "text",
  form_id: "text",
  form_token: "text",
  form_content: "text",
  action_id: "text",
  action_text: "text",
  output_variable_name: "text",
  created_at: "number",
  finished_at: "number",
  expiration_time: "number",
  elapsed_time: "number",
  total_tokens: "number",
  total_steps: "number",
  index: "number",
  retry_index: "number",
  exceptions_count: "number",
  paused_nodes: "list",
  reasons: "list",
  actions: "list",
  inputs: "any",
  outputs: "any",
  process_data: "any",
  execution_metadata: "any",
  created_by: "any",
  resolved_default_values: "any",
  inputs_truncated: "any",
} as const;

interface Types {
  text: string;
  number: number;
  list: readonly unknown[];
  any: unknown;
}

/** Fields of an event; missing, null, empty and those of another type are undefined. */
export type EventFields = {
  readonly [N in keyof typeof fieldTypes]?: Types[(typeof fieldTypes)[N]] | undefined;
};

/** Whether a value is a number that can be computed with. */
export const isNumber = (value: unknown): value is number =>
  typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;

const isOfType: Readonly<Record<keyof Types, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string" && value !== "",
  number: isNumber,
  list: Array.isArray,
  any: (value) => value !== undefined,
};

type Data = Readonly<Record<string, unknown>>;

/**
 * Fields of an object as a server sent it. Each is checked when it is read: checking all of them made
 * `wf events --follow` half as fast (`npm run bench -- events`).
 */
class CheckedFields {
  readonly #inner: Data;
  readonly #envelope: Data;

  constructor(inner: Data, envelope: Data) {
    this.#inner = inner;
    this.#envelope = envelope;
  }

  static {
    for (const [name, type] of Object.entries(fieldTypes)) {
      const isValid = isOfType[type];
      const inEnvelope = Object.hasOwn(envelopeTypes, name);
      const get = function (this: CheckedFields): unknown {
        const value = this.#inner[name]; // no name of the table is inherited
        if (isValid(value)) return value;
        const other = inEnvelope ? this.#envelope[name] : undefined;
        return isValid(other) ? other : undefined;
      };
      Object.defineProperty(this.prototype, name, { get });
    }
  }
}

const nothing: Data = {};

/** The fields of an object as a server sent it. */
export const eventFields = (inner: unknown, envelope: Data = nothing): EventFields =>
  new CheckedFields(isObject(inner) ? inner : nothing, envelope) as EventFields; // by its getters

/** One event of a stream: its kind, the server's text, and that text parsed. */
export interface ServerEvent {
  /** `node_started`, `workflow_finished`, …; our own kinds start with an underscore. */
  readonly event: string;
  /** The JSON text as the server sent it, without `data: `. */
  readonly raw: string;
  /** The whole event as sent. */
  readonly data: Readonly<Record<string, unknown>>;
  /** The checked fields of its inner object `data`, and those of the event itself. */
  readonly fields: EventFields;
  /** When it was received, in ms since the epoch; only in recordings. */
  readonly at?: number | undefined;
  /** Short name of its run, if several are followed together. */
  readonly run?: string | undefined;
}

/** An event from its parsed text; without a kind it is a message. */
export function serverEvent(
  data: Readonly<Record<string, unknown>>,
  raw: string = stringifyJson(data),
): ServerEvent {
  const event = typeof data["event"] === "string" ? data["event"] : "message";
  return { event, raw, data, fields: eventFields(data["data"], data) };
}
