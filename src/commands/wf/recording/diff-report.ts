import { formatDuration } from "../../../lib/duration.ts";
import type { Cell, Report, Section } from "../../../output/report-model.ts";
import { fromDifference } from "../../../lib/json-diff.ts";
import type { JsonDifference } from "../../../lib/json-diff.ts";
import type { NodePair, NodeSide, Reversal } from "./node-pairs.ts";
import { eachSpan, spansOf } from "../../../runs/spans.ts";
import { hasOutputs, isSameEnd, runDuration } from "./compare.ts";
import type { Comparison } from "./compare.ts";
import type { LoadedTrace } from "./load-trace.ts";

/** The report of `wf diff`: two runs side by side. */
export function diffReport(comparison: Comparison): Report {
  const { nodes, outputs, text } = comparison;
  return {
    data: dataOf(comparison),
    sections: [
      runSection(comparison),
      ...(nodes ? [nodeSection(nodes, comparison.reversed)] : []),
      ...(outputs && outputs.length > 0 ? [outputSection(outputs)] : []),
      ...(text ? [textSection(text)] : []),
    ],
  };
}

function dataOf(comparison: Comparison) {
  const { a, b, nodes, reversed, outputs, text, slower, aspects, unknown } = comparison;
  return {
    same: aspects.length === 0 && unknown.length === 0,
    differences: aspects,
    not_compared: unknown,
    a: runData(a),
    b: runData(b),
    nodes: nodes
      ? nodes.map(({ node, nodeId, a: left, b: right }) => ({
          node,
          node_id: nodeId,
          a: left ? sideData(left) : null,
          b: right ? sideData(right) : null,
          change: left && right ? relativeChange(left.took, right.took) : null,
        }))
      : null,
    reversed,
    outputs: outputs
      ? outputs.map(({ path, a: left, b: right }) => ({
          path,
          ...(left !== undefined && { a: left }),
          ...(right !== undefined && { b: right }),
        }))
      : null,
    text: text ? { a: text[0], b: text[1] } : null,
    slower,
  };
}

const runData = (loaded: LoadedTrace) => ({
  place: loaded.source,
  run: loaded.trace.runId ?? null,
  status: loaded.trace.status,
  error: loaded.trace.error ?? null,
  took_ms: Math.round(runDuration(loaded)),
  tokens: loaded.trace.tokens ?? null,
  steps: loaded.trace.steps ?? null,
  pauses: loaded.trace.pauses,
  gaps: loaded.trace.gaps,
  redacted: loaded.trace.redacted,
});

const sideData = ({ runs, state, took, tokens, retries }: NodeSide) => ({
  runs,
  state,
  took_ms: Number(took.toFixed(3)),
  tokens: tokens ?? null,
  retries,
});

/** 0.25 for 25 % more; null if the value before is 0. */
const relativeChange = (before: number, after: number): number | null =>
  before > 0 ? Number(((after - before) / before).toFixed(4)) : null;

/** `+25 %` or `×12`; null if both values are below `min`. */
function percentText(before: number, after: number, min = 0): string | null {
  const change = Math.max(before, after) < min ? null : relativeChange(before, after);
  if (change === null) return null;
  if (change >= 9.5) return `×${Math.round(change + 1)}`;
  const rounded = Math.round(change * 100);
  return `${rounded > 0 ? "+" : ""}${rounded} %`;
}

/** Node durations below this many ms are not compared in percent. */
const MIN_COMPARED_MS = 10;

const label = (text: string, right = false) => ({ label: text, ...(right && { right }) });

function runSection({ a, b, aspects, nodes, outputs, slower }: Comparison): Section {
  const [left, right] = [a.trace, b.trace];
  const [leftMs, rightMs] = [runDuration(a), runDuration(b)];
  const rows: Cell[][] = [
    ["run", left.runId ?? a.source, right.runId ?? b.source, null],
    ["status", left.status, warnIf(left.status !== right.status, right.status), null],
    ["time", formatDuration(leftMs), formatDuration(rightMs), percentText(leftMs, rightMs, 1)],
    [
      "tokens",
      left.tokens ?? null,
      right.tokens ?? null,
      left.tokens && right.tokens ? percentText(left.tokens, right.tokens) : null,
    ],
    ["nodes", nodeCount(a), nodeCount(b), null],
  ];
  const errors: Cell[] = ["error", left.error ?? null, right.error ?? null, null];
  const withoutNodes = [a, b].filter(({ trace }) => trace.nodes.length === 0);
  const incomplete = [a, b].filter(({ trace }) => trace.gaps > 0);
  const withoutOutputs = [a, b].filter((loaded) => !hasOutputs(loaded));
  const compared = ["status", ...(nodes ? ["path"] : []), ...(outputs ? ["outputs"] : [])];
  return {
    columns: [label(""), label("a"), label("b"), label("change", true)],
    rows: left.error !== undefined || right.error !== undefined ? [...rows, errors] : rows,
    notes: [
      aspects.length === 0
        ? `No difference in ${listText(compared)}.`
        : `The runs differ in ${aspects.join(", ")}.`,
      ...(slower.length > 0 ? [`Slower than --timing allows: ${slower.join(", ")}.`] : []),
      ...withoutNodes.map(
        ({ source }) => `The nodes of ${source} are unknown: the run had already ended.`,
      ),
      ...incomplete.map(
        ({ source }) =>
          `Events of ${source} are missing; nodes and loop rounds may be missing too.`,
      ),
      ...withoutOutputs.map(({ source, trace }) =>
        trace.redacted
          ? `The texts of ${source} are redacted, so outputs cannot be compared.`
          : `The outputs of ${source} are unknown.`,
      ),
    ],
  };
}

/** `status, path and outputs` */
const listText = (words: readonly string[]): string =>
  words.join(", ").replace(/, (?=[^,]*$)/, " and ");

/** The number of nodes that ran; null if unknown. */
const nodeCount = ({ trace }: LoadedTrace): number | null =>
  [...eachSpan(spansOf(trace).top)].length || null;

const warnIf = (warn: boolean, text: string): Cell => (warn ? { text, tone: "warn" } : text);

function nodeSection(pairs: readonly NodePair[], reversed: readonly Reversal[]): Section {
  const withTokens = pairs.some(({ a, b }) => a?.tokens || b?.tokens);
  return {
    title: "Nodes",
    columns: [
      label("node"),
      label("a"),
      label("b"),
      label("a took", true),
      label("b took", true),
      label("change", true),
      ...(withTokens ? [label("a tokens", true), label("b tokens", true)] : []),
    ],
    rows: pairs.map(({ node, a, b }): Cell[] => [
      `${"  ".repeat((a ?? b)?.depth ?? 0)}${node}`,
      warnIf(!a, endText(a)),
      warnIf(!isSameEnd(a, b), endText(b)),
      a ? formatDuration(a.took) : null,
      b ? formatDuration(b.took) : null,
      a && b ? percentText(a.took, b.took, MIN_COMPARED_MS) : null,
      ...(withTokens ? [a?.tokens ?? null, b?.tokens ?? null] : []),
    ]),
    notes: reversed.map(
      ({ before, after }) => `${before} ran before ${after} in a, but after it in b.`,
    ),
  };
}

function endText(side: NodeSide | undefined): string {
  if (side === undefined) return "did not run";
  const { runs, state, retries } = side;
  const ended = runs > 1 && !state.includes(",") ? `${runs} ${state}` : state;
  return retries > 0 ? `${ended} (${retries} ${retries === 1 ? "retry" : "retries"})` : ended;
}

const outputSection = (outputs: readonly JsonDifference[]): Section => ({
  title: "Outputs that differ",
  columns: [label("path"), label("a"), label("b")],
  rows: outputs.map(({ path, a, b }): Cell[] => {
    const [left, right] =
      typeof a === "string" && typeof b === "string"
        ? fromDifference(a, b)
        : [textOf(a), textOf(b)];
    return [path === "" ? "(all)" : path, left, right];
  }),
});

function textOf(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}

const textSection = (texts: readonly [a: string, b: string]): Section => ({
  title: "Text, from where it differs",
  columns: [label("a"), label("b")],
  rows: [[...fromDifference(...texts)]],
});
