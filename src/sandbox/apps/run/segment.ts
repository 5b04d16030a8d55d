import { addUsage } from "../../models/tokens.ts";
import { type RunEvent, runEvent } from "../../protocol/fill.ts";
import { atLeast } from "../../../lib/version.ts";
import { type AppDefinition, type AnyNode, nodesOf } from "../definitions/app-definitions.ts";
import { executeNode } from "../nodes/execute.ts";
import { completeNode, isContainer, newExecution } from "../nodes/node.ts";
import type { NodeContext, NodeResult, Outcome, RunContext } from "../nodes/node.ts";
import {
  readyNodes,
  outputText,
  messageMetadata,
  pauseEvents,
  reachedOutputs,
  shownForms,
} from "../records/run-events.ts";
import type { Execution, StoredForm, StoredRun } from "../records/runs-store.ts";
import { replayRun } from "./replay.ts";
import { ResponseStream } from "./response-stream.ts";

/** Why a segment of a run begins. */
export type SegmentReason = "initial" | "resumption";

/** Whether the record of a stopped run shows the stop; servers of both kinds exist. */
export type StopMode = "recorded" | "stays running";

/** The two error texts of a stopped run (server §13). */
const STOP_REQUESTED = "Aborted: User requested stop";
const STOPPED_BY_USER = "Stopped by user.";

/** ms that a worker needs at least for a run with several forms. */
const REVIEW_DURATION = 150;

/** Executes a run from its start or a pause to its end or the next pause; returns the event of that. */
export async function runSegment(context: RunContext, reason: SegmentReason): Promise<RunEvent> {
  const { app, run, records, startedAt } = context;
  const { progress } = run;
  if (!app) return endRun(context, "failed", `Application ${run.app} not found.`);
  run.status = "running";
  progress.said = "";
  records.saveRun(run);

  if (app.recording) return replayRun(context, app.recording);
  const count = run.inputs["sys.dialogue_count"];
  // A resumed chatflow counts its dialogue once more (recorded).
  const counted = reason === "resumption" && typeof count === "number";
  const inputs = { ...run.inputs, ...(counted && { "sys.dialogue_count": count + 1 }) };
  context.publish(runEvent("workflow_started", { run, inputs, since: startedAt, reason }));
  const { failed, forms } = await runBranches(context, app);
  if (failed) return endRun(context, "failed", failed.error);
  if (forms.length > 0) return pauseRun(context, forms);
  return endRun(context, progress.exceptions > 0 ? "partial-succeeded" : "succeeded", null);
}

/** Ends a run, saves it and publishes its last events; returns `workflow_finished`. */
export function endRun(context: RunContext, status: Status, error: string | null): RunEvent {
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

/** Ends a stopped run, which its record may not show: before 1.15 never while a model speaks (server §13). */
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

type Status = StoredRun["status"];

function closeRun(context: RunContext, run: StoredRun, status: Status, error: string | null): void {
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
  const shown = shownForms(context.app, forms);
  const events = pauseEvents(run, shown, version, { since, elapsed, outputs: {} });
  for (const event of events) publish(event);
  return events.at(-1) as RunEvent; // workflow_paused
}

/** Outputs of a run: those of its end nodes, or the joined answers of a chatflow. */
function runOutputs({ app, run }: RunContext): Record<string, unknown> {
  if (nodesOf(app, "end").length > 0) return reachedOutputs(run, app);
  const answers = nodesOf(app, "answer").map(({ id }) =>
    outputText(run.progress.variables[id]?.["answer"]),
  );
  return { answer: answers.join(""), files: [] };
}

/** A node that began. */
interface Step {
  readonly node: AnyNode;
  readonly execution: Execution;
}

/** A node that ended, or waits for a form. */
type StepEnd = Step & { readonly outcome: Outcome };

/** Executes the nodes of a run; branches run side by side, and the first node that fails ends them all. */
async function runBranches(
  context: RunContext,
  app: AppDefinition,
): Promise<{ readonly failed?: NodeResult; readonly forms: readonly StoredForm[] }> {
  const { run, records } = context;
  const others = new AbortController();
  const text = openText(context, app);
  const nodes: NodeContext = {
    ...context,
    signal: AbortSignal.any([context.signal, others.signal]),
    stream: (selector, piece, isLast) => text.put(selector, piece, isLast),
    reason(node_id, piece, is_final) {
      const chunk = runEvent("reasoning_chunk", { run, node_id, text: piece, is_final });
      // That of a message does not name its run.
      const { event, data } = chunk;
      context.publish(run.message_id === null ? chunk : { event, fields: { data } });
    },
    execute: executeNode,
  };
  const forms: StoredForm[] = [];
  const begun = new Set<string>();
  const queue: Step[] = [];
  const running = new Map<AnyNode, Promise<StepEnd>>();
  const beginReady = () => {
    const ready = readyNodes(app, run).filter(({ id }) => !begun.has(id));
    for (const { id } of ready) begun.add(id);
    // A branch runs to its end before the next one begins, unless it waits.
    queue.unshift(...ready.map((node) => beginNode(context, node)));
  };
  try {
    beginReady();
    const next = () => nextEnd(nodes, queue, running);
    for (let end = await next(); end; end = await next()) {
      const { outcome } = end;
      if (outcome.status === "paused") {
        completeNode(context, end.execution, outcome);
        forms.push(outcome.form);
        continue;
      }
      completeStep(context, text, end, outcome);
      if (outcome.status === "failed") return { failed: outcome, forms };
      records.saveRun(run);
      // Readers may be cut off between a node and the next (server §15.3).
      await Promise.resolve();
      beginReady();
    }
    return { forms };
  } finally {
    others.abort();
  }
}

/** The next node that ends: the first in the queue that does not wait, or the first that waited. */
async function nextEnd(
  context: NodeContext,
  queue: Step[],
  running: Map<AnyNode, Promise<StepEnd>>,
): Promise<StepEnd | undefined> {
  for (let step = queue.shift(); step; step = queue.shift()) {
    const { node, execution } = step;
    const outcome = executeNode(context, node, execution);
    if (!(outcome instanceof Promise)) return { node, execution, outcome };
    const end = outcome.then((ended) => ({ node, execution, outcome: ended }));
    end.catch(() => {}); // a run that failed does not wait for it
    running.set(node, end);
  }
  if (running.size === 0) return undefined;
  const first = await Promise.race(running.values());
  running.delete(first.node);
  return first;
}

/** Counts a step. A node that waited, or was interrupted, keeps its execution ID (server §15.6). */
function beginNode({ run: { progress }, records, publish }: RunContext, node: AnyNode): Step {
  progress.steps++;
  const known = progress.executions.find(
    ({ nodeId, status }) => nodeId === node.id && (status === "paused" || status === "running"),
  );
  const execution = known ?? newExecution(records, node);
  if (known) {
    known.startedAt = records.now();
    known.status = "running";
  } else {
    progress.executions.push(execution);
  }
  if (!isContainer(node)) publish(runEvent("node_started", { execution }));
  return { node, execution };
}

/** Records the end of a node and publishes its text and its event. */
function completeStep(
  context: RunContext,
  text: ResponseStream,
  { node, execution }: Step,
  result: NodeResult,
): void {
  const { progress } = context.run;
  completeNode(context, execution, result);
  progress.variables[node.id] = result.outputs;
  const { usage } = result;
  if (usage) progress.usage = progress.usage ? addUsage(progress.usage, usage) : usage;
  if (result.citations) progress.citations = [...(progress.citations ?? []), ...result.citations];
  if (result.status !== "succeeded") progress.exceptions++;
  if (result.status !== "failed") text.nodeEnded(node, result.status === "succeeded");
  if (!isContainer(node)) context.publish(runEvent("node_finished", { execution, result }));
}

/** Opens the text of a segment; that of a chatflow is the reply to its message. */
function openText({ run, version, publish }: RunContext, app: AppDefinition): ResponseStream {
  const text = new ResponseStream(app, run, version, (piece, selector) => {
    if (run.message_id === null) {
      publish(runEvent("text_chunk", { text: piece, selector }));
      return;
    }
    run.progress.said += piece;
    publish(runEvent("message", { run, text: piece, selector }));
  });
  text.begin();
  return text;
}
