import { ApiError, CliError, refused, usage } from "../../../errors.ts";
import { delays, poll } from "../../../lib/backoff.ts";
import { getAppInfo } from "../../../operations/apps.ts";
import { stopMessage } from "../../../operations/chats.ts";
import { getWorkflowRun, stopWorkflowRun, streamRunEvents } from "../../../operations/workflows.ts";
import type { Input } from "../../../operations/operation.ts";
import { endingOf, finalOutcome, isEnded } from "../../../runs/outcome.ts";
import type { RunOutcome } from "../../../runs/outcome.ts";
import type { Context } from "../../task/command-spec.ts";
import { outdatedNotice } from "../../../follow/run-state.ts";
import { readRunState, loadRun, saveRun } from "./run-state.ts";
import type { stopParams } from "./command.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isIdPrefix } from "../../../lib/text.ts";

/** How often to check whether a stopped run has ended. */
const MAX_POLLS = 30;

/** ms to wait for the first event before the stop is sent. */
const MAX_ATTACH = 2000;

type StopInput = Input<typeof stopParams>;

/**
 * Stops a task. The response is the same whether anything was stopped (server §13), so a known run is
 * checked: its record, or its event stream, because the record of a stopped run may show `running`
 * forever.
 */
export async function* run(input: StopInput, context: Context): AsyncGenerator<unknown> {
  const { task_id, runId } = await resolveTask(input, context);
  if (runId === undefined) {
    await stopTask(task_id, context);
    await context.notice(
      "stop requested, not verified: the server's response is the same for every task; pass --run to verify",
    );
    yield { result: "sent", verified: false };
    return;
  }
  const before = await readRunState(runId, context);
  if (isEnded(before.status)) {
    await context.notice(
      before.outdated
        ? outdatedNotice(runId, before)
        : `run ${runId} has already ended with status ${before.status}`,
    );
    yield { result: "ended", verified: true, status: before.status };
    return;
  }
  if (before.status === "paused") {
    throw refused(
      `run ${runId} is paused; a paused run cannot be stopped`,
      `submit its form, which ${commandLine("wf events", [runId])} shows, or let it expire`,
    );
  }
  if (context.options.dryRun) return stopTask(task_id, context);
  const listener = listenForEnd(runId, context);
  try {
    await listener.attached;
    await stopTask(task_id, context);
    const status = await waitForEnd(runId, listener, context);
    yield { result: status, verified: true, status };
  } finally {
    listener.close();
  }
}

/** `wf chat stop`: by the task ID, or by the ID of a run that was followed on this machine. */
export const chatStop = {
  async *run(
    { task_id: id }: { readonly task_id: string },
    context: Context,
  ): AsyncGenerator<unknown> {
    const { task: task_id = id } = await loadRun(id, context);
    yield await context.api.call(stopMessage, { task_id });
  },
};

/** Returns the final status from the record or the event stream; throws `failure` without either. */
async function waitForEnd(
  runId: string,
  listener: ReturnType<typeof listenForEnd>,
  context: Context,
): Promise<string> {
  const check = async () => {
    // Taken before the record is read, which may be updated after the event.
    const outcome = listener.outcome();
    const { status, record } = await readRunState(runId, context);
    if (isEnded(status)) return status;
    if (outcome !== undefined) {
      const end = { status: endingOf(outcome), error: outcome.error };
      await saveRun(runId, { end }, context);
      await context.notice(outdatedNotice(runId, { ...end, record, outdated: true }));
      return end.status;
    }
    return undefined;
  };
  const polling = { every: delays.stop, giveUpAfter: MAX_POLLS, pause: context.pause };
  const status = await poll(check, polling);
  if (status !== undefined) return status;
  throw new CliError(
    "failure",
    `stop requested, but neither the record nor the event stream of run ${runId} shows that it ended`,
    { sideEffect: "unknown", hint: `wait for its end: ${commandLine("wf wait", [runId])}` },
  );
}

/**
 * Listens to a run that is about to be stopped. The first event of its snapshot shows that it is
 * subscribed (server §15.3).
 */
function listenForEnd(workflow_run_id: string, context: Context) {
  let outcome: RunOutcome | undefined;
  const closed = new AbortController();
  const { signal } = closed;
  const input = { workflow_run_id, include_state_snapshot: true };
  const listen = async (onEvent: () => void) => {
    const events = await context.api.open(streamRunEvents, input, { retries: 0, signal });
    for await (const batch of events) {
      onEvent();
      for (const event of batch) outcome ??= finalOutcome(event, true);
      if (outcome) return;
    }
  };
  // Without a stream, the record alone shows the end.
  const first = new Promise<void>((resolve) => {
    listen(resolve)
      .catch(() => {})
      .finally(resolve);
  });
  const timeout = context.host.sleep(MAX_ATTACH, signal).catch(() => {});
  return {
    /** Resolves when the stream is open, or could not be opened. */
    attached: Promise.race([first, timeout]),
    /** The outcome, once an event announced it. */
    outcome: () => outcome,
    close: () => closed.abort(),
  };
}

/** Sends the stop to the route of workflows or, for other applications, that of chats. */
async function stopTask(task_id: string, context: Context): Promise<void> {
  try {
    await context.api.call(stopWorkflowRun, { task_id });
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.serverCode !== "not_workflow_app")
      throw error;
    await context.api.call(stopMessage, { task_id });
  }
}

/** Returns the task to stop, and its run if known. An ID that is not a saved run is that of a task. */
async function resolveTask(
  { task_id, run: runId }: StopInput,
  context: Context,
): Promise<{ readonly task_id: string; readonly runId: string | undefined }> {
  if (runId !== undefined) return { task_id, runId };
  const id = isIdPrefix(task_id) ? await context.resolveId("run", task_id) : task_id;
  const { task } = await loadRun(id, context);
  if (task !== undefined) return { task_id: task, runId: id };
  await rejectRunId(id, context);
  return { task_id: id, runId: undefined };
}

/** Throws if the ID is that of a running run: the server accepts it and stops nothing (server §13). */
async function rejectRunId(id: string, context: Context): Promise<void> {
  try {
    const { status } = await context.api.call(getWorkflowRun, { workflow_run_id: id });
    if (isEnded(status)) return;
  } catch {
    return; // not a readable run, so it is taken for a task
  }
  const { mode } = await context.api.call(getAppInfo, {});
  if (mode !== "workflow") {
    throw new CliError("unsupported", `${id} is a run of a chat application`, {
      sideEffect: "none",
      hint: `run ${commandLine("wf chat stop", ["TASK_ID"])} with the task_id from the events of the reply`,
    });
  }
  throw usage(
    `${id} is a run whose task ID is unknown on this machine`,
    `run ${commandLine("wf events", [id])} to see and save its task_id`,
  );
}
