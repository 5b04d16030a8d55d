import * as workflows from "../operations/workflows.ts";
import { CliError } from "../errors.ts";
import { taskOf } from "./remembered-runs.ts";
import { isEnded } from "./run-outcome.ts";
import type { Context } from "./task.ts";

/** How long to look whether a stopped run has ended, in tries and ms between them. */
const looks = 10;
const between = 300;

/** Input of `wf stop`. */
interface StopInput {
  /** Id of a task, or of a run that was started or followed here. */
  readonly task_id: string;
  readonly run?: string | undefined;
}

/**
 * Asks the server to stop a task. Its answer is the same whether anything was stopped (server §13),
 * so the run's detail tells, where the run is known.
 */
export async function* run(input: StopInput, context: Context): AsyncGenerator<unknown> {
  const { task_id, runId } = await meant(input, context);
  if (runId !== undefined) {
    const { status } = await context.call(workflows.show, { workflow_run_id: runId });
    if (isEnded(status)) {
      await context.notice(`run ${runId} has ended already: ${status}`);
      yield { result: "ended", verified: true, status };
      return;
    }
    if (status === "paused") {
      throw new CliError("refused", `run ${runId} is paused; a paused run cannot be stopped`, {
        changed: "nothing",
        hint: "answer its form, or let it expire",
      });
    }
  }
  await context.call(workflows.stop, { task_id });
  if (runId === undefined) {
    await context.notice(
      "sent, not verified: the server says the same for every task; --run checks",
    );
    yield { result: "sent", verified: false };
    return;
  }
  for (let look = 0; look < looks; look++) {
    const { status } = await context.call(workflows.show, { workflow_run_id: runId });
    if (isEnded(status)) {
      yield { result: status, verified: true, status };
      return;
    }
    await context.host.sleep(between, context.signal).catch(() => {
      throw context.interrupted();
    });
  }
  throw new CliError("failure", `run ${runId} still runs after it was asked to stop`, {
    changed: "unknown",
    hint: "the stop takes the task id of the stream, not the run id",
  });
}

/** The task to stop, and its run where it is known. An id that is no remembered run is a task's. */
async function meant(
  { task_id, run: runId }: StopInput,
  context: Context,
): Promise<{ readonly task_id: string; readonly runId: string | undefined }> {
  if (runId !== undefined) return { task_id, runId };
  const task = await taskOf(task_id, context);
  if (task !== undefined) return { task_id: task, runId: task_id };
  await refuseRun(task_id, context);
  return { task_id, runId: undefined };
}

/** A run's id stops nothing, and the server would not say so (server §13). */
async function refuseRun(id: string, context: Context): Promise<void> {
  try {
    const { status } = await context.call(workflows.show, { workflow_run_id: id });
    if (isEnded(status)) return;
  } catch {
    return; // no run of this id, or nothing to be known: it is taken for a task
  }
  throw new CliError("usage", `${id} is a run, and the task it runs as is not known here`, {
    changed: "nothing",
    hint: `wf events ${id} shows the task_id of a run that goes on, and remembers it`,
  });
}
