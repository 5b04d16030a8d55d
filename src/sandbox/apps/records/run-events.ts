/** Events of a run, live and replayed (server §15). */
import { asciiOnly, dataLine, spaced } from "../../protocol/response.ts";
import { atLeast } from "../../../lib/version.ts";
import { zeroUsage } from "../../models/tokens.ts";
import { toSeconds } from "../../protocol/ids.ts";
import type { StoredForm, StoredRun, Execution, Variables } from "./runs-store.ts";
import {
  type AppDefinition,
  type NodeOf,
  nodesOf,
  type AnyNode,
  type Edge,
  type Selector,
} from "../definitions/app-definitions.ts";
import { fillShape } from "./shapes.ts";
import { runEvent, type RunEvent } from "../../protocol/fill.ts";
import { isObject, own, stringifyJson } from "../../../lib/json.ts";
import { pythonText } from "../../protocol/validation.ts";
import { isNumeric } from "../../../lib/exact-number.ts";

/** The keep-alive of a stream: an event without data. */
export const PING = "event: ping\n\n";

/** The time in a chatflow's envelope is that of its message. */
const chatFields = (run: StoredRun) =>
  run.message_id !== null && {
    conversation_id: run.conversation_id,
    message_id: run.message_id,
    created_at: toSeconds(run.created_at),
  };

/** What the end of a message reports about the run of a chatflow. */
export function messageMetadata(run: StoredRun, version: string): object {
  const { usage = zeroUsage, citations = [] } = run.progress;
  const { time_to_first_token: first, time_to_generate: rest } = usage;
  const times = { time_to_first_token: first ?? run.elapsed_time, time_to_generate: rest ?? 0 };
  const reasoning = atLeast(version, "1.16.0") ? reasoningOf(run) : {};
  const values = { citations, usage: { ...usage, ...times }, reasoning, version };
  return fillShape("message metadata", values);
}

/** What the models of a run thought, by node. */
const reasoningOf = ({ progress: { variables } }: StoredRun): object =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([node, { reasoning_content: text }]) =>
      text ? [[node, text]] : [],
    ),
  );

/** Formats an event of a live stream. */
export function liveLine(run: StoredRun, { event, data, fields }: RunEvent): string {
  const chat = chatFields(run);
  const { task_id, id: workflow_run_id } = run;
  if (fields) return dataLine({ event, ...chat, task_id, ...fields });
  if (chat) return dataLine({ event, ...chat, task_id, workflow_run_id, data });
  return dataLine({ event, workflow_run_id, task_id, data });
}

/** Formats an event of a snapshot: fields in another order, and a task ID that may be the run's. */
export function replayedLine(run: StoredRun, { event, data, fields }: RunEvent): string {
  // Recorded: only a paused run has its real task ID (server §13).
  const task_id = run.status === "paused" ? run.task_id : run.id;
  const content = data ? { workflow_run_id: run.id, data } : fields;
  return dataLine({ event, task_id, ...content, ...chatFields(run) });
}

/** The stream of a finished run: one event, spaced and ASCII only (server §15.2). */
export function finishedLine(run: StoredRun): string {
  const { event, data } = runEvent("workflow_finished", { run, since: run.created_at });
  const line = { event, task_id: run.id, workflow_run_id: run.id, data };
  return `data: ${asciiOnly(spaced(line))}\n\n`;
}

/** The inputs in the record of a run: workflows add the start time. */
export function storedInputs({ inputs, message_id, created_at }: StoredRun): object {
  if (message_id !== null) return inputs;
  const { "sys.workflow_id": workflow, "sys.workflow_run_id": run, ...rest } = inputs;
  return {
    ...rest,
    "sys.timestamp": toSeconds(created_at),
    "sys.workflow_id": workflow,
    "sys.workflow_run_id": run,
  };
}

/** A form as events report it. */
export interface ShownForm {
  readonly form: StoredForm;
  readonly node: NodeOf<"human-input">;
  readonly content: string;
}

/** Finds the node of a form. */
export const formNode = (
  app: AppDefinition | undefined,
  { node_id }: StoredForm,
): NodeOf<"human-input"> | undefined =>
  nodesOf(app, "human-input").find(({ id }) => id === node_id);

/** Pairs forms with their nodes; `filled` fills the variables of the text. */
export const shownForms = (
  app: AppDefinition | undefined,
  forms: readonly StoredForm[],
  filled = true,
): ShownForm[] =>
  forms.flatMap((form) => {
    const node = formNode(app, form);
    return node ? { form, node, content: filled ? form.content : node.form_content } : [];
  });

/** A submitted form for the shape of a submission: the text has the inputs filled in. */
export function submission(form: StoredForm, node: NodeOf<"human-input">) {
  const rendered = form.content.replace(/\{\{#\$output\.([^#]+)#\}\}/g, (_, name: string) =>
    outputText(form.inputs?.[name]),
  );
  const action_text = node.user_actions.find(({ id }) => id === form.action)?.title ?? "";
  return { form, node, rendered, action_text };
}

/** The events of a pause; `pause.elapsed` in seconds. The last one is `workflow_paused`. */
export function pauseEvents(
  run: StoredRun,
  forms: readonly ShownForm[],
  version: string,
  pause: { readonly since: number; readonly elapsed: number; readonly outputs: object },
): [...RunEvent[], RunEvent] {
  const reasons = forms.map((form) => fillShape("pause reason", { ...form, version }));
  const paused_nodes = forms.map(({ node }) => node.id);
  return [
    ...forms.map((form) => runEvent("human_input_required", { ...form, version })),
    runEvent("workflow_paused", { run, paused_nodes, reasons, ...pause }),
  ];
}

/** Outputs that an end node takes from earlier nodes. */
export const endOutputs = ({ outputs }: NodeOf<"end">, { progress }: StoredRun) =>
  variableValues(progress.variables, outputs);

/** Outputs of the end nodes that were reached. */
export function reachedOutputs(run: StoredRun, app: AppDefinition | undefined) {
  const reached = nodesOf(app, "end").filter(({ id }) => isNodeDone(run, id));
  const outputs: Record<string, unknown> = {};
  return Object.assign(outputs, ...reached.map((end) => endOutputs(end, run))) as typeof outputs;
}

/** An event of a node in a snapshot, where it has no inputs, outputs and errors (server §15.6). */
function replayedNode(
  event: "node_started" | "node_finished",
  execution: Execution,
  index: number,
): RunEvent {
  const { status } = execution;
  const hidden = { inputs: null, process: null, outputs: null, error: null, metadata: null };
  const result = { ...hidden, status };
  const { data = {} } = runEvent(event, { execution, result });
  const shown = Object.entries(data).filter(([name]) => !/_truncated$|^agent_/.test(name));
  return { event, data: { ...Object.fromEntries(shown), index } };
}

/**
 * The snapshot of an unfinished run for a reader that connects late (server §15.3, §15.6). Nodes
 * have no inputs, outputs and errors; loops and iterations are listed as nodes.
 */
export function snapshotEvents(
  run: StoredRun,
  {
    app,
    waiting,
    answer,
    version,
  }: {
    readonly app: AppDefinition;
    readonly waiting: readonly StoredForm[];
    /** Text so far of a chatflow. */
    readonly answer: string | null;
    readonly version: string;
  },
): RunEvent[] {
  const since = run.created_at;
  const begin = { run, inputs: storedInputs(run), since, reason: "initial" };
  const events = [runEvent("workflow_started", begin)];
  if (answer !== null) events.push(runEvent("message_replace", { answer }));
  for (const [at, execution] of run.progress.executions.entries()) {
    events.push(replayedNode("node_started", execution, at + 1));
    if (execution.status === "running") continue;
    events.push(replayedNode("node_finished", execution, at + 1));
  }
  // Snapshots do not fill the variables before 1.15 (server §15.6).
  const forms = shownForms(app, waiting, atLeast(version, "1.15.0"));
  if (run.status !== "paused" || forms.length === 0) return events;
  const outputs =
    answer === null
      ? reachedOutputs(run, app)
      : { answer, files: { value_type: "array[file]", value: [] } };
  return [...events, ...pauseEvents(run, forms, version, { since, elapsed: 0, outputs })];
}

/** The nodes and edges of an application. */
export type Graph = Pick<AppDefinition, "nodes" | "edges">;

/** Reports whether a node of a run has ended, so that the nodes after it may begin. */
export const isNodeDone = (run: StoredRun, nodeId: string): boolean =>
  endOf(run, nodeId) !== undefined;

const endOf = ({ progress }: StoredRun, nodeId: string) =>
  progress.executions.find(
    ({ nodeId: id, status }) => id === nodeId && ["succeeded", "exception"].includes(status),
  );

/** Reports whether a node that ended chose an edge; edges without a handle leave every node. */
export function isTaken(run: StoredRun, edge: Edge): boolean {
  const end = endOf(run, edge.source);
  return end !== undefined && handleOf(edge) === (end.handle ?? DEFAULT_HANDLE);
}

const DEFAULT_HANDLE = "source";

const handleOf = ({ sourceHandle }: Edge) => sourceHandle || DEFAULT_HANDLE;

/** Reports whether a node can no longer be reached, because branches led elsewhere. */
export function isSkipped(graph: Graph, run: StoredRun, nodeId: string): boolean {
  const incoming = graph.edges.filter(({ target }) => target === nodeId);
  return incoming.length > 0 && incoming.every((edge) => isAbandoned(graph, run, edge));
}

const isAbandoned = (graph: Graph, run: StoredRun, edge: Edge): boolean =>
  isNodeDone(run, edge.source) ? !isTaken(run, edge) : isSkipped(graph, run, edge.source);

/** The nodes that may begin: all edges to them are decided, and one is taken. */
export const readyNodes = (graph: Graph, run: StoredRun): AnyNode[] =>
  graph.nodes.filter(({ id, parentId }) => {
    if (parentId !== undefined || isNodeDone(run, id)) return false;
    const incoming = graph.edges.filter(({ target }) => target === id);
    if (incoming.length === 0) return true;
    return (
      incoming.some((edge) => isTaken(run, edge)) &&
      incoming.every((edge) => isNodeDone(run, edge.source) || isAbandoned(graph, run, edge))
    );
  });

/** The value of a selector; undefined as long as there is none. */
export function valueAtSelector(variables: Variables, [node, name, ...path]: Selector): unknown {
  const value = variables[node]?.[name];
  return path.reduce((inner, key) => (isObject(inner) ? own(inner, key) : undefined), value);
}

/** The value of a selector, or null. */
export const variableAt = (variables: Variables, selector: Selector): unknown =>
  valueAtSelector(variables, selector) ?? null;

/** The values of the variables of a node, by name. */
export const variableValues = (
  variables: Variables,
  declared: NodeOf<"end">["outputs"],
): Record<string, unknown> =>
  Object.fromEntries(
    declared.map((each) => [each.variable, variableAt(variables, each.value_selector)]),
  );

/** Splits a text into fixed parts and selectors: `{{#node.name#}}`. Those of `$output` are fixed. */
export const templateParts = (template: string): (string | Selector)[] =>
  template.split(/(\{\{#[^.#$]+\.[^#]+#\}\})/).flatMap((part): (string | Selector)[] => {
    const [, node, names] = /^\{\{#([^.#$]+)\.([^#]+)#\}\}$/.exec(part) ?? [];
    const [name, ...path] = names?.split(".") ?? [];
    if (node !== undefined && name !== undefined) return [[node, name, ...path]];
    return part === "" ? [] : [part];
  });

/** Fills `{{#node.name#}}`; placeholders of inputs (`$output`) stay. */
export const renderTemplate = (template: string, variables: Variables): string =>
  templateParts(template)
    .map((part) => (typeof part === "string" ? part : outputText(variableAt(variables, part))))
    .join("");

/** A value as text: lists as lines with dashes, in Python's spelling; objects as indented JSON (server §15.5). */
export function outputText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return stringifyJson(value, 2);
  return value.map((item) => `- ${typeof item === "string" ? item : pythonText(item)}`).join("\n");
}

/** The server's name for the type of a value. */
export function typeName(value: unknown): string {
  if (value === null) return "none";
  if (Array.isArray(value)) return "array[any]";
  if (isNumeric(value))
    return typeof value === "bigint" || Number.isInteger(value) ? "integer" : "float";
  return typeof value;
}
