import { isObject, own } from "../../../lib/json.ts";
import type { NodeType } from "./node-types.ts";

/** The fields that the sandbox needs of each type of node. */
const neededFields: Readonly<Record<NodeType, string>> = {
  start: "variables",
  end: "outputs",
  answer: "answer",
  code: "sandbox",
  "template-transform": "template variables",
  "http-request": "method url sandbox",
  "human-input": "form_content inputs user_actions timeout timeout_unit",
  llm: "model prompt_template",
  "knowledge-retrieval": "query_variable_selector dataset_ids",
  "question-classifier": "model query_variable_selector classes",
  "if-else": "cases",
  "variable-aggregator": "variables",
  loop: "loop_count loop_variables break_conditions",
  iteration: "iterator_selector output_selector",
  assigner: "items",
  "loop-start": "",
  "iteration-start": "",
};

const workflowModes = ["workflow", "advanced-chat"];
const basicModes = ["chat", "completion", "agent-chat"];

/**
 * Reads an exported application under another name. Throws an Error with the reason if it is none, or
 * has nodes that the sandbox does not execute.
 */
export function readExport(value: unknown, name: string): object {
  const { app, workflow, model_config } = isObject(value) ? value : {};
  const mode = isObject(app) ? String(app["mode"]) : "";
  const isWorkflow = workflowModes.includes(mode);
  if (!isObject(app) || !(isWorkflow || basicModes.includes(mode))) {
    const modes = [...workflowModes, ...basicModes].join(", ");
    throw new Error(`not an exported application: it needs app.mode, one of ${modes}`);
  }
  const named = { app: { name, description: String(app["description"] ?? ""), mode } };
  if (!isWorkflow) {
    const { model, pre_prompt = "", user_input_form = [] } = objectAt(model_config, "model_config");
    objectAt(model, "model_config.model");
    return { ...named, model_config: { ...(model_config as object), pre_prompt, user_input_form } };
  }
  const flow = objectAt(workflow, "workflow");
  const graph = objectAt(flow["graph"], "workflow.graph");
  const nodes = listAt(graph["nodes"], "workflow.graph.nodes").filter((node) => !isNote(node));
  for (const node of nodes) checkNode(node);
  if (!nodes.some((node) => objectAt(node["data"], "data")["type"] === "start")) {
    throw new Error("it has no start node");
  }
  const edges = listAt(graph["edges"] ?? [], "workflow.graph.edges");
  return { ...named, workflow: { ...flow, graph: { nodes, edges } } };
}

/** Reports whether a node is a note on the canvas. */
const isNote = ({ data }: Readonly<Record<string, unknown>>) => isObject(data) && !data["type"];

function checkNode({ id, data }: Readonly<Record<string, unknown>>): void {
  const node = objectAt(data, "the data of a node");
  const { type, title } = node;
  const place = `node ${JSON.stringify(title ?? id)}`;
  const needed = own(neededFields, String(type));
  if (needed === undefined)
    throw new Error(`${place}: the sandbox does not execute ${String(type)}`);
  if (typeof id !== "string" || typeof title !== "string") {
    throw new Error(`${place}: it needs an id and a title`);
  }
  const missing = needed.split(" ").filter((field) => field !== "" && !Object.hasOwn(node, field));
  if (missing.length > 0) throw new Error(`${place}: it needs ${missing.join(", ")}`);
}

function objectAt(value: unknown, place: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new Error(`${place} must be an object`);
}

function listAt(value: unknown, place: string): Record<string, unknown>[] {
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw new Error(`${place} must be a list of objects`);
}
