import { addUsage } from "../../models/tokens.ts";
import type { Execution, StoredForm } from "../records/runs-store.ts";
import type { AppDefinition } from "../definitions/app-definitions.ts";
import { readyNodes } from "../records/graph.ts";
import { executeNode } from "../nodes/execute.ts";
import {
  completeNode,
  isContainer,
  newExecution,
  type NodeContext,
  type NodeResult,
  type Outcome,
  type RunContext,
} from "../nodes/node.ts";
import type { AnyNode } from "../definitions/node-types.ts";
import { ResponseStream } from "./response-stream.ts";
import { runEvent } from "../../protocol/fill.ts";

/** A node that began. */
interface Step {
  readonly node: AnyNode;
  readonly execution: Execution;
}

/** A node that ended, or waits for a form. */
interface StepEnd extends Step {
  readonly outcome: Outcome;
}

/** How the nodes of a segment ended: one failed, or all that could be reached ended or wait. */
interface BranchesEnd {
  readonly failed?: NodeResult;
  readonly forms: readonly StoredForm[];
}

/**
 * Executes the nodes of a run that may begin, and those after them. Branches run side by side. The
 * first node that fails ends them all.
 */
export async function runBranches(context: RunContext, app: AppDefinition): Promise<BranchesEnd> {
  const { run, records } = context;
  const others = new AbortController();
  const text = openText(context, app);
  const nodes: NodeContext = {
    ...context,
    signal: AbortSignal.any([context.signal, others.signal]),
    stream: (selector, piece, isLast) => text.put(selector, piece, isLast),
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
function openText({ run, publish }: RunContext, app: AppDefinition): ResponseStream {
  const text = new ResponseStream(app, run, (piece, selector) => {
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
