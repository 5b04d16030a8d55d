import { ApiError, CliError } from "../../errors.ts";
import { getAppInfo } from "../../operations/apps.ts";
import { stopMessage } from "../../operations/chats.ts";
import { getWorkflowRun, stopWorkflowRun, streamRunEvents } from "../../operations/workflows.ts";
import { finalOutcome } from "../../runs/final-event.ts";
import { saveRunEnd, loadTaskId } from "./task-ids.ts";
import { endingOf, isEnded } from "../../runs/outcome.ts";
import type { RunOutcome } from "../../runs/outcome.ts";
import { outdatedNotice, readRunState } from "./run-state.ts";
import type { Context } from "../command-spec.ts";

/** How often to look whether a stopped run has ended, and ms between two looks. */
const looks = 30;
const between = 300;

/** ms to wait for the first event of the run before the stop is sent. */
const longestAttach = 2000;

/** Input of `wf stop`. */
interface StopInput {
  /** Id of a task, or of a run that was started or followed here. */
  readonly task_id: string;
  readonly run?: string | undefined;
}

/**
 * Asks the server to stop a task. Its answer is the same whether anything was stopped (server §13),
 * so the run tells, where it is known: its record, or its live stream, because the record of a
 * stopped run can say `running` for ever.
 */
export async function* run(input: StopInput, context: Context): AsyncGenerator<unknown> {
  const { task_id, runId } = await meant(input, context);
  if (runId === undefined) {
    await stop(task_id, context);
    await context.notice(
      "sent, not verified: the server says the same for every task; --run checks",
    );
    yield { result: "sent", verified: false };
    return;
  }
  const before = await readRunState(runId, context);
  if (isEnded(before.status)) {
    await context.notice(
      before.outdated
        ? outdatedNotice(runId, before)
        : `run ${runId} has ended already: ${before.status}`,
    );
    yield { result: "ended", verified: true, status: before.status };
    return;
  }
  if (before.status === "paused") {
    throw new CliError("refused", `run ${runId} is paused; a paused run cannot be stopped`, {
      sideEffect: "none",
      hint: "answer its form, or let it expire",
    });
  }
  if (context.options.dryRun) return stop(task_id, context);
  const live = listening(runId, context);
  try {
    await live.attached;
    await stop(task_id, context);
    const status = await endSeen(runId, live, context);
    yield { result: status, verified: true, status };
  } finally {
    live.leave();
  }
}

/** How the run ended, by its record or else by its stream. Throws `failure` where neither says so. */
async function endSeen(runId: string, live: Listening, context: Context): Promise<string> {
  for (let look = 0; look < looks; look++) {
    // What the stream told before the record was read, so that the record can have followed.
    const info = live.outcome();
    const { status, record } = await readRunState(runId, context);
    if (isEnded(status)) return status;
    if (info !== undefined) {
      const end = { status: endingOf(info), error: info.error };
      await saveRunEnd(runId, end, context);
      await context.notice(outdatedNotice(runId, { ...end, record, outdated: true }));
      return end.status;
    }
    await context.host.sleep(between, context.signal).catch(() => {
      throw context.abortError();
    });
  }
  throw new CliError(
    "failure",
    `run ${runId} was asked to stop, and neither its record nor its event stream says that it ended`,
    { sideEffect: "unknown", hint: `wf wait ${runId} waits for its end` },
  );
}

/** The event stream of a run that is about to be stopped. */
interface Listening {
  /** Resolves when the stream stands, or when it will not. */
  readonly attached: Promise<unknown>;
  /** The end that the stream has told. */
  outcome(): RunOutcome | undefined;
  leave(): void;
}

/** Listens to a run; the first event of its snapshot shows that the subscription stands (server §15.3). */
function listening(workflow_run_id: string, context: Context): Listening {
  let outcome: RunOutcome | undefined;
  const left = new AbortController();
  const { signal } = left;
  const input = { workflow_run_id, include_state_snapshot: true };
  const listen = async (heard: () => void) => {
    for await (const batch of await context.open(streamRunEvents, input, { retries: 0, signal })) {
      heard();
      for (const event of batch) outcome ??= finalOutcome(event, true);
      if (outcome) return;
    }
  };
  // A stream that cannot be had leaves the record to tell.
  const first = new Promise<void>((resolve) => {
    listen(resolve)
      .catch(() => {})
      .finally(resolve);
  });
  const late = context.host.sleep(longestAttach, signal).catch(() => {});
  return {
    attached: Promise.race([first, late]),
    outcome: () => outcome,
    leave: () => left.abort(),
  };
}

/** Sends the stop, to the route of its kind of application. */
async function stop(task_id: string, context: Context): Promise<void> {
  try {
    await context.call(stopWorkflowRun, { task_id });
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.serverCode !== "not_workflow_app")
      throw error;
    await context.call(stopMessage, { task_id });
  }
}

/** The task to stop, and its run where it is known. An id that is no remembered run is a task's. */
async function meant(
  { task_id, run: runId }: StopInput,
  context: Context,
): Promise<{ readonly task_id: string; readonly runId: string | undefined }> {
  if (runId !== undefined) return { task_id, runId };
  const task = await loadTaskId(task_id, context);
  if (task !== undefined) return { task_id: task, runId: task_id };
  await refuseRun(task_id, context);
  return { task_id, runId: undefined };
}

/** A run's id stops nothing, and the server would not say so (server §13). */
async function refuseRun(id: string, context: Context): Promise<void> {
  try {
    const { status } = await context.call(getWorkflowRun, { workflow_run_id: id });
    if (isEnded(status)) return;
  } catch {
    return; // no run of this id, or nothing to be known: it is taken for a task
  }
  const { mode } = await context.call(getAppInfo, {});
  if (mode !== "workflow") {
    throw new CliError("unsupported", `${id} is a run of a chat application`, {
      sideEffect: "none",
      hint: "`wf chat stop` with the task_id in the events of the answer stops it",
    });
  }
  throw new CliError("usage", `${id} is a run, and the task it runs as is not known here`, {
    sideEffect: "none",
    hint: `wf events ${id} shows the task_id of a run that goes on, and remembers it`,
  });
}
