import { eachSpan } from "../../../runs/spans.ts";
import type { Span } from "../../../runs/spans.ts";
import { rowState } from "./timeline-rows.ts";

/** All the times that a node ran in one run. */
export interface NodeSide {
  readonly runs: number;
  /** `succeeded`, or `3 succeeded, 1 failed`. */
  readonly state: string;
  /** ms of all times together. */
  readonly took: number;
  readonly tokens: number | undefined;
  readonly retries: number;
  readonly depth: number;
  /** Events that began and ended it the first time. */
  readonly beganWith: number;
  readonly endedWith: number;
}

/** A node that ran in both runs, or in one of them. */
export interface NodePair {
  readonly node: string;
  readonly nodeId: string;
  readonly a: NodeSide | undefined;
  readonly b: NodeSide | undefined;
}

/** Nodes of which the one ended before the other began in the first run, and after it in the second. */
export interface Reversal {
  readonly before: string;
  readonly after: string;
}

interface Known extends NodeSide {
  readonly node: string;
  readonly nodeId: string;
}

/**
 * The nodes of two runs side by side, in the order of the first; what only the second has stands
 * where it ran there. Nodes are the same by their id, of applications that share none by their title.
 */
export function pairNodes(a: readonly Span[], b: readonly Span[]): readonly NodePair[] {
  const ids = new Set([...eachSpan(a)].map(([{ nodeId }]) => nodeId));
  const related = [...eachSpan(b)].some(([{ nodeId }]) => ids.has(nodeId));
  const keyOf = ({ nodeId, title }: Span) => (related ? nodeId : title);
  const [left, right] = [sidesOf(a, keyOf), sidesOf(b, keyOf)];
  /** What only the second run has, by the shared node before it. */
  const added = new Map<string | undefined, string[]>();
  let shared: string | undefined;
  for (const key of right.keys()) {
    if (left.has(key)) shared = key;
    else added.set(shared, [...(added.get(shared) ?? []), key]);
  }
  const keys = [
    ...(added.get(undefined) ?? []),
    ...[...left.keys()].flatMap((key) => [key, ...(added.get(key) ?? [])]),
  ];
  return keys.map((key) => {
    const [one, other] = [left.get(key), right.get(key)];
    return {
      node: one?.node ?? other?.node ?? "",
      nodeId: one?.nodeId ?? other?.nodeId ?? "",
      a: one,
      b: other,
    };
  });
}

function sidesOf(spans: readonly Span[], keyOf: (span: Span) => string): Map<string, Known> {
  const times = new Map<string, { readonly depth: number; readonly spans: Span[] }>();
  for (const [span, around] of eachSpan(spans)) {
    const known = times.get(keyOf(span));
    if (known) known.spans.push(span);
    else times.set(keyOf(span), { depth: around.length, spans: [span] });
  }
  const sides = new Map<string, Known>();
  for (const [key, { depth, spans: all }] of times) {
    const [first] = all;
    if (!first) continue;
    const sum = (of: (span: Span) => number) => all.reduce((whole, span) => whole + of(span), 0);
    const { state } = rowState(all.map(({ status }) => status));
    sides.set(key, {
      node: first.title,
      nodeId: first.nodeId,
      runs: all.length,
      state,
      took: sum(({ took }) => took),
      tokens: all.some(({ tokens }) => tokens !== undefined)
        ? sum(({ tokens = 0 }) => tokens)
        : undefined,
      retries: sum(({ retries }) => retries),
      depth,
      beganWith: first.beganWith,
      endedWith: first.endedWith,
    });
  }
  return sides;
}

/**
 * Nodes that the runs took in another order, each with one it changed places with. Nodes that ran
 * side by side have no order.
 */
export function reversals(pairs: readonly NodePair[]): readonly Reversal[] {
  const both = pairs.flatMap(({ node, a, b }) => (a && b ? [{ node, a, b }] : []));
  const byEnd = both.toSorted((one, other) => one.a.endedWith - other.a.endedWith);
  const found: Reversal[] = [];
  /** Of those that had ended in the first run, the one that began last in the second. */
  let last: (typeof both)[number] | undefined;
  let next = 0;
  for (const pair of both.toSorted((one, other) => one.a.beganWith - other.a.beganWith)) {
    for (; (byEnd[next]?.a.endedWith ?? Infinity) < pair.a.beganWith; next++) {
      const ended = byEnd[next];
      if (ended && ended.b.beganWith > (last?.b.beganWith ?? -1)) last = ended;
    }
    if (last && pair.b.endedWith < last.b.beganWith)
      found.push({ before: last.node, after: pair.node });
  }
  return found;
}
