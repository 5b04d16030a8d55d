import { CliError } from "../errors.ts";
import * as workflows from "../operations/workflows.ts";
import type { WorkflowRun } from "../operations/workflows.ts";
import { conclude, isEnded } from "./run-outcome.ts";
import type { Context } from "./task.ts";

/** ms between two looks, growing from the first to the last. */
const first = 500;
const last = 10_000;
/** Failed looks in a row before giving up. */
const budget = 10;

/**
 * Waits until a run has ended, or waits for a person, by looking at its detail, which is then
 * yielded. Ends with what became of it (conclude); survives a server that is away for a while.
 */
export async function* run(
  input: { readonly workflow_run_id: string; readonly through_pauses?: boolean | undefined },
  context: Context,
): AsyncGenerator<WorkflowRun> {
  const { workflow_run_id } = input;
  let failures = 0;
  for (let wait = first; ; wait = Math.min(last, wait * 1.5)) {
    try {
      const detail = await context.call(workflows.show, { workflow_run_id });
      failures = 0;
      const { status, error } = detail;
      if (isEnded(status) || (status === "paused" && !input.through_pauses)) {
        yield detail;
        await conclude(workflow_run_id, { status, error }, context.notice);
        return;
      }
      await context.trace(1, `run ${workflow_run_id} is ${status}`);
    } catch (error) {
      if (context.signal.aborted) throw resumable(error, workflow_run_id);
      const away = error instanceof CliError && error.told.retryable === true;
      if (!away || ++failures >= budget) throw error;
      await context.notice(`${error.message}; looking again`);
    }
    await context.host.sleep(wait, context.signal).catch(() => {
      throw resumable(context.interrupted(), workflow_run_id);
    });
  }
}

const resumable = (error: unknown, run: string): unknown =>
  error instanceof CliError
    ? new CliError(error.kind, error.message, {
        ...error.told,
        changed: undefined,
        hint: `the run goes on; wf wait ${run} waits again`,
      })
    : error;
