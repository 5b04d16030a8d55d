import { CliError } from "../../../errors.ts";
import type { ServerEvent } from "../../../lib/server-event.ts";
import { version } from "../../../lib/version.ts";
import { recordingText, redactKeys } from "../../../redact/text.ts";
import { raiseOutcome } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";

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
interface RecordingHead {
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
      const head: RecordingHead = {
        recording: RECORDING_VERSION,
        program: `${context.options.program} ${version}`,
        started_at: new Date(time).toISOString(),
        ...(redact && { redacted: true }),
      };
      lines = `${JSON.stringify(head)}\n`;
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
    return this.isEmpty ? "" : `${JSON.stringify({ end })}\n`;
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
