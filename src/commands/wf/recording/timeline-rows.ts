import { own } from "../../../lib/json.ts";
import type { Tone } from "../../../output/report-model.ts";
import type { Span } from "../../../runs/spans.ts";

/** A row of a waterfall: a node, or all the times that it ran in a loop. Times are ms. */
export interface TimelineRow {
  /** Loops and iterations around it. */
  readonly depth: number;
  /** Title of the node, with its round (`#2 Sort`) or how often it ran (`200× Sort`). */
  readonly label: string;
  readonly state: string;
  readonly tone: Tone;
  readonly start: number;
  readonly end: number;
  /** Of several times the sum. */
  readonly took: number;
  readonly retries: number;
  readonly tokens: number | undefined;
}

/** Rounds that are shown one by one. */
export const mostRounds = 5;

/**
 * The rows of nodes and, below each loop or iteration, those of its rounds. Where there are more
 * than five rounds, each node has one row for all of them, unless `expand` asks for each.
 */
export const timelineRows = (spans: readonly Span[], expand: boolean, depth = 0): TimelineRow[] =>
  spans.flatMap((span) => [rowOf([span], depth), ...innerRows([span], expand, depth + 1)]);

/** Are there rounds that are not shown one by one? */
export const isCollapsed = (spans: readonly Span[], expand: boolean): boolean =>
  !expand &&
  spans.some(({ rounds = 0, inner }) => rounds > mostRounds || isCollapsed(inner, expand));

/** One row for each node, with all the times that it ran. */
export const rowsByNode = (spans: readonly Span[], depth = 0): TimelineRow[] =>
  byNode(spans).map((times) => rowOf(times, depth));

function innerRows(containers: readonly Span[], expand: boolean, depth: number): TimelineRow[] {
  const inner = containers.flatMap((span) => span.inner);
  if (inner.length === 0) return [];
  const [only, ...others] = containers;
  if (expand || (others.length === 0 && (only?.rounds ?? 0) <= mostRounds))
    return timelineRows(inner, expand, depth);
  return byNode(inner).flatMap((times) => [
    rowOf(times, depth),
    ...innerRows(times, expand, depth + 1),
  ]);
}

/** The times that each node ran, nodes in the order in which they first did. */
function byNode(spans: readonly Span[]): (readonly Span[])[] {
  const groups = new Map<string, Span[]>();
  for (const span of spans) {
    const group = groups.get(span.nodeId);
    if (group) group.push(span);
    else groups.set(span.nodeId, [span]);
  }
  return [...groups.values()];
}

/** Title of a node, with the round that it ran in. */
export const rowLabel = ({ title, round }: Span): string =>
  round === undefined ? title : `#${round} ${title}`;

function rowOf(times: readonly Span[], depth: number): TimelineRow {
  const sum = (of: (span: Span) => number) => times.reduce((all, span) => all + of(span), 0);
  const [first] = times;
  const counted = times.some(({ tokens }) => tokens !== undefined);
  return {
    depth,
    label: !first ? "" : times.length > 1 ? `${times.length}× ${first.title}` : rowLabel(first),
    ...rowState(times.map(({ status }) => status)),
    start: times.reduce((least, { start }) => Math.min(least, start), Infinity),
    end: times.reduce((most, { end }) => Math.max(most, end), 0),
    took: sum(({ took }) => took),
    retries: sum(({ retries }) => retries),
    tokens: counted ? sum(({ tokens = 0 }) => tokens) : undefined,
  };
}

const tones: Readonly<Record<string, Tone>> = {
  succeeded: "good",
  failed: "bad",
  exception: "bad",
  stopped: "bad",
};

/** Tone of a status; what is neither good nor bad deserves a look. */
export const rowTone = (status: string): Tone => own(tones, status) ?? "warn";

/** `succeeded`, or `198 succeeded, 2 failed` where they ended in several ways. */
export function rowState(statuses: readonly string[]): { state: string; tone: Tone } {
  const counts = new Map<string, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  const [[only = ""] = [], ...others] = counts;
  const state =
    others.length === 0
      ? only
      : [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
  const found = new Set([...counts.keys()].map(rowTone));
  return { state, tone: found.has("bad") ? "bad" : found.has("warn") ? "warn" : "good" };
}
