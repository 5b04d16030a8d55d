import { CliError } from "../errors.ts";
import { isObject } from "../json.ts";
import type { Cell, Report, Section } from "../report.ts";
import type { NodeRun, RunTrace } from "../run-trace.ts";
import type { Context } from "./task.ts";
import { traced } from "./traced.ts";

/** One node of both runs, or of one of them; times are seconds. */
interface NodePair {
  readonly node: string;
  /** Which execution of this node, from 1. */
  readonly time: number;
  readonly a: NodeSide | null;
  readonly b: NodeSide | null;
}

interface NodeSide {
  readonly status: string;
  readonly elapsed: number;
  readonly tokens: number | null;
}

/** A place of the outputs in which the runs differ. */
interface OutputPair {
  readonly path: string;
  readonly a: unknown;
  readonly b: unknown;
}

/** Compares two runs: the path taken, timing, tokens, outputs. Throws gate with --exit-code. */
export async function* run(
  input: { readonly a: string; readonly b: string; readonly exit_code?: boolean | undefined },
  context: Context,
): AsyncGenerator<Report> {
  const [a, b] = [await traced(input.a, context), await traced(input.b, context)];
  const pairs = paired(a, b);
  const outputs = [...unlike("", a.outputs, b.outputs)];
  const path = pairs.filter((pair) => pair.a?.status !== pair.b?.status);
  const same = a.status === b.status && path.length === 0 && outputs.length === 0;
  const order = sameOrder(a, b);
  yield {
    data: {
      same: same && order,
      a: sideOf(a),
      b: sideOf(b),
      same_order: order,
      nodes: pairs,
      outputs,
    },
    sections: [
      runSection(a, b),
      nodeSection(pairs, order),
      ...(outputs.length > 0 ? [outputSection(outputs)] : []),
    ],
  };
  if (input.exit_code && !(same && order)) {
    throw new CliError("gate", "the runs differ in their path, their end or their outputs", {
      verdict: true,
      details: { nodes: path.length, outputs: outputs.length, same_order: order },
    });
  }
}

const secondsOf = ({ elapsed, startedAt, finishedAt }: NodeRun): number =>
  elapsed ?? ((finishedAt ?? startedAt) - startedAt) / 1000;

const lengthOf = ({ startedAt = 0, lastAt = 0 }: RunTrace): number => (lastAt - startedAt) / 1000;

const sideOf = (trace: RunTrace) => ({
  run: trace.runId ?? null,
  status: trace.status,
  error: trace.error ?? null,
  seconds: lengthOf(trace),
  tokens: trace.tokens ?? null,
  steps: trace.steps ?? null,
  nodes: trace.nodes.length,
  characters: trace.text.length,
  gaps: trace.gaps,
});

/** Nodes of both runs by node id and how often each ran, in the order of the first run. */
function paired(a: RunTrace, b: RunTrace): readonly NodePair[] {
  const pairs = new Map<string, { -readonly [K in keyof NodePair]: NodePair[K] }>();
  for (const [side, { nodes }] of [
    ["a", a],
    ["b", b],
  ] as const) {
    const times = new Map<string, number>();
    for (const node of nodes) {
      const time = (times.get(node.nodeId) ?? 0) + 1;
      times.set(node.nodeId, time);
      const key = `${node.nodeId} ${time}`;
      const pair = pairs.get(key) ?? { node: node.title, time, a: null, b: null };
      const { status, tokens = null } = node;
      pair[side] = { status, elapsed: secondsOf(node), tokens };
      pairs.set(key, pair);
    }
  }
  return [...pairs.values()];
}

/** Did the nodes that ran in both begin in the same order? */
function sameOrder(a: RunTrace, b: RunTrace): boolean {
  const [one, other] = [a, b].map(({ nodes }) => nodes.map(({ nodeId }) => nodeId));
  const [left, right] = [new Set(one), new Set(other)];
  const shared = (ids: readonly string[] = []) =>
    ids.filter((id) => left.has(id) && right.has(id)).join("\n");
  return shared(one) === shared(other);
}

/** Places in which two values differ, by path. */
function* unlike(path: string, a: unknown, b: unknown): Generator<OutputPair> {
  const [left, right] = [fieldsOf(a), fieldsOf(b)];
  if (left && right) {
    for (const key of new Set([...Object.keys(left), ...Object.keys(right)]))
      yield* unlike(path === "" ? key : `${path}.${key}`, left[key], right[key]);
  } else if (JSON.stringify(a ?? null) !== JSON.stringify(b ?? null)) {
    yield { path: path === "" ? "." : path, a: a ?? null, b: b ?? null };
  }
}

const fieldsOf = (value: unknown): Record<string, unknown> | undefined =>
  Array.isArray(value) ? { ...value } : isObject(value) ? value : undefined;

function runSection(a: RunTrace, b: RunTrace): Section {
  const [left, right] = [sideOf(a), sideOf(b)];
  const rows = (["run", "status", "error", "nodes", "steps", "characters", "gaps"] as const).map(
    (name): Cell[] => [name, left[name], right[name], null],
  );
  const counts = (["seconds", "tokens"] as const).map((name): Cell[] => [
    name,
    left[name],
    right[name],
    delta(left[name], right[name]),
  ]);
  return {
    title: "Runs",
    columns: [{ label: "" }, { label: "a" }, { label: "b" }, { label: "change", right: true }],
    rows: [...rows, ...counts],
  };
}

function nodeSection(pairs: readonly NodePair[], order: boolean): Section {
  return {
    title: "Nodes",
    columns: [
      { label: "node" },
      { label: "time", right: true },
      { label: "a" },
      { label: "b" },
      { label: "a (s)", right: true },
      { label: "b (s)", right: true },
      { label: "change", right: true },
    ],
    rows: pairs.map(({ node, time, a, b }): Cell[] => [
      node,
      time === 1 ? null : time,
      a?.status ?? "did not run",
      a?.status === b?.status
        ? (b?.status ?? null)
        : { text: b?.status ?? "did not run", tone: "warn" },
      a ? a.elapsed : null,
      b ? b.elapsed : null,
      a && b ? delta(a.elapsed, b.elapsed) : null,
    ]),
    notes: order ? [] : ["The nodes that ran in both began in another order."],
  };
}

const outputSection = (outputs: readonly OutputPair[]): Section => ({
  title: "Outputs that differ",
  columns: [{ label: "path" }, { label: "a" }, { label: "b" }],
  rows: outputs.map(({ path, a, b }): Cell[] => [path, wordOf(a), wordOf(b)]),
});

const wordOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null);

/** `+12 %`; nothing where the first is nothing. */
function delta(a: number | null, b: number | null): string | null {
  if (a === null || b === null || a === 0) return null;
  const percent = Math.round((100 * (b - a)) / a);
  return `${percent > 0 ? "+" : ""}${percent} %`;
}
