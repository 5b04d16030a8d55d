import type { CallOptions } from "../api/calls.ts";
import type { ApiClient } from "../api/client.ts";
import { CliError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { backoff, delays } from "../lib/backoff.ts";
import { commandLine } from "../lib/command-line.ts";
import { getWorkflowRun } from "../operations/workflows.ts";
import type { WorkflowRun } from "../operations/workflows.ts";
import { isEnded } from "../runs/outcome.ts";
import type { RunOutcome } from "../runs/outcome.ts";

/** What following a run needs of the program that follows it. */
export interface Following {
  readonly api: ApiClient;
  /** Ends the following, not the run. */
  readonly signal: AbortSignal;
  readonly host: Pick<Host, "elapsed" | "sleep" | "random">;
  /** A line for people. */
  notice(text: string): Promise<void>;
  trace(level: 1, text: string): Promise<void>;
  /** Waits; throws what ends the following if `signal` is aborted first. */
  pause(ms: number): Promise<void>;
  /** Is its time limited by another one than its own limits? */
  readonly hasTimeout: boolean;
  /** The end of a run whose event stream was seen to its end; undefined if there is none. */
  seenEnd(run: string): Promise<Pick<RunOutcome, "status" | "error"> | undefined>;
}

/** Current state of a run. */
export interface RunState extends RunOutcome {
  /** The server's record, unchanged. */
  readonly record: WorkflowRun;
  /** Whether the record still shows a run as running whose end was seen. */
  readonly outdated: boolean;
}

/**
 * Reads the record of a run. On some servers the record of a stopped run shows `running` forever, and
 * only the event stream reports the end (server §13): if that was seen, it is used.
 */
export async function stateOfRun(
  workflow_run_id: string,
  context: Following,
  options?: CallOptions,
): Promise<RunState> {
  const record = await context.api.call(getWorkflowRun, { workflow_run_id }, options);
  const { status, error } = record;
  const end = isEnded(status) ? undefined : await context.seenEnd(workflow_run_id);
  return end === undefined || status === "paused"
    ? { status, error, record, outdated: false }
    : { ...end, record, outdated: true };
}

/** Explains an outdated record. */
export const outdatedNotice = (runId: string, { status, record }: RunState): string =>
  `run ${runId} ended with status ${status}, as its event stream reported; its record still shows ${record.status}`;

/** Failed polls in a row before giving up. */
const MAX_FAILURES = 10;
/**
 * ms of `running` before a notice. By default a server ends every run after 20 minutes (server §13),
 * but the record of a stopped one may show `running` forever.
 */
const LONG_RUN = 20 * 60_000;
/** ms of `running` before giving up, unless --timeout is set. */
const MAX_RUN = 60 * 60_000;

export interface WaitInput {
  readonly workflow_run_id: string;
  readonly through_pauses?: boolean | undefined;
}

/**
 * Polls the record of a run until the run has ended or is paused. Tolerates temporary failures. Throws
 * `cut` if the record shows `running` for too long.
 */
export async function waitForRun(input: WaitInput, context: Following): Promise<RunState> {
  const { workflow_run_id } = input;
  let failures = 0;
  let runningSince = context.host.elapsed();
  let hasWarned = false;
  for (let attempt = 0; ; attempt++) {
    try {
      const state = await stateOfRun(workflow_run_id, context);
      failures = 0;
      const { status } = state;
      if (isEnded(status) || (status === "paused" && !input.through_pauses)) return state;
      if (status === "paused") runningSince = context.host.elapsed();
      const running = context.host.elapsed() - runningSince;
      if (running > MAX_RUN && !context.hasTimeout) throw gaveUp(workflow_run_id);
      if (running > LONG_RUN && !hasWarned) {
        hasWarned = true;
        await context.notice(
          `the record of run ${workflow_run_id} has shown running for ${minutes(running)}; run ${commandLine("wf events", [workflow_run_id])} to see whether it is active`,
        );
      }
      await context.trace(1, `run ${workflow_run_id} is ${status}`);
    } catch (error) {
      if (context.signal.aborted) throw withWaitHint(error, workflow_run_id);
      const isRecoverable = error instanceof CliError && error.info.retryable === true;
      if (!isRecoverable || ++failures >= MAX_FAILURES) throw error;
      await context.notice(`${error.message}; retrying`);
    }
    await context.pause(backoff(attempt, delays.run)).catch((error: unknown) => {
      throw withWaitHint(error, workflow_run_id);
    });
  }
}

const minutes = (ms: number) => `${Math.round(ms / 60_000)} minutes`;

const gaveUp = (run: string) =>
  new CliError(
    "cut",
    `gave up on run ${run}: its record has shown running for ${minutes(MAX_RUN)}, which may be outdated if the run was stopped`,
    {
      details: { run },
      hint: `run ${commandLine("wf events", [run])} to see whether it is active; --timeout sets another limit`,
    },
  );

const withWaitHint = (error: unknown, run: string): unknown =>
  error instanceof CliError
    ? error.with({
        sideEffect: undefined,
        hint: `the run continues; run ${commandLine("wf wait", [run])} to wait again`,
      })
    : error;
