import * as workflows from "../operations/workflows.ts";
import { CliError } from "../errors.ts";
import { isEnded } from "./run-outcome.ts";
import type { Context } from "./task.ts";

/** How long to look whether a stopped run has ended, in tries and ms between them. */
const looks = 10;
const between = 300;

/**
 * Asks the server to stop a task. Its answer is the same whether anything was stopped (server §13),
 * so the run's detail tells, where the run is known.
 */
export async function* run(
  input: { readonly task_id: string; readonly run?: string | undefined },
  context: Context,
): AsyncGenerator<unknown> {
  const { run: runId, task_id } = input;
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
