import { own } from "../../../lib/json.ts";
import type { Tone } from "../../../output/report-model.ts";
import type { Span } from "../../../runs/spans.ts";

/** A row of a waterfall: one execution of a node, or all of them in a loop. Times are in ms. */
export interface TimelineRow {
  /** Number of loops and iterations around it. */
  readonly depth: number;
  /** Title of the node, with its round (`#2 Sort`) or how often it ran (`200× Sort`). */
  readonly label: string;
  readonly state: string;
  readonly tone: Tone;
  readonly start: number;
  readonly end: number;
  /** The sum over all executions. */
  readonly took: number;
  readonly retries: number;
  readonly tokens: number | undefined;
}

/** Maximum number of rounds that are shown one by one. */
export const MAX_ROUNDS = 5;

/**
 * The rows of nodes, with the rounds of each loop or iteration below it. Above `MAX_ROUNDS`, each
 * node has one row for all rounds, unless `expand` is set.
 */
export const timelineRows = (spans: readonly Span[], expand: boolean, depth = 0): TimelineRow[] =>
  spans.flatMap((span) => [rowOf([span], depth), ...innerRows([span], expand, depth + 1)]);

/** Whether some rounds share a row. */
export const isCollapsed = (spans: readonly Span[], expand: boolean): boolean =>
  !expand &&
  spans.some(({ rounds = 0, inner }) => rounds > MAX_ROUNDS || isCollapsed(inner, expand));

/** One row per node, for all its executions. */
export const rowsByNode = (spans: readonly Span[], depth = 0): TimelineRow[] =>
  byNode(spans).map((executions) => rowOf(executions, depth));

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

/** The executions of each node, in the order of their first. */
function byNode(spans: readonly Span[]): (readonly Span[])[] {
  const groups = new Map<string, Span[]>();
  for (const span of spans) {
    const group = groups.get(span.nodeId);
    if (group) group.push(span);
    else groups.set(span.nodeId, [span]);
  }
  return [...groups.values()];
}

/** The title of a node with its round. */
export const rowLabel = ({ title, round }: Span): string =>
  round === undefined ? title : `#${round} ${title}`;

function rowOf(executions: readonly Span[], depth: number): TimelineRow {
  const sum = (of: (span: Span) => number) =>
    executions.reduce((total, span) => total + of(span), 0);
  const hasTokens = executions.some(({ tokens }) => tokens !== undefined);
  return {
    depth,
    label: groupLabel(executions),
    ...rowState(executions.map(({ status }) => status)),
    start: executions.reduce((min, { start }) => Math.min(min, start), Infinity),
    end: executions.reduce((max, { end }) => Math.max(max, end), 0),
    took: sum(({ took }) => took),
    retries: sum(({ retries }) => retries),
    tokens: hasTokens ? sum(({ tokens = 0 }) => tokens) : undefined,
  };
}

function groupLabel([first, ...others]: readonly Span[]): string {
  if (!first) return "";
  return others.length > 0 ? `${others.length + 1}× ${first.title}` : rowLabel(first);
}

const tones: Readonly<Record<string, Tone>> = {
  succeeded: "good",
  failed: "bad",
  exception: "bad",
  stopped: "bad",
};

/** The tone of a status; anything but an end is a warning. */
export const rowTone = (status: string): Tone => own(tones, status) ?? "warn";

/** `succeeded`, or `198 succeeded, 2 failed` for different statuses. */
export function rowState(statuses: readonly string[]): { state: string; tone: Tone } {
  const counts = new Map<string, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  const [[first = ""] = [], ...others] = counts;
  const state =
    others.length === 0
      ? first
      : [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
  const tonesOfAll = [...counts.keys()].map(rowTone);
  const tone = (["bad", "warn"] as const).find((each) => tonesOfAll.includes(each)) ?? "good";
  return { state, tone };
}
