import { formatDuration } from "../../../lib/duration.ts";
import { CliError } from "../../../errors.ts";
import type { Cell, Heading, Report, Section } from "../../../output/report-model.ts";
import { eachSpan, spansOf } from "../../../runs/spans.ts";
import type { Span, Spans } from "../../../runs/spans.ts";
import type { Context } from "../../command-spec.ts";
import {
  isCollapsed,
  rowLabel,
  mostRounds,
  rowsByNode,
  timelineRows,
  rowTone,
} from "./timeline-rows.ts";
import type { TimelineRow } from "./timeline-rows.ts";
import { timelineSvg } from "./timeline-svg.ts";
import { loadTrace } from "./load-trace.ts";
import type { LoadedTrace } from "./load-trace.ts";

/** Input of `wf timeline`. */
interface Input {
  readonly run: string;
  readonly expand?: boolean | undefined;
}

/** A waterfall of the nodes of a run. Throws unsupported where nobody knows them. */
export async function* run(input: Input, context: Context): AsyncGenerator<Report> {
  const found = await loadTrace(input.run, context);
  if (found.trace.nodes.length === 0) throw noNodes(input.run, found);
  yield timeline(found, input.expand ?? false);
  if (found.problem) throw found.problem;
}

const noNodes = (place: string, { trace }: LoadedTrace): CliError =>
  new CliError("unsupported", `${place} (${trace.status}) tells nothing of its nodes`, {
    sideEffect: "none",
    hint: "the server tells of nodes as long as a run goes on: record it with `wf run --record FILE`",
  });

function timeline(found: LoadedTrace, expand: boolean): Report {
  const { trace } = found;
  const spans = spansOf(trace);
  const rows = timelineRows(spans.top, expand);
  const title = titleOf(found, spans);
  return {
    data: dataOf(found, spans),
    sections: [{ title, ...tableOf(rows, spans.length), notes: notesOf(found, spans, expand) }],
    svg: () => timelineSvg(rows, spans.length, title),
  };
}

const titleOf = ({ trace }: LoadedTrace, { top, length }: Spans): string =>
  [
    `Run ${trace.runId ?? "of unknown id"} ${trace.status}`,
    formatDuration(length),
    counted([...eachSpan(top)].length, "node"),
    ...(trace.tokens ? [counted(trace.tokens, "token")] : []),
  ].join(", ");

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

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
    nodes: [...eachSpan(top)].map(([span, around]) => ({
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
    })),
  };
}

/** A column of the table and its cell in a row; `rare` ones are left out where all are empty. */
interface TimelineColumn extends Heading {
  readonly rare?: true;
  cell(row: TimelineRow, length: number): Cell;
}

const columns: readonly TimelineColumn[] = [
  { label: "node", cell: ({ depth, label }) => `${"  ".repeat(depth)}${label}` },
  { label: "state", cell: ({ state, tone }) => ({ text: state, tone }) },
  { label: "start", right: true, cell: ({ start }) => formatDuration(start) },
  { label: "took", right: true, cell: ({ took }) => formatDuration(took) },
  { label: "retries", right: true, rare: true, cell: ({ retries }) => retries || null },
  { label: "tokens", right: true, rare: true, cell: ({ tokens }) => tokens || null },
  {
    label: "",
    cell: ({ start, end, tone }, length) => ({
      chart: "span",
      from: start / length,
      to: end / length,
      tone,
    }),
  },
];

function tableOf(rows: readonly TimelineRow[], length: number): Pick<Section, "columns" | "rows"> {
  const shown = columns.filter(
    ({ rare, cell }) => !rare || rows.some((row) => cell(row, length) !== null),
  );
  return {
    columns: shown.map(({ label, right }) => ({ label, ...(right && { right }) })),
    rows: rows.map((row) => shown.map(({ cell }) => cell(row, length))),
  };
}

/** Errors that are told below the table, and how many characters of each. */
const mostErrors = 3;
const longestError = 300;

const shortened = (text: string): string =>
  text.length > longestError ? `${text.slice(0, longestError - 1)}…` : text;

/** Where the time went, what went wrong, and what is not to be seen. */
function notesOf({ trace, timed }: LoadedTrace, spans: Spans, expand: boolean): string[] {
  const all = [...eachSpan(spans.top)].map(([span]) => span);
  const waiting = all.filter(({ waited }) => waited > 0);
  const wrong = all.filter(({ error, status }) => error !== undefined && rowTone(status) === "bad");
  return [
    ...longestNote(spans),
    ...waiting.map(
      ({ title, waited }) => `${title} waited ${formatDuration(waited)} for a person.`,
    ),
    ...wrong
      .slice(0, mostErrors)
      .map((span) => `${rowLabel(span)}: ${shortened(span.error ?? "")}`),
    ...(wrong.length > mostErrors ? [`${wrong.length - mostErrors} more nodes failed.`] : []),
    ...(isCollapsed(spans.top, expand)
      ? [
          `More than ${mostRounds} rounds are one row, with the sum of their times: --expand shows each.`,
        ]
      : []),
    ...(trace.gaps > 0
      ? [`A part is missing (${counted(trace.gaps, "gap")}): so may nodes and rounds of loops be.`]
      : []),
    ...(timed
      ? []
      : ["The file has no times: these are made of whole seconds and of how long each node took."]),
  ];
}

/** The node that took most of the run, and inside of a loop the one that took most of that. */
function longestNote({ top, length }: Spans): string[] {
  const lengthOf = ({ start, end }: Span) => end - start;
  const [longest] = top.toSorted((a, b) => lengthOf(b) - lengthOf(a));
  const percent = longest ? Math.round((100 * lengthOf(longest)) / length) : 0;
  if (!longest || percent === 0) return [];
  const [most] = rowsByNode(longest.inner).toSorted((a, b) => b.took - a.took);
  const inside = most ? `; in it ${most.label} took ${formatDuration(most.took)}` : "";
  return [`${longest.title} took ${percent} % of the time${inside}.`];
}
