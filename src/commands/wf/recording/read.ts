import { CliError, diskProblem, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { linesOf } from "../../../lib/formats/lines.ts";
import type { Line } from "../../../lib/formats/lines.ts";
import { attempt, isObject, stringifyJson, parseJson } from "../../../lib/json.ts";
import { pipe, resultOfStream } from "../../../lib/pipe.ts";
import { serverEvent } from "../../../lib/server-event.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { isIdPrefix, isUuid } from "../../../lib/text.ts";
import { endingOf, isEnded } from "../../../runs/outcome.ts";
import { RunTrace } from "../../../runs/trace.ts";
import type { Context } from "../../task/command-spec.ts";
import { traceEvents } from "../expect/index.ts";
import { followRun } from "../../../follow/follow.ts";
import { following, recordingPaths } from "../runs/index.ts";
import { RECORDING_VERSION } from "./write.ts";
import type { RecordingEnd } from "./write.ts";

/** The trace of a recorded or active run. */
export interface LoadedTrace {
  /** The recording or the run ID from the command line. */
  readonly source: string;
  readonly trace: RunTrace;
  /** Whether times are those at which events arrived, not whole seconds of the server. */
  readonly timed: boolean;
  /** The error that stopped following before the run ended; reported after the result. */
  readonly problem: CliError | undefined;
}

/**
 * Loads the trace of a recording, or follows the run with this ID until it ends or is waiting for
 * human input. The server does not keep the node events of ended runs (server §15.3): those that were recorded
 * on this machine are read from there.
 */
export async function loadTrace(source: string, context: Context): Promise<LoadedTrace> {
  if (isUuid(source)) return traceOfRun(source, context);
  const isFile = !isIdPrefix(source) || (await context.host.files.stat(source)) !== null;
  return isFile
    ? traceOfRecording(source, context)
    : traceOfRun(await context.resolveId("run", source), context);
}

/** The recordings of runs on this machine: whether a run has one, and the content of the one with most nodes. */
export async function savedRecordings(context: Context) {
  const pathsOf = await recordingPaths(context).catch(knownFailure); // a file of runs needs no server
  return {
    has: (run: string): boolean => pathsOf?.(run)[0] !== undefined,
    async load(run: string): Promise<LoadedTrace | undefined> {
      const traces: LoadedTrace[] = [];
      for (const path of pathsOf?.(run) ?? []) {
        const loaded = await traceOfRecording(path, context).catch(knownFailure); // removed, or changed
        if (loaded?.trace.runId === run && loaded.trace.nodes.length > 0) traces.push(loaded);
      }
      return traces.toSorted((a, b) => b.trace.nodes.length - a.trace.nodes.length)[0];
    },
  };
}

function knownFailure(error: unknown): undefined {
  if (!(error instanceof CliError)) throw error;
}

async function traceOfRecording(path: string, context: Context): Promise<LoadedTrace> {
  const trace = new RunTrace();
  const recording = new RecordingReader(path, context);
  for await (const batch of recording.read()) {
    for (const event of batch) {
      const { workflow_run_id: run = trace.runId } = event.fields;
      if (run !== (trace.runId ?? run)) throw mixedRuns(path, trace);
      trace.add(event, event.at);
    }
  }
  const { info } = recording;
  // The final event is missing if the result came from run details.
  if (info.end && trace.status === "running" && isEnded(info.end.why)) trace.status = info.end.why;
  trace.status = endingOf(trace);
  markMissing(trace, info);
  return { source: path, trace, timed: info.timed, problem: undefined };
}

const mixedRuns = (path: string, { runId = "" }: RunTrace): CliError =>
  usage(
    `${path} contains events of several runs`,
    `select one run: jq -c 'select(.workflow_run_id == "${runId}")'`,
  );

async function traceOfRun(runId: string, context: Context): Promise<LoadedTrace> {
  const trace = new RunTrace();
  const followed = { runId, reconnect: true, throughPauses: false, snapshot: true };
  let problem: CliError | undefined;
  try {
    const events = pipe(followRun(followed, following(context)), traceEvents(trace, context));
    trace.status = endingOf((await resultOfStream(events)).outcome);
  } catch (error) {
    // The nodes received so far are still worth showing.
    if (!(error instanceof CliError) || trace.nodes.length === 0) throw error;
    problem = error.with({ isResult: true });
  }
  const recorded =
    trace.nodes.length === 0 ? await (await savedRecordings(context)).load(runId) : undefined;
  return recorded ?? { source: runId, trace, timed: true, problem };
}

/** An event of a recording. */
export interface RecordedEvent extends ServerEvent {
  /** Time of arrival in ms since the epoch; never before that of the previous event. */
  readonly at: number;
}

/** Properties of a recording that are known after reading it. */
export type RecordingInfo = RecordingReader["info"];

/** Marks what the trace of a recording lacks. */
export function markMissing(trace: RunTrace, { damaged, redacted }: RecordingInfo): void {
  trace.redacted = redacted;
  if (damaged === 0) return;
  // A damaged line may have held any event; later lines do not replace it.
  trace.gaps++;
  trace.nodesMissing = true;
  trace.unwatched = true;
}

/** Maximum number of damaged lines that are reported one by one. */
const MAX_REPORTED = 5;
/** Damaged lines before the first valid one after which the file is rejected. */
const MAX_LEADING_DAMAGED = 20;

/**
 * Reads the events of a recording or of the output of `wf events -o jsonl`; `-` is stdin. Skips
 * damaged lines with a notice. Throws `usage` for a file that is neither, or that cannot be read.
 */
export class RecordingReader {
  private readonly path: string;
  private readonly context: Context;
  /** When each node began, in ms since the first event. */
  private readonly starts = new Map<string | undefined, number>();
  /** Undefined if the recording command was killed, or for the output of `wf events`. */
  private end: RecordingEnd | undefined;
  /** Whether times are those at which events arrived, not whole seconds of the server. */
  private timed = true;
  private redacted: boolean | undefined;
  /** Number of damaged lines. */
  private damaged = 0;
  /** ms since the epoch. */
  private start: number | undefined;
  /** ms since the first event. */
  private at = 0;

  constructor(path: string, context: Context) {
    this.path = path;
    this.context = context;
  }

  /** What is known after the last event was read. */
  get info() {
    const { end, timed, damaged } = this;
    // The head with this flag may be damaged. The output of `wf events` is never redacted.
    return { end, timed, redacted: this.redacted ?? (timed && damaged > 0), damaged };
  }

  async *read(): AsyncGenerator<readonly RecordedEvent[]> {
    const { context, name } = this;
    const tooLong = (line: number) => this.invalid("line too long", line);
    let [events, valid] = [0, 0];
    let notRecording: CliError | undefined;
    /** Reports of damaged lines, held back until the file turns out to be a recording. */
    const notices: string[] = [];
    for await (const { lines } of linesOf(this.bytes(), tooLong, context)) {
      const batch: RecordedEvent[] = [];
      for (const line of lines) {
        if (line.text.trim() === "") continue;
        const result = this.parse(line);
        if (typeof result !== "string") {
          valid++;
          if (result) batch.push(result);
          continue;
        }
        notRecording ??= this.invalid(
          `${result}; the file is not a recording of a run`,
          line.number,
        );
        if (valid === 0 && this.damaged === MAX_LEADING_DAMAGED) throw notRecording;
        if (++this.damaged <= MAX_REPORTED)
          notices.push(`${name} line ${line.number}: ${result}; skipped`);
      }
      if (valid > 0) for (const text of notices.splice(0)) await context.notice(text);
      events += batch.length;
      if (batch.length > 0) yield batch;
    }
    if (valid === 0 && notRecording) throw notRecording;
    if (events === 0) throw this.invalid("no events found");
    if (this.damaged > MAX_REPORTED)
      await context.notice(`${name}: skipped ${this.damaged} damaged lines`);
  }

  private get name(): string {
    return this.path === "-" ? "stdin" : this.path;
  }

  private invalid(problem: string, line?: number): CliError {
    const place = line === undefined ? this.name : `${this.name} line ${line}`;
    return usage(
      `${place}: ${problem}`,
      `make a recording with ${commandLine("wf run", [], { record: "FILE" })}; ${commandLine("wf logs")} lists runs`,
    );
  }

  private async *bytes(): AsyncGenerator<Uint8Array> {
    const { stdin, files } = this.context.host;
    try {
      yield* this.path === "-" ? stdin.bytes() : files.bytes(this.path);
    } catch (error) {
      const problem = diskProblem(error);
      throw problem ? this.invalid(problem.reason) : error;
    }
  }

  /** When a node ended, from its duration: the server's times are whole seconds. */
  private endOf({ event, fields }: ServerEvent): number {
    if (/^(workflow|node|iteration|loop)_started$/.test(event)) this.starts.set(fields.id, this.at);
    const elapsed = timeIn(fields.elapsed_time);
    const start = this.starts.get(fields.id);
    const isEnd = /_(finished|completed)$/.test(event);
    return isEnd && elapsed !== undefined && start !== undefined ? start + elapsed * 1000 : this.at;
  }

  /** Returns the event, undefined for the head or the end, or what is wrong with the line. */
  private parse({ number, text }: Line): RecordedEvent | undefined | string {
    const value = attempt((): unknown => parseJson(text));
    if (!isObject(value)) return value === undefined ? "invalid JSON" : notEvent;
    const { event, recording, end } = value;
    if (isObject(event)) {
      if (typeof event["event"] !== "string") return notEvent;
      const parsed = serverEvent(event, rawIn(text, value));
      this.at = Math.max(this.at, timeIn(value["at"]) ?? 0);
      this.start ??= (serverTime(parsed) ?? this.at) - this.at;
      return { ...parsed, at: this.start + this.at };
    }
    if (typeof event === "string") {
      const parsed = serverEvent(value, text.trim());
      this.timed = false;
      const time = serverTime(parsed);
      this.start ??= time;
      const start = this.start ?? 0;
      this.at = Math.max(this.at, (time ?? 0) - start, this.endOf(parsed));
      return { ...parsed, at: start + this.at };
    }
    if (typeof recording === "number") {
      if (recording !== RECORDING_VERSION)
        throw this.invalid(
          `unsupported recording version ${recording} (expected ${RECORDING_VERSION})`,
          number,
        );
      this.redacted = value["redacted"] === true;
      this.start ??= timeIn(Date.parse(String(value["started_at"])));
      return undefined;
    }
    if (!isObject(end)) return notEvent;
    const { exit, why } = end;
    if (typeof exit === "number" && typeof why === "string") this.end = { exit, why };
    return undefined;
  }
}

const notEvent = "not an event";

/** The server's own text if the line contains nothing else. */
function rawIn(line: string, value: Readonly<Record<string, unknown>>): string {
  const own =
    Object.keys(value).length === 2 ? /^\{"at":[\d.]+,"event":(.*)\}\s*$/s.exec(line) : null;
  return own?.[1] ?? stringifyJson(value["event"]);
}

/** The server's time of an event in ms, in whole seconds. */
function serverTime({ fields }: ServerEvent): number | undefined {
  const seconds = timeIn(fields.finished_at) ?? timeIn(fields.created_at);
  return seconds === undefined ? undefined : timeIn(seconds * 1000);
}

/** Largest time value of a Date. */
const MAX_TIME = 8.64e15;

const timeIn = (value: unknown): number | undefined =>
  typeof value === "number" && value >= 0 && value <= MAX_TIME / 2 ? value : undefined;
