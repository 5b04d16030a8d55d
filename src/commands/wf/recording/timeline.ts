import { groupBy } from "../../../lib/collect.ts";
import type { Span, Spans } from "../../../runs/spans.ts";
import { nodeDetails, summaryOf, tableOf, toneOf } from "./executions.ts";
import type { SectionColumn } from "./executions.ts";
import { counted, shortened } from "../../../lib/text.ts";
import { formatDuration } from "../../../lib/numbers.ts";
import { CliError } from "../../../errors.ts";
import type { Report } from "../../../output/report-model.ts";
import { eachSpan, spansOf } from "../../../runs/spans.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { loadTrace } from "./read.ts";
import type { LoadedTrace } from "./read.ts";
import type { timelineParams } from "./command.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** Shows a waterfall of the nodes of a run. Throws `unsupported` if they are unknown. */
export async function* run(
  input: Input<typeof timelineParams>,
  context: Context,
): AsyncGenerator<Report> {
  const loaded = await loadTrace(input.run, context);
  if (loaded.trace.nodes.length === 0) throw noNodes(loaded);
  yield timelineReport(loaded, input.expand ?? false);
  if (loaded.problem) throw loaded.problem;
}

const noNodes = ({ source, trace }: LoadedTrace): CliError =>
  new CliError("unsupported", `the nodes of ${source} (${trace.status}) are unknown`, {
    sideEffect: "none",
    hint: `the server sends node events only during a run; record them with ${commandLine("wf run", [], { record: "FILE" })}`,
  });

function timelineReport(loaded: LoadedTrace, expand: boolean): Report {
  const spans = spansOf(loaded.trace);
  const rows = timelineRows(spans.top, expand);
  const title = titleOf(loaded, spans);
  // Each format reads one of them; of ten thousand nodes, the others take a tenth of the time.
  return {
    get data() {
      return dataOf(loaded, spans);
    },
    get sections() {
      const notes = notesOf(loaded, spans, expand);
      const details = (row: number) => nodeDetails(rows[row]);
      return [{ title, ...tableOf(columnsFor(spans.length), rows), notes, details }];
    },
    title: `Timeline of ${loaded.source}`,
  };
}

const titleOf = ({ trace }: LoadedTrace, { top, length }: Spans): string =>
  [
    `Run ${trace.runId ?? "of unknown id"} ${trace.status}`,
    formatDuration(length),
    counted([...eachSpan(top)].length, "node"),
    ...(trace.tokens ? [counted(trace.tokens, "token")] : []),
  ].join(", ");

function dataOf({ trace, timed }: LoadedTrace, { top, startedAt, length }: Spans) {
  return {
    run: trace.runId ?? null,
    workflow: trace.workflowId ?? null,
    status: trace.status,
    error: trace.error ?? null,
    started_at: new Date(Math.round(startedAt)).toISOString(),
    took_ms: Math.round(length),
    tokens: trace.tokens ?? null,
    steps: trace.steps ?? null,
    pauses: trace.pauses,
    gaps: trace.gaps,
    timed,
    nodes: nodesIn(top),
  };
}

/** The nodes of a run in the order of their starts, each before those inside it. */
export const nodesIn = (top: Spans["top"]) =>
  [...eachSpan(top)].map(([span, around]) => ({
    node: span.title,
    node_id: span.nodeId,
    type: span.type,
    status: span.status,
    error: span.error ?? null,
    depth: around.length,
    within: around.at(-1)?.nodeId ?? null,
    round: span.round ?? null,
    start_ms: Math.round(span.start),
    end_ms: Math.round(span.end),
    took_ms: Number(span.took.toFixed(3)),
    waited_ms: Math.round(span.waited),
    retries: span.retries,
    tokens: span.tokens ?? null,
    rounds: span.rounds ?? null,
  }));

/** The columns of a waterfall of a run of this length in ms. */
const columnsFor = (length: number): readonly SectionColumn<TimelineRow>[] => [
  { label: "node", cell: ({ depth, label }) => `${"  ".repeat(depth)}${label}` },
  { label: "state", minor: true, cell: ({ state, tone }) => ({ text: state, tone }) },
  { label: "start", right: true, minor: true, cell: ({ start }) => formatDuration(start) },
  { label: "took", right: true, cell: ({ took }) => formatDuration(took) },
  {
    label: "retries",
    right: true,
    minor: true,
    rare: true,
    cell: ({ retries }) => retries || null,
  },
  { label: "tokens", right: true, minor: true, rare: true, cell: ({ tokens }) => tokens || null },
  {
    label: "",
    ticks: ticksTo(length),
    cell({ start, end, tone }) {
      const axis = axisOf(length);
      return { chart: "span", from: start / axis, to: end / axis, tone };
    },
  },
];

/** Times at the quarters of the axis of a run. */
const ticksTo = (length: number): string[] =>
  [0, 0.25, 0.5, 0.75, 1].map((share) => formatDuration(share * axisOf(length)));

/** The length of the axis: that of the run, up to where its quarters have two digits. */
function axisOf(length: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(length / 4)) - 1);
  return 4 * unit * Math.ceil(length / 4 / unit);
}

/** Share of a run by which events must be late for a note. */
const LATE = 0.1;

/** Maximum number of errors below the table, and of characters of each. */
const MAX_ERRORS = 3;
const MAX_ERROR = 300;

/** The slowest node, waits, errors, and what the table lacks. */
function notesOf({ trace, timed }: LoadedTrace, spans: Spans, expand: boolean): string[] {
  const all = [...eachSpan(spans.top)].map(([span]) => span);
  const waiting = all.filter(({ waited }) => waited > 0);
  const failed = all.filter(({ error, status }) => error !== undefined && toneOf(status) === "bad");
  const notes: (string | false | undefined)[] = [
    longestNote(spans),
    spans.late > LATE * spans.length &&
      `Events arrived up to ${formatDuration(spans.late)} late; durations are those of the server.`,
    ...waiting.map(
      ({ title, waited }) => `${title} waited ${formatDuration(waited)} for human input.`,
    ),
    ...failed
      .slice(0, MAX_ERRORS)
      .map((span) => `${rowLabel(span)}: ${shortened(span.error ?? "", MAX_ERROR)}`),
    failed.length > MAX_ERRORS && `${failed.length - MAX_ERRORS} more nodes failed.`,
    isCollapsed(spans.top, expand) &&
      `More than ${MAX_ROUNDS} rounds share a row with their total time; --expand shows each.`,
    trace.gaps > 0 &&
      `Events are missing (${counted(trace.gaps, "gap")}); nodes and loop rounds may be missing too.`,
    !timed && "The file has no times: they are computed from whole seconds and node durations.",
  ];
  return notes.filter((note) => typeof note === "string");
}

/** The node that took most of the run, and the slowest node inside it. */
function longestNote({ top, length }: Spans): string | undefined {
  const [longest] = top.toSorted((a, b) => b.took - a.took);
  const percent = longest ? Math.round((100 * longest.took) / length) : 0;
  if (!longest || percent === 0) return undefined;
  const rows = byNode(longest.inner).map((executions) => rowOf(executions, 0));
  const [slowest] = rows.toSorted((a, b) => b.took - a.took);
  const inside = slowest
    ? `; inside it, ${slowest.label} took ${formatDuration(slowest.took)}`
    : "";
  return `${longest.title} took ${percent} % of the time${inside}.`;
}

/** A row of a waterfall: one execution of a node, or all of them in a loop. */
type TimelineRow = ReturnType<typeof rowOf>;

/** Maximum number of rounds that are shown one by one. */
const MAX_ROUNDS = 5;

/**
 * The rows of nodes, with the rounds of each loop or iteration below it. Above `MAX_ROUNDS`, each
 * node has one row for all rounds, unless `expand` is set.
 */
const timelineRows = (spans: readonly Span[], expand: boolean, depth = 0): TimelineRow[] =>
  spans.flatMap((span) => [rowOf([span], depth), ...innerRows([span], expand, depth + 1)]);

/** Whether some rounds share a row. */
const isCollapsed = (spans: readonly Span[], expand: boolean): boolean =>
  !expand &&
  spans.some(({ rounds = 0, inner }) => rounds > MAX_ROUNDS || isCollapsed(inner, expand));

function innerRows(containers: readonly Span[], expand: boolean, depth: number): TimelineRow[] {
  const inner = containers.flatMap((span) => span.inner);
  if (inner.length === 0) return [];
  const [first, ...others] = containers;
  if (expand || (others.length === 0 && (first?.rounds ?? 0) <= MAX_ROUNDS))
    return timelineRows(inner, expand, depth);
  return byNode(inner).flatMap((executions) => [
    rowOf(executions, depth),
    ...innerRows(executions, expand, depth + 1),
  ]);
}

const byNode = (spans: readonly Span[]) => [...groupBy(spans, ({ nodeId }) => nodeId).values()];

/** The title of a node with its round. */
const rowLabel = ({ title, round }: Span): string =>
  round === undefined ? title : `#${round} ${title}`;

/** With the title of the node, and its round (`#2 Sort`) or how often it ran (`200× Sort`). */
function rowOf(executions: readonly Span[], depth: number) {
  const [label = ""] = executions.map(rowLabel);
  const many = `${executions.length}× ${executions[0]?.title}`;
  return { depth, label: executions.length > 1 ? many : label, ...summaryOf(executions) };
}
