import { isObject, own, valueAt } from "../../lib/json.ts";
import { eventFields } from "../../lib/server-event.ts";
import type { ServerEvent } from "../../lib/server-event.ts";
import { nodeError } from "../../runs/trace.ts";
import { pad, shorten, visible, widthOf } from "../table/display-width.ts";
import type { Colors } from "../table/display-width.ts";
import type { Times } from "../formats/times.ts";
import { colorOfStatus } from "../table/colors.ts";

/** An event that is displayed. */
export type DisplayedEvent = ServerEvent;

/** How event lines are displayed. */
export interface LiveStyle {
  readonly colors: Colors;
  /** Formats the time at the start of a line. */
  clock(date: Date): string;
  /** Formats dates that may be days away. */
  readonly times: Times;
  readonly now: () => Date;
  /** Columns for data of unknown structure; Infinity in a pipe. */
  readonly columns: number;
}

/** Reads a field of an event's data by path. */
type Look = (path: string) => unknown;
type Part = string | undefined;

/** A value that is text and not empty. */
export const textOf = (value: unknown): Part =>
  typeof value === "string" && value !== "" ? value : undefined;
const after = (word: string, value: unknown): Part =>
  typeof value === "number" || textOf(value) !== undefined ? `${word} ${String(value)}` : undefined;
const count = (value: unknown, unit: string): Part =>
  typeof value === "number" ? `${value} ${unit}${value === 1 ? "" : "s"}` : undefined;

/** `62ms`, `1.2s`, `2m05s` from seconds. */
export function durationPart(value: unknown): Part {
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  if (value < 0.9995) return `${Math.round(value * 1000)}ms`;
  if (value < 59.95) return `${value.toFixed(1)}s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, "0")}s`;
}

const title = (look: Look): Part => textOf(look("title")) ?? textOf(look("node_title"));
/** Both count from 0; a loop sends no event for its first round, so its first `loop_next` has 1. */
const round = (look: Look): Part => {
  const index = look("index");
  return typeof index === "number" ? `round ${index + 1}` : undefined;
};
const outcome = (look: Look): Part[] => [
  title(look),
  textOf(look("status")),
  durationPart(look("elapsed_time")),
  nodeError(eventFields(look(""))),
];
/** Tokens and steps of a run that ended or paused, and why it did not succeed. */
export const tokensUsed = (look: Look): Part[] => [
  count(look("total_tokens"), "token"),
  count(look("total_steps"), "step"),
  textOf(look("error")),
  ...pauseMessages(look("reasons")),
];

/** The details in a line after the kind of its event (server §15.5). */
const details: Readonly<Record<string, (look: Look) => readonly Part[]>> = {
  workflow_started: (look) => [
    after("run", look("id")),
    look("reason") === "resumption" ? "resumed" : undefined,
  ],
  node_started: (look) => [title(look)],
  node_finished: outcome,
  node_retry: (look) => [
    title(look),
    after("retry", look("retry_index")),
    durationPart(look("elapsed_time")),
    textOf(look("error")),
  ],
  iteration_started: (look) => [title(look), count(look("metadata.iteration_length"), "round")],
  iteration_next: (look) => [title(look), round(look)],
  iteration_completed: outcome,
  loop_started: (look) => [
    title(look),
    after("at most", count(look("metadata.loop_length"), "round")),
  ],
  loop_next: (look) => [title(look), round(look)],
  loop_completed: outcome,
  agent_log: (look) => [textOf(look("label")), textOf(look("status")), textOf(look("error"))],
  message_replace: (look) => [textOf(look("reason"))],
  text_replace: () => [],
  message_file: (look) => [textOf(look("type")), textOf(look("url"))],
  message_end: (look) => [count(look("metadata.usage.total_tokens"), "token")],
  // Base64 audio would fill the screen.
  tts_message: () => [],
  tts_message_end: () => [],
  human_input_required: (look) => [title(look)],
  human_input_form_filled: (look) => [
    title(look),
    textOf(look("action_text")) ?? textOf(look("action_id")),
  ],
  human_input_form_timeout: (look) => [title(look)],
  workflow_paused: (look) => [
    textOf(look("status")),
    durationPart(look("elapsed_time")),
    ...tokensUsed(look),
  ],
  workflow_finished: (look) => [
    textOf(look("status")),
    durationPart(look("elapsed_time")),
    ...tokensUsed(look),
  ],
  error: (look) => [textOf(look("code")), textOf(look("message"))],
  _gap: (look) => {
    const missing = look("missing");
    return Array.isArray(missing) ? [`missing: ${missing.join(", ")}`] : [];
  },
  // The text is printed below.
  _answer: () => [],
  agent_thought: (look) => [
    textOf(look("tool")),
    textOf(look("tool_input")),
    after("gave", look("observation")),
  ],
  // The full outputs are printed below the end of the run.
  _gap_filled: (look) => [after("in the output", look("output"))],
};

const pauseMessages = (reasons: unknown): Part[] =>
  Array.isArray(reasons)
    ? reasons
        .filter((reason: unknown) => valueAt(reason, "TYPE") === "scheduled_pause")
        .map((reason: unknown) => textOf(valueAt(reason, "message")))
    : [];

/** Fields are under `data`, except in messages and errors. */
export function lookInto({ data }: DisplayedEvent): Look {
  const inner = data["data"];
  return (path) => valueAt(isObject(inner) ? inner : data, path);
}

/** Events of an iteration or a loop are indented. */
function depthOf(kind: string, look: Look): number {
  if (kind === "iteration_next" || kind === "loop_next") return 1;
  return look("iteration_id") || look("loop_id") ? 2 : 0;
}

function colored(part: string, kind: string, colors: Colors): string {
  const color = kind === "error" ? "red" : colorOfStatus(part);
  return color === undefined ? part : colors[color](part);
}

const kindWidth = "workflow_finished".length;

/** The line of an event, without a line end: time, kind and details. */
export function eventLine(event: DisplayedEvent, style: LiveStyle): string {
  // Messages have a creation time only, which stays the same while they grow.
  const at = valueAt(event.data, "data.finished_at") ?? valueAt(event.data, "data.created_at");
  const arrival = event.at === undefined ? style.now() : new Date(event.at);
  const time = style.clock(typeof at === "number" ? new Date(at * 1000) : arrival);
  const indent = "  ".repeat(depthOf(event.event, lookInto(event)));
  return eventLineAfter(`${time}  ${indent}`, event, style);
}

/** Kind and details of an event, after a dim start of the line. */
export function eventLineAfter(start: string, event: DisplayedEvent, style: LiveStyle): string {
  const { colors } = style;
  const isClientEvent = event.event.startsWith("_");
  const kind = pad(visible(isClientEvent ? event.event.slice(1) : event.event), kindWidth);
  const detailsOf = own(details, event.event);
  const parts = detailsOf
    ? detailsOf(lookInto(event))
        .filter((part) => part !== undefined)
        .map((part) => colored(visible(part), event.event, colors))
    : [compact(dataOfUnknown(event), style.columns - widthOf(`${start}${kind}  `))];
  const head = `${colors.dim(start)}${isClientEvent ? colors.yellow(kind) : colors.bold(kind)}`;
  return [head, ...parts].join("  ").trimEnd();
}

/** Any data on one line. */
function compact(value: unknown, width: number): string {
  const json = visible(JSON.stringify(value) ?? "");
  return Number.isFinite(width) ? shorten(json, Math.max(width, 10)) : json;
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
const dataOfUnknown = ({ data }: DisplayedEvent): unknown =>
  data["data"] ?? Object.fromEntries(Object.entries(data).filter(([key]) => !envelope.has(key)));

/** Events that are pieces of a text: the field of the text, and its kind. */
export const textEvents: ReadonlyMap<
  string,
  readonly [field: string, kind: "answer" | "reasoning"]
> = new Map([
  ["text_chunk", ["text", "answer"]],
  ["message", ["answer", "answer"]],
  ["agent_message", ["answer", "answer"]],
  ["reasoning_chunk", ["reasoning", "reasoning"]],
]);

/** Whether the event adds nothing: a thought without a tool repeats pieces, or is empty (server §15.5). */
export const isSilent = (event: DisplayedEvent): boolean =>
  event.event === "agent_thought" && textOf(event.data["tool"]) === undefined;

/** Text that replaces the displayed text. An empty text of a snapshot does not (server §15.6). */
export function replacement(event: DisplayedEvent): Part {
  if (event.event === "text_replace") return textOf(lookInto(event)("text"));
  const isAnswer = event.event === "message_replace" || event.event === "_answer";
  return isAnswer ? textOf(event.data["answer"]) : undefined;
}

/** Lines below an event line: an open form, or the outputs of a run. */
export function linesBelow(event: DisplayedEvent, isTextShown: boolean, style: LiveStyle): string {
  const look = lookInto(event);
  if (event.event === "human_input_required") return lines(formLines(look, style));
  if (event.event !== "workflow_finished") return "";
  const outputs = look("outputs");
  if (!isObject(outputs) || Object.keys(outputs).length === 0) return "";
  if (isTextShown) return lines([`outputs  ${compact(outputs, style.columns - 11)}`]);
  return lines(
    Object.entries(outputs).map(
      ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
    ),
  );
}

const lines = (texts: readonly string[]): string =>
  texts
    .map(
      (each) => `  ${visible(each, { newlines: true }).replaceAll("\n", "\n  ")}`.trimEnd() + "\n",
    )
    .join("");

function formLines(look: Look, { times }: LiveStyle): string[] {
  const defaults = look("resolved_default_values");
  const expires = look("expiration_time");
  const lines: readonly Part[] = [
    ...(textOf(look("form_content"))?.split("\n") ?? []),
    ...listAt(look, "inputs").map((input) => {
      const name = textOf(valueAt(input, "output_variable_name"));
      return (
        name && inputLine(name, input, valueAt(defaults, name) ?? valueAt(input, "default.value"))
      );
    }),
    ...listAt(look, "actions").map((action) => {
      const id = textOf(valueAt(action, "id"));
      return id && `action   ${id}: ${textOf(valueAt(action, "title")) ?? id}`;
    }),
    typeof expires === "number"
      ? `expires  ${times.text(new Date(expires * 1000))} ${times.zone ?? ""}`
      : undefined,
    after("form    ", look("form_token")),
  ];
  return lines.filter((line) => line !== undefined);
}

function inputLine(name: string, input: unknown, value: unknown): string {
  const kind = textOf(valueAt(input, "type")) ?? "text";
  const isEmpty = value === undefined || value === null || value === "";
  return `input    ${name} (${kind}${isEmpty ? "" : `, default ${JSON.stringify(value)}`})`;
}

const listAt = (look: Look, path: string): readonly unknown[] => {
  const value = look(path);
  return Array.isArray(value) ? value : [];
};
