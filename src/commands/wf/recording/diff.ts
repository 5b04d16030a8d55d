import { CliError, usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { diffJson, fromDifference } from "../../../lib/formats/json-diff.ts";
import type { JsonDifference } from "../../../lib/formats/json-diff.ts";
import { formatDuration } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Cell, Report, Section } from "../../../output/report-model.ts";
import { eachSpan, spansOf } from "../../../runs/spans.ts";
import type { Context } from "../../task/command-spec.ts";
import type { diffParams } from "./command.ts";
import { nodeDetails, pairNodes, tableOf } from "./executions.ts";
import type { NodePair, NodeSide, SectionColumn } from "./executions.ts";
import { loadTrace } from "./read.ts";
import type { LoadedTrace } from "./read.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** Compares two runs. With `exit_code`, throws `gate` as a result if they may differ. */
export async function* run(
  input: Input<typeof diffParams>,
  context: Context,
): AsyncGenerator<Report> {
  if (input.a === "-" && input.b === "-") throw usage("stdin (-) can only be used once");
  // Active runs are followed concurrently; otherwise the start of the second would be missed.
  const [a, b] = await Promise.all([loadTrace(input.a, context), loadTrace(input.b, context)]);
  const comparison = compareRuns(a, b);
  yield diffReport(comparison);
  const problem = a.problem ?? b.problem;
  if (problem) throw problem;
  const { aspects, unknown } = comparison;
  if (!input.exit_code || aspects.length + unknown.length === 0) return;
  // An incomplete comparison must not pass as equal.
  const message =
    aspects.length > 0
      ? `the runs differ in ${aspects.join(", ")}`
      : `the runs cannot be compared completely: ${unknown.join(" and ")} unknown`;
  throw new CliError("gate", message, {
    isResult: true,
    details: { differences: aspects, not_compared: unknown },
    ...(aspects.length === 0 &&
      !unknown.includes("text") && {
        hint: `record the runs with ${commandLine("wf run", [], { record: "FILE" })}`,
      }),
  });
}

/** An aspect in which two runs can differ; the path is which nodes ran, how often, and how they ended. */
type Aspect = "status" | "path" | "outputs" | "text";

/** Two runs side by side. */
type Comparison = ReturnType<typeof compareRuns>;

function compareRuns(a: LoadedTrace, b: LoadedTrace) {
  const areReplies = a.trace.isReply && b.trace.isReply;
  const known = areReplies || (a.trace.nodes.length > 0 && b.trace.nodes.length > 0);
  // Undefined if the nodes, or the outputs, of one run are unknown.
  const nodes = known ? pairNodes(spansOf(a.trace).top, spansOf(b.trace).top) : undefined;
  const outputs =
    hasOutputs(a) && hasOutputs(b) ? [...diffJson(a.trace.outputs, b.trace.outputs)] : undefined;
  // The streamed texts, unless they are equal, incomplete, or already covered by the outputs.
  const hasTexts = hasWholeText(a) && hasWholeText(b);
  const isCovered = outputs !== undefined && outputs.length > 0;
  const text =
    hasTexts && !isCovered && a.trace.text !== b.trace.text
      ? ([a.trace.text, b.trace.text] as const)
      : undefined;
  const differs: Readonly<Record<Aspect, boolean>> = {
    status: a.trace.status !== b.trace.status,
    path: (nodes ?? []).some(({ a: left, b: right }) => !isSameEnd(left, right)),
    outputs: isCovered,
    text: text !== undefined,
  };
  const aspects = (Object.keys(differs) as Aspect[]).filter((aspect) => differs[aspect]); // its own keys
  const redacted = a.trace.redacted || b.trace.redacted;
  const isSaid = areReplies ? hasTexts : outputs !== undefined;
  // Aspects that could not be compared, other than by redaction.
  const unknown: readonly Aspect[] = [
    ...(nodes ? [] : (["path"] as const)),
    ...(isSaid || redacted ? [] : [areReplies ? ("text" as const) : ("outputs" as const)]),
  ];
  return { a, b, nodes, outputs, text, aspects, unknown };
}

/** Whether a node ran equally often and ended in the same states in both runs. */
const isSameEnd = (a: NodeSide | undefined, b: NodeSide | undefined): boolean =>
  a?.runs === b?.runs && a?.state === b?.state;

/** Whether the trace has the outputs themselves, not redacted ones. */
const hasOutputs = ({ trace }: LoadedTrace): boolean =>
  trace.outputs !== undefined && !trace.redacted;

/** Pauses and lost connections skip parts of a text (server §15.6, §18). */
const hasWholeText = ({ trace }: LoadedTrace): boolean =>
  !trace.redacted &&
  !trace.unwatched &&
  trace.pauses === 0 &&
  (trace.nodes.length > 0 || trace.isReply);

/** Duration of a run in ms. After a pause, the server's own covers only the last part (server §13). */
const runDuration = ({ trace }: LoadedTrace): number =>
  trace.pauses === 0 && trace.elapsed !== undefined ? trace.elapsed * 1000 : spansOf(trace).length;

/** The report of `wf diff`: two runs side by side. */
function diffReport(comparison: Comparison): Report {
  const { nodes, outputs, text } = comparison;
  return {
    data: dataOf(comparison),
    title: `Comparison of ${comparison.a.source} and ${comparison.b.source}`,
    sections: [
      runSection(comparison),
      ...(nodes && nodes.length > 0 ? [nodeSection(nodes)] : []),
      ...(outputs && outputs.length > 0
        ? [{ title: "Outputs that differ", ...tableOf(outputColumns, outputs) }]
        : []),
      ...(text ? [textSection(text)] : []),
    ],
  };
}

function dataOf(comparison: Comparison) {
  const { a, b, nodes, outputs, text, aspects, unknown } = comparison;
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
    outputs: outputs ?? null,
    text: text ? { a: text[0], b: text[1] } : null,
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

function runSection(comparison: Comparison): Section {
  const { a, b } = comparison;
  const [left, right] = [a.trace, b.trace];
  const [leftMs, rightMs] = [runDuration(a), runDuration(b)];
  const { tokens: leftTokens = null } = left;
  const { tokens: rightTokens = null } = right;
  const tokensChange = leftTokens && rightTokens ? percentText(leftTokens, rightTokens) : null;
  const rows: Cell[][] = [
    ["run", left.runId ?? a.source, right.runId ?? b.source, null],
    ["status", left.status, warnIf(left.status !== right.status, right.status), null],
    ["time", formatDuration(leftMs), formatDuration(rightMs), percentText(leftMs, rightMs, 1)],
    ["tokens", leftTokens, rightTokens, tokensChange],
    ["nodes", nodeCount(a), nodeCount(b), null],
  ];
  if ((left.error ?? right.error) !== undefined)
    rows.push(["error", left.error ?? null, right.error ?? null, null]);
  const labels = [{ label: "" }, { label: "a" }, { label: "b" }, { label: "change", right: true }];
  return { columns: labels, rows, notes: [verdict(comparison), ...limits(comparison)] };
}

function verdict({ a, b, aspects, unknown, nodes, outputs }: Comparison): string {
  if (aspects.length > 0) return `The runs differ in ${aspects.join(", ")}.`;
  const isRedacted = a.trace.redacted || b.trace.redacted;
  const said = isRedacted || unknown.includes("text") ? [] : ["text"];
  const compared = [
    "status",
    ...(a.trace.isReply && b.trace.isReply
      ? said
      : [...(nodes ? ["path"] : []), ...(outputs ? ["outputs"] : [])]),
  ];
  return `No difference in ${compared.join(", ").replace(/, (?=[^,]*$)/, " and ")}.`;
}

/** Notes on missing data: each about the first run, then about the second. */
function limits({ a, b }: Comparison): string[] {
  const isMixed = a.trace.isReply !== b.trace.isReply;
  const [ofA, ofB] = [limitsOf(a, isMixed), limitsOf(b, isMixed)];
  return ofA.flatMap((note, at) => [note, ofB[at]]).filter((note) => typeof note === "string");
}

function limitsOf(loaded: LoadedTrace, isMixed: boolean) {
  const { source, trace } = loaded;
  const { isReply, redacted, gaps, unwatched, nodes } = trace;
  const unknown = redacted
    ? `The texts of ${source} are redacted, so outputs cannot be compared.`
    : `The outputs of ${source} are unknown.`;
  return [
    isReply && isMixed && `${source} is the reply of a chat, which has no nodes and no outputs.`,
    isReply && unwatched && `Events of ${source} are missing, so its text is unknown.`,
    isReply && redacted && `The text of ${source} is redacted, so it cannot be compared.`,
    !isReply &&
      nodes.length === 0 &&
      gaps === 0 &&
      `The nodes of ${source} are unknown: the run had already ended.`,
    !isReply &&
      gaps > 0 &&
      `Events of ${source} are missing; nodes and loop rounds may be missing too.`,
    !isReply && !hasOutputs(loaded) && unknown,
  ];
}

/** The number of nodes that ran; null if unknown. */
const nodeCount = ({ trace }: LoadedTrace): number | null =>
  [...eachSpan(spansOf(trace).top)].length || null;

const warnIf = (warn: boolean, text: string): Cell => (warn ? { text, tone: "warn" } : text);

const nodeColumns: readonly SectionColumn<NodePair>[] = [
  { label: "node", cell: ({ node, a, b }) => `${"  ".repeat((a ?? b)?.depth ?? 0)}${node}` },
  { label: "a", cell: ({ a }) => warnIf(!a, endText(a)) },
  { label: "b", cell: ({ a, b }) => warnIf(!isSameEnd(a, b), endText(b)) },
  { label: "a took", right: true, cell: ({ a }) => (a ? formatDuration(a.took) : null) },
  { label: "b took", right: true, cell: ({ b }) => (b ? formatDuration(b.took) : null) },
  {
    label: "change",
    right: true,
    cell: ({ a, b }) => (a && b ? percentText(a.took, b.took, MIN_COMPARED_MS) : null),
  },
];

const tokenColumns: readonly SectionColumn<NodePair>[] = [
  { label: "a tokens", right: true, cell: ({ a }) => a?.tokens ?? null },
  { label: "b tokens", right: true, cell: ({ b }) => b?.tokens ?? null },
];

function nodeSection(pairs: readonly NodePair[]): Section {
  const hasTokens = pairs.some(({ a, b }) => a?.tokens || b?.tokens);
  return {
    title: "Nodes",
    ...tableOf(hasTokens ? [...nodeColumns, ...tokenColumns] : nodeColumns, pairs),
    details: (row) => [...nodeDetails(pairs[row]?.a, "a: "), ...nodeDetails(pairs[row]?.b, "b: ")],
  };
}

function endText(side: NodeSide | undefined): string {
  if (side === undefined) return "did not run";
  const { runs, state, retries } = side;
  const ended = runs > 1 && !state.includes(",") ? `${runs} ${state}` : state;
  return retries > 0 ? `${ended} (${counted(retries, "retry", "retries")})` : ended;
}

const outputColumns: readonly SectionColumn<JsonDifference>[] = [
  { label: "path", cell: ({ path }) => (path === "" ? "(all)" : path) },
  { label: "a", cell: (difference) => shownTexts(difference)[0] },
  { label: "b", cell: (difference) => shownTexts(difference)[1] },
];

/** Both values as text, long texts from where they differ. */
const shownTexts = ({ a, b }: JsonDifference): readonly [Cell, Cell] =>
  typeof a === "string" && typeof b === "string" ? fromDifference(a, b) : [textOf(a), textOf(b)];

function textOf(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? value : stringifyJson(value);
}

const textSection = (texts: readonly [a: string, b: string]): Section => ({
  title: "Text, from where it differs",
  columns: [{ label: "a" }, { label: "b" }],
  rows: [[...fromDifference(...texts)]],
});
