import { valueAt } from "../../lib/json.ts";
import { runTrace } from "../../runs/trace.ts";
import type { NodeRun } from "../../runs/trace.ts";
import {
  below,
  duration,
  lookInto,
  pieces,
  isSilent,
  replacement,
  text,
  toldAfter,
  tokensUsed,
} from "./event-lines.ts";
import type { DisplayedEvent } from "./event-lines.ts";
import { growingText } from "./growing-text.ts";
import {
  headOf,
  joined,
  nodeParts,
  plain,
  signOf,
  ticking,
  nodeTitle,
  turning,
} from "./node-lines.ts";
import type { ViewStyle } from "./node-lines.ts";
import { visible } from "../table/display-width.ts";

/** A run as it goes on: what is settled, and below it what still changes. */
export interface RunView {
  see(event: DisplayedEvent): void;
  /** No further event comes: everything is settled as it stands. */
  end(): void;
  /** Lines, with their ends, that became settled since this was asked; of any width. */
  settled(): string;
  /** What still changes: at most `rows` lines of at most `columns` columns. */
  changing(columns: number, rows: number): string[];
}

/** Follows a run from its first event. A node is settled when it ends, text with the run. */
export function runView(dress: ViewStyle): RunView {
  const { paint } = dress;
  const tracing = runTrace();
  const { trace } = tracing;
  const growing = growingText(paint);
  let settled = "";
  /** Nodes that have not ended, in the order in which they began. */
  let open: NodeRun[] = [];
  let nodesSeen = 0;
  /** Nodes of which it was told that they wait for a person. */
  const waiting = new Set<NodeRun>();
  /** How deep a loop or an iteration stands in others, by node id. */
  const depths = new Map<string, number>();
  /** How much of the run's text was shown: the outputs at its end make up for the rest. */
  let shown: "nothing" | "all" | "part" = "nothing";

  const depthOf = ({ within }: NodeRun) => (within ? (depths.get(within.nodeId) ?? 0) + 1 : 0);
  const settleNode = (node: NodeRun, state: string) => {
    settled += `${joined(nodeParts(node, state, depthOf(node), dress), paint)}\n`;
  };
  const settleOpen = (state: string) => {
    for (const node of open) if (!waiting.has(node)) settleNode(node, state);
  };
  const settleText = () => {
    if (!growing.isEmpty) settled += `\n${growing.take()}\n`;
  };
  const settleRun = (event: DisplayedEvent) => {
    const facts = tokensUsed(lookInto(event)).map((part) => part && visible(part));
    const parts = [
      ...headOf(signOf(trace.status, dress), trace.status, duration(trace.elapsed)),
      ...plain([nameOf(trace.runId), ...facts]),
    ];
    settled += `${joined(parts, paint)}\n`;
  };

  /** Takes up what the trace learned of nodes. */
  const seeNodes = () => {
    for (const node of trace.nodes.slice(nodesSeen)) {
      // A node that waited for a person starts again under its old id.
      open = [...open.filter(({ id }) => id !== node.id), node];
      if (node.rounds === undefined) continue;
      depths.set(node.nodeId, depthOf(node));
      settleNode(node, "started");
    }
    nodesSeen = trace.nodes.length;
    for (const node of open) if (node.finishedAt !== undefined) settleNode(node, node.status);
    open = open.filter(({ finishedAt }) => finishedAt === undefined);
  };

  const seeForm = (event: DisplayedEvent) => {
    const nodeId = lookInto(event)("node_id");
    const node = open.find((each) => each.nodeId === nodeId);
    if (node) {
      settleNode(node, "paused");
      waiting.add(node);
    } else settleOther(event);
    settled += below(event, false, dress);
  };

  /** One try of a node that is made again. */
  const seeRetry = (event: DisplayedEvent) => {
    const look = lookInto(event);
    const node = open.find(({ id }) => id === look("id"));
    if (!node) return settleOther(event);
    const parts = [
      ...headOf(signOf("retry", dress), "retry", duration(look("elapsed_time"))),
      ...nodeTitle(node, depthOf(node)),
      ...plain([`retry ${node.retries}`, visible(text(look("error")) ?? "")]),
    ];
    settled += `${joined(parts, paint)}\n`;
  };

  const settleOther = (event: DisplayedEvent) => {
    settled += `${toldAfter(`${signOf("", dress)} `, event, dress)}\n`;
  };

  const see = (event: DisplayedEvent) => {
    const now = dress.now().getTime();
    tracing.see(event, dress.past ? now : cameAt(event, now));
    const piece = pieces.get(event.event);
    if (piece) {
      const [field, as] = piece;
      const more = text(lookInto(event)(field));
      if (more === undefined) return;
      growing.add(as, more);
      if (as === "answer" && shown === "nothing") shown = "all";
      return;
    }
    if (isSilent(event)) return;
    // After a cut or a pause text is missing, and only the outputs have it (server §15.6).
    if (event.event === "_gap" || lookInto(event)("reason") === "resumption") shown = "part";
    switch (event.event) {
      case "workflow_started":
        return;
      case "node_started":
      case "node_finished":
      case "iteration_started":
      case "iteration_next":
      case "iteration_completed":
      case "loop_started":
      case "loop_next":
      case "loop_completed":
        return seeNodes();
      case "node_retry":
        return seeRetry(event);
      case "human_input_required":
        return seeForm(event);
      case "workflow_paused":
        settleOpen("paused");
        for (const node of open) waiting.add(node);
        settleText();
        return settleRun(event);
      case "workflow_finished":
        settleOpen("unfinished");
        open = [];
        settleText();
        settled += below(event, shown === "all", dress);
        return settleRun(event);
      case "_answer":
      case "message_replace":
      case "text_replace": {
        const instead = replacement(event);
        if (instead === undefined) return;
        growing.replace(instead);
        if (lookInto(event)("reason")) settleOther(event);
        return;
      }
      default:
        settleOther(event);
    }
  };

  /** Lines of what is at work, at most so many. */
  const atWork = (columns: number, rows: number): string[] => {
    const lines = open.map((node) => {
      const parts = nodeParts(node, "running", depthOf(node), dress, turning(dress));
      return joined(parts, paint, columns);
    });
    if (lines.length <= rows) return lines;
    return [...lines.slice(0, rows - 1), `  ${lines.length - rows + 1} more nodes are running`];
  };

  const changing = (columns: number, rows: number): string[] => {
    if (rows < 1 || trace.status !== "running") return [];
    const now = dress.now().getTime();
    const run = [
      ...headOf(turning(dress), "running", ticking(now - (trace.startedAt ?? now))),
      ...plain([nameOf(trace.runId)]),
    ];
    // Nodes leave most of the room to the text.
    const most = growing.isEmpty ? rows - 1 : Math.max(1, Math.floor(rows / 3));
    const nodes = rows < 2 ? [] : atWork(columns, most);
    const tail = growing.tail(columns, rows - 1 - nodes.length - 2);
    return [...nodes, ...(tail.length > 0 ? ["", ...tail, ""] : []), joined(run, paint, columns)];
  };

  return {
    see,
    end() {
      settleOpen(trace.status === "running" ? "running" : "unfinished");
      open = [];
      settleText();
    },
    settled() {
      const lines = settled;
      settled = "";
      return lines;
    },
    changing,
  };
}

const nameOf = (runId: string | undefined): string =>
  runId === undefined ? "run" : `run ${visible(runId)}`;

/** Seconds that whole seconds and the way from the server may cost. */
const delay = 2;

/** When it happened, in ms: now, unless the server says that it was long ago, as in a snapshot. */
function cameAt(event: DisplayedEvent, now: number): number {
  const created = valueAt(event.data, "data.created_at");
  const isOld = typeof created === "number" && created + delay < now / 1000;
  return isOld && event.event.endsWith("_started") ? created * 1000 : now;
}
