import type { Events, ServerEvent } from "../api/events.ts";
import { CliError } from "../errors.ts";
import { isObject } from "../json.ts";
import type { Context } from "./task.ts";

/** An event and when it came, in ms since the first one. */
export interface Recorded {
  readonly at: number;
  readonly event: ServerEvent;
}

/**
 * Passes events on and writes each to a file as it comes, with its time: a line of JSON for the
 * recording, then one for each event. Every line is whole whatever ends the command.
 */
export async function* recorded<T>(
  events: Events<T>,
  path: string,
  redact: boolean,
  context: Context,
): Events<T> {
  const { files, now } = context.host;
  const head = { recording: 1, program: context.asked.program, started_at: now().toISOString() };
  await files.append(path, `${JSON.stringify(head)}\n`);
  let start: number | undefined;
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
    const time = now().getTime();
    start ??= time;
    const at = time - start;
    const lines = next.value.map((event) => `{"at":${at},"event":${kept(event, redact)}}\n`);
    await files.append(path, lines.join(""));
    yield next.value;
  }
}

/** Refuses to write over a file, before anything is sent. */
export async function requireNew(path: string | undefined, { host }: Context): Promise<void> {
  if (path === undefined || (await host.files.stat(path)) === null) return;
  throw new CliError("usage", `--record: ${path} is there already`, {
    changed: "nothing",
    hint: "a recording is never written over: choose another name",
  });
}

/** The server's own text, without what nobody may see: requests of http nodes hold their headers. */
function kept({ raw, data }: ServerEvent, redact: boolean): string {
  const text = redact ? JSON.stringify(redacted(data, false)) : raw;
  return text
    .replace(/((?:authorization|api-key|x-api-key)\\?"?\s*[:=]\s*\\?"?)[^"\\\r\n]+/gi, "$1***")
    .replace(/\b(app|dataset|sk)-[A-Za-z0-9_-]{8,}/g, "$1-***");
}

/** Fields whose texts are people's own, wherever they stand. */
const personal: ReadonlySet<string> = new Set([
  "inputs",
  "outputs",
  "process_data",
  "text",
  "answer",
  "reasoning",
  "form_content",
  "rendered_content",
  "resolved_default_values",
  "submitted_data",
  "form_token",
  "url",
  "data_source_info",
]);

/** The same structure, with the length of each personal text in its place. */
function redacted(value: unknown, inside: boolean): unknown {
  if (typeof value === "string") return inside ? `<${value.length} characters>` : value;
  if (Array.isArray(value)) return value.map((each) => redacted(each, inside));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, redacted(each, inside || personal.has(key))]),
  );
}

/**
 * The events of a recording, or of what `wf events -o jsonl` printed, whose times are then those of
 * the server. A line that is damaged is named on standard error and left out. Throws usage for a
 * file that is neither.
 */
export async function* readRecording(path: string, context: Context): AsyncGenerator<Recorded> {
  const { files } = context.host;
  const wrong = (message: string) =>
    new CliError("usage", `${path}: ${message}`, {
      changed: "nothing",
      hint: "wf run --record FILE makes a recording",
    });
  const found = await files.stat(path);
  if (found === null || found.isDirectory) throw wrong("there is no such file");
  let number = 0;
  let events = 0;
  let start: number | undefined;
  let at = 0;
  for await (const line of linesOf(await files.blob(path))) {
    number++;
    if (line.trim() === "") continue;
    const value = objectIn(line);
    if (value?.["recording"] === 1) continue;
    const inner = isObject(value?.["event"]) ? value["event"] : value;
    if (inner === undefined || typeof inner["event"] !== "string") {
      if (events === 0 && number === 1) throw wrong("this is no recording");
      await context.notice(`${path} line ${number} is damaged and left out`);
      continue;
    }
    events++;
    if (typeof value?.["at"] === "number") {
      at = Math.max(at, value["at"]);
    } else {
      const time = secondsIn(inner);
      start ??= time;
      if (time !== undefined && start !== undefined) at = Math.max(at, (time - start) * 1000);
    }
    const raw = inner === value ? line : JSON.stringify(inner);
    yield { at, event: { event: inner["event"], raw, data: inner } };
  }
  if (events === 0) throw wrong("it holds no event");
}

function objectIn(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Unix seconds at which the server says that it happened. */
function secondsIn({ data }: Readonly<Record<string, unknown>>): number | undefined {
  if (!isObject(data)) return undefined;
  const time = data["finished_at"] ?? data["created_at"];
  return typeof time === "number" ? time : undefined;
}

/** Lines of a file, read as they are needed. */
async function* linesOf(blob: Blob): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  // The stream of a blob gives bytes; the types of the platform do not say so.
  for await (const chunk of blob.stream() as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
}
