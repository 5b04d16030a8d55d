import { diffJson } from "../../../lib/formats/json-diff.ts";
import type { JsonDifference } from "../../../lib/formats/json-diff.ts";
import { pairNodes, reversals } from "./node-pairs.ts";
import type { NodePair, NodeSide, Reversal } from "./node-pairs.ts";
import { spansOf } from "../../../runs/spans.ts";
import type { LoadedTrace } from "./load-trace.ts";

/** An aspect in which two runs can differ. */
type Aspect = "status" | "path" | "outputs" | "text" | "timing";

/** Two runs side by side. */
export interface Comparison {
  readonly a: LoadedTrace;
  readonly b: LoadedTrace;
  /** Undefined if the nodes of one run are unknown. */
  readonly nodes: readonly NodePair[] | undefined;
  readonly reversed: readonly Reversal[];
  /** Undefined if the outputs of one run are unknown. */
  readonly outputs: readonly JsonDifference[] | undefined;
  /** Undefined if equal, incomplete, or already covered by the outputs. */
  readonly text: readonly [a: string, b: string] | undefined;
  /** The run and the nodes that were slower in the second run than the limit allows. */
  readonly slower: readonly string[];
  readonly aspects: readonly Aspect[];
  /** Aspects that could not be compared, other than by redaction. */
  readonly unknown: readonly Aspect[];
}

/** Compares two runs. `limit` is the share by which the second may be slower. */
export function compareRuns(a: LoadedTrace, b: LoadedTrace, limit: number | undefined): Comparison {
  const areReplies = a.trace.isReply && b.trace.isReply;
  const known = areReplies || (a.trace.nodes.length > 0 && b.trace.nodes.length > 0);
  const nodes = known ? pairNodes(spansOf(a.trace).top, spansOf(b.trace).top) : undefined;
  const reversed = nodes ? reversals(nodes) : [];
  const outputs =
    hasOutputs(a) && hasOutputs(b) ? [...diffJson(a.trace.outputs, b.trace.outputs)] : undefined;
  const text = outputs && outputs.length > 0 ? undefined : textDifference(a, b);
  const slower = limit === undefined ? [] : slowerParts(a, b, nodes ?? [], limit);
  const differs: Readonly<Record<Aspect, boolean>> = {
    status: a.trace.status !== b.trace.status,
    path:
      reversed.length > 0 || (nodes ?? []).some(({ a: left, b: right }) => !isSameEnd(left, right)),
    outputs: (outputs ?? []).length > 0,
    text: text !== undefined,
    timing: slower.length > 0,
  };
  const aspects = (Object.keys(differs) as Aspect[]).filter((aspect) => differs[aspect]); // its own keys
  const redacted = a.trace.redacted || b.trace.redacted;
  const isSaid = areReplies ? hasWholeText(a) && hasWholeText(b) : outputs !== undefined;
  const unknown: readonly Aspect[] = [
    ...(nodes ? [] : (["path"] as const)),
    ...(isSaid || redacted ? [] : [areReplies ? ("text" as const) : ("outputs" as const)]),
  ];
  return { a, b, nodes, reversed, outputs, text, slower, aspects, unknown };
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

/** Differences below this many ms are noise, whatever their share. */
const MIN_SLOWER_MS = 100;

function slowerParts(
  a: LoadedTrace,
  b: LoadedTrace,
  nodes: readonly NodePair[],
  limit: number,
): readonly string[] {
  const isSlower = (before: number, after: number) =>
    after - before > Math.max(MIN_SLOWER_MS, before * limit);
  return [
    ...(isSlower(runDuration(a), runDuration(b)) ? ["the run"] : []),
    ...nodes.flatMap(({ node, a: left, b: right }) =>
      left && right && isSlower(left.took, right.took) ? [node] : [],
    ),
  ];
}

/** Duration of a run in ms. After a pause, the server's own covers only the last part (server §13). */
export const runDuration = ({ trace }: LoadedTrace): number =>
  trace.pauses === 0 && trace.elapsed !== undefined ? trace.elapsed * 1000 : spansOf(trace).length;
