import { groupBy } from "../../../lib/collect.ts";
import { own, isObject } from "../../../lib/json.ts";
import type { Cell, Detail, Heading, Section, Tone } from "../../../output/report-model.ts";
import { eachSpan } from "../../../runs/spans.ts";
import type { Span } from "../../../runs/spans.ts";

/** One or several executions of a node. */
export type Executions = ReturnType<typeof summaryOf>;

/** Sums up executions of a node, at least one: their states, sums of times in ms, retries and tokens. */
export function summaryOf(spans: readonly Span[]) {
  const sum = (of: (span: Span) => number) => spans.reduce((total, span) => total + of(span), 0);
  const hasTokens = spans.some(({ tokens }) => tokens !== undefined);
  return {
    spans,
    runs: spans.length,
    ...stateOf(spans),
    start: spans.reduce((min, { start }) => Math.min(min, start), Infinity),
    end: spans.reduce((max, { end }) => Math.max(max, end), 0),
    took: sum(({ took }) => took),
    retries: sum(({ retries }) => retries),
    tokens: hasTokens ? sum(({ tokens = 0 }) => tokens) : undefined,
  };
}

const tones: Readonly<Record<string, Tone>> = {
  succeeded: "good",
  failed: "bad",
  exception: "bad",
  stopped: "bad",
};

/** The tone of a status; anything but an end is a warning. */
export const toneOf = (status: string): Tone => own(tones, status) ?? "warn";

/** `succeeded`, or `198 succeeded, 2 failed` for different states. */
function stateOf(spans: readonly Span[]) {
  const byStatus = groupBy(spans, ({ status }) => status);
  const states = [...byStatus.keys()];
  const counts = [...byStatus].map(([status, all]) => `${all.length} ${status}`);
  const state = states.length === 1 ? (states[0] ?? "") : counts.join(", ");
  const found = states.map(toneOf);
  const tone: Tone = (["bad", "warn"] as const).find((each) => found.includes(each)) ?? "good";
  return { state, tone };
}

/** Executions of a node whose inputs and outputs a page shows. */
const MAX_EXECUTIONS = 5;

/**
 * The inputs, outputs and errors of the executions of a node, failed ones first if there are too many.
 * `side` begins each label.
 */
export function nodeDetails(node: Executions | undefined, side = ""): Detail[] {
  const { spans = [] } = node ?? {};
  const isFailed = ({ status }: Span) => toneOf(status) === "bad";
  const shown =
    spans.length <= MAX_EXECUTIONS
      ? spans
      : spans
          .toSorted((a, b) => Number(isFailed(b)) - Number(isFailed(a)))
          .slice(0, MAX_EXECUTIONS);
  const blocks = shown.flatMap((span) =>
    blocksOf(span, `${side}${spans.length > 1 ? `#${spans.indexOf(span) + 1} ` : ""}`),
  );
  if (blocks.length === 0 || shown.length === spans.length) return blocks;
  const value = `${shown.length} of ${spans.length} executions are shown, failed ones first.`;
  return [...blocks, { label: `${side}Executions`, value }];
}

function blocksOf({ error, inputs, outputs, status }: Span, lead: string): Detail[] {
  return [
    ...(error === undefined ? [] : [{ label: `${lead}error`, value: error, tone: toneOf(status) }]),
    ...(isBlank(inputs) ? [] : [{ label: `${lead}inputs`, value: inputs }]),
    ...(isBlank(outputs) ? [] : [{ label: `${lead}outputs`, value: outputs }]),
  ];
}

/** Whether there is nothing to show. */
const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (isObject(value) && Object.keys(value).length === 0);

/** A column of a table of rows; a `rare` one is hidden if it has no value in any row. */
export interface SectionColumn<Row> extends Heading {
  readonly rare?: true;
  readonly cell: (row: Row) => Cell;
}

/** The columns and rows of a section. */
export function tableOf<Row>(
  columns: readonly SectionColumn<Row>[],
  rows: readonly Row[],
): Pick<Section, "columns" | "rows"> {
  const shown = columns.filter(({ rare, cell }) => !rare || rows.some((row) => cell(row) !== null));
  return {
    columns: shown,
    rows: rows.map((row) => shown.map(({ cell }) => cell(row))),
  };
}

/** All executions of a node in one run. */
export interface NodeSide extends Executions {
  readonly node: string;
  readonly nodeId: string;
  readonly depth: number;
}

/** A node of both runs or of one of them. */
export type NodePair = ReturnType<typeof pairNodes>[number];

/**
 * Pairs the nodes of two runs in the order of the first. Nodes only in the second follow the shared
 * node they ran after. Nodes match by ID, or by title if the runs share no node IDs:
 *
 *     a:  Start  Fetch  End            Start  a b
 *     b:  Start  Cache  Fetch    →     Cache  - b
 *                                      Fetch  a b
 *                                      End    a -
 */
export function pairNodes(a: readonly Span[], b: readonly Span[]) {
  const ids = new Set([...eachSpan(a)].map(([{ nodeId }]) => nodeId));
  const sharesIds = [...eachSpan(b)].some(([{ nodeId }]) => ids.has(nodeId));
  const keyOf = ({ nodeId, title }: Span) => (sharesIds ? nodeId : title);
  const [left, right] = [sidesOf(a, keyOf), sidesOf(b, keyOf)];
  /** Nodes only in the second run, by the shared node before them. */
  const added = new Map<string | undefined, string[]>();
  let shared: string | undefined;
  for (const key of right.keys()) {
    if (left.has(key)) shared = key;
    else added.set(shared, [...(added.get(shared) ?? []), key]);
  }
  const keys = [
    ...(added.get(undefined) ?? []),
    ...[...left.keys()].flatMap((key) => [key, ...(added.get(key) ?? [])]),
  ];
  return keys.map((key) => {
    const [inA, inB] = [left.get(key), right.get(key)];
    const { node = "", nodeId = "" } = inA ?? inB ?? {};
    return { node, nodeId, a: inA, b: inB };
  });
}

function sidesOf(spans: readonly Span[], keyOf: (span: Span) => string): Map<string, NodeSide> {
  const sides = new Map<string, NodeSide>();
  for (const [key, all] of groupBy(eachSpan(spans), ([span]) => keyOf(span))) {
    const [first] = all;
    if (!first) continue;
    const [{ title, nodeId }, around] = first;
    const summary = summaryOf(all.map(([span]) => span));
    sides.set(key, { node: title, nodeId, depth: around.length, ...summary });
  }
  return sides;
}
