import { CliError } from "../../../errors.ts";
import { backoff, delays } from "../../../lib/backoff.ts";
import type { WorkflowRun } from "../../../operations/workflows.ts";
import { isEnded, raiseOutcome } from "../../../runs/outcome.ts";
import { outdatedNotice, readRunState } from "./run-state.ts";
import type { RunState } from "./run-state.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** Failed polls in a row before giving up. */
const MAX_FAILURES = 10;
/**
 * ms of `running` before a notice. By default a server ends every run after 20 minutes (server §13),
 * but the record of a stopped one may show `running` forever.
 */
const LONG_RUN = 20 * 60_000;
/** ms of `running` before giving up, unless --timeout is set. */
const MAX_RUN = 60 * 60_000;

interface WaitInput {
  readonly workflow_run_id: string;
  readonly through_pauses?: boolean | undefined;
}

/** Waits for the end of a run or a pause, yields its record, and throws its outcome. */
export async function* run(input: WaitInput, context: Context): AsyncGenerator<WorkflowRun> {
  const { workflow_run_id } = input;
  const state = await waitForRun(input, context);
  if (state.outdated) await context.notice(outdatedNotice(workflow_run_id, state));
  yield state.record;
  await raiseOutcome(workflow_run_id, state, context.notice);
}

/**
 * Polls the record of a run until the run has ended or is paused. Tolerates temporary failures. Throws
 * `cut` if the record shows `running` for too long.
 */
export async function waitForRun(input: WaitInput, context: Context): Promise<RunState> {
  const { workflow_run_id } = input;
  let failures = 0;
  let runningSince = context.host.elapsed();
  let hasWarned = false;
  for (let attempt = 0; ; attempt++) {
    try {
      const state = await readRunState(workflow_run_id, context);
      failures = 0;
      const { status } = state;
      if (isEnded(status) || (status === "paused" && !input.through_pauses)) return state;
      if (status === "paused") runningSince = context.host.elapsed();
      const running = context.host.elapsed() - runningSince;
      if (running > MAX_RUN && context.options.flags.timeout === undefined)
        throw gaveUp(workflow_run_id);
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
