import { atLeast } from "../../protocol/handler.ts";
import type { StoredForm, StoredRun } from "../records/runs-store.ts";
import { runBranches } from "./branches.ts";
import { nodesOf } from "../definitions/node-types.ts";
import type { RunContext } from "../nodes/node.ts";
import { replayRun } from "./replay.ts";
import { messageMetadata, pauseEvents, reachedOutputs, shownForms } from "../records/run-events.ts";
import { type RunEvent, runEvent } from "../../protocol/fill.ts";
import { outputText } from "../records/templates.ts";

/** Why a segment of a run begins. */
export type SegmentReason = "initial" | "resumption";

/** Whether the record of a stopped run shows the stop; servers of both kinds exist. */
export type StopMode = "recorded" | "stays running";

/** The two error texts of a stopped run (server §13). */
const STOP_REQUESTED = "Aborted: User requested stop";
const STOPPED_BY_USER = "Stopped by user.";

/** ms that a worker needs at least for a run with several forms. */
const REVIEW_DURATION = 150;

/**
 * Executes one segment of a run: from its start or a pause to its end or the next pause. Returns the
 * event that ends the segment.
 */
export async function runSegment(context: RunContext, reason: SegmentReason): Promise<RunEvent> {
  const { app, run, records, startedAt } = context;
  const { progress } = run;
  if (!app) return endRun(context, "failed", `Application ${run.app} not found.`);
  run.status = "running";
  progress.said = "";
  records.saveRun(run);

  if (app.recording) return replayRun(context, app.recording);
  const inputs = segmentInputs(run, reason);
  context.publish(runEvent("workflow_started", { run, inputs, since: startedAt, reason }));
  const { failed, forms } = await runBranches(context, app);
  if (failed) return endRun(context, "failed", failed.error);
  if (forms.length > 0) return pauseRun(context, forms);
  return endRun(context, progress.exceptions > 0 ? "partial-succeeded" : "succeeded", null);
}

/** Ends a run, saves it and publishes its last events; returns `workflow_finished`. */
export function endRun(
  context: RunContext,
  status: StoredRun["status"],
  error: string | null,
): RunEvent {
  const { run, records, version, startedAt, publish } = context;
  closeRun(context, run, status, error);
  records.saveSegment(run, status === "failed" ? "error" : "normal");
  // The reply of a chatflow that failed has no end (server §18).
  if (run.message_id !== null && status !== "failed") {
    publish(runEvent("message_end", { run, metadata: messageMetadata(run, version) }));
  }
  const reported = status === "stopped" ? { ...run, ...reportedStop(context) } : run;
  const event = runEvent("workflow_finished", { run: reported, since: startedAt });
  publish(event);
  return event;
}

/**
 * Ends a stopped run. With "stays running", and before 1.15 always while a model speaks, only the event
 * stream shows the stop (server §13).
 */
export function stopRun(context: RunContext, mode: StopMode): RunEvent {
  const isSpeaking = context.run.progress.executions.some(
    ({ type, status }) => type === "llm" && status === "running",
  );
  const isRecorded = !isSpeaking || atLeast(context.version, "1.15.0");
  if (mode === "recorded" && isRecorded) return endRun(context, "stopped", STOP_REQUESTED);
  const { run, records } = context;
  run.progress.lost = true;
  records.saveSegment(run, "normal");
  const stopped = { ...run };
  closeRun(context, stopped, "stopped", STOPPED_BY_USER);
  const event = runEvent("workflow_finished", { run: stopped, since: context.startedAt });
  context.publish(event);
  return event;
}

function closeRun(
  context: RunContext,
  run: StoredRun,
  status: StoredRun["status"],
  error: string | null,
): void {
  run.status = status;
  run.error = error;
  run.outputs = error === null ? runOutputs(context) : {};
  run.finished_at = context.records.now();
  run.elapsed_time = (run.finished_at - context.startedAt) / 1000;
  run.total_steps = run.progress.steps;
  run.total_tokens = run.progress.usage?.total_tokens ?? 0;
  run.exceptions_count = run.progress.exceptions;
}

/** The stream reports a stop in one of two ways since 1.15, before in one (server §13). */
const reportedStop = ({ version, records }: RunContext) =>
  atLeast(version, "1.15.0") && records.random() < 0.5
    ? ({ status: "stopped", error: STOPPED_BY_USER } as const)
    : ({ status: "failed", error: STOP_REQUESTED } as const);

async function pauseRun(context: RunContext, forms: readonly StoredForm[]): Promise<RunEvent> {
  const { run, records, version, startedAt: since, publish } = context;
  if (records.forms.count({ run_id: run.id }) > 1) {
    await context.clock.sleep(REVIEW_DURATION, context.signal);
  }
  run.status = "paused";
  run.total_steps = run.progress.steps;
  records.saveSegment(run, "paused");
  for (const form of forms) context.watchForm(form);
  const elapsed = (records.now() - since) / 1000;
  const events = pauseEvents(run, shownForms(context.app, forms), version, {
    since,
    elapsed,
    outputs: {},
  });
  for (const event of events) publish(event);
  return events.at(-1) as RunEvent; // workflow_paused
}

/** A resumed chatflow counts its dialogue once more (recorded). */
function segmentInputs(run: StoredRun, reason: SegmentReason): StoredRun["inputs"] {
  const count = run.inputs["sys.dialogue_count"];
  if (reason === "initial" || typeof count !== "number") return run.inputs;
  return { ...run.inputs, "sys.dialogue_count": count + 1 };
}

/** Outputs of a run: those of its end nodes, or the joined answers of a chatflow. */
function runOutputs({ app, run }: RunContext): Record<string, unknown> {
  if (nodesOf(app, "end").length > 0) return reachedOutputs(run, app);
  const answers = nodesOf(app, "answer").map(({ id }) =>
    outputText(run.progress.variables[id]?.["answer"]),
  );
  return { answer: answers.join(""), files: [] };
}
