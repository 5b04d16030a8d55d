/** What each kind of node does when a run comes to it. */
import type {
  AppDefinition,
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
  renderTemplate,
  nodeFinished,
  type NodeResult,
  nodeRetry,
  nodeStarted,
  renderForm,
  type RunEvent,
  outputText,
} from "./run-events.ts";
import { newId, toSeconds } from "../storage/ids.ts";
import { atLeast } from "../http/router.ts";
import {
  type Execution,
  type Form,
  type RunStore,
  type StoredRun,
  type Variables,
} from "../storage/runs-store.ts";

/** What a node has at hand while it works. */
export interface RunContext {
  readonly run: StoredRun;
  /** The server version that is played. */
  readonly version: string;
  readonly records: RunStore;
  readonly clock: Clock;
  /** Aborted when the run is stopped or the sandbox closes. */
  readonly signal: AbortSignal;
  readonly publish: (event: RunEvent) => void;
}

/** The node waits for the people who answer these forms. */
export interface Waiting {
  readonly status: "paused";
  readonly forms: readonly Form[];
}

type Container = LoopNode | IterationNode;

/** The value of a selector; null where nothing is known. */
export const variableAt = (variables: Variables, [node, name]: Selector): unknown =>
  variables[node]?.[name] ?? null;

/** What an end node gives. */
export const endOutputs = (node: EndNode, variables: Variables): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(node.outputs).map(([name, selector]) => [name, variableAt(variables, selector)]),
  );

/** A node that begins; loops and iterations name themselves as the place of their inner nodes. */
export const newExecution = (
  bench: Pick<RunContext, "records">,
  node: Exclude<NodeDefinition, ReviewsNode> | Container["inner"],
  place: { readonly iteration?: string; readonly loop?: string } = {},
): Execution => ({
  id: newId(bench.records.random),
  nodeId: node.id,
  type: node.type,
  title: node.title,
  startedAt: bench.records.now(),
  finishedAt: null,
  elapsed: 0,
  status: "running",
  iteration: place.iteration ?? null,
  loop: place.loop ?? null,
});

const elapsed = ({ records }: RunContext, since: number) => (records.now() - since) / 1000;

/** Notes the end of a node. */
export function completeNode(bench: RunContext, execution: Execution, status: string): void {
  execution.finishedAt = bench.records.now();
  execution.elapsed = elapsed(bench, execution.startedAt);
  execution.status = status;
}

const wait = ({ clock, signal }: RunContext, secondsLong: number): Promise<void> =>
  secondsLong > 0 ? clock.sleep(secondsLong * 1000, signal) : Promise.resolve();

/** Does what the node does; rejects when the run is stopped meanwhile. */
export async function executeNode(
  bench: RunContext,
  app: AppDefinition,
  node: Exclude<NodeDefinition, Container | ReviewsNode>,
  execution: Execution,
): Promise<NodeResult | Waiting> {
  const { variables } = bench.run.progress;
  switch (node.type) {
    case "start": {
      const sent = variables[node.id] ?? {};
      return { status: "succeeded", inputs: sent, outputs: sent };
    }
    case "code":
      return { status: "succeeded", inputs: {}, outputs: { ...node.outputs } };
    case "answer": {
      const text = node.parts
        .map((part) => (typeof part === "string" ? part : outputText(variableAt(variables, part))))
        .join("");
      return { status: "succeeded", inputs: {}, outputs: { answer: text, files: [] } };
    }
    case "end": {
      const outputs = endOutputs(node, variables);
      return { status: "succeeded", inputs: outputs, outputs };
    }
    case "http-request":
      return request(bench, node, execution);
    case "human-input":
      return answered(bench, app, node);
  }
}

async function request(
  bench: RunContext,
  node: RequestNode,
  execution: Execution,
): Promise<NodeResult> {
  const { progress } = bench.run;
  const common = { inputs: {}, process: { request: node.request } };
  if (node.error === undefined) {
    const asked = node.takes && variableAt(progress.variables, node.takes.input);
    await wait(bench, typeof asked === "number" ? asked : (node.takes?.otherwise ?? 0));
    const headers = {
      server: "sandbox",
      date: bench.clock.now().toUTCString(),
      "content-length": String(node.body.length),
    };
    const outputs = { status_code: 200, body: node.body, headers, files: [] };
    return { ...common, status: "succeeded", outputs };
  }
  const { error } = node;
  for (let retry = 1; retry <= (node.retries?.times ?? 0); retry++) {
    await wait(bench, node.retries?.pause ?? 0);
    progress.steps++;
    progress.exceptions++;
    const tried = { ...execution };
    completeNode(bench, tried, "retry");
    bench.publish(nodeRetry(tried, { ...common, status: "retry", outputs: {}, error }, retry));
  }
  if (node.fallback === undefined) return { ...common, status: "failed", outputs: {}, error };
  return {
    ...common,
    status: "exception",
    error: "Unknown error", // recorded: the text moves into the outputs
    metadata: { error_strategy: "default-value" },
    outputs: {
      body: node.fallback,
      status_code: 0,
      headers: {},
      error_message: error,
      error_type: "HttpRequestNodeError",
    },
  };
}

function answered(
  bench: RunContext,
  app: AppDefinition,
  node: HumanInputNode,
): NodeResult | Waiting {
  const { run, version, records, publish } = bench;
  const form = records.formsOf(run.id).find(({ nodeId }) => nodeId === node.id);
  if (!form || form.status === "waiting") {
    return { status: "paused", forms: [form ?? opened(bench, app, node)] };
  }
  // Since 1.15 nothing tells what became of the form (server §15.5).
  const told = !atLeast(version, "1.15.0");
  if (form.status === "expired") {
    if (told)
      publish({
        event: "human_input_form_timeout",
        data: {
          node_id: node.id,
          node_title: node.title,
          expiration_time: toSeconds(form.expiresAt),
        },
      });
    return { status: "succeeded", inputs: {}, outputs: {} };
  }
  const rendered = renderForm(form);
  const filled = filledFields(form, node, rendered);
  if (told) publish({ event: "human_input_form_filled", data: filled });
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

function opened({ run, records }: RunContext, app: AppDefinition, node: HumanInputNode): Form {
  const form: Form = {
    token: token(records.random),
    id: newId(records.random),
    app: app.name,
    runId: run.id,
    nodeId: node.id,
    content: renderTemplate(node.content, run.progress.variables),
    expiresAt: records.now() + node.expires * 1000,
    status: "waiting",
    action: null,
    inputs: null,
  };
  records.addForm(form);
  return form;
}

/** 22 letters and digits, as the server's tokens have. */
const token = (random: () => number) => newId(random).replaceAll("-", "").slice(0, 22);

const noCost = { total_tokens: 0, total_price: "0.0", currency: "USD" };

/**
 * Runs a loop or iteration and gives its outputs. It has no node events of its own in live streams,
 * and total_steps leaves its inner nodes out (server §15.5).
 */
export const runContainer = (
  bench: RunContext,
  node: Container,
): Promise<Record<string, unknown>> =>
  node.type === "loop" ? loop(bench, node) : iterate(bench, node);

async function loop(bench: RunContext, node: LoopNode): Promise<Record<string, unknown>> {
  const began = bench.records.now();
  const inputs = { loop_count: node.count, [node.variable]: node.from };
  bench.publish(
    containerEvent("loop_started", node, {
      created_at: toSeconds(began),
      extras: {},
      metadata: { loop_length: node.count },
      inputs,
      inputs_truncated: false,
    }),
  );
  let value = node.from;
  let round = 0;
  const durations: Record<string, number> = {};
  const values: Record<string, object> = {};
  for (; round < node.count && value < node.until; round++) {
    const roundBegan = bench.records.now();
    if (round > 0) {
      bench.publish(
        containerEvent("loop_next", node, {
          index: round,
          created_at: toSeconds(roundBegan),
          pre_loop_output: {},
          extras: {},
        }),
      );
    }
    value++;
    await inner(bench, node, { loop: node.id }, assigned(node, value, round));
    durations[round] = elapsed(bench, roundBegan);
    values[round] = { [node.variable]: value };
  }
  const outputs = { [node.variable]: value, loop_round: round };
  bench.publish(
    completed(bench, "loop_completed", node, began, {
      inputs,
      outputs,
      steps: node.count,
      metadata: {
        loop_duration_map: durations,
        loop_variable_map: values,
        completed_reason: round < node.count ? "loop_break" : "loop_completed",
      },
    }),
  );
  return outputs;
}

async function iterate(bench: RunContext, node: IterationNode): Promise<Record<string, unknown>> {
  const began = bench.records.now();
  const list = variableAt(bench.run.progress.variables, node.over);
  const items = Array.isArray(list) ? list.map(Number) : [];
  const inputs = { iterator_selector: items };
  bench.publish(
    containerEvent("iteration_started", node, {
      created_at: toSeconds(began),
      extras: {},
      metadata: { iteration_length: items.length },
      inputs,
      inputs_truncated: false,
    }),
  );
  const joined: number[] = [];
  const durations: Record<string, number> = {};
  for (const [index, item] of items.entries()) {
    const roundBegan = bench.records.now();
    bench.publish(
      containerEvent("iteration_next", node, {
        index,
        created_at: toSeconds(roundBegan),
        extras: {},
      }),
    );
    const pair = [item, item * 2];
    await inner(
      bench,
      node,
      { iteration: node.id },
      {
        status: "succeeded",
        inputs: { arg1: item },
        outputs: { result: pair },
        metadata: { iteration_id: node.id, iteration_index: index },
      },
    );
    joined.push(...pair);
    durations[index] = elapsed(bench, roundBegan);
  }
  const outputs = { output: joined };
  bench.publish(
    completed(bench, "iteration_completed", node, began, {
      inputs,
      outputs,
      steps: items.length,
      metadata: { iteration_duration_map: durations },
    }),
  );
  return outputs;
}

async function inner(
  bench: RunContext,
  { inner: node, takes }: Container,
  place: { readonly iteration?: string; readonly loop?: string },
  result: NodeResult,
): Promise<void> {
  const execution = newExecution(bench, node, place);
  bench.run.progress.executions.push(execution);
  bench.publish(nodeStarted(execution));
  await wait(bench, takes);
  completeNode(bench, execution, result.status);
  bench.publish(nodeFinished(execution, result));
}

const completed = (
  bench: RunContext,
  event: string,
  node: Container,
  began: number,
  told: {
    readonly inputs: object;
    readonly outputs: object;
    readonly steps: number;
    readonly metadata: object;
  },
): RunEvent =>
  containerEvent(event, node, {
    outputs: told.outputs,
    outputs_truncated: false,
    created_at: toSeconds(began),
    extras: {},
    inputs: told.inputs,
    inputs_truncated: false,
    status: "succeeded",
    error: null,
    elapsed_time: elapsed(bench, began),
    total_tokens: 0,
    execution_metadata: { ...noCost, ...told.metadata },
    finished_at: toSeconds(bench.records.now()),
    steps: told.steps,
  });

/** An assigner tells its own definition as its inputs. */
const assigned = (node: LoopNode, value: number, round: number): NodeResult => ({
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
