import { isObject, valueAt } from "../json.ts";
import { shorten, visible, widthOf } from "./text.ts";
import type { Paint } from "./text.ts";

/** One event of a stream: its kind, the server's own text, and that text parsed. */
export interface ServerEvent {
  readonly event: string;
  readonly raw: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** How event lines are dressed. */
export interface LiveDress {
  readonly paint: Paint;
  /** Time at the start of a line. */
  clock(date: Date): string;
  readonly now: () => Date;
  /** Columns that data of unknown shape may take; Infinity in a pipe. */
  readonly columns: number;
}

/** Looks into an event's data by path. */
type Look = (path: string) => unknown;
type Part = string | undefined;

const text = (value: unknown): Part =>
  typeof value === "string" && value !== "" ? value : undefined;
const count = (value: unknown, unit: string): Part =>
  typeof value === "number" ? `${value} ${unit}` : undefined;

/** `62ms`, `1.2s`, `2m05s` from seconds. */
function duration(value: unknown): Part {
  if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
  if (value < 0.9995) return `${Math.round(value * 1000)}ms`;
  if (value < 59.95) return `${value.toFixed(1)}s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)}m${String(whole % 60).padStart(2, "0")}s`;
}

const title = (look: Look): Part => text(look("title")) ?? text(look("node_title"));
const round = (index: unknown, first: number): Part =>
  typeof index === "number" ? `round ${index - first + 1}` : undefined;
const outcome = (look: Look): Part[] => [
  title(look),
  text(look("status")),
  duration(look("elapsed_time")),
  text(look("error")),
];
const run = (look: Look): Part[] => [
  text(look("status")),
  duration(look("elapsed_time")),
  count(look("total_tokens"), "tokens"),
];

/** What a line says after the kind of its event (server §15.5). */
const told: Readonly<Record<string, (look: Look) => readonly Part[]>> = {
  workflow_started: (look) => [
    text(look("id")) && `run ${String(look("id"))}`,
    look("reason") === "resumption" ? "resumed" : undefined,
  ],
  node_started: (look) => [title(look)],
  node_finished: outcome,
  node_retry: (look) => [
    title(look),
    count(look("retry_index"), "") && `retry ${String(look("retry_index"))}`,
    duration(look("elapsed_time")),
    text(look("error")),
  ],
  iteration_started: (look) => [title(look), count(look("metadata.iteration_length"), "rounds")],
  // Rounds of an iteration are counted from 0, those of a loop from 1.
  iteration_next: (look) => [title(look), round(look("index"), 0)],
  iteration_completed: outcome,
  loop_started: (look) => [
    title(look),
    count(look("metadata.loop_length"), "rounds") &&
      `at most ${String(look("metadata.loop_length"))} rounds`,
  ],
  loop_next: (look) => [title(look), round(look("index"), 1)],
  loop_completed: outcome,
  agent_log: (look) => [text(look("label")), text(look("status")), text(look("error"))],
  message_replace: (look) => [text(look("reason"))],
  text_replace: () => [],
  message_file: (look) => [text(look("type")), text(look("url"))],
  message_end: (look) => [count(look("metadata.usage.total_tokens"), "tokens")],
  // Sound as text would fill the screen.
  tts_message: () => [],
  tts_message_end: () => [],
  human_input_required: (look) => [title(look)],
  human_input_form_filled: (look) => [
    title(look),
    text(look("action_text")) ?? text(look("action_id")),
  ],
  human_input_form_timeout: (look) => [title(look)],
  workflow_paused: (look) => [...run(look), ...pauseMessages(look("reasons"))],
  workflow_finished: (look) => [
    ...run(look),
    count(look("total_steps"), "steps"),
    text(look("error")),
  ],
  error: (look) => [text(look("code")), text(look("message"))],
  _gap: (look) => {
    const missing = look("missing");
    return Array.isArray(missing) ? [`missing: ${missing.join(", ")}`] : [];
  },
};

const pauseMessages = (reasons: unknown): Part[] =>
  Array.isArray(reasons)
    ? reasons
        .filter((reason: unknown) => valueAt(reason, "TYPE") === "scheduled_pause")
        .map((reason: unknown) => text(valueAt(reason, "message")))
    : [];

/** Events carry what they tell under `data`, but for messages and errors. */
function lookInto({ data }: ServerEvent): Look {
  const inner = data["data"];
  return (path) => valueAt(isObject(inner) ? inner : data, path);
}

/** Steps of an iteration or a loop stand below it. */
function depthOf(kind: string, look: Look): number {
  if (kind === "iteration_next" || kind === "loop_next") return 1;
  return look("iteration_id") || look("loop_id") ? 2 : 0;
}

const good = new Set(["succeeded"]);
const bad = new Set(["failed", "stopped", "exception", "error"]);

function painted(part: string, kind: string, paint: Paint): string {
  if (good.has(part)) return paint.green(part);
  if (bad.has(part) || kind === "error") return paint.red(part);
  return part === "paused" || part === "partial-succeeded" ? paint.yellow(part) : part;
}

const kindWidth = "workflow_finished".length;

/** The line of an event, without a line end: time, kind, and what its kind has to tell. */
export function eventLine(event: ServerEvent, dress: LiveDress): string {
  const { paint } = dress;
  const look = lookInto(event);
  const at = look("finished_at") ?? look("created_at");
  const time = dress.clock(typeof at === "number" ? new Date(at * 1000) : dress.now());
  const own = event.event.startsWith("_");
  const kind = visible(own ? event.event.slice(1) : event.event);
  const indent = "  ".repeat(depthOf(event.event, look));
  const start = `${time}  ${indent}${kind.padEnd(kindWidth)}`;
  const tell = Object.hasOwn(told, event.event) ? told[event.event] : undefined;
  const parts = tell
    ? tell(look)
        .filter((part) => part !== undefined)
        .map((part) => painted(visible(part), event.event, paint))
    : [compact(event.data["data"] ?? rest(event.data), dress.columns - widthOf(start) - 2)];
  const name = own ? paint.yellow(kind) : paint.bold(kind);
  const head = `${paint.dim(time)}  ${indent}${name}${" ".repeat(Math.max(0, kindWidth - widthOf(kind)))}`;
  return [head, ...parts].join("  ").trimEnd();
}

/** Any data on one line. */
function compact(value: unknown, room: number): string {
  const json = visible(JSON.stringify(value) ?? "");
  return Number.isFinite(room) ? shorten(json, Math.max(room, 10)) : json;
}

/** What an event of unknown kind holds beside its envelope. */
const rest = (data: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(
    Object.entries(data).filter(
      ([key]) =>
        ![
          "event",
          "task_id",
          "workflow_run_id",
          "message_id",
          "conversation_id",
          "created_at",
        ].includes(key),
    ),
  );

/** Text that grows while the run goes on, and what it is. */
function growth(event: ServerEvent): { text: string; as: "answer" | "reasoning" } | undefined {
  const look = lookInto(event);
  const found = {
    text_chunk: ["text", "answer"],
    message: ["answer", "answer"],
    agent_message: ["answer", "answer"],
    reasoning_chunk: ["reasoning", "reasoning"],
  } as const;
  if (!Object.hasOwn(found, event.event)) return undefined;
  const [field, as] = found[event.event as keyof typeof found]; // one of its keys, by the line above
  const value = look(field);
  return { text: typeof value === "string" ? value : "", as };
}

/** Text that takes the place of what was shown. An empty one of a snapshot does not (server §15.6). */
const replacement = (event: ServerEvent): Part =>
  event.event === "message_replace"
    ? text(event.data["answer"])
    : event.event === "text_replace"
      ? text(lookInto(event)("text"))
      : undefined;

/** Events as people follow them. */
export interface Live {
  /** What the event adds to the output: a line, several, or a piece of a growing text. */
  next(event: ServerEvent): string;
  /** What ends the output: a line end where a text has none. */
  end(): string;
}

/** Turns events into lines, one after the other: texts grow below the line before them. */
export function live(dress: LiveDress): Live {
  let growing: "answer" | "reasoning" | undefined;
  let openLine = false;
  /** Was all text shown? Otherwise the outputs at the end are written in full. */
  let textShown = false;

  const close = (): string => {
    const end = openLine ? "\n" : "";
    growing = undefined;
    openLine = false;
    return end;
  };
  const grow = (piece: string): string => {
    openLine = !piece.endsWith("\n");
    return visible(piece, { newlines: true });
  };

  return {
    next(event) {
      const more = growth(event);
      if (more) {
        if (more.text === "") return "";
        const start =
          growing === more.as ? "" : close() + (more.as === "reasoning" ? "reasoning: " : "");
        growing = more.as;
        if (more.as === "answer") textShown = true;
        return start + grow(more.text);
      }
      const instead = replacement(event);
      if (instead !== undefined) {
        const line = `${close()}${eventLine(event, dress)}\n`;
        growing = "answer";
        return line + grow(instead);
      }
      if (event.event === "message_replace" || event.event === "text_replace") return "";
      // After a cut or a pause text is missing, and only the outputs have it (server §15.6).
      if (event.event === "_gap" || lookInto(event)("reason") === "resumption") textShown = false;
      return `${close()}${eventLine(event, dress)}\n${below(event, textShown, dress)}`;
    },
    end: close,
  };
}

/** Lines under an event line: a form that waits, or what a run gave. */
function below(event: ServerEvent, textShown: boolean, dress: LiveDress): string {
  const look = lookInto(event);
  if (event.event === "human_input_required") return lines(formLines(look, dress));
  if (event.event !== "workflow_finished") return "";
  const outputs = look("outputs");
  if (!isObject(outputs) || Object.keys(outputs).length === 0) return "";
  if (textShown) return lines([`outputs  ${compact(outputs, dress.columns - 11)}`]);
  return lines(
    Object.entries(outputs).map(
      ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
    ),
  );
}

const lines = (texts: readonly string[]): string =>
  texts
    .map((each) => `  ${visible(each, { newlines: true }).replaceAll("\n", "\n  ").trimEnd()}\n`)
    .join("");

function formLines(look: Look, { clock }: LiveDress): string[] {
  const expires = look("expiration_time");
  const token = text(look("form_token"));
  return [
    ...(text(look("form_content")) ?? "").split("\n"),
    ...listAt(look, "inputs").map((input) => {
      const name = String(valueAt(input, "output_variable_name"));
      const filled =
        valueAt(look("resolved_default_values"), name) ?? valueAt(input, "default.value");
      const usual =
        filled === undefined || filled === null || filled === ""
          ? ""
          : `, default ${JSON.stringify(filled)}`;
      return `input    ${name} (${String(valueAt(input, "type"))}${usual})`;
    }),
    ...listAt(look, "actions").map(
      (action) => `action   ${String(valueAt(action, "id"))}: ${String(valueAt(action, "title"))}`,
    ),
    ...(typeof expires === "number" ? [`expires  ${clock(new Date(expires * 1000))}`] : []),
    ...(token === undefined ? [] : [`form     ${token}`]),
  ];
}

const listAt = (look: Look, path: string): readonly unknown[] => {
  const found = look(path);
  return Array.isArray(found) ? found : [];
};
