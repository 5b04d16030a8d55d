import { isObject, own, tryParseJson } from "../../../lib/json.ts";
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

/** Recordings of runs, as `wf run --record` writes them. */

type JsonObject = Readonly<Record<string, unknown>>;

/** An event of a recording. */
export interface RecordingEvent {
  /** ms since the first event. */
  readonly at: number;
  /** As the server sent it. */
  readonly event: JsonObject & { readonly event: string };
}

/**
 * Reads a recording, or the output of `wf events -o jsonl`, which has no pauses between events, as an
 * application in the shape of an exported one. Throws an Error with the reason if it is not that of
 * one whole run.
 */
export function readRecording(text: string, name: string): object {
  const recording = text.split("\n").flatMap((line, index): RecordingEvent[] => {
    if (line.trim() === "") return [];
    const value = tryParseJson(line);
    if (!isObject(value)) throw new Error(`line ${index + 1}: invalid JSON`);
    const { at = 0, event } = typeof value["event"] === "string" ? { event: value } : value;
    if (!isObject(event) || typeof event["event"] !== "string") return []; // the head or the end
    return [{ at: Number(at), event: { ...event, event: event["event"] } }];
  });
  const names = recording.map(({ event }) => event.event);
  if (names[0] !== "workflow_started" || names.at(-1) !== "workflow_finished") {
    throw new Error("it must begin with workflow_started and end with workflow_finished");
  }
  if (names.includes("workflow_paused")) throw new Error("a run that pauses cannot be replayed");
  const mode = recording.some(({ event }) => "message_id" in event) ? "advanced-chat" : "workflow";
  const nodes = [{ id: "start", data: { type: "start", variables: inputFields(recording[0]) } }];
  return {
    app: { name, description: "Replays a recording.", mode },
    workflow: { graph: { nodes, edges: [] } },
    recording,
  };
}

const inputTypes = { string: "paragraph", number: "number", boolean: "checkbox" } as const;

/** Optional fields for the inputs of the recorded run. */
function inputFields(started: RecordingEvent | undefined): object[] {
  const data = started?.event["data"];
  const inputs = isObject(data) && isObject(data["inputs"]) ? data["inputs"] : {};
  return Object.entries(inputs).flatMap(([variable, value]) => {
    const type = own(inputTypes, typeof value);
    return type === undefined || variable.startsWith("sys.")
      ? []
      : [{ type, variable, label: variable, required: false }];
  });
}
