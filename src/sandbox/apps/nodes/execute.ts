/** Executes nodes of all types, with their retries and what happens if they fail. */
import { runEvent } from "../../protocol/fill.ts";
import { fillShape, citationsOf } from "../records/shapes.ts";
import {
  endOutputs,
  submission,
  renderTemplate,
  valueAtSelector,
  outputText,
  typeName,
  variableAt,
  variableValues,
} from "../records/run-events.ts";
import type { Execution, StoredForm } from "../records/runs-store.ts";
import { executeBranch, executeIteration, executeLoop } from "./loops.ts";
import { executeClassifier, executeModel } from "./llm.ts";
import { completeNode, result, wait } from "./node.ts";
import type { Execute, Executor, NodeContext, NodeResult, Outcome, RunContext } from "./node.ts";
import type { AnyNode, ErrorHandling, NodeType, NodeOf } from "../definitions/app-definitions.ts";
import { HttpError } from "../../protocol/response.ts";
import { ModelError } from "../../models/marks.ts";
import { costOf, zeroUsage } from "../../models/tokens.ts";
import { atLeast } from "../../../lib/version.ts";

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

const executeOnce: Execute = (context, node, execution) =>
  (executors[node.type] as Executor<NodeType>)(context, node, execution); // its type

/** Executes a node and its retries; a default value or a fail branch makes an exception of its failure. */
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
  const { data } = runEvent("node_finished", { execution: attempt, result: outcome });
  context.publish({ event: "node_retry", data: { ...data, retry_index: retry } });
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

const operations: Readonly<Record<string, (old: unknown, value: unknown) => unknown>> = {
  "over-write": (_old, value) => value,
  set: (_old, value) => value,
  clear: (old) => (Array.isArray(old) ? [] : ""),
  append: (old, value) => [...(Array.isArray(old) ? old : []), value],
  "+=": (old, value) =>
    typeof old === "string" ? `${old}${outputText(value)}` : Number(old) + Number(value),
  "-=": (old, value) => Number(old) - Number(value),
  "*=": (old, value) => Number(old) * Number(value),
  "/=": (old, value) => Number(old) / Number(value),
};

/** Changes variables. Its inputs are its own definition (server §15.5). */
async function executeAssigner(
  context: NodeContext,
  node: NodeOf<"assigner">,
): Promise<NodeResult> {
  const { id: _id, parentId: _parent, sandbox, ...inputs } = node;
  const { run, records } = context;
  const { variables } = run.progress;
  await wait(context, sandbox?.seconds ?? 0);
  const process: Record<string, unknown> = {};
  const updated = node.items.map(({ variable_selector: selector, input_type, ...item }) => {
    const [owner, name] = selector;
    // The value of a variable is its selector.
    const given =
      input_type === "variable" ? variableAt(variables, item.value as typeof selector) : item.value;
    const operate = operations[item.operation];
    if (!operate) throw new Error(`the sandbox has no operation ${item.operation}`);
    const new_value = operate(variableAt(variables, selector), given);
    variables[owner] = { ...variables[owner], [name]: new_value };
    process[name] = new_value;
    if (owner === "conversation") {
      const variable = { conversation_id: run.conversation_id ?? "", name };
      const changes = { value: outputText(new_value), updated_at: records.now() };
      records.conversation_variables.update(variable, changes);
    }
    return { name, selector, value_type: typeName(new_value), new_value };
  });
  return result({ inputs, process: { ...process, __updated_variables: updated } });
}

/** Passages that a node asks for if it does not say how many. */
const TOP_K = 4;

/** Searches knowledge bases. A search that fails leaves no trace but an empty result (server §13). */
function executeKnowledge(
  { run, retrieve }: NodeContext,
  node: NodeOf<"knowledge-retrieval">,
): NodeResult {
  const { query_variable_selector, dataset_ids, multiple_retrieval_config } = node;
  const query = outputText(variableAt(run.progress.variables, query_variable_selector));
  let found: ReturnType<NodeContext["retrieve"]> = [];
  try {
    found = retrieve(dataset_ids, query, multiple_retrieval_config?.top_k ?? TOP_K);
  } catch (error) {
    if (!(error instanceof ModelError || error instanceof HttpError)) throw error;
  }
  const passages = found.map((passage, index) =>
    fillShape("passage", { ...passage, position: index + 1 }),
  );
  return result({
    inputs: { query },
    process: { usage: zeroUsage },
    outputs: { result: passages },
    metadata: costOf(zeroUsage),
    citations: citationsOf(found, "workflow"),
  });
}

/** Opens a form and waits for it; once it is submitted or expired, the node ends. */
export function executeHumanInput(context: NodeContext, node: NodeOf<"human-input">): Outcome {
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
  const inputs = Object.entries(form.inputs ?? {});
  return result({
    inputs: Object.fromEntries(
      inputs.map(([name, value]) => [name, { value_type: "string", value }]),
    ),
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
  return records.forms.insert({
    token: records.newId().replaceAll("-", "").slice(0, 22), // as long as the server's tokens
    app: run.app,
    run_id: run.id,
    node_id: node.id,
    content: renderTemplate(node.form_content, run.progress.variables),
    expires_at: records.now() + node.timeout * SECONDS[node.timeout_unit] * 1000,
    status: "waiting",
  });
}

type Values = Readonly<Record<string, unknown>>;

/** The programs of the sandbox, by the name in `sandbox.program`; Python is not run. */
const programs: Readonly<Record<string, (inputs: Values) => Record<string, unknown>>> = {
  /** The parts of a text between vertical bars, without empty ones. */
  split: ({ q }) => ({ items: String(q).split("|").filter(Boolean) }),
  /** The lines of a text, without empty ones. */
  lines: ({ text }) => ({ items: String(text).split("\n").filter(Boolean) }),
  /** A number and its double. */
  pair: ({ arg1 }) => ({ result: [Number(arg1), Number(arg1) * 2] }),
  grade,
  /** A question about a text, in its three longest words. */
  question: ({ text }) => {
    const words = [...new Set(outputText(text ?? "").match(/\p{L}{4,}/gu) ?? [])];
    const longest = words.toSorted((one, other) => other.length - one.length).slice(0, 3);
    return { question: `What is the rule about ${longest.join(" or ")}?` };
  },
};

/** A judge without a model: the share of the words of an expected answer, or of the criteria, in the answer. */
function grade({ answer, expected, criteria }: Values): Record<string, unknown> {
  const wordsIn = (value: unknown) =>
    outputText(value ?? "")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const found = new Set(wordsIn(answer));
  const expectedWords = [expected, criteria].map(wordsIn).find(({ length }) => length > 0) ?? [];
  const needed = [...new Set(expectedWords)];
  const missing = needed.filter((word) => !found.has(word));
  const score = needed.length === 0 ? Number(found.size > 0) : 1 - missing.length / needed.length;
  const reason = `It has ${needed.length - missing.length} of ${needed.length} expected words.`;
  return { score: Math.round(score * 100) / 100, reason };
}

/** Returns fixed outputs, or what a program of the sandbox makes of the variables. */
function executeCode(
  context: NodeContext,
  { title, variables = [], sandbox }: NodeOf<"code">,
): NodeResult | Promise<NodeResult> {
  const inputs = variableValues(context.run.progress.variables, variables);
  const { seconds = 0, program } = sandbox;
  const run = program === undefined ? () => ({ ...sandbox.outputs }) : programs[program];
  if (!run) throw new Error(`the sandbox has no program ${program} for the node ${title}`);
  const done = result({ inputs, outputs: run(inputs) });
  return seconds > 0 ? wait(context, seconds).then(() => done) : done;
}

/** Fills `{{ name }}`; other statements of Jinja stay as they are. */
function executeTemplate(
  context: NodeContext,
  { template, variables }: NodeOf<"template-transform">,
): NodeResult {
  const inputs = variableValues(context.run.progress.variables, variables);
  const output = template.replace(/\{\{\s*(\w+)\s*\}\}/g, (text, name: string) =>
    Object.hasOwn(inputs, name) ? outputText(inputs[name]) : text,
  );
  return result({ inputs, outputs: { output } });
}

/** Imitates a request: waits and answers with a fixed body, or fails; nothing is sent. */
async function executeRequest(
  context: NodeContext,
  node: NodeOf<"http-request">,
): Promise<NodeResult> {
  const { sandbox } = node;
  const { host, pathname } = new URL(node.url);
  const method = node.method.toUpperCase();
  const process = { request: `${method} ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n` };
  if (sandbox.error !== undefined) {
    const failure = { type: "HttpRequestNodeError", outputs: { status_code: 0, headers: {} } };
    return result({ process, status: "failed", error: sandbox.error, failure });
  }
  const { body } = sandbox;
  const seconds = variableAt(context.run.progress.variables, sandbox.seconds.value_selector);
  await wait(context, typeof seconds === "number" ? seconds : sandbox.seconds.default);
  const headers = {
    server: "sandbox",
    date: context.clock.now().toUTCString(),
    "content-length": String(body.length),
  };
  return result({ process, outputs: { status_code: 200, body, headers, files: [] } });
}
