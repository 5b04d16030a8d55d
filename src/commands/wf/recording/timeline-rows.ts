import { groupBy } from "../../../lib/collect.ts";
import type { Span } from "../../../runs/spans.ts";
import { summaryOf } from "./executions.ts";
import type { Executions } from "./executions.ts";

/** A row of a waterfall: one execution of a node, or all of them in a loop. */
export interface TimelineRow extends Executions {
  /** Number of loops and iterations around it. */
  readonly depth: number;
  /** Title of the node, with its round (`#2 Sort`) or how often it ran (`200× Sort`). */
  readonly label: string;
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
export const rowsByNode = (spans: readonly Span[]): TimelineRow[] =>
  byNode(spans).map((executions) => rowOf(executions, 0));

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
export const rowLabel = ({ title, round }: Span): string =>
  round === undefined ? title : `#${round} ${title}`;

function rowOf(executions: readonly Span[], depth: number): TimelineRow {
  const [label = ""] = executions.map(rowLabel);
  const many = `${executions.length}× ${executions[0]?.title}`;
  return { depth, label: executions.length > 1 ? many : label, ...summaryOf(executions) };
}
