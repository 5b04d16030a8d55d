import { isObject, valueAt } from "../lib/json.ts";
import { textSoFar } from "./text.ts";

/** What of an event of a stream tells about the run. */
interface TracedEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One execution of a node. Times are ms since the epoch, by when its events came. */
export interface NodeRun {
  /** Execution id; of a loop or an iteration the id of its node. */
  readonly id: string;
  readonly nodeId: string;
  readonly title: string;
  readonly type: string;
  /** The loop or iteration it ran in, by node id, and the round there, from 1. */
  within: { readonly nodeId: string; readonly round: number } | undefined;
  readonly startedAt: number;
  /** ms by the server's clock, to the second, of what began before anybody listened (server §15.6). */
  readonly createdAt: number | undefined;
  finishedAt: number | undefined;
  /** Which events began and ended it, counted from 1: several can come at one time. */
  readonly beganWith: number;
  endedWith: number | undefined;
  /** `running` until the server says how it ended: succeeded, failed, exception, stopped, … */
  status: string;
  /** Seconds, as the server measured them. */
  elapsed: number | undefined;
  error: string | undefined;
  tokens: number | undefined;
  retries: number;
  /** Rounds of a loop or an iteration that began. */
  rounds: number | undefined;
  /** Rounds of an iteration in all; of a loop the most there may be. */
  roundsAhead: number | undefined;
  outputs: unknown;
}

/** What the events of a run tell about it. */
export interface RunTrace {
  runId: string | undefined;
  workflowId: string | undefined;
  /** `running`, `paused`, or how it ended. */
  status: string;
  error: string | undefined;
  /** ms since the epoch of the first and the last event. */
  startedAt: number | undefined;
  lastAt: number | undefined;
  /** ms that the clock of these times is ahead of the server's, to the second; undefined if unknown. */
  ahead: number | undefined;
  /** Seconds, as the server measured them; of the last segment only after a pause (server §13). */
  elapsed: number | undefined;
  tokens: number | undefined;
  steps: number | undefined;
  /** In the order in which they began. */
  readonly nodes: NodeRun[];
  outputs: unknown;
  /** Text of the answer as it streamed, without what was taken back. */
  readonly text: string;
  /**
   * May nodes have run that no event told of: watching began late, the line was cut at the end, or
   * lines of a recording are damaged?
   */
  nodesMissing: boolean;
  /**
   * Was there a time of which only snapshots tell, or nothing? They leave out retries, and pauses
   * that are over (server §15.6).
   */
  unwatched: boolean;
  /** Were texts and numbers replaced by their lengths and kinds? */
  redacted: boolean;
  gaps: number;
  pauses: number;
  events: number;
}

/** A trace that grows with every event it sees. */
export interface TraceBuilder {
  /** `at`: when the event came, ms since the epoch. */
  see(event: TracedEvent, at: number): void;
  readonly trace: RunTrace;
}

/** An empty trace; events come in the order in which they are shown, each once. */
export function runTrace(): TraceBuilder {
  const texts = textSoFar();
  const trace: RunTrace = {
    runId: undefined,
    workflowId: undefined,
    status: "running",
    error: undefined,
    startedAt: undefined,
    lastAt: undefined,
    ahead: undefined,
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
  /** By execution id, the latest: a paused node starts again under its old one. */
  const running = new Map<string, NodeRun>();
  /** Was the last thing heard of the nodes that the line was cut? */
  let cut = false;

  const begin = (data: Fields, at: number, id: string, type: string) => {
    const created = secondsIn(data["created_at"]);
    const replayed = isReplayed(data);
    const node: NodeRun = {
      id,
      nodeId: text(data["node_id"]) ?? id,
      title: text(data["title"]) ?? text(data["node_id"]) ?? id,
      type,
      within: containerOf(data),
      startedAt: at,
      createdAt: replayed ? created : undefined,
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
    if (replayed) trace.unwatched = true;
    else if (created !== undefined) trace.ahead = Math.min(trace.ahead ?? Infinity, at - created);
    running.set(id, node);
    trace.nodes.push(node);
    return node;
  };

  const containerOf = (data: Fields): NodeRun["within"] => {
    const nodeId = text(data["iteration_id"]) ?? text(data["loop_id"]);
    if (nodeId === undefined) return undefined;
    // Only the end of a node says which round it was; at its start it is the one that began last.
    return { nodeId, round: running.get(nodeId)?.rounds ?? 1 };
  };

  const end = (data: Fields, at: number, node: NodeRun) => {
    const elapsed = numeric(data["elapsed_time"]);
    node.finishedAt = at;
    node.endedWith = trace.events;
    node.elapsed = elapsed;
    node.status = text(data["status"]) ?? "succeeded";
    node.error = reasonIn((path) => valueAt(data, path));
    node.tokens =
      numeric(valueAt(data, "execution_metadata.total_tokens")) ?? numeric(data["total_tokens"]);
    node.outputs = data["outputs"];
    const index =
      numeric(valueAt(data, "execution_metadata.iteration_index")) ??
      numeric(valueAt(data, "execution_metadata.loop_index"));
    if (node.within && index !== undefined) node.within = { ...node.within, round: index + 1 };
  };

  /** Steps as the server counts them: not those inside loops and iterations (server §15.5). */
  const stepsSeen = () =>
    trace.nodes.reduce((sum, { within, retries }) => sum + (within ? 0 : 1 + retries), 0);

  const see = ({ event, data: whole }: TracedEvent, at: number) => {
    texts.see({ event, data: whole });
    const data: Fields = isObject(whole["data"]) ? whole["data"] : {};
    const id = text(data["id"]) ?? "";
    trace.events++;
    trace.startedAt ??= at;
    trace.lastAt = at;
    trace.runId ??= text(whole["workflow_run_id"]);
    if (/^(node|iteration|loop)_/.test(event)) cut = false;
    switch (event) {
      case "workflow_started":
        trace.workflowId ??= text(data["workflow_id"]);
        if (data["reason"] !== "resumption") trace.nodesMissing = false;
        trace.status = "running";
        return;
      case "node_started":
        begin(data, at, id, text(data["node_type"]) ?? "");
        return;
      case "iteration_started":
      case "loop_started": {
        const type = event === "loop_started" ? "loop" : "iteration";
        const node = begin(data, at, id, type);
        node.roundsAhead = numeric(valueAt(data, `metadata.${type}_length`));
        node.rounds = node.roundsAhead === 0 ? 0 : 1;
        return;
      }
      case "iteration_next":
      case "loop_next": {
        // Both count from 0, but a loop says nothing of its first round (server §15.5).
        const node = running.get(id);
        if (node) node.rounds = (numeric(data["index"]) ?? 0) + 1;
        return;
      }
      case "node_retry": {
        const node = running.get(id);
        if (node) node.retries++;
        return;
      }
      case "node_finished":
      case "iteration_completed":
      case "loop_completed":
        end(data, at, running.get(id) ?? begin(data, at, id, text(data["node_type"]) ?? ""));
        return;
      case "workflow_paused":
      case "workflow_finished":
        trace.status = text(data["status"]) ?? (event === "workflow_paused" ? "paused" : "");
        trace.error = text(data["error"]);
        trace.elapsed = numeric(data["elapsed_time"]);
        trace.tokens = numeric(data["total_tokens"]);
        trace.steps = numeric(data["total_steps"]);
        trace.outputs = data["outputs"];
        if (event === "workflow_paused") trace.pauses++;
        else if (cut && stepsSeen() < (trace.steps ?? Infinity)) trace.nodesMissing = true;
        return;
      case "error":
        trace.status = "failed";
        trace.error = text(whole["message"]);
        return;
      case "_gap":
        trace.gaps++;
        trace.unwatched = true;
        cut = true;
        return;
    }
  };

  return { see, trace };
}

/** Why a node failed, by its `node_finished`; of one that fell back only the outputs tell (server §15.5). */
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
/** A count or a duration; larger numbers cannot be reckoned with. */
const numeric = (value: unknown): number | undefined =>
  Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER && typeof value === "number"
    ? value
    : undefined;

/** Was it told by a snapshot? Those leave this field out (server §15.6). */
const isReplayed = (data: Fields): boolean => !("inputs_truncated" in data);

/** ms of a Unix time in seconds; undefined for what is none. */
const secondsIn = (value: unknown): number | undefined => {
  const seconds = numeric(value);
  return seconds !== undefined && seconds >= 0 && seconds < 1e11 ? seconds * 1000 : undefined;
};
