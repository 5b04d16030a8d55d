import type { NodeRun, RunTrace } from "./trace.ts";

/** What a span keeps of its node. */
type Kept =
  | "id"
  | "nodeId"
  | "title"
  | "type"
  | "error"
  | "tokens"
  | "rounds"
  | "inputs"
  | "outputs"
  | "model";

/** A node of a run on the time axis; times are in ms, start and end since the start of the run. */
export interface Span extends Readonly<Pick<NodeRun, Kept>> {
  /** Of the node before and after it waited for human input. */
  readonly retries: number;
  /** The server's status; `running`, `paused` or `unfinished` for a node without an end. */
  readonly status: string;
  readonly start: number;
  readonly end: number;
  /** From start to end: as measured by the server, or by arrival if the node waited for human input. */
  readonly took: number;
  /** Time spent waiting for human input. */
  readonly waited: number;
  /** Round of the loop or iteration around it, from 1. */
  readonly round: number | undefined;
  /** Nodes that ran inside it. */
  readonly inner: readonly Span[];
}

/** The nodes of a run in the order of their starts, nodes inside loops nested. */
export interface Spans {
  readonly top: readonly Span[];
  /** ms since the epoch. */
  readonly startedAt: number;
  /** ms from the start of the run to its last event; at least 1, and the duration of each node. */
  readonly length: number;
  /** The most ms by which a duration differs from the time between the arrivals of its events. */
  readonly late: number;
}

/** A node before and after it waited for human input, and the nodes inside it. */
interface Piece {
  readonly first: NodeRun;
  last: NodeRun;
  waited: number;
  readonly inner: Piece[];
}

/**
 * Turns the flat list of node runs into nested spans. A node that waited for human input has two runs
 * with the same ID, which become one span:
 *
 *     Start  0–1                     Start   █
 *     Loop   1–9, 2 rounds           Loop     ████████
 *     Ask    2–3, paused, in Loop →    Ask     ████
 *     Ask    5–6, in Loop            End              █
 *     End    9–10
 */
export function spansOf(trace: RunTrace): Spans {
  const { nodes, lastAt = 0, status } = trace;
  const begins = beginsOf(trace);
  const beginOf = (node: NodeRun) => begins.get(node) ?? node.startedAt;
  const all: Piece[] = [];
  const top: Piece[] = [];
  /** The latest by execution ID. */
  const pieces = new Map<string, Piece>();
  /** The latest loops and iterations by node ID. */
  const containers = new Map<string, Piece>();
  for (const node of nodes) {
    const before = pieces.get(node.id);
    if (before && isOpen(before.last) && trace.pauses > 0) {
      // A node that waited for human input starts again with the same ID (server §15.6).
      before.waited += beginOf(node) - beginOf(before.last);
      before.last = node;
      continue;
    }
    const piece: Piece = { first: node, last: node, waited: 0, inner: [] };
    all.push(piece);
    pieces.set(node.id, piece);
    if (node.rounds !== undefined) containers.set(node.nodeId, piece);
    const around = node.within && containers.get(node.within.nodeId);
    (around && around !== piece ? around.inner : top).push(piece);
  }
  const times = timesOf(all, beginOf, lastAt);
  const startedAt = [...times.values()].reduce(
    (min, { start }) => Math.min(min, start),
    trace.startedAt ?? 0,
  );
  let late = 0;
  const openStatus = status === "running" || status === "paused" ? status : "unfinished";

  const spanOf = (piece: Piece): Span => {
    const { first, last, waited, inner } = piece;
    const { id, nodeId, title, type, error, tokens, rounds, inputs, outputs, model } = last;
    const { took, ...time } = times.get(piece) ?? { start: startedAt, took: 0, late: 0 };
    const start = time.start - startedAt;
    late = Math.max(late, time.late);
    // Named one by one: a copy with `...last` would take 13 µs.
    return {
      id,
      nodeId,
      title,
      type,
      error,
      tokens,
      rounds,
      inputs,
      outputs,
      model,
      status: last.status === "running" ? openStatus : last.status,
      start,
      end: start + took,
      took,
      waited,
      retries: first === last ? last.retries : first.retries + last.retries,
      round: last.within?.round,
      inner: inner.map(spanOf),
    };
  };
  const spans = top.map(spanOf);
  // Events can arrive closer together than they were sent.
  const length = spans.reduce((max, { took }) => Math.max(max, took), lastAt - startedAt);
  return { top: spans, startedAt, length: Math.max(1, length), late };
}

/**
 * Start and duration of each piece, by the server's clock where it is known. No event arrives before it
 * happens, so the earlier of two starts is the nearer one; at the latest it is that of the next piece.
 */
function timesOf(all: readonly Piece[], beginOf: (node: NodeRun) => number, runEnd: number) {
  const times = new Map<Piece, { start: number; took: number; late: number }>();
  let next = Infinity;
  for (const piece of all.toReversed()) {
    const { first, last, waited } = piece;
    const began = beginOf(first);
    const ended = Math.max(began, endOf(last, beginOf(last), runEnd));
    const isMeasured = waited === 0 && !isOpen(last) && last.elapsed !== undefined;
    const took = isMeasured ? (last.elapsed ?? 0) * 1000 : ended - began;
    next = Math.min(next, began, ended - took);
    times.set(piece, { start: next, took, late: Math.abs(ended - began - took) });
  }
  return times;
}

/** ms by which a time in whole seconds may be wrong. */
const second = 1000;

/**
 * When each node began. For a node that began before the stream was opened, this is a whole second of
 * the server's clock, or its end minus its duration if that is consistent; at the latest the start of
 * the node after it.
 */
function beginsOf({ nodes, clockAhead = 0 }: RunTrace): ReadonlyMap<NodeRun, number> {
  const begins = new Map<NodeRun, number>();
  let next = Infinity;
  for (const node of nodes.toReversed()) {
    const { createdAt, startedAt, finishedAt, elapsed } = node;
    let begin = startedAt;
    if (createdAt !== undefined) {
      begin = Math.min(startedAt, createdAt + clockAhead);
      const measured = finishedAt === undefined ? NaN : finishedAt - (elapsed ?? NaN) * 1000;
      begin = Math.min(next, Math.abs(measured - begin) <= second ? measured : begin);
    }
    next = begin;
    begins.set(node, begin);
  }
  return begins;
}

/** When a node ended; the end of the run if its end is unknown or it is waiting. */
function endOf(node: NodeRun, begin: number, runEnd: number): number {
  const { createdAt, finishedAt, elapsed } = node;
  if (finishedAt === undefined || isOpen(node)) return runEnd;
  if (createdAt === undefined || elapsed === undefined) return finishedAt;
  return Math.min(finishedAt, begin + elapsed * 1000);
}

/** Whether it is waiting for human input or has not ended. */
const isOpen = ({ finishedAt, rounds, status }: NodeRun): boolean =>
  (finishedAt === undefined && rounds === undefined) || status === "paused";

/** All spans in pre-order, each with the loops and iterations around it. */
export function* eachSpan(
  spans: readonly Span[],
  around: readonly Span[] = [],
): Generator<readonly [span: Span, around: readonly Span[]]> {
  for (const span of spans) {
    yield [span, around];
    if (span.inner.length > 0) yield* eachSpan(span.inner, [...around, span]);
  }
}
