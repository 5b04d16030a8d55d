import { groupBy } from "../../../lib/collect.ts";
import { diffJson } from "../../../lib/formats/json-diff.ts";
import type { JsonDifference } from "../../../lib/formats/json-diff.ts";
import { eachSpan, spansOf } from "../../../runs/spans.ts";
import type { Span } from "../../../runs/spans.ts";
import { summaryOf } from "./executions.ts";
import type { Executions } from "./executions.ts";
import type { LoadedTrace } from "./read.ts";

/** An aspect in which two runs can differ; the path is which nodes ran, how often, and how they ended. */
type Aspect = "status" | "path" | "outputs" | "text";

/** Two runs side by side. */
export interface Comparison {
  readonly a: LoadedTrace;
  readonly b: LoadedTrace;
  /** Undefined if the nodes of one run are unknown. */
  readonly nodes: readonly NodePair[] | undefined;
  /** Undefined if the outputs of one run are unknown. */
  readonly outputs: readonly JsonDifference[] | undefined;
  /** Undefined if equal, incomplete, or already covered by the outputs. */
  readonly text: readonly [a: string, b: string] | undefined;
  readonly aspects: readonly Aspect[];
  /** Aspects that could not be compared, other than by redaction. */
  readonly unknown: readonly Aspect[];
}

/** Compares two runs. */
export function compareRuns(a: LoadedTrace, b: LoadedTrace): Comparison {
  const areReplies = a.trace.isReply && b.trace.isReply;
  const known = areReplies || (a.trace.nodes.length > 0 && b.trace.nodes.length > 0);
  const nodes = known ? pairNodes(spansOf(a.trace).top, spansOf(b.trace).top) : undefined;
  const outputs =
    hasOutputs(a) && hasOutputs(b) ? [...diffJson(a.trace.outputs, b.trace.outputs)] : undefined;
  const text = outputs && outputs.length > 0 ? undefined : textDifference(a, b);
  const differs: Readonly<Record<Aspect, boolean>> = {
    status: a.trace.status !== b.trace.status,
    path: (nodes ?? []).some(({ a: left, b: right }) => !isSameEnd(left, right)),
    outputs: (outputs ?? []).length > 0,
    text: text !== undefined,
  };
  const aspects = (Object.keys(differs) as Aspect[]).filter((aspect) => differs[aspect]); // its own keys
  const redacted = a.trace.redacted || b.trace.redacted;
  const isSaid = areReplies ? hasWholeText(a) && hasWholeText(b) : outputs !== undefined;
  const unknown: readonly Aspect[] = [
    ...(nodes ? [] : (["path"] as const)),
    ...(isSaid || redacted ? [] : [areReplies ? ("text" as const) : ("outputs" as const)]),
  ];
  return { a, b, nodes, outputs, text, aspects, unknown };
}

/** Whether a node ran equally often and ended in the same states in both runs. */
export const isSameEnd = (a: NodeSide | undefined, b: NodeSide | undefined): boolean =>
  a?.runs === b?.runs && a?.state === b?.state;

/** Whether the trace has the outputs themselves, not redacted ones. */
export const hasOutputs = ({ trace }: LoadedTrace): boolean =>
  trace.outputs !== undefined && !trace.redacted;

/** The streamed texts, if both are complete: pauses and lost connections skip parts (server §15.6, §18). */
function textDifference(a: LoadedTrace, b: LoadedTrace): Comparison["text"] {
  if (!hasWholeText(a) || !hasWholeText(b) || a.trace.text === b.trace.text) return undefined;
  return [a.trace.text, b.trace.text];
}

const hasWholeText = ({ trace }: LoadedTrace): boolean =>
  !trace.redacted &&
  !trace.unwatched &&
  trace.pauses === 0 &&
  (trace.nodes.length > 0 || trace.isReply);

/** Duration of a run in ms. After a pause, the server's own covers only the last part (server §13). */
export const runDuration = ({ trace }: LoadedTrace): number =>
  trace.pauses === 0 && trace.elapsed !== undefined ? trace.elapsed * 1000 : spansOf(trace).length;

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
