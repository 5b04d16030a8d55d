import { dirname } from "node:path";
import type { EventBatches } from "../../../api/sse.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { CliError, diskProblem, usage } from "../../../errors.ts";
import type { AppendFile } from "../../../host/host.ts";
import { isObject } from "../../../lib/json.ts";
import { version } from "../../../lib/version.ts";
import { recordingText, redactKeys } from "../../../redact/recordings.ts";
import { raiseOutcome } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../command-spec.ts";

/*
 * A recording is JSON Lines:
 *   {"recording":1,"program":"wf 0.1.0","started_at":"2026-11-21T12:00:00.000Z"}
 *   {"at":0,"event":{…}}     ms since the first event, and the server's own text
 *   {"end":{"exit":0,"why":"succeeded"}}
 * The last line is missing if the command was killed.
 */

/** Version of the format. */
export const RECORDING_VERSION = 1;

/** First line of a recording. */
export interface RecordingHead {
  readonly recording: number;
  readonly program: string;
  /** ISO time of the first event. */
  readonly started_at: string;
  /** Texts were replaced by their lengths. */
  readonly redacted?: true;
}

/** Last line of a recording: how the recording command ended. */
export interface RecordingEnd {
  readonly exit: number;
  /** The status of the run or the kind of error; `left` if the consumer stopped early. */
  readonly why: string;
}

/** Flags of commands that record a run. */
export interface RecordInput {
  readonly record?: string | undefined;
  readonly redact?: boolean | undefined;
}

/** Rejects invalid flags and existing files before anything is sent. Throws `usage`. */
export async function checkRecord(
  { record: path, redact }: RecordInput,
  { host }: Context,
): Promise<void> {
  if (path === undefined) {
    if (redact) throw usage("--redact requires --record", "add --record FILE");
    return;
  }
  if (path === "-") throw usage("--record writes to a file", "print the events with -o jsonl");
  if ((await host.files.stat(path)) !== null) throw alreadyExists(path);
}

const alreadyExists = (path: string): CliError =>
  usage(
    `--record: ${path} already exists`,
    "recordings are never overwritten; choose another name",
  );

/** Passes events on and records them if --record is set. */
export const recordTo = <T>(
  input: RecordInput,
  events: EventBatches<T>,
  context: Context,
): EventBatches<T> =>
  input.record === undefined
    ? events
    : recordEvents(events, input.record, input.redact ?? false, context);

/**
 * Passes events on and writes each to a new file as it arrives. A run without events leaves no file.
 * A disk error does not interrupt the run: it is reported at once, and the command fails with
 * `failure` if the run itself succeeded.
 */
async function* recordEvents<T>(
  events: EventBatches<T>,
  path: string,
  redact: boolean,
  context: Context,
): EventBatches<T> {
  const recording = await Recording.create(path, redact, context);
  let end: RecordingEnd | undefined;
  try {
    for (;;) {
      const next = await events.next();
      if (next.done) {
        end = await endLineOf(next.value);
        const problem = await recording.end(end);
        if (problem && end.exit === 0) throw problem;
        return next.value;
      }
      await recording.write(next.value);
      yield next.value;
    }
  } catch (error) {
    end ??=
      error instanceof CliError
        ? { exit: error.exit, why: error.kind }
        : { exit: 1, why: "failure" };
    throw error;
  } finally {
    if (end === undefined) {
      const abandoned: AsyncGenerator<unknown, unknown> = events;
      await abandoned.return(undefined);
    }
    await recording.end(end ?? { exit: 0, why: "left" });
  }
}

/** The end line for the result of following a run. */
async function endLineOf(result: unknown): Promise<RecordingEnd> {
  if (!isObject(result) || !isObject(result["outcome"])) return { exit: 0, why: "done" };
  const outcome = result["outcome"] as unknown as RunOutcome; // what following a run returns
  try {
    await raiseOutcome("", outcome, () => Promise.resolve());
    return { exit: 0, why: outcome.status };
  } catch (error) {
    return { exit: error instanceof CliError ? error.exit : 1, why: outcome.status };
  }
}

/** The file of a recording; lines are written whole. */
class Recording {
  private readonly path: string;
  private readonly file: AppendFile;
  private readonly redact: boolean;
  private readonly context: Context;
  /** ms since the epoch of the first event. */
  private start: number | undefined;
  /** ms since the first event. */
  private at = 0;
  private problem: CliError | undefined;
  private open = true;

  private constructor(path: string, file: AppendFile, redact: boolean, context: Context) {
    this.path = path;
    this.file = file;
    this.redact = redact;
    this.context = context;
  }

  static async create(path: string, redact: boolean, context: Context): Promise<Recording> {
    const { files } = context.host;
    await files.makeDirectory(dirname(path)).catch((error: unknown) => {
      throw writeError(path, error);
    });
    const file = await files.create(path).catch((error: unknown) => {
      const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
      throw exists ? alreadyExists(path) : writeError(path, error);
    });
    return new Recording(path, file, redact, context);
  }

  async write(events: readonly ServerEvent[]): Promise<void> {
    const { context, redact } = this;
    const time = context.host.now().getTime();
    let lines = "";
    if (this.start === undefined) {
      const head: RecordingHead = {
        recording: RECORDING_VERSION,
        program: `${context.options.program} ${version}`,
        started_at: new Date(time).toISOString(),
        ...(redact && { redacted: true }),
      };
      lines = `${JSON.stringify(head)}\n`;
    }
    this.start ??= time;
    // The order of events survives a clock that is set back.
    this.at = Math.max(this.at, time - this.start);
    for (const event of events) {
      const text = recordingText(redactKeys(event, context.host.secrets), redact);
      lines += `{"at":${this.at},"event":${text}}\n`;
    }
    await this.append(lines);
  }

  /** Closes the file once. Returns the error that made the recording incomplete. */
  async end(end: RecordingEnd): Promise<CliError | undefined> {
    if (!this.open) return this.problem;
    this.open = false;
    if (this.start !== undefined) await this.append(`${JSON.stringify({ end })}\n`);
    await this.file.close().catch((error: unknown) => {
      this.problem ??= writeError(this.path, error);
    });
    if (this.start === undefined) await this.context.host.files.remove(this.path);
    return this.problem;
  }

  private async append(text: string): Promise<void> {
    if (this.problem) return;
    try {
      await this.file.write(text);
    } catch (error) {
      const { message } = writeError(this.path, error);
      this.problem = new CliError("failure", `incomplete recording: ${message}`, {
        sideEffect: "applied",
        isResult: true,
        hint: "the run itself continued; the recorded part can be used",
      });
      await this.context.notice(`${this.problem.message}; following the run without recording`);
    }
  }
}

function writeError(path: string, error: unknown): CliError {
  const problem = diskProblem(error);
  if (!problem) throw error;
  return new CliError(problem.kind, `--record: failed to write ${path}: ${problem.reason}`, {
    sideEffect: "none",
  });
}
