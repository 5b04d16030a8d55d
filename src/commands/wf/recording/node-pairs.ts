import { groupBy } from "../../../lib/collect.ts";
import { eachSpan } from "../../../runs/spans.ts";
import type { Span } from "../../../runs/spans.ts";
import { summaryOf } from "./executions.ts";
import type { Executions } from "./executions.ts";

/** All executions of a node in one run. */
export interface NodeSide extends Executions {
  readonly node: string;
  readonly nodeId: string;
  readonly depth: number;
}

/** A node of both runs or of one of them. */
export interface NodePair {
  readonly node: string;
  readonly nodeId: string;
  readonly a: NodeSide | undefined;
  readonly b: NodeSide | undefined;
}

/** Two nodes that ran one after the other, in a different order in each run. */
export interface Reversal {
  readonly before: string;
  readonly after: string;
}

/**
 * Pairs the nodes of two runs in the order of the first. Nodes only in the second follow the shared
 * node they ran after. Nodes match by ID, or by title if the runs share no node IDs:
 *
 *     a:  Start  Fetch  End            Start  a b
 *     b:  Start  Cache  Fetch    →     Cache  - b
 *                                      Fetch  a b
 *                                      End    a -
 */
export function pairNodes(a: readonly Span[], b: readonly Span[]): readonly NodePair[] {
  const ids = new Set([...eachSpan(a)].map(([{ nodeId }]) => nodeId));
  const sharesIds = [...eachSpan(b)].some(([{ nodeId }]) => ids.has(nodeId));
  const keyOf = ({ nodeId, title }: Span) => (sharesIds ? nodeId : title);
  const [left, right] = [sidesOf(a, keyOf), sidesOf(b, keyOf)];
  /** Nodes only in the second run, by the shared node before them. */
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
    const [inA, inB] = [left.get(key), right.get(key)];
    const { node = "", nodeId = "" } = inA ?? inB ?? {};
    return { node, nodeId, a: inA, b: inB };
  });
}

function sidesOf(spans: readonly Span[], keyOf: (span: Span) => string): Map<string, NodeSide> {
  const sides = new Map<string, NodeSide>();
  for (const [key, all] of groupBy(eachSpan(spans), ([span]) => keyOf(span))) {
    const [first] = all;
    if (!first) continue;
    const [{ title, nodeId }, around] = first;
    const summary = summaryOf(all.map(([span]) => span));
    sides.set(key, { node: title, nodeId, depth: around.length, ...summary });
  }
  return sides;
}

/**
 * Nodes whose order changed, each with one node it changed places with. Nodes that ran in parallel
 * have no order.
 */
export function reversals(pairs: readonly NodePair[]): readonly Reversal[] {
  const both = pairs.flatMap(({ node, a, b }) => (a && b ? [{ node, a, b }] : []));
  const byEnd = both.toSorted((left, right) => left.a.endedWith - right.a.endedWith);
  const reversed: Reversal[] = [];
  /** Of the nodes that had already ended in the first run, the one that began last in the second. */
  let last: (typeof both)[number] | undefined;
  let next = 0;
  for (const pair of both.toSorted((left, right) => left.a.beganWith - right.a.beganWith)) {
    for (; (byEnd[next]?.a.endedWith ?? Infinity) < pair.a.beganWith; next++) {
      const ended = byEnd[next];
      if (ended && ended.b.beganWith > (last?.b.beganWith ?? -1)) last = ended;
    }
    if (last && pair.b.endedWith < last.b.beganWith)
      reversed.push({ before: last.node, after: pair.node });
  }
  return reversed;
}
