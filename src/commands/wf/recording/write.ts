import { dirname, resolve } from "node:path";
import type { EventStage } from "../../../api/sse.ts";
import { CliError, codeOf, diskProblem, usage } from "../../../errors.ts";
import type { AppendFile } from "../../../host/host.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { version } from "../../../lib/version.ts";
import type { Input } from "../../../operations/operation.ts";
import { recordingText, redactKeys } from "../../../redact/text.ts";
import { raiseOutcome } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import type { FollowResult } from "../../../follow/follow.ts";
import { saveRun } from "../runs/index.ts";
import type { recordingParams } from "./command.ts";
import { stringifyJson } from "../../../lib/json.ts";

/*
 * A recording is JSON Lines:
 *   {"recording":1,"program":"wf 0.1.0","started_at":"2026-11-21T12:00:00.000Z"}
 *   {"at":0,"event":{…}}     ms since the first event, and the server's own text
 *   {"end":{"exit":0,"why":"succeeded"}}
 * The head has "redacted":true if texts were replaced by their lengths. The last line is missing if the
 * command was killed.
 */

/** Version of the format. */
export const RECORDING_VERSION = 1;

/** Last line of a recording: how the recording command ended. */
export interface RecordingEnd {
  readonly exit: number;
  /** The status of the run or the kind of error; `left` if the consumer stopped early. */
  readonly why: string;
}

/** The text of one recording, line by line. */
export class RecordingLines {
  private readonly redact: boolean;
  private readonly context: Context;
  /** ms since the epoch of the first event. */
  private startedAt: number | undefined;
  /** ms since the first event. */
  private at = 0;

  constructor(redact: boolean, context: Context) {
    this.redact = redact;
    this.context = context;
  }

  /** Whether there are no events. */
  get isEmpty(): boolean {
    return this.startedAt === undefined;
  }

  /** The lines of events that arrive now, after the head before the first ones. */
  next(events: readonly ServerEvent[]): string {
    const { context, redact } = this;
    const time = context.host.now().getTime();
    let lines = "";
    if (this.startedAt === undefined) {
      const head = {
        recording: RECORDING_VERSION,
        program: `${context.options.program} ${version}`,
        started_at: new Date(time).toISOString(),
        ...(redact && { redacted: true }),
      };
      lines = `${stringifyJson(head)}\n`;
    }
    this.startedAt ??= time;
    // The order of events survives a clock that is set back.
    this.at = Math.max(this.at, time - this.startedAt);
    for (const event of events) {
      const text = recordingText(redactKeys(event, context.host.secrets), redact);
      lines += `{"at":${this.at},"event":${text}}\n`;
    }
    return lines;
  }

  /** The last line; none without events. */
  end(end: RecordingEnd): string {
    return this.isEmpty ? "" : `${stringifyJson({ end })}\n`;
  }
}

/** The end of a recording of a run with this outcome. */
export const endOfRun = async (outcome: RunOutcome): Promise<RecordingEnd> => ({
  exit: await raiseOutcome("", outcome, () => Promise.resolve()).then(() => 0, exitOf),
  why: outcome.status,
});

/** The end of a recording that an error has ended. */
export const endOfError = (error: unknown): RecordingEnd => ({
  exit: exitOf(error),
  why: error instanceof CliError ? error.kind : "failure",
});

const exitOf = (error: unknown): number => (error instanceof CliError ? error.exit : 1);

type RecordInput = Input<typeof recordingParams>;

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

/**
 * A stage that records the events if --record is set: each as it arrives, in whole lines of a new file. A
 * run without events leaves no file. A disk error does not interrupt the run: it is reported at once, and
 * the command fails with `failure` if the run itself succeeded.
 */
export const recordTo = (
  { record: path, redact = false }: RecordInput,
  context: Context,
): EventStage<FollowResult> => (path === undefined ? {} : recording(path, redact, context));

function recording(path: string, redact: boolean, context: Context): EventStage<FollowResult> {
  const { files, cwd } = context.host;
  const lines = new RecordingLines(redact, context);
  let file: AppendFile | undefined;
  let problem: CliError | undefined;
  /** Whether the disk took nothing, so that there is no part to keep. */
  let isLost = false;

  const append = async (text: string) => {
    if (problem) return;
    try {
      await file?.write(text);
    } catch (error) {
      const { message } = writeError(path, error);
      const stat = await files.stat(path).catch(() => null);
      isLost = stat?.size === 0;
      problem = new CliError("failure", `incomplete recording: ${message}`, {
        sideEffect: "applied",
        isResult: true,
        hint: `the run itself continued; ${isLost ? "nothing was recorded" : "the recorded part can be used"}`,
      });
      await context.notice(`${problem.message}; following the run without recording`);
    }
  };

  const close = async (end: RecordingEnd) => {
    if (!lines.isEmpty) await append(lines.end(end));
    await file?.close().catch((error: unknown) => {
      problem ??= writeError(path, error);
    });
    if (file && (lines.isEmpty || isLost)) await files.remove(path);
  };

  return {
    async start() {
      await files.makeDirectory(dirname(path)).catch((error: unknown) => {
        throw writeError(path, error);
      });
      file = await files.create(path).catch((error: unknown) => {
        throw codeOf(error) === "EEXIST" ? alreadyExists(path) : writeError(path, error);
      });
    },
    async batch(events) {
      await append(lines.next(events));
      return events;
    },
    async end({ runId, outcome }) {
      const end = await endOfRun(outcome);
      await close(end);
      if (!problem) await saveRun(runId, { recording: resolve(cwd, path) }, context);
      else if (end.exit === 0) throw problem;
    },
    failed: (error) => close(endOfError(error)),
    abandoned: () => close({ exit: 0, why: "left" }),
  };
}

function writeError(path: string, error: unknown): CliError {
  const problem = diskProblem(error);
  if (!problem) throw error;
  return new CliError(problem.kind, `--record: failed to write ${path}: ${problem.reason}`, {
    sideEffect: "none",
  });
}
