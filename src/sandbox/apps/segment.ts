import { atLeast } from "../http/router.ts";
import type { Execution, StoredForm, StoredRun } from "../storage/runs-store.ts";
import {
  type AppDefinition,
  type EndNode,
  findApp,
  type HumanInputNode,
  type NodeDefinition,
  type ReviewsNode,
} from "./app-definitions.ts";
import {
  completeNode,
  endOutputs,
  executeNode,
  newExecution,
  type RunContext,
  runContainer,
  variableAt,
  type Waiting,
} from "./nodes.ts";
import {
  formRequired,
  messageEnd,
  messageEvent,
  nodeFinished,
  type NodeResult,
  nodeStarted,
  openForms,
  outputText,
  type RunEvent,
  type SegmentReason,
  textChunk,
  workflowFinished,
  workflowPaused,
  workflowStarted,
} from "./run-events.ts";

/** Whether the record of a stopped run shows the stop; servers of both kinds exist. */
export type StopMode = "recorded" | "stays running";

/** The two error texts of a stopped run (server §13). */
const STOP_REQUESTED = "Aborted: User requested stop";
const STOPPED_BY_USER = "Stopped by user.";

/** ms that a worker needs at least for a run with several forms. */
const REVIEW_DURATION = 150;

type StepResult = Waiting | Pick<NodeResult, "status" | "error">;

/**
 * Executes one segment of a run: from its start or a pause to its end or the next pause. Returns the
 * event that ends the segment.
 */
export async function runSegment(context: RunContext, reason: SegmentReason): Promise<RunEvent> {
  const { run, records } = context;
  const { progress } = run;
  const app = findApp(run.app);
  if (!app) return endRun(context, "failed", `Application ${run.app} not found.`);
  run.status = "running";
  progress.said = "";
  records.saveRun(run);

  context.publish(workflowStarted(run, reason, context.startedAt, segmentInputs(run, reason)));
  publishAnswer(context, app);
  for (let node = app.nodes[progress.position]; node; node = app.nodes[progress.position]) {
    const result = await executeStep(context, app, node);
    if (result.status === "paused") return pauseRun(context, result.forms);
    if (result.status === "failed") return endRun(context, "failed", result.error ?? "");
    progress.position++;
    records.saveRun(run);
  }
  return endRun(context, progress.exceptions > 0 ? "partial-succeeded" : "succeeded", null);
}

async function executeStep(
  context: RunContext,
  app: AppDefinition,
  node: NodeDefinition,
): Promise<StepResult> {
  if (node.type === "reviews") return executeReviews(context, node);
  const { progress } = context.run;
  const execution = beginExecution(context, node);
  if (node.type === "loop" || node.type === "iteration") {
    progress.variables[node.id] = await runContainer(context, node);
    completeNode(context, execution, "succeeded");
    publishOutputs(context, app, node.id);
    return { status: "succeeded" };
  }
  context.publish(nodeStarted(execution));
  const result = await executeNode(context, node, execution);
  completeNode(context, execution, result.status);
  if (result.status === "paused") return result;
  progress.variables[node.id] = result.outputs;
  if (result.status !== "succeeded") progress.exceptions++;
  if (result.status !== "failed" && node.type !== "start") publishOutputs(context, app, node.id);
  context.publish(nodeFinished(execution, result));
  return result;
}

/** Runs each branch whose form was submitted to its end, and waits for the other forms. */
async function executeReviews(context: RunContext, { branches }: ReviewsNode): Promise<StepResult> {
  const { variables } = context.run.progress;
  const begin = (node: HumanInputNode | EndNode) => {
    const execution = beginExecution(context, node);
    context.publish(nodeStarted(execution));
    return execution;
  };
  const open = branches
    .filter(({ review }) => !(review.id in variables))
    .map((branch) => ({ ...branch, execution: begin(branch.review) }));
  const forms: StoredForm[] = [];
  for (const { review, end, execution } of open) {
    const result = await executeNode(context, review, execution);
    completeNode(context, execution, result.status);
    if (result.status === "paused") {
      forms.push(...result.forms);
      continue;
    }
    variables[review.id] = result.outputs;
    publishEnd(context, end, review.id);
    context.publish(nodeFinished(execution, result));
    const endExecution = begin(end);
    const outputs = endOutputs(end, variables);
    completeNode(context, endExecution, "succeeded");
    context.publish(nodeFinished(endExecution, { status: "succeeded", inputs: outputs, outputs }));
  }
  if (forms.length === 0) return { status: "succeeded" };
  await context.clock.sleep(REVIEW_DURATION, context.signal);
  return { status: "paused", forms };
}

/** Counts a step. A node that waited, or was interrupted, keeps its execution ID (server §15.6). */
function beginExecution(
  { run: { progress }, records }: RunContext,
  node: Exclude<NodeDefinition, ReviewsNode>,
): Execution {
  progress.steps++;
  const known = progress.executions.find(
    ({ nodeId, status }) => nodeId === node.id && (status === "paused" || status === "running"),
  );
  if (known) {
    known.startedAt = records.now();
    known.status = "running";
    return known;
  }
  const execution = newExecution(records, node);
  progress.executions.push(execution);
  return execution;
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
  if (run.message_id !== null) publish(messageEnd(run, run.elapsed_time, version));
  const event = workflowFinished(
    run,
    startedAt,
    status === "stopped" ? reportedStop(context) : run,
  );
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
  const event = workflowFinished(stopped, context.startedAt);
  context.publish(event);
  return event;
}

function closeRun(
  { records, startedAt }: RunContext,
  run: StoredRun,
  status: StoredRun["status"],
  error: string | null,
): void {
  run.status = status;
  run.error = error;
  run.outputs = error === null ? runOutputs(run) : {};
  run.finished_at = records.now();
  run.elapsed_time = (run.finished_at - startedAt) / 1000;
  run.total_steps = run.progress.steps;
  run.exceptions_count = run.progress.exceptions;
}

/** The stream reports a stop in one of two ways since 1.15, before in one (server §13). */
const reportedStop = ({ version, records }: RunContext) =>
  atLeast(version, "1.15.0") && records.random() < 0.5
    ? ({ status: "stopped", error: STOPPED_BY_USER } as const)
    : ({ status: "failed", error: STOP_REQUESTED } as const);

function pauseRun(context: RunContext, forms: readonly StoredForm[]): RunEvent {
  const { run, records, version, startedAt, publish } = context;
  run.status = "paused";
  run.total_steps = run.progress.steps;
  records.saveSegment(run, "paused");
  for (const form of forms) context.watchForm(form);
  const open = openForms(run.app, forms);
  const elapsed = (records.now() - startedAt) / 1000;
  const event = workflowPaused(run, open, version, { since: startedAt, elapsed, outputs: {} });
  for (const form of open) publish(formRequired(form, version));
  publish(event);
  return event;
}

/**
 * Publishes the texts that are known when a segment begins; they come before its nodes. Only the
 * first answer node of a chatflow is ever published, and again by each segment (server §18).
 */
function publishAnswer(context: RunContext, app: AppDefinition): void {
  const { run } = context;
  const answer = app.nodes.find((node) => node.type === "answer");
  for (const part of answer?.parts ?? []) {
    const isText = typeof part === "string";
    const text = isText ? part : outputText(variableAt(run.progress.variables, part));
    run.progress.said += text;
    context.publish(messageEvent(run, text, isText ? [answer?.id ?? "", "answer"] : part));
  }
  const first = app.nodes[0];
  if (first && run.progress.position === 0) publishOutputs(context, app, first.id);
}

/** Publishes the texts of the end node that come from this node. */
function publishOutputs(context: RunContext, app: AppDefinition, nodeId: string): void {
  const end = app.nodes.find((node) => node.type === "end");
  if (end) publishEnd(context, end, nodeId);
}

function publishEnd(context: RunContext, end: EndNode, nodeId: string): void {
  for (const selector of Object.values(end.outputs)) {
    if (selector[0] !== nodeId) continue;
    const text = outputText(variableAt(context.run.progress.variables, selector));
    if (text !== "") context.publish(textChunk(text, selector));
  }
}

/** A resumed chatflow counts its dialogue once more (recorded). */
function segmentInputs(run: StoredRun, reason: SegmentReason): StoredRun["inputs"] {
  const count = run.inputs["sys.dialogue_count"];
  if (reason === "initial" || typeof count !== "number") return run.inputs;
  return { ...run.inputs, "sys.dialogue_count": count + 1 };
}

/** Outputs of a run: those of its end nodes, or the joined answers of a chatflow. */
function runOutputs({ app, progress: { variables } }: StoredRun): Record<string, unknown> {
  const nodes = findApp(app)?.nodes ?? [];
  const ends = nodes
    .flatMap((node) => (node.type === "reviews" ? node.branches.map(({ end }) => end) : node))
    .filter((node) => node.type === "end");
  if (ends.length > 0) return Object.assign({}, ...ends.map((end) => endOutputs(end, variables)));
  const answers = nodes
    .filter((node) => node.type === "answer")
    .map((node) => outputText(variables[node.id]?.["answer"]));
  return { answer: answers.join(""), files: [] };
}
