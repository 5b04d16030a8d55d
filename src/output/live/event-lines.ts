import { formatSeconds } from "../../lib/numbers.ts";
import { expiryText, formText, inputText } from "../../lib/form-text.ts";
import { isObject, own, valueAt, stringifyJson } from "../../lib/json.ts";
import { eventFields } from "../../lib/server-event.ts";
import type { EventFields, ServerEvent } from "../../lib/server-event.ts";
import { counted } from "../../lib/text.ts";
import { AgentAnswer, TextDigest, printedValue } from "../../runs/text.ts";
import { nodeError } from "../../runs/trace.ts";
import { ellipsis, pad, shorten, visible, widthOf, wrap } from "../display-width.ts";
import { wrapParts } from "../table/text-lines.ts";
import { colorOfStatus } from "../style.ts";
import type { TableStyle } from "../table/table.ts";

/** How events and runs are displayed. */
export interface ViewStyle extends TableStyle {
  /** Formats the time at the start of a line. */
  clock(date: Date): string;
  readonly now: () => Date;
  /** Whether the events are displayed long after the dates in them. */
  readonly past: boolean;
}

type Part = string | undefined;
type Parts = (fields: EventFields) => readonly Part[];

const after = (word: string, value: Part | number): Part =>
  value === undefined ? undefined : `${word} ${value}`;
const count = (value: unknown, unit: string): Part =>
  typeof value === "number" ? counted(value, unit) : undefined;

/** `62 ms`, `1.2 s`, `2m 05s` from seconds. */
export const durationPart = (value: unknown): Part =>
  typeof value === "number" && Number.isFinite(value) ? formatSeconds(value) : undefined;

const nameOf = ({ title, node_title }: EventFields): Part => title ?? node_title;
const onlyName: Parts = (fields) => [nameOf(fields)];
/** Both count from 0; a loop sends no event for its first round, so its first `loop_next` has 1. */
const round: Parts = (fields) => [
  nameOf(fields),
  fields.index === undefined ? undefined : `round ${fields.index + 1}`,
];
const outcome: Parts = (fields) => [
  nameOf(fields),
  fields.status,
  durationPart(fields.elapsed_time),
  nodeError(fields),
];
/** Tokens and steps of a run that ended or paused, and why it did not succeed. */
export const tokensUsed: Parts = ({ total_tokens, total_steps, error, reasons = [] }) => [
  count(total_tokens === 0 ? undefined : total_tokens, "token"),
  count(total_steps, "step"),
  error,
  ...reasons
    .filter((reason) => valueAt(reason, "TYPE") === "scheduled_pause")
    .map((reason) => eventFields(reason).message),
];
const runOutcome: Parts = (fields) => [
  fields.status,
  durationPart(fields.elapsed_time),
  ...tokensUsed(fields),
];
const nothing: Parts = () => [];

/** The details in a line after the kind of its event (server §15.5). */
const details: Readonly<Record<string, Parts>> = {
  workflow_started: ({ id, reason }) => [
    after("run", id),
    reason === "resumption" ? "resumed" : undefined,
  ],
  node_started: onlyName,
  node_finished: outcome,
  node_retry: (fields) => [
    nameOf(fields),
    after("retry", fields.retry_index),
    durationPart(fields.elapsed_time),
    fields.error,
  ],
  iteration_started: (fields) => [
    nameOf(fields),
    count(valueAt(fields.metadata, "iteration_length"), "round"),
  ],
  iteration_next: round,
  iteration_completed: outcome,
  loop_started: (fields) => [
    nameOf(fields),
    after("at most", count(valueAt(fields.metadata, "loop_length"), "round")),
  ],
  loop_next: round,
  loop_completed: outcome,
  agent_log: ({ label, status, error }) => [label, status, error],
  message: nothing,
  message_replace: ({ reason }) => [reason],
  text_replace: nothing,
  message_file: ({ type, url }) => [type, url],
  message_end: ({ metadata }) => [count(valueAt(metadata, "usage.total_tokens"), "token")],
  // Base64 audio would fill the screen.
  tts_message: nothing,
  tts_message_end: nothing,
  human_input_required: onlyName,
  human_input_form_filled: (fields) => [nameOf(fields), fields.action_text ?? fields.action_id],
  human_input_form_timeout: onlyName,
  workflow_paused: runOutcome,
  workflow_finished: runOutcome,
  error: ({ code, message }) => [code, message],
  _gap: ({ missing }) => [missing && `missing: ${missing.join(", ")}`],
  // The text is printed below.
  _answer: nothing,
  agent_thought: ({ tool, tool_input, observation }) => [
    tool,
    tool_input,
    after("gave", observation),
  ],
  // The full outputs are printed below the end of the run.
  _gap_filled: ({ output }) => [after("in the output", output)],
};

/** Events of an iteration or a loop are indented. */
function depthOf({ event, fields }: ServerEvent): number {
  if (event === "iteration_next" || event === "loop_next") return 1;
  return fields.iteration_id || fields.loop_id ? 2 : 0;
}

const kindWidth = "workflow_finished".length;

/** The line of an event, without a line end: time, kind and details. */
export function eventLine(event: ServerEvent, style: ViewStyle): string {
  // Messages have a creation time only, which stays the same while they grow.
  const { finished_at, created_at } = event.fields;
  const at = finished_at ?? created_at;
  const arrival = event.at === undefined ? style.now() : new Date(event.at);
  const time = style.clock(at === undefined ? arrival : new Date(at * 1000));
  const indent = "  ".repeat(depthOf(event));
  return eventLineAfter(`${time}  ${indent}`, event, style);
}

/** Kind and details of an event, after a dim start of the line. */
export function eventLineAfter(start: string, event: ServerEvent, style: ViewStyle): string {
  const { colors } = style;
  const isClientEvent = event.event.startsWith("_");
  const kind = pad(visible(isClientEvent ? event.event.slice(1) : event.event), kindWidth);
  const detailsOf = own(details, event.event);
  const parts = detailsOf
    ? detailsOf(event.fields).filter((part) => part !== undefined)
    : [compact(dataOfUnknown(event), style, widthOf(`${start}${kind}  `))];
  const head = `${colors.dim(start)}${isClientEvent ? colors.yellow(kind) : colors.bold(kind)}`;
  const texts = parts.map((part) => ({
    text: visible(part),
    color: event.event === "error" ? ("red" as const) : colorOfStatus(part),
  }));
  const rest = wrapParts([{ text: start + kind }, ...texts], style);
  return `${head}${rest.slice(start.length + kind.length)}`.trimEnd();
}

/** Any data as the rest of a line of which some columns are used. */
function compact(value: unknown, { columns, unicode }: ViewStyle, used: number): string {
  const json = visible(stringifyJson(value) ?? "");
  if (columns === Infinity) return json;
  return shorten(json, Math.max(columns - used, 10), ellipsis(unicode));
}

const envelope: ReadonlySet<string> = new Set([
  "event",
  "task_id",
  "workflow_run_id",
  "message_id",
  "conversation_id",
  "created_at",
]);

/** The data of an event of unknown kind, without its envelope. */
const dataOfUnknown = ({ data }: ServerEvent): unknown =>
  data["data"] ?? Object.fromEntries(Object.entries(data).filter(([key]) => !envelope.has(key)));

/** A piece of a growing text. */
export interface TextPiece {
  readonly kind: "answer" | "reasoning";
  /** Undefined if it is empty. */
  readonly text: Part;
}

/** The events that are a piece of a text, and its field. */
const pieces: Readonly<
  Record<string, readonly [TextPiece["kind"], "text" | "answer" | "reasoning"]>
> = {
  text_chunk: ["answer", "text"],
  message: ["answer", "answer"],
  agent_message: ["answer", "answer"],
  reasoning_chunk: ["reasoning", "reasoning"],
};

/** Whether the event adds nothing: a thought without a tool repeats pieces, or is empty (server §15.5). */
export const isSilent = ({ event, fields }: ServerEvent): boolean =>
  event === "agent_thought" && fields.tool === undefined;

/** Text that replaces the displayed text. An empty text of a snapshot does not (server §15.6). */
export function replacement({ event, fields }: ServerEvent): Part {
  if (event === "text_replace") return fields.text;
  return /^(message|message_replace|_answer)$/.test(event) ? fields.answer : undefined;
}

/** Whether all of a run's answer was displayed; if not, the outputs at its end supply the rest. */
export class AnswerWatch {
  #isWhole: boolean | undefined;
  #answer = new TextDigest();
  readonly #agent = new AgentAnswer();

  get isWhole(): boolean {
    return this.#isWhole === true;
  }

  /** Whether these outputs are one value, and the displayed answer is that. */
  isOnly(outputs: Readonly<Record<string, unknown>>): boolean {
    const [value, ...others] = Object.values(outputs).map(printedValue);
    return value !== undefined && others.length === 0 && this.#answer.equals(value);
  }

  /** Returns the piece of text that an event adds. */
  add(received: ServerEvent): TextPiece | undefined {
    const { event, fields } = received;
    const [kind, field] = (!this.#agent.add(received) && own(pieces, event)) || [];
    const piece = kind && field && { kind, text: fields[field] };
    // After a lost connection, and after the pause of a chatflow, only the outputs have all of the
    // text (server §15.6, §18).
    const isResumedChat = fields.reason === "resumption" && fields.conversation_id !== undefined;
    if (event === "_gap" || isResumedChat) this.#isWhole = false;
    else if (piece?.kind === "answer" && piece.text !== undefined) this.#isWhole ??= true;
    const whole = piece ? undefined : replacement(received);
    if (whole !== undefined) this.#answer = new TextDigest().add(whole);
    else if (piece?.kind === "answer") this.#answer.add(piece.text ?? "");
    return piece;
  }
}

/** Lines below an event line: an open form, or the outputs of a run. */
export function linesBelow(event: ServerEvent, answer: AnswerWatch, style: ViewStyle): string {
  const { outputs } = event.fields;
  if (event.event === "human_input_required")
    return indentedLines(formLines(event.fields, style), style);
  if (event.event !== "workflow_finished") return "";
  if (!isObject(outputs) || Object.keys(outputs).length === 0) return "";
  if (answer.isWhole) {
    const lines = answer.isOnly(outputs) ? [] : [`outputs  ${compact(outputs, style, 11)}`];
    return indentedLines(lines, style);
  }
  return indentedLines(
    Object.entries(outputs).map(
      ([name, value]) => `${name}: ${typeof value === "string" ? value : stringifyJson(value)}`,
    ),
    style,
  );
}

const indentedLines = (texts: readonly string[], { columns }: ViewStyle): string =>
  texts
    .flatMap((text) => visible(text.trimEnd(), { newlines: true }).split("\n"))
    .flatMap((line) => wrap(line, columns - 2))
    .map((line) => `${`  ${line}`.trimEnd()}\n`)
    .join("");

function formLines(form: EventFields, { times, now }: ViewStyle): string[] {
  const { expiration_time: expires, inputs, actions = [] } = form;
  const lines: readonly Part[] = [
    ...(form.form_content === undefined ? [] : formText(form.form_content).split("\n")),
    ...(Array.isArray(inputs) ? inputs : []).map((input: unknown) =>
      inputLine(input, form.resolved_default_values),
    ),
    ...actions.map((action) => {
      const { id, title } = eventFields(action);
      return id && `action   ${id}: ${title ?? id}`;
    }),
    expires === undefined
      ? undefined
      : expiryText(new Date(expires * 1000), now(), (date) => times.full(date)),
    after("form    ", form.form_token),
  ];
  return lines.filter((line) => line !== undefined);
}

function inputLine(input: unknown, defaults: unknown): Part {
  const { output_variable_name: name, type = "text" } = eventFields(input);
  if (name === undefined) return undefined;
  const preset = valueAt(defaults, name) ?? valueAt(input, "default.value");
  return `input    ${inputText(name, type, preset)}`;
}
