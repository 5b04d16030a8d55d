import { isObject, own, valueAt } from "../lib/json.ts";
import { textSoFar } from "./text.ts";

/** The fields of an event that the trace reads. */
interface TracedEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One execution of a node. Times are those at which its events arrived, in ms since the epoch. */
export interface NodeRun {
  /** Execution ID; for a loop or an iteration the ID of its node. */
  readonly id: string;
  readonly nodeId: string;
  readonly title: string;
  readonly type: string;
  /** The loop or iteration around it, by node ID, and the round there, counted from 1. */
  within: { readonly nodeId: string; readonly round: number } | undefined;
  readonly startedAt: number;
  /** Start by the server's clock, in whole seconds as ms, if it precedes the stream (server §15.6). */
  readonly createdAt: number | undefined;
  finishedAt: number | undefined;
  /** Numbers of the events that began and ended it, from 1: several may arrive at the same time. */
  readonly beganWith: number;
  endedWith: number | undefined;
  /** `running` until the server reports the end: succeeded, failed, exception, stopped, … */
  status: string;
  /** Duration in seconds, as measured by the server. */
  elapsed: number | undefined;
  error: string | undefined;
  tokens: number | undefined;
  retries: number;
  /** Rounds of a loop or an iteration that have begun. */
  rounds: number | undefined;
  /** All rounds of an iteration; the maximum for a loop. */
  roundsAhead: number | undefined;
  outputs: unknown;
}

/** What the events of a run contain about it. */
export interface RunTrace {
  runId: string | undefined;
  workflowId: string | undefined;
  /** `running`, `paused`, or how it ended. */
  status: string;
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
  readonly nodes: NodeRun[];
  outputs: unknown;
  /** The streamed text, without the parts that were revoked. */
  readonly text: string;
  /**
   * Whether nodes may have run without an event: the stream was opened late, the connection was lost
   * at the end, or lines of a recording are damaged.
   */
  nodesMissing: boolean;
  /**
   * Whether some time is covered by snapshots only, or not at all. Snapshots omit retries, and pauses
   * that are over (server §15.6).
   */
  unwatched: boolean;
  /** Whether texts and numbers are replaced by their lengths and types. */
  redacted: boolean;
  gaps: number;
  pauses: number;
  events: number;
}

/** Builds the trace of a run from its events. */
export interface TraceBuilder {
  /** `at`: when the event arrived, in ms since the epoch. */
  add(event: TracedEvent, at: number): void;
  readonly trace: RunTrace;
}

/** Starts an empty trace. It expects each event once, in the order of their display. */
export function runTrace(): TraceBuilder {
  const texts = textSoFar();
  const trace: RunTrace = {
    runId: undefined,
    workflowId: undefined,
    status: "running",
    error: undefined,
    startedAt: undefined,
    lastAt: undefined,
    clockAhead: undefined,
    elapsed: undefined,
    tokens: undefined,
    steps: undefined,
    nodes: [],
    outputs: undefined,
    get text() {
      return texts.text();
    },
    nodesMissing: true,
    unwatched: false,
    redacted: false,
    gaps: 0,
    pauses: 0,
    events: 0,
  };
  const state: TraceState = { trace, latest: new Map(), hasGap: false };
  return {
    add(event, at) {
      texts.add(event);
      traceEvent(state, event, at);
    },
    trace,
  };
}

interface TraceState {
  readonly trace: RunTrace;
  /** The latest node by execution ID: a paused node starts again under its old one. */
  readonly latest: Map<string, NodeRun>;
  /** Whether events may have been lost since the last event of a node. */
  hasGap: boolean;
}

/** An event as the handlers read it. */
interface Received {
  readonly at: number;
  readonly id: string;
  /** The inner object, `data.data`. */
  readonly data: Fields;
  readonly envelope: Fields;
}

function traceEvent(state: TraceState, { event, data: envelope }: TracedEvent, at: number): void {
  const { trace } = state;
  const data: Fields = isObject(envelope["data"]) ? envelope["data"] : {};
  trace.events++;
  trace.startedAt ??= at;
  trace.lastAt = at;
  trace.runId ??= text(envelope["workflow_run_id"]);
  if (/^(node|iteration|loop)_/.test(event)) state.hasGap = false;
  own(handlers, event)?.(state, { at, id: text(data["id"]) ?? "", data, envelope });
}

type Handler = (state: TraceState, event: Received) => void;

const startRounds =
  (type: "iteration" | "loop"): Handler =>
  (state, event) => {
    const node = startNode(state, event, type);
    node.roundsAhead = numeric(valueAt(event.data, `metadata.${type}_length`));
    node.rounds = node.roundsAhead === 0 ? 0 : 1;
  };

const startRound: Handler = ({ latest }, { id, data }) => {
  const node = latest.get(id);
  // Both count from 0, but a loop sends no event for its first round (server §15.5).
  if (node) node.rounds = (numeric(data["index"]) ?? 0) + 1;
};

const finishNode: Handler = (state, event) =>
  endNode(state, event, state.latest.get(event.id) ?? startNode(state, event));

const handlers: Readonly<Record<string, Handler>> = {
  workflow_started({ trace }, { data }) {
    trace.workflowId ??= text(data["workflow_id"]);
    if (data["reason"] !== "resumption") trace.nodesMissing = false;
    trace.status = "running";
  },
  node_started: startNode,
  iteration_started: startRounds("iteration"),
  loop_started: startRounds("loop"),
  iteration_next: startRound,
  loop_next: startRound,
  node_retry({ latest }, { id }) {
    const node = latest.get(id);
    if (node) node.retries++;
  },
  node_finished: finishNode,
  iteration_completed: finishNode,
  loop_completed: finishNode,
  workflow_paused({ trace }, event) {
    endRun(trace, event, "paused");
    trace.pauses++;
  },
  workflow_finished({ trace, hasGap }, event) {
    endRun(trace, event, "");
    if (hasGap && countSteps(trace) < (trace.steps ?? Infinity)) trace.nodesMissing = true;
  },
  error({ trace }, { envelope }) {
    trace.status = "failed";
    trace.error = text(envelope["message"]);
  },
  _gap(state) {
    state.trace.gaps++;
    state.trace.unwatched = true;
    state.hasGap = true;
  },
};

function startNode(
  { trace, latest }: TraceState,
  { at, id, data }: Received,
  type = text(data["node_type"]) ?? "",
): NodeRun {
  const created = millisecondsOf(data["created_at"]);
  const isReplayed = isFromSnapshot(data);
  const container = text(data["iteration_id"]) ?? text(data["loop_id"]);
  const node: NodeRun = {
    id,
    nodeId: text(data["node_id"]) ?? id,
    title: text(data["title"]) ?? text(data["node_id"]) ?? id,
    type,
    // Only the end of a node names its round; at its start it is the round that began last.
    within:
      container === undefined
        ? undefined
        : { nodeId: container, round: latest.get(container)?.rounds ?? 1 },
    startedAt: at,
    createdAt: isReplayed ? created : undefined,
    finishedAt: undefined,
    beganWith: trace.events,
    endedWith: undefined,
    status: "running",
    elapsed: undefined,
    error: undefined,
    tokens: undefined,
    retries: 0,
    rounds: undefined,
    roundsAhead: undefined,
    outputs: undefined,
  };
  if (isReplayed) trace.unwatched = true;
  else if (created !== undefined)
    trace.clockAhead = Math.min(trace.clockAhead ?? Infinity, at - created);
  latest.set(id, node);
  trace.nodes.push(node);
  return node;
}

function endNode({ trace }: TraceState, { at, data }: Received, node: NodeRun): void {
  const metadata = (name: string) => numeric(valueAt(data, `execution_metadata.${name}`));
  node.finishedAt = at;
  node.endedWith = trace.events;
  node.elapsed = numeric(data["elapsed_time"]);
  node.status = text(data["status"]) ?? "succeeded";
  node.error = reasonIn((path) => valueAt(data, path));
  node.tokens = metadata("total_tokens") ?? numeric(data["total_tokens"]);
  node.outputs = data["outputs"];
  const index = metadata("iteration_index") ?? metadata("loop_index");
  if (node.within && index !== undefined) node.within = { ...node.within, round: index + 1 };
}

function endRun(trace: RunTrace, { data }: Received, defaultStatus: string): void {
  trace.status = text(data["status"]) ?? defaultStatus;
  trace.error = text(data["error"]);
  trace.elapsed = numeric(data["elapsed_time"]);
  trace.tokens = numeric(data["total_tokens"]);
  trace.steps = numeric(data["total_steps"]);
  trace.outputs = data["outputs"];
}

/** Steps as the server counts them: without those inside loops and iterations (server §15.5). */
const countSteps = ({ nodes }: RunTrace): number =>
  nodes.reduce((sum, { within, retries }) => sum + (within ? 0 : 1 + retries), 0);

/** Why a node failed, from its `node_finished`; if it fell back, only its outputs name the reason (server §15.5). */
export function reasonIn(look: (path: string) => unknown): string | undefined {
  const error = text(look("error"));
  const message = text(look("outputs.error_message"));
  if (look("status") !== "exception" || message === undefined) return error;
  const type = text(look("outputs.error_type"));
  return type === undefined ? message : `${message} (${type})`;
}

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
/** A count or a duration; undefined for numbers that are too large to compute with. */
const numeric = (value: unknown): number | undefined =>
  Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER && typeof value === "number"
    ? value
    : undefined;

/** Whether the event comes from a snapshot, which omits this field (server §15.6). */
const isFromSnapshot = (data: Fields): boolean => !("inputs_truncated" in data);

/** A Unix time in seconds as ms; undefined if it is invalid. */
const millisecondsOf = (value: unknown): number | undefined => {
  const seconds = numeric(value);
  return seconds !== undefined && seconds >= 0 && seconds < 1e11 ? seconds * 1000 : undefined;
};
