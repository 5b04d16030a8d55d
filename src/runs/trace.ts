import { own, valueAt } from "../lib/json.ts";
import { isNumber } from "../lib/server-event.ts";
import type { EventFields, ServerEvent } from "../lib/server-event.ts";
import { TextSoFar } from "./text.ts";

/** One execution of a node. Times are those at which its events arrived, in ms since the epoch. */
export interface NodeRun {
  /** Execution ID; for a loop or an iteration the ID of its node. */
  readonly id: string;
  readonly nodeId: string;
  readonly title: string;
  readonly type: string;
  /** The loop or iteration around it, by node ID, and the round there, counted from 1. */
  within?: { readonly nodeId: string; readonly round: number } | undefined;
  readonly startedAt: number;
  /** Start by the server's clock, in whole seconds as ms, if it precedes the stream (server §15.6). */
  readonly createdAt?: number | undefined;
  finishedAt?: number | undefined;
  /** Numbers of the events that began and ended it, from 1: several may arrive at the same time. */
  readonly beganWith: number;
  endedWith?: number | undefined;
  /** `running` until the server reports the end: succeeded, failed, exception, stopped, … */
  status: string;
  /** Duration in seconds, as measured by the server. */
  elapsed?: number | undefined;
  error?: string | undefined;
  tokens?: number | undefined;
  retries: number;
  /** Rounds of a loop or an iteration that have begun. */
  rounds?: number | undefined;
  /** All rounds of an iteration; the maximum for a loop. */
  roundsAhead?: number | undefined;
  inputs?: unknown;
  outputs?: unknown;
  model?: ModelUse | undefined;
}

/** A chunk of a document that an answer was made of. */
export interface CitedChunk {
  /** Its name; null if the server does not tell it. */
  readonly document: string | null;
  readonly content: string | null;
}

/** What the events of a run contain about it. It expects each event once, in the order of display. */
export class RunTrace {
  runId: string | undefined;
  workflowId: string | undefined;
  /** `running`, `paused`, or how it ended. */
  status = "running";
  error: string | undefined;
  /** ms since the epoch of the first and the last event. */
  startedAt: number | undefined;
  lastAt: number | undefined;
  /** ms by which the local clock is ahead of the server's, within a second; undefined if unknown. */
  clockAhead: number | undefined;
  /** Duration in seconds, as measured by the server; after a pause, of the last segment (server §13). */
  elapsed: number | undefined;
  tokens: number | undefined;
  steps: number | undefined;
  /** In the order in which they began. */
  readonly nodes: NodeRun[] = [];
  outputs: unknown;
  /** The chunks that the reply of a chat cites; undefined before its end. */
  sources: readonly CitedChunk[] | undefined;
  /**
   * Whether nodes may have run without an event: the stream was opened late, the connection was lost
   * at the end, or lines of a recording are damaged.
   */
  nodesMissing = true;
  /**
   * Whether some time is covered by snapshots only, or not at all. Snapshots omit retries, and pauses
   * that are over (server §15.6).
   */
  unwatched = false;
  /** Whether texts and numbers are replaced by their lengths and types. */
  redacted = false;
  gaps = 0;
  pauses = 0;
  events = 0;
  /** The whole text, if it is known without the events; empty for none. */
  storedText: string | undefined;
  readonly #texts = new TextSoFar();
  /** The latest node by execution ID: a paused node starts again under its old one. */
  readonly #latest = new Map<string, NodeRun>();
  /** Whether events may have been lost since the last event of a node. */
  #hasGap = false;
  #hasMessage = false;

  /** Whether an annotation was the reply; chatflows do not tell it (server §18). */
  annotated = false;

  /** Names of the documents among the sources, each once; undefined before the end of the reply. */
  get citations(): readonly string[] | undefined {
    return this.sources && [...new Set(this.sources.flatMap(({ document }) => document ?? []))];
  }

  /** Whether this is the reply of a basic chat or a completion, which has no nodes and no outputs. */
  get isReply(): boolean {
    return this.#hasMessage && this.runId === undefined;
  }

  /** The streamed text, without the parts that were revoked. */
  get text(): string {
    return this.#texts.text();
  }

  /** Adds an event that arrived at this time, in ms since the epoch. */
  add(event: ServerEvent, at: number): void {
    const { event: kind, fields } = event;
    this.#texts.add(event);
    this.events++;
    this.startedAt ??= at;
    this.lastAt = at;
    this.runId ??= fields.workflow_run_id;
    if (/^(node|iteration|loop)_/.test(kind)) this.#hasGap = false;
    if (/^(agent_)?message/.test(kind)) this.#hasMessage = true;
    own(this.#handlers, kind)?.(fields, at);
  }

  readonly #handlers: Readonly<Record<string, (fields: EventFields, at: number) => void>> = {
    workflow_started: ({ workflow_id, reason }) => {
      this.workflowId ??= workflow_id;
      if (reason !== "resumption") this.nodesMissing = false;
      this.status = "running";
    },
    node_started: (fields, at) => this.#startNode(fields, at),
    iteration_started: (fields, at) => this.#startRounds("iteration", fields, at),
    loop_started: (fields, at) => this.#startRounds("loop", fields, at),
    iteration_next: (fields) => this.#startRound(fields),
    loop_next: (fields) => this.#startRound(fields),
    node_retry: ({ id = "" }) => {
      const node = this.#latest.get(id);
      if (node) node.retries++;
    },
    node_finished: (fields, at) => this.#endNode(fields, at),
    iteration_completed: (fields, at) => this.#endNode(fields, at),
    loop_completed: (fields, at) => this.#endNode(fields, at),
    workflow_paused: (fields) => {
      this.#endRun(fields, "paused");
      this.pauses++;
    },
    workflow_finished: (fields) => {
      this.#endRun(fields, "");
      if (this.#hasGap && countSteps(this) < (this.steps ?? Infinity)) this.nodesMissing = true;
    },
    message_end: ({ metadata }) => {
      this.sources = citedChunks(metadata);
      this.annotated = typeof valueAt(metadata, "annotation_reply.id") === "string";
      this.tokens ??= numberAt(metadata, "usage.total_tokens");
    },
    _answer: ({ metadata }) => {
      this.sources = citedChunks(metadata);
    },
    error: ({ message }) => {
      this.status = "failed";
      this.error = message;
    },
    _gap: () => {
      this.gaps++;
      this.unwatched = true;
      this.#hasGap = true;
    },
  };

  #startNode(fields: EventFields, at: number, type = fields.node_type ?? ""): NodeRun {
    const { id = "", node_id: nodeId = id, title = nodeId } = fields;
    const created = millisecondsOf(fields.created_at);
    // A snapshot omits this field (server §15.6).
    const isReplayed = fields.inputs_truncated === undefined;
    const container = fields.iteration_id ?? fields.loop_id;
    const node: NodeRun = {
      id,
      nodeId,
      title,
      type,
      // Only the end of a node names its round; at its start it is the round that began last.
      within:
        container === undefined
          ? undefined
          : { nodeId: container, round: this.#latest.get(container)?.rounds ?? 1 },
      startedAt: at,
      createdAt: isReplayed ? created : undefined,
      inputs: fields.inputs,
      beganWith: this.events,
      status: "running",
      retries: 0,
    };
    if (isReplayed) this.unwatched = true;
    else if (created !== undefined)
      this.clockAhead = Math.min(this.clockAhead ?? Infinity, at - created);
    this.#latest.set(id, node);
    this.nodes.push(node);
    return node;
  }

  #startRounds(type: "iteration" | "loop", fields: EventFields, at: number): void {
    const node = this.#startNode(fields, at, type);
    node.roundsAhead = numberAt(fields.metadata, `${type}_length`);
    node.rounds = node.roundsAhead === 0 ? 0 : 1;
  }

  #startRound({ id = "", index = 0 }: EventFields): void {
    const node = this.#latest.get(id);
    // Both count from 0, but a loop sends no event for its first round (server §15.5).
    if (node) node.rounds = index + 1;
  }

  #endNode(fields: EventFields, at: number): void {
    const node = this.#latest.get(fields.id ?? "") ?? this.#startNode(fields, at);
    const { execution_metadata: metadata } = fields;
    node.finishedAt = at;
    node.endedWith = this.events;
    node.elapsed = fields.elapsed_time;
    node.status = fields.status ?? "succeeded";
    node.error = nodeError(fields);
    node.tokens = numberAt(metadata, "total_tokens") ?? fields.total_tokens;
    node.inputs = fields.inputs ?? node.inputs;
    node.outputs = fields.outputs;
    node.model = modelUse(fields);
    const index = numberAt(metadata, "iteration_index") ?? numberAt(metadata, "loop_index");
    if (node.within && index !== undefined) node.within = { ...node.within, round: index + 1 };
  }

  #endRun(fields: EventFields, defaultStatus: string): void {
    this.status = fields.status ?? defaultStatus;
    this.error = fields.error;
    this.elapsed = fields.elapsed_time;
    this.tokens = fields.total_tokens;
    this.steps = fields.total_steps;
    this.outputs = fields.outputs;
  }
}

/** Steps as the server counts them: without those inside loops and iterations (server §15.5). */
export const countSteps = ({ nodes }: RunTrace): number =>
  nodes.reduce((sum, { within, retries }) => sum + (within ? 0 : 1 + retries), 0);

/** Why a node failed, from its `node_finished`; if it fell back, only its outputs name the reason (server §15.5). */
export function nodeError({ error, status, outputs }: EventFields): string | undefined {
  const message = valueAt(outputs, "error_message");
  if (status !== "exception" || typeof message !== "string" || message === "") return error;
  const type = valueAt(outputs, "error_type");
  return typeof type === "string" && type !== "" ? `${message} (${type})` : message;
}

/** The chunks among the sources of a message (server §15.5): its metadata, or what is stored of it. */
export function citedChunks(metadata: unknown): CitedChunk[] {
  const resources: unknown = valueAt(metadata, "retriever_resources");
  if (!Array.isArray(resources)) return [];
  return resources.map((resource: unknown) => ({
    document: textAt(resource, "document_name"),
    content: textAt(resource, "content"),
  }));
}

const textAt = (value: unknown, name: string): string | null => {
  const text = valueAt(value, name);
  return typeof text === "string" ? text : null;
};

const numberAt = (value: unknown, name: string): number | undefined => {
  const number = valueAt(value, name);
  return isNumber(number) ? number : undefined;
};

/** A Unix time in seconds as ms; undefined if it is invalid. */
const millisecondsOf = (seconds: number | undefined): number | undefined =>
  seconds !== undefined && seconds >= 0 && seconds < 1e11 ? seconds * 1000 : undefined;

/** A call of a model by a node. */
export interface ModelUse {
  /** `openai`, the end of the server's name for it. */
  readonly provider: string;
  readonly model: string;
  /** `chat` or `completion`. */
  readonly mode: string;
  /** Tokens; undefined if the server does not tell them, as after a failure. */
  readonly input: number | undefined;
  readonly output: number | undefined;
}

/** The model that a node called, from its end; undefined for other nodes and for redacted names. */
function modelUse(fields: EventFields): ModelUse | undefined {
  const { node_type, process_data, inputs, outputs } = fields;
  // A node that fails before the response has no process data (server §15.5).
  const isEarly = valueAt(process_data, "model_name") === undefined && node_type === "llm";
  const told = isEarly ? inputs : process_data;
  const [provider, model] = [valueAt(told, "model_provider"), valueAt(told, "model_name")];
  if (typeof provider !== "string" || typeof model !== "string" || model.startsWith("<"))
    return undefined;
  const tokens = (name: string) =>
    [process_data, outputs].map((each) => valueAt(each, `usage.${name}`)).find(isNumber);
  const name = provider.split("/").at(-1) ?? "";
  const mode = String(valueAt(told, "model_mode") ?? "chat");
  return {
    provider: name,
    model,
    mode,
    input: tokens("prompt_tokens"),
    output: tokens("completion_tokens"),
  };
}
