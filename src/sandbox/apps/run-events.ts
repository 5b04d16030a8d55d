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
  type Form,
  type StoredRun,
  type Variables,
} from "../storage/runs-store.ts";

/** An event before it has its envelope: `data` for runs, further fields for messages. */
export interface RunEvent {
  readonly event: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** The keep-alive of a stream: an event without data. */
export const PING = "event: ping\n\n";

const line = (event: object) => `data: ${JSON.stringify(event)}\n\n`;

/** An event as live streams write it; the time in a chatflow's envelope is its message's. */
export function liveLine(run: StoredRun, { event, data, fields }: RunEvent): string {
  const chat = run.messageId !== null && {
    conversation_id: run.conversationId,
    message_id: run.messageId,
    created_at: toSeconds(run.createdAt),
    task_id: run.taskId,
  };
  if (fields) return line({ event, ...chat, ...fields });
  if (chat) return line({ event, ...chat, workflow_run_id: run.id, data });
  return line({ event, workflow_run_id: run.id, task_id: run.taskId, data });
}

/** An event as snapshots write it: other order of fields, and a task id that may be the run's. */
export function replayedLine(run: StoredRun, { event, data, fields }: RunEvent): string {
  return line({
    event,
    // Recorded: the real task id is known to a paused run only (server §13).
    task_id: run.status === "paused" ? run.taskId : run.id,
    ...(data ? { workflow_run_id: run.id, data } : fields),
    ...(run.messageId !== null && {
      conversation_id: run.conversationId,
      message_id: run.messageId,
      created_at: toSeconds(run.createdAt),
    }),
  });
}

/** What the server answers about a finished run: one event, spaced and ASCII only (server §15.2). */
export const finishedLine = (run: StoredRun): string =>
  `data: ${asciiOnly(
    spacedJson({
      event: "workflow_finished",
      task_id: run.id,
      workflow_run_id: run.id,
      data: workflowFinished(run, run.createdAt).data,
    }),
  )}\n\n`;

/** JSON with a blank after each comma and colon, as the server writes texts that it stores. */
export function spacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spacedJson).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value ?? null);
  const fields = Object.entries(value).map(
    ([name, field]) => `${JSON.stringify(name)}: ${spacedJson(field)}`,
  );
  return `{${fields.join(", ")}}`;
}

/** The run's inputs as the stored record has them: workflows add the time of the start. */
export function storedInputs(run: StoredRun): Record<string, unknown> {
  if (run.messageId !== null) return run.inputs;
  const fields = Object.entries(run.inputs).flatMap(([name, value]) =>
    name === "sys.workflow_id"
      ? [
          ["sys.timestamp", toSeconds(run.createdAt)],
          [name, value],
        ]
      : [[name, value]],
  );
  return Object.fromEntries(fields) as Record<string, unknown>; // names were strings before
}

/** `since`: when the segment began, in ms. */
export const workflowStarted = (
  run: StoredRun,
  reason: "initial" | "resumption",
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

/** `since` is when the segment began: only the live event of a resumed run differs (server §15.5). */
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
    elapsed_time: run.elapsed,
    total_tokens: 0,
    total_steps: run.totalSteps,
    created_by: { id: run.endUserId, user: run.user },
    created_at: toSeconds(since),
    finished_at: toSeconds(run.finishedAt ?? since),
    exceptions_count: run.exceptions,
    files: [],
  },
});

/** What a node has to tell when it is done. */
export interface NodeResult {
  readonly status: "succeeded" | "failed" | "exception" | "retry";
  readonly inputs: object;
  readonly process?: object;
  readonly outputs: Record<string, unknown>;
  readonly error?: string;
  readonly metadata?: object;
}

/** A node begins. */
export const nodeStarted = (execution: Execution): RunEvent => ({
  event: "node_started",
  data: {
    ...identity(execution, 1),
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
  ...identity(execution, 1),
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

/** A node is done, well or not. */
export const nodeFinished = (execution: Execution, result: NodeResult): RunEvent => ({
  event: "node_finished",
  data: resultData(execution, result),
});

/** A node failed and is tried again; `retry` counts from 1. */
export const nodeRetry = (execution: Execution, result: NodeResult, retry: number): RunEvent => ({
  event: "node_retry",
  data: { ...resultData(execution, result), retry_index: retry },
});

// Live streams always say index 1, snapshots count (server §15.5).
const identity = (execution: Execution, index: number) => ({
  id: execution.id,
  node_id: execution.nodeId,
  node_type: execution.type,
  title: execution.title,
  index,
  predecessor_node_id: null,
});

/** Events of a loop or iteration; `data.id` is the node's id, not that of an execution. */
export const containerEvent = (
  event: string,
  node: { readonly id: string; readonly type: string; readonly title: string },
  data: object,
): RunEvent => ({
  event,
  data: { id: node.id, node_id: node.id, node_type: node.type, title: node.title, ...data },
});

/** A piece of the run's output, and which variable it comes from. */
export const textChunk = (text: string, selector: readonly string[]): RunEvent => ({
  event: "text_chunk",
  data: { text, from_variable_selector: selector },
});

/** A piece of a chatflow's answer. */
export const messageEvent = (
  run: StoredRun,
  answer: string,
  selector: readonly string[],
): RunEvent => ({
  event: "message",
  fields: { id: run.messageId, answer, from_variable_selector: selector },
});

/** What a message cost: nothing, there is no model. `elapsed` in seconds. */
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

/** The answer of a chatflow is complete; `elapsed` in seconds. */
export const messageEnd = (run: StoredRun, elapsed: number, version: string): RunEvent => ({
  event: "message_end",
  fields: { id: run.messageId, metadata: messageMetadata(elapsed, version), files: [] },
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

/** A form that a run waits for, as far as events tell it. */
export interface OpenForm {
  readonly form: Form;
  readonly node: HumanInputNode;
  /** Snapshots leave the variables open before 1.15 (server §15.6). */
  readonly content: string;
}

/** Where a form may be answered is told since 1.15, in events and blocking answers. */
const channels = (version: string): Pick<FormParts, "approval_channels"> =>
  atLeast(version, "1.15.0") ? { approval_channels: ["console"] } : {};

const formParts = (
  { form, node, content }: OpenForm,
  told: ReturnType<typeof channels>,
): FormParts => ({
  form_id: form.id,
  form_content: content,
  inputs: node.inputs,
  actions: node.actions,
  node_id: node.id,
  node_title: node.title,
  resolved_default_values: {},
  form_token: form.token,
  ...told,
  expiration_time: toSeconds(form.expiresAt),
});

/** The form as the event carries it; the history tells no channels. */
export const formEventFields = (open: OpenForm, told: ReturnType<typeof channels> = {}) => {
  const parts = formParts(open, told);
  return {
    form_id: parts.form_id,
    node_id: parts.node_id,
    node_title: parts.node_title,
    form_content: parts.form_content,
    inputs: parts.inputs,
    actions: parts.actions,
    display_in_ui: true,
    form_token: parts.form_token,
    ...told,
    resolved_default_values: parts.resolved_default_values,
    expiration_time: parts.expiration_time,
  };
};

/** A person has to fill in a form. */
export const formRequired = (open: OpenForm, version: string): RunEvent => ({
  event: "human_input_required",
  data: formEventFields(open, channels(version)),
});

/** The run waits; `since` in ms, `elapsed` in seconds. */
export const workflowPaused = (
  run: StoredRun,
  forms: readonly OpenForm[],
  version: string,
  told: { readonly since: number; readonly elapsed: number; readonly outputs: object },
): RunEvent => ({
  event: "workflow_paused",
  data: {
    workflow_run_id: run.id,
    paused_nodes: forms.map(({ node }) => node.id),
    outputs: told.outputs,
    reasons: forms.map((open) => ({
      TYPE: "human_input_required",
      ...formParts(open, channels(version)),
    })),
    status: "paused",
    created_at: toSeconds(told.since),
    elapsed_time: told.elapsed,
    total_tokens: 0,
    total_steps: run.totalSteps,
  },
});

/** What a person answered, as the event and the message history tell it. */
export const filledFields = (form: Form, node: HumanInputNode, rendered: string) => ({
  node_id: node.id,
  node_title: node.title,
  rendered_content: rendered,
  action_id: form.action,
  action_text: node.actions.find((action) => action.id === form.action)?.title ?? "",
  submitted_data: form.inputs,
});

/** The form's text with the answers in their places. */
export const renderForm = (form: Form): string =>
  form.content.replace(/\{\{#\$output\.([^#]+)#\}\}/g, (_, name: string) =>
    outputText(form.inputs?.[name]),
  );

/** Fills `{{#node.name#}}`; places of inputs (`$output`) stay open. */
export const renderTemplate = (template: string, variables: Variables): string =>
  template.replace(/\{\{#([^.#$]+)\.([^#]+)#\}\}/g, (_, node: string, name: string) =>
    outputText(variables[node]?.[name]),
  );

/** A value as text: lists become lines with a dash. */
export function outputText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((item) => `- ${outputText(item)}`).join("\n");
  return JSON.stringify(value);
}

/** The waiting node of a definition, by id. */
export function humanInputNode(app: string, nodeId: string): HumanInputNode | undefined {
  const nodes = findApp(app)?.nodes.flatMap((node) =>
    node.type === "reviews" ? node.branches.map(({ review }) => review) : [node],
  );
  const node = nodes?.find(({ id }) => id === nodeId);
  return node?.type === "human-input" ? node : undefined;
}

/**
 * Everything that a late reader gets of a run that has not ended (server §15.3, §15.6): inputs,
 * outputs and errors of nodes are left out, loops and iterations stand among the nodes.
 */
export function snapshotEvents(
  run: StoredRun,
  waiting: readonly Form[],
  savedAnswer: string | null,
  version: string,
): RunEvent[] {
  const events = [workflowStarted(run, "initial", run.createdAt, storedInputs(run))];
  if (savedAnswer !== null) {
    events.push({ event: "message_replace", fields: { answer: savedAnswer, reason: "" } });
  }
  for (const [at, execution] of run.progress.executions.entries()) {
    events.push(...replayedNode(execution, at + 1));
  }
  const filled = atLeast(version, "1.15.0");
  const forms = waiting.flatMap((form) => {
    const node = humanInputNode(run.app, form.nodeId);
    return node ? [{ form, node, content: filled ? form.content : node.content }] : [];
  });
  if (run.status === "paused" && forms.length > 0) {
    events.push(
      ...forms.map((open) => formRequired(open, version)),
      workflowPaused(run, forms, version, {
        since: run.createdAt,
        elapsed: 0,
        outputs:
          savedAnswer === null
            ? outputsSoFar(run)
            : { answer: savedAnswer, files: { value_type: "array[file]", value: [] } },
      }),
    );
  }
  return events;
}

/** What the branches gave that have come to their end. */
function outputsSoFar({ app, progress: { variables } }: StoredRun): Record<string, unknown> {
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
  const common = identity(execution, index);
  const place = { iteration_id: execution.iteration, loop_id: execution.loop };
  const begun = {
    event: "node_started",
    data: {
      ...common,
      inputs: null,
      created_at: toSeconds(execution.startedAt),
      extras: {},
      ...place,
    },
  };
  if (execution.status === "running") return [begun];
  const done = {
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
      ...place,
    },
  };
  return [begun, done];
}

/** The fields every run gets beside what was sent; a chatflow also has the query and its count. */
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
