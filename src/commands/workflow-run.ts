import { singly } from "../api/events.ts";
import type { Events } from "../api/events.ts";
import { CliError } from "../errors.ts";
import * as workflows from "../operations/workflows.ts";
import { asEvents } from "./as-events.ts";
import { followed } from "./following.ts";
import { conclude } from "./run-outcome.ts";
import { runInputs } from "./run-inputs.ts";
import type { Context } from "./task.ts";
import { shown } from "./event-stages.ts";

/** Input of `wf run`. */
export interface RunInput {
  readonly workflow_id?: string | undefined;
  readonly input?: readonly string[] | undefined;
  readonly inputs?: unknown;
  readonly files?: unknown;
  readonly blocking?: boolean | undefined;
  readonly detach?: boolean | undefined;
  readonly through_pauses?: boolean | undefined;
}

/**
 * Starts a run, once, and stays with it to its end. A cut line is followed up through the event
 * stream of the run; the run is never started again.
 */
export async function* run(input: RunInput, context: Context): AsyncGenerator<unknown> {
  const inputs = await runInputs(input, context);
  const body = { inputs, ...(Array.isArray(input.files) && { files: input.files }) };
  if (input.blocking) {
    yield* blocking(input, body, context);
    return;
  }
  const first =
    input.workflow_id === undefined
      ? await context.open(workflows.run, body)
      : await context.open(workflows.runById, { ...body, workflow_id: input.workflow_id });
  if (input.detach) {
    yield await started(first);
    return;
  }
  const events = shown(
    followed(
      { first, reconnect: true, throughPauses: input.through_pauses ?? false, snapshot: true },
      context,
    ),
    context,
  );
  if (asEvents(input, context.asked.format)) {
    const { runId, outcome } = yield* events;
    await conclude(runId, outcome, context.notice);
    return;
  }
  let next = await events.next();
  while (!next.done) next = await events.next();
  const { runId, outcome } = next.value;
  yield await context.call(workflows.show, { workflow_run_id: runId });
  await conclude(runId, outcome, context.notice);
}

type Body = { readonly inputs: Readonly<Record<string, unknown>>; readonly files?: unknown[] };

async function* blocking(input: RunInput, body: Body, context: Context): AsyncGenerator<unknown> {
  const answer =
    input.workflow_id === undefined
      ? await context.call(workflows.runBlocking, body)
      : await context.call(workflows.runByIdBlocking, { ...body, workflow_id: input.workflow_id });
  yield answer;
  const { status, error } = answer.data;
  await conclude(answer.workflow_run_id, { status, error }, context.notice);
}

/** The ids of a run, as soon as the server names them; leaving the stream does not stop the run. */
async function started(events: Events): Promise<{ workflow_run_id: string; task_id: string }> {
  for await (const { event, data } of singly(events)) {
    if (event === "error") {
      throw new CliError("remote-failed", `the run could not start: ${String(data["message"])}`);
    }
    const { workflow_run_id, task_id } = data;
    if (typeof workflow_run_id === "string" && typeof task_id === "string") {
      return { workflow_run_id, task_id };
    }
  }
  throw new CliError("network", "the stream ended before the server named the run", {
    changed: "unknown",
    hint: "the run may have started: `wf logs` shows it; do not start it again before looking",
  });
}
