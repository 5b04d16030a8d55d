/** Events of a run, live and replayed (server §15). */
import { asciiOnly, dataLine, spaced } from "../../protocol/response.ts";
import { atLeast } from "../../../lib/version.ts";
import { zeroUsage } from "../../models/tokens.ts";
import { toSeconds } from "../../protocol/ids.ts";
import type { StoredForm, StoredRun, Execution } from "./runs-store.ts";
import { type AppDefinition, type NodeOf, nodesOf } from "../definitions/app-definitions.ts";
import { isNodeDone } from "./graph.ts";
import { fillShape } from "./shapes.ts";
import { runEvent, type RunEvent } from "../../protocol/fill.ts";
import { outputText, variableAt } from "./templates.ts";

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
  const times = {
    time_to_first_token: first ?? run.elapsed_time,
    time_to_generate: rest ?? 0,
  };
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
export const endOutputs = (
  { outputs }: NodeOf<"end">,
  { progress }: StoredRun,
): Record<string, unknown> =>
  Object.fromEntries(
    outputs.map(({ variable, value_selector }) => [
      variable,
      variableAt(progress.variables, value_selector),
    ]),
  );

/** Outputs of the end nodes that were reached. */
export const reachedOutputs = (
  run: StoredRun,
  app: AppDefinition | undefined,
): Record<string, unknown> =>
  Object.assign(
    {},
    ...nodesOf(app, "end")
      .filter(({ id }) => isNodeDone(run, id))
      .map((end) => endOutputs(end, run)),
  );

/** An event of a node in a snapshot, where it has no inputs, outputs and errors (server §15.6). */
function replayedNode(
  event: "node_started" | "node_finished",
  execution: Execution,
  index: number,
): RunEvent {
  const { status } = execution;
  const result = {
    inputs: null,
    process: null,
    outputs: null,
    status,
    error: null,
    metadata: null,
  };
  const { data = {} } = runEvent(event, { execution, result });
  const shown = Object.entries(data).filter(([name]) => !/_truncated$|^agent_/.test(name));
  return { event, data: { ...Object.fromEntries(shown), index } };
}

/** What a snapshot needs besides the run. */
interface SnapshotParts {
  readonly app: AppDefinition;
  readonly waiting: readonly StoredForm[];
  /** Text so far of a chatflow. */
  readonly answer: string | null;
  readonly version: string;
}

/**
 * The snapshot of an unfinished run for a reader that connects late (server §15.3, §15.6). Nodes
 * have no inputs, outputs and errors; loops and iterations are listed as nodes.
 */
export function snapshotEvents(
  run: StoredRun,
  { app, waiting, answer, version }: SnapshotParts,
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
