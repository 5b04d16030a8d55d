import type { ServerEvent } from "../../../api/sse.ts";
import { CliError, diskProblem } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import type { RunTrace } from "../../../runs/trace.ts";
import { linesOf } from "../../lines.ts";
import type { Line } from "../../lines.ts";
import { recordingVersion } from "./write.ts";
import type { RecordingEnd } from "./write.ts";
import type { Context } from "../../command-spec.ts";

/** An event of a recording. */
export interface RecordedEvent extends ServerEvent {
  /** When it came, ms since the epoch; never before the one in front of it. */
  readonly at: number;
}

/** What is known of a recording when all of it was read. */
export interface ReadRecording {
  /** Undefined where the command that made it was cut off, or made no recording. */
  readonly end: RecordingEnd | undefined;
  /** Are times those at which the events came? Otherwise they are whole seconds of the server. */
  readonly timed: boolean;
  /** Were texts replaced by their lengths? Taken for true where nobody knows. */
  readonly redacted: boolean;
  /** Lines that could not be read. */
  readonly damaged: number;
}

/** Marks in the trace of a recording what its events cannot tell. */
export function markUnseen(trace: RunTrace, { damaged, redacted }: ReadRecording): void {
  trace.redacted = redacted;
  if (damaged === 0) return;
  // No line says what stood in another one, so nothing that comes later makes up for it.
  trace.gaps++;
  trace.nodesMissing = true;
  trace.unwatched = true;
}

/** Damaged lines that are named one by one. */
const mostNamed = 5;
/** Lines at the beginning of a file of which one has to be an event. */
const enough = 20;

/**
 * The events of a recording, or of what `wf events -o jsonl` printed, as they are read; `-` is
 * standard input. Damaged lines are named on standard error and left out. Throws usage for a file
 * that is neither, or that cannot be read.
 */
export async function* readRecording(
  path: string,
  context: Context,
): AsyncGenerator<readonly RecordedEvent[], ReadRecording> {
  const name = path === "-" ? "standard input" : path;
  const wrong = (problem: string, line?: number) =>
    new CliError("usage", `${name}${line === undefined ? "" : ` line ${line}`}: ${problem}`, {
      sideEffect: "none",
      hint: "`wf run --record FILE` makes a recording",
    });
  const reader = eventReader(wrong);
  let [events, damaged, used] = [0, 0, 0];
  let first: { readonly line: number; readonly problem: string } | undefined;
  /** What to say of damaged lines, once it is clear that this is a recording. */
  const info: string[] = [];
  const bytes = bytesOf(path, context, wrong);
  for await (const { lines } of linesOf(bytes, (line) => wrong("it does not end", line), context)) {
    const batch: RecordedEvent[] = [];
    for (const line of lines) {
      if (line.text.trim() === "") continue;
      const found = reader.read(line);
      if (typeof found !== "string") {
        used++;
        if (found) batch.push(found);
        continue;
      }
      first ??= { line: line.number, problem: found };
      if (used === 0 && damaged === enough) throw wrong(noRecording(first.problem), first.line);
      if (++damaged <= mostNamed) info.push(`${name} line ${line.number}: ${found}; left out`);
    }
    if (used > 0) for (const text of info.splice(0)) await context.notice(text);
    events += batch.length;
    if (batch.length > 0) yield batch;
  }
  if (used === 0 && first) throw wrong(noRecording(first.problem), first.line);
  if (events === 0) throw wrong("it holds no event");
  if (damaged > mostNamed) await context.notice(`${name}: ${damaged} damaged lines were left out`);
  return reader.sum(damaged);
}

const noRecording = (problem: string) => `${problem}, and this is no recording of a run`;

async function* bytesOf(
  path: string,
  { host }: Context,
  wrong: (problem: string) => CliError,
): AsyncGenerator<Uint8Array> {
  try {
    yield* path === "-" ? host.stdin.bytes() : host.files.bytes(path);
  } catch (error) {
    const problem = diskProblem(error);
    throw problem ? wrong(problem.reason) : error;
  }
}

/** Makes events of lines. */
function eventReader(wrong: (problem: string, line: number) => CliError) {
  let end: RecordingEnd | undefined;
  let timed = true;
  let redacted: boolean | undefined;
  /** ms since the epoch. */
  let start: number | undefined;
  /** ms since the first event. */
  let at = 0;

  const measures = nodeMeasures();

  /** The event, nothing where a line is another one of a recording, or what is wrong with it. */
  const read = ({ number, text }: Line): RecordedEvent | undefined | string => {
    const value = jsonIn(text);
    if (!isObject(value)) return value === undefined ? "it is no JSON" : "it is no event";
    const { event } = value;
    if (isObject(event)) {
      if (typeof event["event"] !== "string") return "it is no event";
      at = Math.max(at, timeIn(value["at"]) ?? 0);
      start ??= (serverTime(event) ?? at) - at;
      return { event: event["event"], raw: rawIn(text, value), data: event, at: start + at };
    }
    if (typeof event === "string") {
      timed = false;
      const time = serverTime(value);
      start ??= time;
      at = Math.max(at, (time ?? 0) - (start ?? 0), measures.endOf(value, at));
      return { event, raw: text.trim(), data: value, at: (start ?? 0) + at };
    }
    if (typeof value["recording"] === "number") {
      if (value["recording"] !== recordingVersion)
        throw wrong(`this is a recording of version ${value["recording"]}, not of 1`, number);
      redacted = value["redacted"] === true;
      start ??= timeIn(Date.parse(String(value["started_at"])));
      return undefined;
    }
    if (isObject(value["end"])) {
      const { exit, why } = value["end"];
      if (typeof exit === "number" && typeof why === "string") end = { exit, why };
      return undefined;
    }
    return "it is no event";
  };

  const sum = (damaged: number): ReadRecording => ({
    end,
    timed,
    // The line that would say so can be a damaged one. What `wf events` printed never is.
    redacted: redacted ?? (timed && damaged > 0),
    damaged,
  });

  return { read, sum };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The server's own text, where the line holds nothing else. */
function rawIn(line: string, value: Readonly<Record<string, unknown>>): string {
  const own =
    Object.keys(value).length === 2 ? /^\{"at":[\d.]+,"event":(.*)\}\s*$/s.exec(line) : null;
  return own?.[1] ?? JSON.stringify(value["event"]);
}

/** ms at which the server says that it happened; to the second. */
function serverTime({ data }: Readonly<Record<string, unknown>>): number | undefined {
  if (!isObject(data)) return undefined;
  const seconds = timeIn(data["finished_at"]) ?? timeIn(data["created_at"]);
  return seconds === undefined ? undefined : timeIn(seconds * 1000);
}

/** Tells from how long nodes took when they must have ended, where all other times are whole seconds. */
function nodeMeasures() {
  const began = new Map<unknown, number>();
  return {
    /** ms since the first event; `at` is that of the event before. */
    endOf({ event, data }: Readonly<Record<string, unknown>>, at: number): number {
      if (!isObject(data)) return at;
      if (/^(workflow|node|iteration|loop)_started$/.test(String(event))) began.set(data["id"], at);
      const elapsed = timeIn(data["elapsed_time"]);
      const begin = began.get(data["id"]);
      const ends = /_(finished|completed)$/.test(String(event));
      return ends && elapsed !== undefined && begin !== undefined ? begin + elapsed * 1000 : at;
    },
  };
}

/** Largest number that is a date. */
const latest = 8.64e15;

const timeIn = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 && value <= latest / 2 ? value : undefined;
