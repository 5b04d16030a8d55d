/** Reads applications: the sandbox's own ones and those of users, which have the same form (docs/sandbox.md). */
import { parseYaml, type Yaml } from "../../../lib/formats/yaml.ts";
import { isObject, own, tryParseJson } from "../../../lib/json.ts";
import { atLeast } from "../../../lib/version.ts";
import answers from "./answers.json" with { type: "json" };
import {
  type AnyNode,
  type AppDefinition,
  type AppFeatures,
  type AppHead,
  defineApp,
  type Edge,
  type InputField,
  type ModelConfig,
  type NodeType,
  type RecordingEvent,
} from "./app-definitions.ts";
import modelApplications from "./model-applications.json" with { type: "json" };
import plainApplications from "./plain-applications.json" with { type: "json" };
import { readAnswerRules } from "./read-rules.ts";

/** The applications of a sandbox, by name: its own ones, and those given as files. */
export type Applications = ReadonlyMap<string, AppDefinition>;

/** The own applications by name, each as a file of `--app-file` has it. */
const ownFiles = { ...plainApplications, ...modelApplications, answers };

/**
 * Reads the applications of a server, or those of any server without a version; one of `more`, which are
 * exports or what the readers return, replaces an own one of the same name.
 */
export function readApplications(more: readonly unknown[] = [], version = "0"): Applications {
  const given = (more as readonly (AppDefinition | { readonly app: AppHead })[]).map((each) =>
    "app" in each ? readExport(each, each.app.name) : each,
  );
  const all = Object.entries(ownFiles)
    .map(([name, file]) => definitionOf(file, name))
    .filter(({ mode }) => mode !== "agent" || atLeast(version, "1.16.0"));
  return new Map([...all, ...given].map((app) => [app.name, app]));
}

/**
 * Reads an application: an export or rules in YAML or JSON, or the recording of a run. Throws an Error with the
 * reason, and the line where there is one.
 */
export async function readApplication(text: string, name: string): Promise<AppDefinition> {
  if (isRecording(text)) return readRecording(text, name);
  const yaml = await parseYaml(text);
  if ("problem" in yaml) throw new Error(`line ${yaml.line}: ${yaml.problem}`);
  return withLines(yaml, () => definitionOf(yaml.value, name));
}

/** The same from the parsed value of an export or rules; its errors may have the `path` of what is wrong. */
export const definitionOf = (value: unknown, name: string): AppDefinition =>
  isObject(value) && "rules" in value ? readAnswerRules(value, name) : readExport(value, name);

/** Adds the line to an error that has the path of a value. */
function withLines<T>({ document, lineAt }: Exclude<Yaml, { problem: string }>, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error) || !("path" in error)) throw error;
    const node: unknown = document.getIn(error.path as Iterable<unknown>, true);
    const range: unknown = isObject(node) ? node["range"] : undefined;
    const line = lineAt(Array.isArray(range) ? Number(range[0]) : 0);
    throw new Error(`line ${line}: ${error.message}`, { cause: error });
  }
}

function isRecording(text: string): boolean {
  const first = tryParseJson(text.trimStart().split("\n", 1)[0] ?? "");
  return isObject(first) && ("recording" in first || "event" in first);
}

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
const basicModes = ["chat", "completion", "agent-chat", "agent"];

/** Reads an exported application under another name; throws an Error with the reason if it cannot be used. */
function readExport(value: unknown, name: string): AppDefinition {
  const { app, workflow, model_config } = isObject(value) ? value : {};
  const mode = isObject(app) ? String(app["mode"]) : "";
  const isWorkflow = workflowModes.includes(mode);
  if (!isObject(app) || !(isWorkflow || basicModes.includes(mode))) {
    const modes = [...workflowModes, ...basicModes].join(", ");
    throw new Error(`not an exported application: it needs app.mode, one of ${modes}`);
  }
  const head = { name, description: String(app["description"] ?? ""), mode } as AppHead;
  if (!isWorkflow) {
    const sent = objectAt(model_config, "model_config");
    objectAt(sent["model"], "model_config.model");
    const config = { pre_prompt: "", user_input_form: [], ...sent } as unknown as ModelConfig;
    return defineApp({ ...head, config });
  }
  const { graph: sent, features, conversation_variables } = objectAt(workflow, "workflow");
  const graph = objectAt(sent, "workflow.graph");
  const nodes = listAt(graph["nodes"], "workflow.graph.nodes")
    .filter((node) => !isNote(node))
    .map(readNode);
  if (!nodes.some(({ type }) => type === "start")) throw new Error("it has no start node");
  return defineApp({
    ...head,
    features: (features ?? {}) as AppFeatures,
    variables: (conversation_variables ?? []) as AppDefinition["variables"],
    nodes,
    edges: listAt(graph["edges"] ?? [], "workflow.graph.edges") as unknown as readonly Edge[],
  });
}

/** Reports whether a node is a note on the canvas. */
const isNote = ({ data }: Readonly<Record<string, unknown>>) => isObject(data) && !data["type"];

function readNode({ data, ...outer }: Readonly<Record<string, unknown>>): AnyNode {
  const node = objectAt(data, "the data of a node");
  const { type, title } = node;
  const { id } = outer;
  const place = `node ${JSON.stringify(title ?? id)}`;
  const needed = own(neededFields, String(type));
  if (needed === undefined)
    throw new Error(`${place}: the sandbox does not execute ${String(type)}`);
  if (typeof id !== "string" || typeof title !== "string") {
    throw new Error(`${place}: it needs an id and a title`);
  }
  const missing = needed.split(" ").filter((field) => field !== "" && !Object.hasOwn(node, field));
  if (missing.length > 0) throw new Error(`${place}: it needs ${missing.join(", ")}`);
  return { ...outer, ...node } as unknown as AnyNode; // it has all fields
}

function objectAt(value: unknown, place: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new Error(`${place} must be an object`);
}

function listAt(value: unknown, place: string): Record<string, unknown>[] {
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw new Error(`${place} must be a list of objects`);
}

/**
 * Reads a recording, or the output of `wf events -o jsonl`, which has no pauses between events, as an
 * application. Throws an Error with the reason if it is not that of one whole run.
 */
function readRecording(text: string, name: string): AppDefinition {
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
  const variables = recordedInputs(recording[0]);
  const nodes: AnyNode[] = [{ id: "start", type: "start", title: "Start", variables }];
  return defineApp({ name, mode, description: "Replays a recording.", nodes, recording });
}

const inputTypes = { string: "paragraph", number: "number", boolean: "checkbox" } as const;

/** Optional fields for the inputs of the recorded run. */
function recordedInputs(started: RecordingEvent | undefined): InputField[] {
  const data = started?.event["data"];
  const inputs = isObject(data) && isObject(data["inputs"]) ? data["inputs"] : {};
  return Object.entries(inputs).flatMap(([variable, value]) => {
    const type = own(inputTypes, typeof value);
    return type === undefined || variable.startsWith("sys.")
      ? []
      : [{ type, variable, label: variable, required: false }];
  });
}
