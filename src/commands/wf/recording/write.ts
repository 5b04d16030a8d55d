import { dirname } from "node:path";
import type { EventBatches, ServerEvent } from "../../../api/sse.ts";
import { CliError, diskProblem } from "../../../errors.ts";
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
 * The last line is there when the command ended by itself.
 */

/** Version of the format. */
export const recordingVersion = 1;

/** First line of a recording. */
export interface RecordingHead {
  readonly recording: number;
  readonly program: string;
  /** ISO time of the first event. */
  readonly started_at: string;
  /** Texts were replaced by their lengths. */
  readonly redacted?: true;
}

/** Last line of a recording: how the command ended that made it. */
export interface RecordingEnd {
  readonly exit: number;
  /** What became of the run, or the kind of failure; `left` when nobody read on. */
  readonly why: string;
}

/** What a command line says about a recording. */
export interface RecordInput {
  readonly record?: string | undefined;
  readonly redact?: boolean | undefined;
}

/** Refuses, before anything is sent, to write over a file and what makes no recording. */
export async function checkRecord(
  { record: path, redact }: RecordInput,
  { host }: Context,
): Promise<void> {
  const wrong = (message: string, hint: string) =>
    new CliError("usage", message, { sideEffect: "none", hint });
  if (path === undefined) {
    if (redact) throw wrong("--redact says how --record writes", "add --record FILE");
    return;
  }
  if (path === "-") throw wrong("--record writes to a file", "-o jsonl prints the events");
  if ((await host.files.stat(path)) !== null) throw isThere(path);
}

const isThere = (path: string): CliError =>
  new CliError("usage", `--record: ${path} is there already`, {
    sideEffect: "none",
    hint: "a recording is never written over: choose another name",
  });

/** Passes events on and records them when --record is set. */
export const recordTo = <T>(
  input: RecordInput,
  events: EventBatches<T>,
  context: Context,
): EventBatches<T> =>
  input.record === undefined
    ? events
    : recordEvents(events, input.record, input.redact ?? false, context);

/**
 * Passes events on and writes each to a new file as it comes. Every line is whole whatever ends the
 * command; without an event there is no file. A disk that fails does not end what is followed: that
 * is said at once, and ends the command with `failure` when the run itself did well.
 */
async function* recordEvents<T>(
  events: EventBatches<T>,
  path: string,
  redact: boolean,
  context: Context,
): EventBatches<T> {
  const recording = await newRecording(path, redact, context);
  let end: RecordingEnd | undefined;
  try {
    for (;;) {
      const next = await events.next();
      if (next.done) {
        end = await endingOf(next.value);
        const broken = await recording.end(end);
        if (broken && end.exit === 0) throw broken;
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
      const left: AsyncGenerator<unknown, unknown> = events;
      await left.return(undefined);
    }
    await recording.end(end ?? { exit: 0, why: "left" });
  }
}

/** How a command ends that followed a run to this outcome; those that follow several have none. */
async function endingOf(followed: unknown): Promise<RecordingEnd> {
  if (!isObject(followed) || !isObject(followed["outcome"])) return { exit: 0, why: "done" };
  const outcome = followed["outcome"] as unknown as RunOutcome; // what a followed run returns
  try {
    await raiseOutcome("", outcome, () => Promise.resolve());
    return { exit: 0, why: outcome.status };
  } catch (error) {
    return { exit: error instanceof CliError ? error.exit : 1, why: outcome.status };
  }
}

/** A file that takes the events of one run. */
interface Recording {
  write(events: readonly ServerEvent[]): Promise<void>;
  /** Closes the file, the first time; the failure that left it in part. */
  end(ending: RecordingEnd): Promise<CliError | undefined>;
}

async function newRecording(path: string, redact: boolean, context: Context): Promise<Recording> {
  const { files, now, secrets } = context.host;
  const problemOf = (error: unknown): CliError => {
    const problem = diskProblem(error);
    if (!problem) throw error;
    return new CliError(problem.kind, `--record: ${path} cannot be written: ${problem.reason}`, {
      sideEffect: "none",
    });
  };
  await files.makeDirectory(dirname(path)).catch((error: unknown) => {
    throw problemOf(error);
  });
  const file = await files.create(path).catch((error: unknown) => {
    const exists = error instanceof Error && "code" in error && error.code === "EEXIST";
    throw exists ? isThere(path) : problemOf(error);
  });
  let start: number | undefined;
  let at = 0;
  let broken: CliError | undefined;
  let open = true;

  const append = async (text: string) => {
    if (broken) return;
    try {
      await file.write(text);
    } catch (error) {
      const { message } = problemOf(error);
      broken = new CliError("failure", `the recording is not whole: ${message}`, {
        sideEffect: "applied",
        isResult: true,
        hint: "the run itself went on; what was written until then can be used",
      });
      await context.notice(`${broken.message}; the run is followed without it`);
    }
  };

  return {
    async write(events) {
      const time = now().getTime();
      let lines = "";
      if (start === undefined) {
        start = time;
        const head: RecordingHead = {
          recording: recordingVersion,
          program: `${context.options.program} ${version}`,
          started_at: new Date(time).toISOString(),
          ...(redact && { redacted: true }),
        };
        lines = `${JSON.stringify(head)}\n`;
      }
      // A clock that was set back must not turn the order around.
      at = Math.max(at, time - start);
      for (const event of events) {
        lines += `{"at":${at},"event":${recordingText(redactKeys(event, secrets), redact)}}\n`;
      }
      await append(lines);
    },
    async end(ending) {
      if (!open) return broken;
      open = false;
      if (start !== undefined) await append(`${JSON.stringify({ end: ending })}\n`);
      await file.close().catch((error: unknown) => {
        broken ??= problemOf(error);
      });
      if (start === undefined) await files.remove(path);
      return broken;
    },
  };
}
