/** Executes the nodes of a run: a function for each type. */
import type { Clock } from "../http/handler.ts";
import type { Retrieve } from "../knowledge/retrieval/retrieve.ts";
import type { LanguageModel } from "../models/language-model.ts";
import { atLeast } from "../http/router.ts";
import type { Execution, RunStore, StoredForm, StoredRun } from "../storage/runs-store.ts";
import type { AnyNode, AppDefinition, NodeOf, NodeType } from "./app-definitions.ts";
import { endOutputs, submission } from "./run-events.ts";
import { type RunEvent, runEvent } from "./shapes.ts";
import { renderTemplate, variableAt } from "./templates.ts";

/** One segment of a run while it executes. */
export interface RunContext {
  /** undefined if it no longer exists; then no node is executed. */
  readonly app: AppDefinition | undefined;
  readonly run: StoredRun;
  /** Server version to imitate. */
  readonly version: string;
  readonly records: RunStore;
  readonly clock: Clock;
  readonly model: LanguageModel | undefined;
  readonly retrieve: Retrieve;
  /** When the segment began, ms since 1970. */
  readonly startedAt: number;
  /** Aborted when the run is stopped or the sandbox closes. */
  readonly signal: AbortSignal;
  readonly publish: (event: RunEvent) => void;
  /** Expires the form when its time is over. */
  readonly watchForm: (form: StoredForm) => void;
}

/** Result of a node. */
export interface NodeResult {
  readonly status: "succeeded" | "failed" | "exception" | "retry";
  readonly inputs: object;
  readonly process: object;
  readonly outputs: Record<string, unknown>;
  readonly error: string | null;
  readonly metadata: object | null;
}

/** The node is waiting for a form to be submitted. */
export interface Waiting {
  readonly status: "paused";
  readonly form: StoredForm;
}

type Executor<Type extends NodeType> = (
  context: RunContext,
  node: NodeOf<Type>,
  execution: Execution,
) => NodeResult | Waiting | Promise<NodeResult | Waiting>;

type Container = NodeOf<"loop" | "iteration">;

/** Live streams have no node events for loops and iterations (server §15.5). */
export const isContainer = (node: AnyNode): node is Container =>
  node.type === "loop" || node.type === "iteration";

/** Creates the execution of a node. */
export const newExecution = (records: RunStore, node: AnyNode, parent?: AnyNode): Execution => ({
  id: records.newId(),
  nodeId: node.id,
  type: node.type,
  title: node.title,
  startedAt: records.now(),
  finishedAt: null,
  elapsed: 0,
  status: "running",
  iteration: parent?.type === "iteration" ? parent.id : null,
  loop: parent?.type === "loop" ? parent.id : null,
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

/** A successful result without inputs and outputs, changed by `fields`. */
const result = (fields: Partial<NodeResult>): NodeResult => ({
  status: "succeeded",
  inputs: {},
  process: {},
  outputs: {},
  error: null,
  metadata: null,
  ...fields,
});

const executors: { readonly [Type in Exclude<NodeType, "assigner">]: Executor<Type> } = {
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
  code: (_context, node) => result({ outputs: { ...node.sandbox.outputs } }),
  "http-request": executeRequest,
  "human-input": executeHumanInput,
  loop: executeLoop,
  iteration: executeIteration,
};

/** Executes a node; rejects if the run is stopped in the meantime. */
export async function executeNode(
  context: RunContext,
  node: AnyNode,
  execution: Execution,
): Promise<NodeResult | Waiting> {
  const execute = executors[node.type as keyof typeof executors] as Executor<NodeType>; // its type
  return execute(context, node, execution);
}

async function executeRequest(
  context: RunContext,
  node: NodeOf<"http-request">,
  execution: Execution,
): Promise<NodeResult> {
  const { progress } = context.run;
  const { sandbox, retry_config, default_value } = node;
  const { host, pathname } = new URL(node.url);
  const method = node.method.toUpperCase();
  const process = { request: `${method} ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n` };
  if (sandbox.error === undefined) {
    const { body } = sandbox;
    const seconds = variableAt(progress.variables, sandbox.seconds.value_selector);
    await wait(context, typeof seconds === "number" ? seconds : sandbox.seconds.default);
    const headers = {
      server: "sandbox",
      date: context.clock.now().toUTCString(),
      "content-length": String(body.length),
    };
    return result({ process, outputs: { status_code: 200, body, headers, files: [] } });
  }
  const { error } = sandbox;
  for (let retry = 1; retry <= (retry_config?.max_retries ?? 0); retry++) {
    await wait(context, (retry_config?.retry_interval ?? 0) / 1000);
    progress.steps++;
    progress.exceptions++;
    const attempt = { ...execution };
    completeNode(context, attempt, "retry");
    const failure = result({ process, status: "retry", error });
    context.publish(runEvent("node_retry", { execution: attempt, result: failure, retry }));
  }
  if (default_value === undefined) return result({ process, status: "failed", error });
  return result({
    process,
    status: "exception",
    error: "Unknown error", // recorded: the text moves into the outputs
    metadata: { error_strategy: "default-value" },
    outputs: {
      ...Object.fromEntries(default_value.map(({ key, value }) => [key, value])),
      status_code: 0,
      headers: {},
      error_message: error,
      error_type: "HttpRequestNodeError",
    },
  });
}

function executeHumanInput(context: RunContext, node: NodeOf<"human-input">): NodeResult | Waiting {
  const { run, version, records, publish } = context;
  const form = records.forms.find({ run_id: run.id, node_id: node.id }) ?? openForm(context, node);
  if (form.status === "waiting") return { status: "paused", form };
  // Since 1.15 no event reports the end of the form (server §15.5).
  const hasEvents = !atLeast(version, "1.15.0");
  if (form.status === "expired") {
    if (hasEvents) publish(runEvent("human_input_form_timeout", { form, node }));
    return result({});
  }
  const submitted = submission(form, node);
  if (hasEvents) publish(runEvent("human_input_form_filled", submitted));
  const inputs = Object.entries(form.inputs ?? {}).map(([name, value]) => [
    name,
    { value_type: "string", value },
  ]);
  return result({
    inputs: Object.fromEntries(inputs),
    outputs: {
      ...form.inputs,
      __action_id: form.action,
      __rendered_content: submitted.rendered,
      __action_value: submitted.action_text,
    },
  });
}

const SECONDS = { hour: 3600, day: 86_400 };

function openForm({ run, records }: RunContext, node: NodeOf<"human-input">): StoredForm {
  const form: StoredForm = {
    token: records.newId().replaceAll("-", "").slice(0, 22), // as long as the server's tokens
    id: records.newId(),
    app: run.app,
    run_id: run.id,
    node_id: node.id,
    content: renderTemplate(node.form_content, run.progress.variables),
    expires_at: records.now() + node.timeout * SECONDS[node.timeout_unit] * 1000,
    status: "waiting",
    action: null,
    inputs: null,
  };
  records.forms.insert(form);
  return form;
}

function executeLoop(context: RunContext, node: NodeOf<"loop">): Promise<NodeResult> {
  const [{ label, value: from }] = node.loop_variables;
  const [{ value: until }] = node.break_conditions;
  const count = Math.min(node.loop_count, until - from);
  const values = Array.from({ length: count }, (_, round) => from + round + 1);
  return playRounds(context, node, {
    inputs: { loop_count: node.loop_count, [label]: from },
    outputs: { [label]: from + count, loop_round: count },
    length: node.loop_count,
    rounds: values.map((value, index) => assignment(context, node, value, index)),
    metadata: {
      loop_variable_map: Object.fromEntries(
        values.map((value, round) => [round, { [label]: value }]),
      ),
      completed_reason: count < node.loop_count ? "loop_break" : "loop_completed",
    },
  });
}

/** The inputs of an assigner are its own definition. */
function assignment(
  { app }: RunContext,
  loop: NodeOf<"loop">,
  value: number,
  round: number,
): NodeResult {
  const { id: _id, parentId: _parent, ...inputs } = innerNode(app, loop);
  const [{ label: name }] = loop.loop_variables;
  const updated = { name, selector: [loop.id, name], value_type: "integer", new_value: value };
  return result({
    inputs,
    process: { [name]: value, __updated_variables: [updated] },
    metadata: { loop_id: loop.id, loop_index: round },
  });
}

/** Its inner node makes a pair from each number, whatever its code. */
function executeIteration(context: RunContext, node: NodeOf<"iteration">): Promise<NodeResult> {
  const list = variableAt(context.run.progress.variables, node.iterator_selector);
  const items = Array.isArray(list) ? list.map(Number) : [];
  const rounds = items.map((item, index) =>
    result({
      inputs: { arg1: item },
      outputs: { result: [item, item * 2] },
      metadata: { iteration_id: node.id, iteration_index: index },
    }),
  );
  return playRounds(context, node, {
    inputs: { iterator_selector: items },
    outputs: { output: items.flatMap((item) => [item, item * 2]) },
    length: items.length,
    rounds,
    metadata: {},
  });
}

interface Rounds {
  readonly inputs: object;
  readonly outputs: Record<string, unknown>;
  /** The number of rounds that events report: of a loop, the limit. */
  readonly length: number;
  /** Results of the inner node. */
  readonly rounds: readonly NodeResult[];
  readonly metadata: object;
}

/**
 * Plays the rounds of a loop or iteration and returns its outputs. total_steps does not count the
 * inner nodes (server §15.5).
 */
async function playRounds(
  context: RunContext,
  node: Container,
  { inputs, outputs, length, rounds, metadata }: Rounds,
): Promise<NodeResult> {
  const { app, run, records, publish } = context;
  const since = records.now();
  publish(runEvent(`${node.type}_started`, { node, since, length, inputs }));
  const inner = innerNode(app, node);
  const durations: Record<string, number> = {};
  for (const [index, round] of rounds.entries()) {
    const roundStart = records.now();
    if (index > 0 || node.type === "iteration") {
      publish(runEvent(`${node.type}_next`, { node, index, since: roundStart }));
    }
    const execution = newExecution(records, inner, node);
    run.progress.executions.push(execution);
    publish(runEvent("node_started", { execution }));
    await wait(context, node.sandbox.seconds);
    completeNode(context, execution, round.status);
    publish(runEvent("node_finished", { execution, result: round }));
    durations[index] = secondsSince(context, roundStart);
  }
  const elapsed = secondsSince(context, since);
  const usage = { total_tokens: 0, total_price: "0.0", currency: "USD" };
  const all = { ...usage, [`${node.type}_duration_map`]: durations, ...metadata };
  const times = { since, elapsed, finished: records.now() };
  publish(
    runEvent(`${node.type}_completed`, { node, inputs, outputs, length, metadata: all, ...times }),
  );
  return result({ outputs });
}

function innerNode(app: AppDefinition | undefined, { id }: Container): AnyNode {
  const inner = app?.nodes.find(({ parentId }) => parentId === id);
  if (!inner) throw new Error(`the node ${id} of ${app?.name} has no inner node`);
  return inner;
}
