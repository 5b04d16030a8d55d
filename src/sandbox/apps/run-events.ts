/** Shapes of the events of a run, live and replayed, field by field as recorded (server §15). */
import {
  findApp,
  type AppFormAction,
  type AppFormInput,
  type HumanInputNode,
} from "./app-definitions.ts";
import { asciiOnly } from "../http/response.ts";
import { appId, toSeconds, workflowId } from "../storage/ids.ts";
import { atLeast } from "../http/router.ts";
import {
  type Execution,
  type StoredForm,
  type StoredRun,
  type Variables,
} from "../storage/runs-store.ts";

/** An event without its envelope: `data` for runs, other fields for messages. */
export interface RunEvent {
  readonly event: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Why a segment of a run begins. */
export type SegmentReason = "initial" | "resumption";

/** The keep-alive of a stream: an event without data. */
export const PING = "event: ping\n\n";

export const dataLine = (event: object) => `data: ${JSON.stringify(event)}\n\n`;

/** Formats an event of a live stream. The time in a chatflow's envelope is that of its message. */
export function liveLine(run: StoredRun, { event, data, fields }: RunEvent): string {
  const chat = run.message_id !== null && {
    conversation_id: run.conversation_id,
    message_id: run.message_id,
    created_at: toSeconds(run.created_at),
    task_id: run.task_id,
  };
  if (fields) return dataLine({ event, ...chat, ...fields });
  if (chat) return dataLine({ event, ...chat, workflow_run_id: run.id, data });
  return dataLine({ event, workflow_run_id: run.id, task_id: run.task_id, data });
}

/** Formats an event of a snapshot: fields in another order, and a task ID that may be the run's. */
export function replayedLine(run: StoredRun, { event, data, fields }: RunEvent): string {
  return dataLine({
    event,
    // Recorded: only a paused run has its real task ID (server §13).
    task_id: run.status === "paused" ? run.task_id : run.id,
    ...(data ? { workflow_run_id: run.id, data } : fields),
    ...(run.message_id !== null && {
      conversation_id: run.conversation_id,
      message_id: run.message_id,
      created_at: toSeconds(run.created_at),
    }),
  });
}

/** The stream of a finished run: one event, spaced and ASCII only (server §15.2). */
export const finishedLine = (run: StoredRun): string =>
  `data: ${asciiOnly(
    spacedJson({
      event: "workflow_finished",
      task_id: run.id,
      workflow_run_id: run.id,
      data: workflowFinished(run, run.created_at).data,
    }),
  )}\n\n`;

/** JSON with a space after each comma and colon, as the server stores it. */
export function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value ?? null);
  const fields = Object.entries(value).map(
    ([name, field]) => `${JSON.stringify(name)}: ${spacedJson(field)}`,
  );
  return `{${fields.join(", ")}}`;
}

/** The inputs in the record of a run: workflows add the start time. */
export function storedInputs(run: StoredRun): Record<string, unknown> {
  if (run.message_id !== null) return run.inputs;
  const fields = Object.entries(run.inputs).flatMap(([name, value]) =>
    name === "sys.workflow_id"
      ? [
          ["sys.timestamp", toSeconds(run.created_at)],
          [name, value],
        ]
      : [[name, value]],
  );
  return Object.fromEntries(fields) as Record<string, unknown>; // the names are strings
}

/** `since` is the start of the segment, in ms. */
export const workflowStarted = (
  run: StoredRun,
  reason: SegmentReason,
  since: number,
  inputs: Record<string, unknown> = run.inputs,
): RunEvent => ({
  event: "workflow_started",
  data: {
    id: run.id,
    workflow_id: workflowId(run.app),
    inputs,
    created_at: toSeconds(since),
    reason,
  },
});

/**
 * `since` is the start of the segment; only in the live event of a resumed run does it differ from
 * the start of the run (server §15.5).
 */
export const workflowFinished = (
  run: StoredRun,
  since: number,
  { status, error }: { readonly status: string; readonly error: string | null } = run,
): RunEvent => ({
  event: "workflow_finished",
  data: {
    id: run.id,
    workflow_id: workflowId(run.app),
    status,
    outputs: run.outputs,
    error,
    elapsed_time: run.elapsed_time,
    total_tokens: 0,
    total_steps: run.total_steps,
    created_by: { id: run.end_user_id, user: run.session_id },
    created_at: toSeconds(since),
    finished_at: toSeconds(run.finished_at ?? since),
    exceptions_count: run.exceptions_count,
    files: [],
  },
});

/** Result of a node. */
export interface NodeResult {
  readonly status: "succeeded" | "failed" | "exception" | "retry";
  readonly inputs: object;
  readonly process?: object;
  readonly outputs: Record<string, unknown>;
  readonly error?: string;
  readonly metadata?: object;
}

export const nodeStarted = (execution: Execution): RunEvent => ({
  event: "node_started",
  data: {
    ...nodeFields(execution, 1),
    inputs: null,
    inputs_truncated: false,
    created_at: toSeconds(execution.startedAt),
    extras: {},
    iteration_id: execution.iteration,
    loop_id: execution.loop,
    agent_strategy: null,
  },
});

const resultData = (execution: Execution, result: NodeResult) => ({
  ...nodeFields(execution, 1),
  inputs: result.inputs,
  inputs_truncated: false,
  process_data: result.process ?? {},
  process_data_truncated: false,
  outputs: result.outputs,
  outputs_truncated: false,
  status: result.status,
  error: result.error ?? null,
  elapsed_time: execution.elapsed,
  execution_metadata: result.metadata ?? null,
  created_at: toSeconds(execution.startedAt),
  finished_at: toSeconds(execution.finishedAt ?? execution.startedAt),
  files: [],
  iteration_id: execution.iteration,
  loop_id: execution.loop,
});

export const nodeFinished = (execution: Execution, result: NodeResult): RunEvent => ({
  event: "node_finished",
  data: resultData(execution, result),
});

/** A node failed and is retried; `retry` counts from 1. */
export const nodeRetry = (execution: Execution, result: NodeResult, retry: number): RunEvent => ({
  event: "node_retry",
  data: { ...resultData(execution, result), retry_index: retry },
});

// The index is always 1 in live streams; snapshots count (server §15.5).
const nodeFields = (execution: Execution, index: number) => ({
  id: execution.id,
  node_id: execution.nodeId,
  node_type: execution.type,
  title: execution.title,
  index,
  predecessor_node_id: null,
});

/** Event of a loop or iteration; `data.id` is the ID of the node, not of an execution. */
export const containerEvent = (
  event: string,
  node: { readonly id: string; readonly type: string; readonly title: string },
  data: object,
): RunEvent => ({
  event,
  data: { id: node.id, node_id: node.id, node_type: node.type, title: node.title, ...data },
});

/** Part of a run's output, with the variable it comes from. */
export const textChunk = (text: string, selector: readonly string[]): RunEvent => ({
  event: "text_chunk",
  data: { text, from_variable_selector: selector },
});

/** Part of a chatflow's reply. */
export const messageEvent = (
  run: StoredRun,
  answer: string,
  selector: readonly string[],
): RunEvent => ({
  event: "message",
  fields: { id: run.message_id, answer, from_variable_selector: selector },
});

/** Usage of a message: zero, because no model is involved. `elapsed` in seconds. */
export const messageMetadata = (elapsed: number, version: string) => ({
  annotation_reply: null,
  retriever_resources: [],
  usage: {
    prompt_tokens: 0,
    prompt_unit_price: "0.0",
    prompt_price_unit: "0.0",
    prompt_price: "0.0",
    completion_tokens: 0,
    completion_unit_price: "0.0",
    completion_price_unit: "0.0",
    completion_price: "0.0",
    total_tokens: 0,
    total_price: "0.0",
    currency: "USD",
    latency: 0,
    time_to_first_token: elapsed,
    time_to_generate: 0,
  },
  ...(atLeast(version, "1.15.0") && { reasoning: {} }),
});

/** The reply of a chatflow is complete; `elapsed` in seconds. */
export const messageEnd = (run: StoredRun, elapsed: number, version: string): RunEvent => ({
  event: "message_end",
  fields: { id: run.message_id, metadata: messageMetadata(elapsed, version), files: [] },
});

interface FormParts {
  readonly form_id: string;
  readonly form_content: string;
  readonly inputs: readonly AppFormInput[];
  readonly actions: readonly AppFormAction[];
  readonly node_id: string;
  readonly node_title: string;
  readonly resolved_default_values: Record<string, string>;
  readonly form_token: string;
  readonly approval_channels?: readonly string[];
  readonly expiration_time: number;
}

/** A form that a run is waiting for, as events report it. */
export interface OpenForm {
  readonly form: StoredForm;
  readonly node: HumanInputNode;
  /** Snapshots do not fill the variables before 1.15 (server §15.6). */
  readonly content: string;
}

/** Events and blocking responses list the approval channels of a form since 1.15. */
const approvalChannels = (version: string): Pick<FormParts, "approval_channels"> =>
  atLeast(version, "1.15.0") ? { approval_channels: ["console"] } : {};

const formParts = (
  { form, node, content }: OpenForm,
  channels: ReturnType<typeof approvalChannels>,
): FormParts => ({
  form_id: form.id,
  form_content: content,
  inputs: node.inputs,
  actions: node.actions,
  node_id: node.id,
  node_title: node.title,
  resolved_default_values: {},
  form_token: form.token,
  ...channels,
  expiration_time: toSeconds(form.expires_at),
});

/** The form in an event; the message history has no channels. */
export const formEventFields = (
  open: OpenForm,
  channels: ReturnType<typeof approvalChannels> = {},
) => {
  const parts = formParts(open, channels);
  return {
    form_id: parts.form_id,
    node_id: parts.node_id,
    node_title: parts.node_title,
    form_content: parts.form_content,
    inputs: parts.inputs,
    actions: parts.actions,
    display_in_ui: true,
    form_token: parts.form_token,
    ...channels,
    resolved_default_values: parts.resolved_default_values,
    expiration_time: parts.expiration_time,
  };
};

export const formRequired = (open: OpenForm, version: string): RunEvent => ({
  event: "human_input_required",
  data: formEventFields(open, approvalChannels(version)),
});

/** `since` in ms, `elapsed` in seconds. */
export const workflowPaused = (
  run: StoredRun,
  forms: readonly OpenForm[],
  version: string,
  pause: { readonly since: number; readonly elapsed: number; readonly outputs: object },
): RunEvent => ({
  event: "workflow_paused",
  data: {
    workflow_run_id: run.id,
    paused_nodes: forms.map(({ node }) => node.id),
    outputs: pause.outputs,
    reasons: forms.map((open) => ({
      TYPE: "human_input_required",
      ...formParts(open, approvalChannels(version)),
    })),
    status: "paused",
    created_at: toSeconds(pause.since),
    elapsed_time: pause.elapsed,
    total_tokens: 0,
    total_steps: run.total_steps,
  },
});

/** A submitted form, as the event and the message history report it. */
export const filledFields = (form: StoredForm, node: HumanInputNode, rendered: string) => ({
  node_id: node.id,
  node_title: node.title,
  rendered_content: rendered,
  action_id: form.action,
  action_text: node.actions.find((action) => action.id === form.action)?.title ?? "",
  submitted_data: form.inputs,
});

/** The form's text with the inputs filled in. */
export const renderForm = (form: StoredForm): string =>
  form.content.replace(/\{\{#\$output\.([^#]+)#\}\}/g, (_, name: string) =>
    outputText(form.inputs?.[name]),
  );

/** Fills `{{#node.name#}}`; placeholders of inputs (`$output`) stay. */
export const renderTemplate = (template: string, variables: Variables): string =>
  template.replace(/\{\{#([^.#$]+)\.([^#]+)#\}\}/g, (_, node: string, name: string) =>
    outputText(variables[node]?.[name]),
  );

/** A value as text; each item of a list becomes a line with a dash. */
export function outputText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((item) => `- ${outputText(item)}`).join("\n");
  return JSON.stringify(value);
}

/** Finds a human input node of an application. */
export function humanInputNode(app: string, nodeId: string): HumanInputNode | undefined {
  const nodes = findApp(app)?.nodes.flatMap((node) =>
    node.type === "reviews" ? node.branches.map(({ review }) => review) : [node],
  );
  const node = nodes?.find(({ id }) => id === nodeId);
  return node?.type === "human-input" ? node : undefined;
}

/** Pairs forms with their nodes; `filled` fills the variables of the text. */
export const openForms = (app: string, forms: readonly StoredForm[], filled = true): OpenForm[] =>
  forms.flatMap((form) => {
    const node = humanInputNode(app, form.node_id);
    return node ? [{ form, node, content: filled ? form.content : node.content }] : [];
  });

/**
 * The snapshot of an unfinished run for a reader that connects late (server §15.3, §15.6). Nodes
 * have no inputs, outputs and errors; loops and iterations are listed as nodes.
 */
export function snapshotEvents(
  run: StoredRun,
  waiting: readonly StoredForm[],
  savedAnswer: string | null,
  version: string,
): RunEvent[] {
  const events = [workflowStarted(run, "initial", run.created_at, storedInputs(run))];
  if (savedAnswer !== null) {
    events.push({ event: "message_replace", fields: { answer: savedAnswer, reason: "" } });
  }
  for (const [at, execution] of run.progress.executions.entries()) {
    events.push(...replayedNode(execution, at + 1));
  }
  const forms = openForms(run.app, waiting, atLeast(version, "1.15.0"));
  if (run.status === "paused" && forms.length > 0) {
    events.push(
      ...forms.map((open) => formRequired(open, version)),
      workflowPaused(run, forms, version, {
        since: run.created_at,
        elapsed: 0,
        outputs:
          savedAnswer === null
            ? branchOutputs(run)
            : { answer: savedAnswer, files: { value_type: "array[file]", value: [] } },
      }),
    );
  }
  return events;
}

/** Outputs of the branches that have finished. */
function branchOutputs({ app, progress: { variables } }: StoredRun): Record<string, unknown> {
  const nodes = findApp(app)?.nodes ?? [];
  const ends = nodes.flatMap((node) => (node.type === "reviews" ? node.branches : []));
  return Object.fromEntries(
    ends.flatMap(({ end }) =>
      Object.entries(end.outputs).flatMap(([name, [node, field]]) =>
        node in variables ? [[name, variables[node]?.[field]]] : [],
      ),
    ),
  );
}

function replayedNode(execution: Execution, index: number): RunEvent[] {
  const common = nodeFields(execution, index);
  const container = { iteration_id: execution.iteration, loop_id: execution.loop };
  const started = {
    event: "node_started",
    data: {
      ...common,
      inputs: null,
      created_at: toSeconds(execution.startedAt),
      extras: {},
      ...container,
    },
  };
  if (execution.status === "running") return [started];
  const finished = {
    event: "node_finished",
    data: {
      ...common,
      inputs: null,
      process_data: null,
      outputs: null,
      status: execution.status,
      error: null,
      elapsed_time: execution.elapsed,
      execution_metadata: null,
      created_at: toSeconds(execution.startedAt),
      finished_at: toSeconds(execution.finishedAt ?? execution.startedAt),
      files: [],
      ...container,
    },
  };
  return [started, finished];
}

/** The `sys.` inputs of a run; a chatflow also has the query and its dialogue count. */
export function systemInputs(
  app: string,
  user: string,
  runId: string,
  chat?: { readonly query: string; readonly dialogue: number; readonly files: readonly unknown[] },
): Record<string, unknown> {
  return {
    ...(chat && { "sys.query": chat.query }),
    "sys.files": chat?.files ?? [],
    "sys.user_id": user,
    ...(chat && { "sys.dialogue_count": chat.dialogue }),
    "sys.app_id": appId(app),
    "sys.workflow_id": workflowId(app),
    "sys.workflow_run_id": runId,
  };
}
