import { diffJson } from "../../../lib/json-diff.ts";
import type { JsonDifference } from "../../../lib/json-diff.ts";
import { pairNodes, reversals } from "./node-pairs.ts";
import type { NodePair, NodeSide, Reversal } from "./node-pairs.ts";
import { spansOf } from "../../../runs/spans.ts";
import type { LoadedTrace } from "./load-trace.ts";

/** In what two runs can differ. */
type Aspect = "status" | "path" | "outputs" | "text" | "timing";

/** Two runs side by side. */
export interface Comparison {
  readonly a: LoadedTrace;
  readonly b: LoadedTrace;
  /** Undefined where the nodes of one of them are not known. */
  readonly nodes: readonly NodePair[] | undefined;
  readonly reversed: readonly Reversal[];
  /** Undefined where those of one of them are not known. */
  readonly outputs: readonly JsonDifference[] | undefined;
  /** Undefined where it is the same, not known in full, or the outputs tell the difference. */
  readonly text: readonly [a: string, b: string] | undefined;
  /** What took longer in the second run than the limit allows. */
  readonly slower: readonly string[];
  readonly aspects: readonly Aspect[];
  /** What nobody can tell of one of them, although it was not redacted. */
  readonly unknown: readonly Aspect[];
}

/**
 * What two runs have in common and what not. `limit` is the share by which the second may be slower.
 */
export function compareRuns(a: LoadedTrace, b: LoadedTrace, limit: number | undefined): Comparison {
  const known = a.trace.nodes.length > 0 && b.trace.nodes.length > 0;
  const nodes = known ? pairNodes(spansOf(a.trace).top, spansOf(b.trace).top) : undefined;
  const reversed = nodes ? reversals(nodes) : [];
  const outputs =
    outputsKnown(a) && outputsKnown(b)
      ? [...diffJson(a.trace.outputs, b.trace.outputs)]
      : undefined;
  const text = outputs && outputs.length > 0 ? undefined : textDifference(a, b);
  const slower = limit === undefined ? [] : slowerOnes(a, b, nodes ?? [], limit);
  const differs: Readonly<Record<Aspect, boolean>> = {
    status: a.trace.status !== b.trace.status,
    path: reversed.length > 0 || (nodes ?? []).some(({ a: one, b: other }) => !sameEnd(one, other)),
    outputs: (outputs ?? []).length > 0,
    text: text !== undefined,
    timing: slower.length > 0,
  };
  const aspects = (Object.keys(differs) as Aspect[]).filter((aspect) => differs[aspect]); // its own keys
  const redacted = a.trace.redacted || b.trace.redacted;
  const unknown: readonly Aspect[] = [
    ...(nodes ? [] : (["path"] as const)),
    ...(outputs || redacted ? [] : (["outputs"] as const)),
  ];
  return { a, b, nodes, reversed, outputs, text, slower, aspects, unknown };
}

/** Did a node end alike in both, as often? */
export const sameEnd = (a: NodeSide | undefined, b: NodeSide | undefined): boolean =>
  a?.runs === b?.runs && a?.state === b?.state;

/** Were the outputs seen, and are they those of the run, not lengths in their place? */
export const outputsKnown = ({ trace }: LoadedTrace): boolean =>
  trace.outputs !== undefined && !trace.redacted;

/** Streamed texts, where all of both was seen: a pause and a cut leave parts out (server §15.6, §18). */
function textDifference(a: LoadedTrace, b: LoadedTrace): Comparison["text"] {
  const isWhole = ({ trace }: LoadedTrace) =>
    !trace.redacted && !trace.unwatched && trace.pauses === 0 && trace.nodes.length > 0;
  if (!isWhole(a) || !isWhole(b) || a.trace.text === b.trace.text) return undefined;
  return [a.trace.text, b.trace.text];
}

/** ms below which a difference is noise, whatever the share. */
const noise = 100;

function slowerOnes(
  a: LoadedTrace,
  b: LoadedTrace,
  nodes: readonly NodePair[],
  limit: number,
): readonly string[] {
  const isSlower = (before: number, after: number) =>
    after - before > Math.max(noise, before * limit);
  return [
    ...(isSlower(tookOf(a), tookOf(b)) ? ["the run"] : []),
    ...nodes.flatMap(({ node, a: one, b: other }) =>
      one && other && isSlower(one.took, other.took) ? [node] : [],
    ),
  ];
}

/** ms of a run: the server's, but after a pause that is of its last part only (server §13). */
export const tookOf = ({ trace }: LoadedTrace): number =>
  trace.pauses === 0 && trace.elapsed !== undefined ? trace.elapsed * 1000 : spansOf(trace).length;
