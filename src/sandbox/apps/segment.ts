import { atLeast } from "../http/router.ts";
import type { Execution, StoredForm, StoredRun } from "../storage/runs-store.ts";
import { type AnyNode, nodesOf } from "./app-definitions.ts";
import {
  completeNode,
  executeNode,
  isContainer,
  newExecution,
  type NodeResult,
  type RunContext,
  type Waiting,
} from "./nodes.ts";
import { isNodeDone, pauseEvents, reachedOutputs, shownForms } from "./run-events.ts";
import { fillShape, type RunEvent, runEvent } from "./shapes.ts";
import { outputText, templateParts, variableAt } from "./templates.ts";

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

  const inputs = segmentInputs(run, reason);
  context.publish(runEvent("workflow_started", { run, inputs, since: startedAt, reason }));
  publishAnswer(context);
  const forms: StoredForm[] = [];
  const queue = readyNodes(context).map((node) => beginNode(context, node));
  for (let step = queue.shift(); step; step = queue.shift()) {
    const [node] = step;
    // Each node ends in a turn of its own, in which readers of its events may be cut off (server §15.3).
    const result = await executeStep(context, ...step);
    if (result.status === "failed") return endRun(context, "failed", result.error);
    if (result.status === "paused") {
      forms.push(result.form);
      continue;
    }
    records.saveRun(run);
    // A branch runs to its end before the next one.
    queue.unshift(...readyNodes(context, node).map((next) => beginNode(context, next)));
  }
  if (forms.length > 0) return pauseRun(context, forms);
  return endRun(context, progress.exceptions > 0 ? "partial-succeeded" : "succeeded", null);
}

/** Executes a node and publishes its events. */
async function executeStep(
  context: RunContext,
  node: AnyNode,
  execution: Execution,
): Promise<NodeResult | Waiting> {
  const { progress } = context.run;
  const result = await executeNode(context, node, execution);
  completeNode(context, execution, result.status);
  if (result.status === "paused") return result;
  progress.variables[node.id] = result.outputs;
  if (result.status !== "succeeded") progress.exceptions++;
  if (result.status !== "failed" && node.type !== "start") publishOutputs(context, node);
  if (!isContainer(node)) context.publish(runEvent("node_finished", { execution, result }));
  return result;
}

/** Nodes that may begin: those after `node`, or all of them. */
function readyNodes({ app, run }: RunContext, node?: AnyNode): AnyNode[] {
  const { nodes = [], edges = [] } = app ?? {};
  return nodes.filter(({ id, parentId }) => {
    if (parentId !== undefined || isNodeDone(run, id)) return false;
    const sources = edges.filter(({ target }) => target === id).map(({ source }) => source);
    const follows = node === undefined || sources.includes(node.id);
    return follows && sources.every((source) => isNodeDone(run, source));
  });
}

/** Counts a step. A node that waited, or was interrupted, keeps its execution ID (server §15.6). */
function beginNode(
  { run: { progress }, records, publish }: RunContext,
  node: AnyNode,
): [AnyNode, Execution] {
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
  return [node, execution];
}

/** Ends a run, saves it and publishes its last events; returns `workflow_finished`. */
export function endRun(
  context: RunContext,
  status: StoredRun["status"],
  error: string | null,
): RunEvent {
  const { run, records, version, startedAt, publish } = context;
  closeRun(context, run, status, error);
  records.saveSegment(run, "normal");
  if (run.message_id !== null) {
    const metadata = fillShape("message metadata", { run, version });
    publish(runEvent("message_end", { run, metadata }));
  }
  const reported = status === "stopped" ? { ...run, ...reportedStop(context) } : run;
  const event = runEvent("workflow_finished", { run: reported, since: startedAt });
  publish(event);
  return event;
}

/** Ends a stopped run. With "stays running" only the event stream shows the stop. */
export function stopRun(context: RunContext, mode: StopMode): RunEvent {
  if (mode === "recorded") return endRun(context, "stopped", STOP_REQUESTED);
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

/**
 * Publishes the texts that are known when a segment begins; they come before its nodes. Only the
 * first answer node of a chatflow is ever published, and again by each segment (server §18).
 */
function publishAnswer(context: RunContext): void {
  const { app, run, publish } = context;
  const [answer] = nodesOf(app, "answer");
  for (const part of answer ? templateParts(answer.answer) : []) {
    const isText = typeof part === "string";
    const text = isText ? part : outputText(variableAt(run.progress.variables, part));
    run.progress.said += text;
    publish(runEvent("message", { run, text, selector: isText ? [answer?.id, "answer"] : part }));
  }
  for (const start of nodesOf(app, "start")) {
    if (!isNodeDone(run, start.id)) publishOutputs(context, start);
  }
}

/** Publishes the texts of the end nodes that come from this node. */
function publishOutputs({ app, run, publish }: RunContext, { id }: AnyNode): void {
  for (const { value_selector: selector } of nodesOf(app, "end").flatMap((end) => end.outputs)) {
    const text = selector[0] === id ? outputText(variableAt(run.progress.variables, selector)) : "";
    if (text !== "") publish(runEvent("text_chunk", { text, selector }));
  }
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
