/** Executes the nodes of a run, one function for each kind. */
import type {
  EndNode,
  HumanInputNode,
  IterationNode,
  LoopNode,
  NodeDefinition,
  RequestNode,
  ReviewsNode,
  Selector,
} from "./app-definitions.ts";
import type { Clock } from "../http/handler.ts";
import {
  containerEvent,
  filledFields,
  nodeFinished,
  type NodeResult,
  nodeRetry,
  nodeStarted,
  outputText,
  renderForm,
  renderTemplate,
  type RunEvent,
} from "./run-events.ts";
import { toSeconds } from "../storage/ids.ts";
import { atLeast } from "../http/router.ts";
import type {
  Execution,
  StoredForm,
  RunStore,
  StoredRun,
  Variables,
} from "../storage/runs-store.ts";

/** One segment of a run while it executes. */
export interface RunContext {
  readonly run: StoredRun;
  /** Server version to imitate. */
  readonly version: string;
  readonly records: RunStore;
  readonly clock: Clock;
  /** When the segment began, ms since 1970. */
  readonly startedAt: number;
  /** Aborted when the run is stopped or the sandbox closes. */
  readonly signal: AbortSignal;
  readonly publish: (event: RunEvent) => void;
  /** Expires the form when its time is over. */
  readonly watchForm: (form: StoredForm) => void;
}

/** The node is waiting for these forms to be submitted. */
export interface Waiting {
  readonly status: "paused";
  readonly forms: readonly StoredForm[];
}

type Container = LoopNode | IterationNode;
type Place = { readonly iteration?: string; readonly loop?: string };

/** The value of a selector, or null. */
export const variableAt = (variables: Variables, [node, name]: Selector): unknown =>
  variables[node]?.[name] ?? null;

export const endOutputs = (node: EndNode, variables: Variables): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(node.outputs).map(([name, selector]) => [name, variableAt(variables, selector)]),
  );

/** Creates the execution of a node; `place` names the loop or iteration around it. */
export const newExecution = (
  records: RunStore,
  node: Exclude<NodeDefinition, ReviewsNode> | Container["inner"],
  place: Place = {},
): Execution => ({
  id: records.newId(),
  nodeId: node.id,
  type: node.type,
  title: node.title,
  startedAt: records.now(),
  finishedAt: null,
  elapsed: 0,
  status: "running",
  iteration: place.iteration ?? null,
  loop: place.loop ?? null,
});

const secondsSince = ({ records }: RunContext, ms: number) => (records.now() - ms) / 1000;

/** Records the end of an execution. */
export function completeNode(context: RunContext, execution: Execution, status: string): void {
  execution.finishedAt = context.records.now();
  execution.elapsed = secondsSince(context, execution.startedAt);
  execution.status = status;
}

const wait = ({ clock, signal }: RunContext, seconds: number): Promise<void> =>
  seconds > 0 ? clock.sleep(seconds * 1000, signal) : Promise.resolve();

/** Executes a node; rejects if the run is stopped in the meantime. */
export async function executeNode(
  context: RunContext,
  node: Exclude<NodeDefinition, Container | ReviewsNode>,
  execution: Execution,
): Promise<NodeResult | Waiting> {
  const { variables } = context.run.progress;
  switch (node.type) {
    case "start": {
      const inputs = variables[node.id] ?? {};
      return { status: "succeeded", inputs, outputs: inputs };
    }
    case "code":
      return { status: "succeeded", inputs: {}, outputs: { ...node.outputs } };
    case "answer": {
      const texts = node.parts.map((part) =>
        typeof part === "string" ? part : outputText(variableAt(variables, part)),
      );
      return { status: "succeeded", inputs: {}, outputs: { answer: texts.join(""), files: [] } };
    }
    case "end": {
      const outputs = endOutputs(node, variables);
      return { status: "succeeded", inputs: outputs, outputs };
    }
    case "http-request":
      return executeRequest(context, node, execution);
    case "human-input":
      return executeHumanInput(context, node);
  }
}

async function executeRequest(
  context: RunContext,
  node: RequestNode,
  execution: Execution,
): Promise<NodeResult> {
  const { progress } = context.run;
  const { error, takes, retries, body, fallback } = node;
  const common = { inputs: {}, process: { request: node.request } };
  if (error === undefined) {
    const seconds = takes && variableAt(progress.variables, takes.input);
    await wait(context, typeof seconds === "number" ? seconds : (takes?.default ?? 0));
    const headers = {
      server: "sandbox",
      date: context.clock.now().toUTCString(),
      "content-length": String(body.length),
    };
    const outputs = { status_code: 200, body, headers, files: [] };
    return { ...common, status: "succeeded", outputs };
  }
  for (let retry = 1; retry <= (retries?.times ?? 0); retry++) {
    await wait(context, retries?.pause ?? 0);
    progress.steps++;
    progress.exceptions++;
    const attempt = { ...execution };
    completeNode(context, attempt, "retry");
    context.publish(nodeRetry(attempt, { ...common, status: "retry", outputs: {}, error }, retry));
  }
  if (fallback === undefined) return { ...common, status: "failed", outputs: {}, error };
  return {
    ...common,
    status: "exception",
    error: "Unknown error", // recorded: the text moves into the outputs
    metadata: { error_strategy: "default-value" },
    outputs: {
      body: fallback,
      status_code: 0,
      headers: {},
      error_message: error,
      error_type: "HttpRequestNodeError",
    },
  };
}

function executeHumanInput(context: RunContext, node: HumanInputNode): NodeResult | Waiting {
  const { run, version, records, publish } = context;
  const form = records.formsOf(run.id).find(({ node_id }) => node_id === node.id);
  if (!form || form.status === "waiting") {
    return { status: "paused", forms: [form ?? openForm(context, node)] };
  }
  // Since 1.15 no event reports the end of the form (server §15.5).
  const hasEvents = !atLeast(version, "1.15.0");
  if (form.status === "expired") {
    const expiration_time = toSeconds(form.expires_at);
    const data = { node_id: node.id, node_title: node.title, expiration_time };
    if (hasEvents) publish({ event: "human_input_form_timeout", data });
    return { status: "succeeded", inputs: {}, outputs: {} };
  }
  const rendered = renderForm(form);
  const filled = filledFields(form, node, rendered);
  if (hasEvents) publish({ event: "human_input_form_filled", data: filled });
  const inputs = Object.entries(form.inputs ?? {}).map(([name, value]) => [
    name,
    { value_type: "string", value },
  ]);
  return {
    status: "succeeded",
    inputs: Object.fromEntries(inputs),
    outputs: {
      ...form.inputs,
      __action_id: form.action,
      __rendered_content: rendered,
      __action_value: filled.action_text,
    },
  };
}

function openForm({ run, records }: RunContext, node: HumanInputNode): StoredForm {
  const form: StoredForm = {
    token: records.newId().replaceAll("-", "").slice(0, 22), // as long as the server's tokens
    id: records.newId(),
    app: run.app,
    run_id: run.id,
    node_id: node.id,
    content: renderTemplate(node.content, run.progress.variables),
    expires_at: records.now() + node.expires * 1000,
    status: "waiting",
    action: null,
    inputs: null,
  };
  records.addForm(form);
  return form;
}

/**
 * Runs a loop or iteration and returns its outputs. Live streams have no node events for it, and
 * total_steps does not count its inner nodes (server §15.5).
 */
export const runContainer = (
  context: RunContext,
  node: Container,
): Promise<Record<string, unknown>> =>
  node.type === "loop" ? runLoop(context, node) : runIteration(context, node);

async function runLoop(context: RunContext, node: LoopNode): Promise<Record<string, unknown>> {
  const { records, publish } = context;
  const startedAt = records.now();
  const inputs = { loop_count: node.count, [node.variable]: node.from };
  publish(containerStarted(node, startedAt, inputs, { loop_length: node.count }));
  let value = node.from;
  let round = 0;
  const durations: Record<string, number> = {};
  const values: Record<string, object> = {};
  for (; round < node.count && value < node.until; round++) {
    const roundStart = records.now();
    const created_at = toSeconds(roundStart);
    const next = { index: round, created_at, pre_loop_output: {}, extras: {} };
    if (round > 0) publish(containerEvent("loop_next", node, next));
    value++;
    await executeInner(context, node, { loop: node.id }, assignerResult(node, value, round));
    durations[round] = secondsSince(context, roundStart);
    values[round] = { [node.variable]: value };
  }
  const outputs = { [node.variable]: value, loop_round: round };
  const metadata = {
    loop_duration_map: durations,
    loop_variable_map: values,
    completed_reason: round < node.count ? "loop_break" : "loop_completed",
  };
  const result = { inputs, outputs, steps: node.count, metadata };
  publish(containerCompleted(context, node, startedAt, result));
  return outputs;
}

async function runIteration(
  context: RunContext,
  node: IterationNode,
): Promise<Record<string, unknown>> {
  const { run, records, publish } = context;
  const startedAt = records.now();
  const list = variableAt(run.progress.variables, node.over);
  const items = Array.isArray(list) ? list.map(Number) : [];
  const inputs = { iterator_selector: items };
  publish(containerStarted(node, startedAt, inputs, { iteration_length: items.length }));
  const output: number[] = [];
  const durations: Record<string, number> = {};
  for (const [index, item] of items.entries()) {
    const roundStart = records.now();
    const next = { index, created_at: toSeconds(roundStart), extras: {} };
    publish(containerEvent("iteration_next", node, next));
    const pair = [item, item * 2];
    await executeInner(
      context,
      node,
      { iteration: node.id },
      {
        status: "succeeded",
        inputs: { arg1: item },
        outputs: { result: pair },
        metadata: { iteration_id: node.id, iteration_index: index },
      },
    );
    output.push(...pair);
    durations[index] = secondsSince(context, roundStart);
  }
  const metadata = { iteration_duration_map: durations };
  const result = { inputs, outputs: { output }, steps: items.length, metadata };
  publish(containerCompleted(context, node, startedAt, result));
  return { output };
}

async function executeInner(
  context: RunContext,
  { inner: node, takes }: Container,
  place: Place,
  result: NodeResult,
): Promise<void> {
  const execution = newExecution(context.records, node, place);
  context.run.progress.executions.push(execution);
  context.publish(nodeStarted(execution));
  await wait(context, takes);
  completeNode(context, execution, result.status);
  context.publish(nodeFinished(execution, result));
}

const containerStarted = (node: Container, startedAt: number, inputs: object, metadata: object) =>
  containerEvent(`${node.type}_started`, node, {
    created_at: toSeconds(startedAt),
    extras: {},
    metadata,
    inputs,
    inputs_truncated: false,
  });

const containerCompleted = (
  context: RunContext,
  node: Container,
  startedAt: number,
  result: {
    readonly inputs: object;
    readonly outputs: object;
    readonly steps: number;
    readonly metadata: object;
  },
): RunEvent =>
  containerEvent(`${node.type}_completed`, node, {
    outputs: result.outputs,
    outputs_truncated: false,
    created_at: toSeconds(startedAt),
    extras: {},
    inputs: result.inputs,
    inputs_truncated: false,
    status: "succeeded",
    error: null,
    elapsed_time: secondsSince(context, startedAt),
    total_tokens: 0,
    execution_metadata: {
      total_tokens: 0,
      total_price: "0.0",
      currency: "USD",
      ...result.metadata,
    },
    finished_at: toSeconds(context.records.now()),
    steps: result.steps,
  });

/** The inputs of an assigner are its own definition. */
const assignerResult = (node: LoopNode, value: number, round: number): NodeResult => ({
  status: "succeeded",
  inputs: {
    type: node.inner.type,
    title: node.inner.title,
    desc: "",
    version: "2",
    error_strategy: null,
    default_value: null,
    retry_config: { max_retries: 0, retry_interval: 0, retry_enabled: false },
    items: [
      {
        variable_selector: [node.id, node.variable],
        input_type: "constant",
        operation: "+=",
        value: 1,
      },
    ],
    isInIteration: false,
    isInLoop: true,
    loop_id: node.id,
    selected: false,
  },
  process: {
    [node.variable]: value,
    __updated_variables: [
      {
        name: node.variable,
        selector: [node.id, node.variable],
        value_type: "integer",
        new_value: value,
      },
    ],
  },
  outputs: {},
  metadata: { loop_id: node.id, loop_index: round },
});
