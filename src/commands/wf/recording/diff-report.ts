import { formatDuration } from "../../../lib/duration.ts";
import type { Cell, Report, Section } from "../../../output/report-model.ts";
import { fromDifference } from "../../../lib/json-diff.ts";
import type { JsonDifference } from "../../../lib/json-diff.ts";
import type { NodePair, NodeSide, Reversal } from "./node-pairs.ts";
import { eachSpan, spansOf } from "../../../runs/spans.ts";
import { outputsKnown, sameEnd, tookOf } from "./compare.ts";
import type { Comparison } from "./compare.ts";
import type { LoadedTrace } from "./load-trace.ts";

/** Two runs side by side, for people and as data. */
export function diffReport(compared: Comparison): Report {
  const { nodes, outputs, text } = compared;
  return {
    data: dataOf(compared),
    sections: [
      runSection(compared),
      ...(nodes ? [nodeSection(nodes, compared.reversed)] : []),
      ...(outputs && outputs.length > 0 ? [outputSection(outputs)] : []),
      ...(text ? [textSection(text)] : []),
    ],
  };
}

function dataOf(compared: Comparison) {
  const { a, b, nodes, reversed, outputs, text, slower, aspects, unknown } = compared;
  return {
    same: aspects.length === 0 && unknown.length === 0,
    differences: aspects,
    not_compared: unknown,
    a: runData(a),
    b: runData(b),
    nodes: nodes
      ? nodes.map(({ node, nodeId, a: one, b: other }) => ({
          node,
          node_id: nodeId,
          a: one ? sideData(one) : null,
          b: other ? sideData(other) : null,
          change: one && other ? change(one.took, other.took) : null,
        }))
      : null,
    reversed,
    outputs: outputs
      ? outputs.map(({ path, a: one, b: other }) => ({
          path,
          ...(one !== undefined && { a: one }),
          ...(other !== undefined && { b: other }),
        }))
      : null,
    text: text ? { a: text[0], b: text[1] } : null,
    slower,
  };
}

const runData = (traced: LoadedTrace) => ({
  place: traced.place,
  run: traced.trace.runId ?? null,
  status: traced.trace.status,
  error: traced.trace.error ?? null,
  took_ms: Math.round(tookOf(traced)),
  tokens: traced.trace.tokens ?? null,
  steps: traced.trace.steps ?? null,
  pauses: traced.trace.pauses,
  gaps: traced.trace.gaps,
  redacted: traced.trace.redacted,
});

const sideData = ({ runs, state, took, tokens, retries }: NodeSide) => ({
  runs,
  state,
  took_ms: Number(took.toFixed(3)),
  tokens: tokens ?? null,
  retries,
});

/** 0.25 for a quarter more; null where it was nothing before. */
const change = (before: number, after: number): number | null =>
  before > 0 ? Number(((after - before) / before).toFixed(4)) : null;

/** `+25 %`, or `×12`; nothing for times too short to be compared. */
function percent(before: number, after: number, least = 0): string | null {
  const by = Math.max(before, after) < least ? null : change(before, after);
  if (by === null) return null;
  if (by >= 9.5) return `×${Math.round(by + 1)}`;
  const rounded = Math.round(by * 100);
  return `${rounded > 0 ? "+" : ""}${rounded} %`;
}

/** ms below which a change of time is not told in percent. */
const measurable = 10;

const label = (text: string, right = false) => ({ label: text, ...(right && { right }) });

function runSection({ a, b, aspects, nodes, outputs, slower }: Comparison): Section {
  const [left, right] = [a.trace, b.trace];
  const rows: Cell[][] = [
    ["run", left.runId ?? a.place, right.runId ?? b.place, null],
    ["status", left.status, differing(right.status, left.status !== right.status), null],
    [
      "time",
      formatDuration(tookOf(a)),
      formatDuration(tookOf(b)),
      percent(tookOf(a), tookOf(b), 1),
    ],
    [
      "tokens",
      left.tokens ?? null,
      right.tokens ?? null,
      left.tokens && right.tokens ? percent(left.tokens, right.tokens) : null,
    ],
    ["nodes", countOf(a), countOf(b), null],
  ];
  const errors: Cell[] = ["error", left.error ?? null, right.error ?? null, null];
  const unseen = [a, b].filter(({ trace }) => trace.nodes.length === 0);
  const partial = [a, b].filter(({ trace }) => trace.gaps > 0);
  const unknown = [a, b].filter((each) => !outputsKnown(each));
  const compared = ["status", ...(nodes ? ["path"] : []), ...(outputs ? ["outputs"] : [])];
  return {
    columns: [label(""), label("a"), label("b"), label("change", true)],
    rows: left.error !== undefined || right.error !== undefined ? [...rows, errors] : rows,
    notes: [
      aspects.length === 0
        ? `No difference in ${listed(compared)}.`
        : `They differ in ${aspects.join(", ")}.`,
      ...(slower.length > 0 ? [`Slower than --timing allows: ${slower.join(", ")}.`] : []),
      ...unseen.map(({ place }) => `The nodes of ${place} are not known: the run was over.`),
      ...partial.map(
        ({ place }) => `A part of ${place} is missing: so may nodes and rounds of loops be.`,
      ),
      ...unknown.map(({ place, trace }) =>
        trace.redacted
          ? `The texts of ${place} were redacted: outputs cannot be compared.`
          : `The outputs of ${place} are not known.`,
      ),
    ],
  };
}

/** `status, path and outputs` */
const listed = (words: readonly string[]): string =>
  words.join(", ").replace(/, (?=[^,]*$)/, " and ");

/** How many nodes ran; nothing where that is not known. */
const countOf = ({ trace }: LoadedTrace): number | null =>
  [...eachSpan(spansOf(trace).top)].length || null;

const differing = (text: string, differs: boolean): Cell =>
  differs ? { text, tone: "warn" } : text;

function nodeSection(pairs: readonly NodePair[], reversed: readonly Reversal[]): Section {
  const counted = pairs.some(({ a, b }) => a?.tokens || b?.tokens);
  return {
    title: "Nodes",
    columns: [
      label("node"),
      label("a"),
      label("b"),
      label("a took", true),
      label("b took", true),
      label("change", true),
      ...(counted ? [label("a tokens", true), label("b tokens", true)] : []),
    ],
    rows: pairs.map(({ node, a, b }): Cell[] => [
      `${"  ".repeat((a ?? b)?.depth ?? 0)}${node}`,
      differing(endText(a), !a),
      differing(endText(b), !sameEnd(a, b)),
      a ? formatDuration(a.took) : null,
      b ? formatDuration(b.took) : null,
      a && b ? percent(a.took, b.took, measurable) : null,
      ...(counted ? [a?.tokens ?? null, b?.tokens ?? null] : []),
    ]),
    notes: reversed.map(
      ({ before, after }) => `${before} ran before ${after} in a, after it in b.`,
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
    const [one, other] =
      typeof a === "string" && typeof b === "string"
        ? fromDifference(a, b)
        : [textOf(a), textOf(b)];
    return [path === "" ? "(all)" : path, one, other];
  }),
});

const textOf = (value: unknown): string | null =>
  value === undefined ? null : typeof value === "string" ? value : JSON.stringify(value);

const textSection = (texts: readonly [a: string, b: string]): Section => ({
  title: "Text, from where it differs",
  columns: [label("a"), label("b")],
  rows: [[...fromDifference(...texts)]],
});
