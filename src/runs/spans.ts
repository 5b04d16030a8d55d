import type { NodeRun, RunTrace } from "./trace.ts";

/** A node of a run in time; all times are ms, start and end since the run began. */
export interface Span {
  readonly id: string;
  readonly nodeId: string;
  readonly title: string;
  readonly type: string;
  /** The server's word; of a node whose end nobody saw `running`, `paused` or `unfinished`. */
  readonly status: string;
  readonly error: string | undefined;
  readonly start: number;
  readonly end: number;
  /** Events that began and ended it, counted from 1: several can come at one time. */
  readonly beganWith: number;
  readonly endedWith: number;
  /** As the server measured it; of a node that waited for a person, from its start to its end. */
  readonly took: number;
  /** For a person. */
  readonly waited: number;
  readonly retries: number;
  readonly tokens: number | undefined;
  /** Round of the loop or iteration around it, from 1. */
  readonly round: number | undefined;
  /** Rounds that it made; undefined for nodes that are no loop or iteration. */
  readonly rounds: number | undefined;
  /** What ran inside of it. */
  readonly inner: readonly Span[];
}

/** The nodes of a run in the order in which they began, those of loops inside of these. */
export interface Spans {
  readonly top: readonly Span[];
  /** ms since the epoch. */
  readonly startedAt: number;
  /** ms from the beginning of the run to its last event, at least 1. */
  readonly length: number;
}

/** A node, its later beginning if it waited for a person in between, and what it holds. */
interface Piece {
  readonly first: NodeRun;
  last: NodeRun;
  waited: number;
  readonly inner: Piece[];
}

export function spansOf(trace: RunTrace): Spans {
  const { nodes, lastAt = 0, status } = trace;
  const begins = beginsOf(trace);
  const beginOf = (node: NodeRun) => begins.get(node) ?? node.startedAt;
  const startedAt = [...begins.values()].reduce(
    (least, begin) => Math.min(least, begin),
    trace.startedAt ?? 0,
  );
  const top: Piece[] = [];
  /** By execution id, the latest. */
  const pieces = new Map<string, Piece>();
  /** Loops and iterations by node id, the latest. */
  const containers = new Map<string, Piece>();
  for (const node of nodes) {
    const before = pieces.get(node.id);
    if (before && waits(before.last) && trace.pauses > 0) {
      // A node that waits for a person starts again under its old id (server §15.6).
      before.waited += beginOf(node) - beginOf(before.last);
      before.last = node;
      continue;
    }
    const piece: Piece = { first: node, last: node, waited: 0, inner: [] };
    pieces.set(node.id, piece);
    if (node.rounds !== undefined) containers.set(node.nodeId, piece);
    const around = node.within && containers.get(node.within.nodeId);
    (around && around !== piece ? around.inner : top).push(piece);
  }
  const whileOpen = status === "running" || status === "paused" ? status : "unfinished";

  const spanOf = ({ first, last, waited, inner }: Piece): Span => {
    const { id, nodeId, title, type, retries, tokens, rounds, error, within } = last;
    const start = beginOf(first) - startedAt;
    const end = Math.max(start, endOf(last, beginOf(last), lastAt) - startedAt);
    const measured = waited === 0 && !waits(last) && last.elapsed !== undefined;
    return {
      id,
      nodeId,
      title,
      type,
      status: last.status === "running" ? whileOpen : last.status,
      error,
      start,
      end,
      beganWith: first.beganWith,
      endedWith: last.endedWith ?? Infinity,
      took: measured ? (last.elapsed ?? 0) * 1000 : end - start,
      waited,
      retries: first === last ? retries : first.retries + retries,
      tokens,
      round: within?.round,
      rounds,
      inner: inner.map(spanOf),
    };
  };
  return { top: top.map(spanOf), startedAt, length: Math.max(1, lastAt - startedAt) };
}

/** ms by which whole seconds can be wrong. */
const second = 1000;

/**
 * When each node began. What began before anybody listened has only a second of the server's clock
 * for it, or its own measure where it ended later on; and it began before those that follow it.
 */
function beginsOf({ nodes, ahead = 0 }: RunTrace): ReadonlyMap<NodeRun, number> {
  const begins = new Map<NodeRun, number>();
  let next = Infinity;
  for (const node of nodes.toReversed()) {
    const { createdAt, startedAt, finishedAt, elapsed } = node;
    let begin = startedAt;
    if (createdAt !== undefined) {
      begin = Math.min(startedAt, createdAt + ahead);
      const measured = finishedAt === undefined ? NaN : finishedAt - (elapsed ?? NaN) * 1000;
      begin = Math.min(next, Math.abs(measured - begin) <= second ? measured : begin);
    }
    next = begin;
    begins.set(node, begin);
  }
  return begins;
}

/** When a node ended; with the run where nobody saw it, or where it waits. */
function endOf(node: NodeRun, begin: number, runEnd: number): number {
  const { createdAt, finishedAt, elapsed } = node;
  if (finishedAt === undefined || waits(node)) return runEnd;
  if (createdAt === undefined || elapsed === undefined) return finishedAt;
  return Math.min(finishedAt, begin + elapsed * 1000);
}

/** Does it wait for a person, or has it not ended? */
const waits = ({ finishedAt, rounds, status }: NodeRun): boolean =>
  (finishedAt === undefined && rounds === undefined) || status === "paused";

/** All of them, each before what it holds, with the loops and iterations around it. */
export function* eachSpan(
  spans: readonly Span[],
  around: readonly Span[] = [],
): Generator<readonly [span: Span, around: readonly Span[]]> {
  for (const span of spans) {
    yield [span, around];
    if (span.inner.length > 0) yield* eachSpan(span.inner, [...around, span]);
  }
}
