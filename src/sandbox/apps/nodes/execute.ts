/** Executes nodes of all types, with their retries and what happens if they fail. */
import { runEvent } from "../records/shapes.ts";
import { endOutputs } from "../records/run-events.ts";
import { renderTemplate, valueAtSelector } from "../records/templates.ts";
import type { Execution } from "../records/runs-store.ts";
import { executeAssigner } from "./assigner.ts";
import { executeCode, executeTemplate } from "./code.ts";
import { executeRequest } from "./http-request.ts";
import { executeHumanInput } from "./human-input.ts";
import { executeBranch } from "./if-else.ts";
import { executeIteration } from "./iteration.ts";
import { executeKnowledge } from "./knowledge-retrieval.ts";
import { executeModel } from "./llm.ts";
import { executeLoop } from "./loop.ts";
import {
  completeNode,
  type Execute,
  type Executor,
  type NodeContext,
  type NodeResult,
  type Outcome,
  result,
  wait,
} from "./node.ts";
import type { AnyNode, ErrorHandling, NodeType } from "../definitions/node-types.ts";
import { executeClassifier } from "./question-classifier.ts";

const executors: { readonly [Type in NodeType]: Executor<Type> } = {
  start({ run }, { id }) {
    const inputs = run.progress.variables[id] ?? {};
    return result({ inputs, outputs: inputs });
  },
  end({ run }, node) {
    const outputs = endOutputs(node, run);
    return result({ inputs: outputs, outputs });
  },
  answer: ({ run }, node) =>
    result({ outputs: { answer: renderTemplate(node.answer, run.progress.variables), files: [] } }),
  "variable-aggregator"({ run: { progress } }, { variables }) {
    const found = variables
      .map((selector) => [selector[1], valueAtSelector(progress.variables, selector)] as const)
      .find(([, value]) => value !== undefined && value !== null);
    if (!found) return result({});
    const [name, output] = found;
    return result({ inputs: { [name]: output }, outputs: { output } });
  },
  "loop-start": () => result({}),
  "iteration-start": () => result({}),
  code: executeCode,
  "template-transform": executeTemplate,
  "http-request": executeRequest,
  "human-input": executeHumanInput,
  llm: executeModel,
  "knowledge-retrieval": executeKnowledge,
  "question-classifier": executeClassifier,
  "if-else": executeBranch,
  loop: executeLoop,
  iteration: executeIteration,
  assigner: executeAssigner,
};

/** Executes a node once. */
const executeOnce: Execute = (context, node, execution) => {
  const execute = executors[node.type] as Executor<NodeType>; // its type
  return execute(context, node, execution);
};

/**
 * Executes a node until it succeeds or its tries are used up. If it failed, its default value or its
 * fail branch make an exception of it.
 */
export const executeNode: Execute = (context, node, execution) => {
  const first = executeOnce(context, node, execution);
  return first instanceof Promise ? finishNode(context, node, execution, first) : first;
};

async function finishNode(
  context: NodeContext,
  node: AnyNode & ErrorHandling,
  execution: Execution,
  first: Promise<Outcome>,
): Promise<Outcome> {
  const { max_retries = 0, retry_interval = 0, retry_enabled = true } = node.retry_config ?? {};
  let outcome = await first;
  for (let retry = 1; retry_enabled && retry <= max_retries; retry++) {
    if (outcome.status !== "failed") break;
    await wait(context, retry_interval / 1000);
    reportRetry(context, execution, outcome, retry);
    outcome = await executeOnce(context, node, execution);
  }
  return outcome.status === "failed" ? afterFailure(node, outcome) : outcome;
}

/** Counts a failed try and reports that the next one begins. */
function reportRetry(
  context: NodeContext,
  execution: Execution,
  failed: NodeResult,
  retry: number,
): void {
  const { progress } = context.run;
  progress.steps++;
  progress.exceptions++;
  const attempt = { ...execution };
  const outcome = { ...failed, status: "retry" as const };
  completeNode(context, attempt, outcome);
  context.publish(runEvent("node_retry", { execution: attempt, result: outcome, retry }));
}

/** What follows the last failed try: without a strategy, the failure of the run. */
function afterFailure(node: ErrorHandling, failed: NodeResult): NodeResult {
  const { error_strategy, default_value } = node;
  const isDefault = error_strategy === "default-value";
  if (!isDefault && error_strategy !== "fail-branch") return failed;
  const values = isDefault ? (default_value ?? []) : [];
  return {
    ...failed,
    status: "exception",
    error: "Unknown error", // recorded: the text moves into the outputs
    metadata: { error_strategy },
    outputs: {
      ...Object.fromEntries(values.map(({ key, value }) => [key, value])),
      ...failed.failure?.outputs,
      error_message: failed.error,
      error_type: failed.failure?.type ?? "",
    },
    ...(!isDefault && { handle: "fail-branch" }),
  };
}
