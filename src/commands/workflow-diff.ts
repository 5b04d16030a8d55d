import { durationText } from "../duration.ts";
import { CliError } from "../errors.ts";
import type { Cell, Report, Section } from "../report.ts";
import { differences, fromDifference } from "./json-difference.ts";
import type { Difference } from "./json-difference.ts";
import { nodePairs, reversals } from "./node-pairs.ts";
import type { NodePair, NodeSide, Reversal } from "./node-pairs.ts";
import { eachSpan, spansOf } from "./node-spans.ts";
import type { Context } from "./task.ts";
import { traced } from "./traced.ts";
import type { Traced } from "./traced.ts";

/** Input of `wf diff`. */
interface Input {
  readonly a: string;
  readonly b: string;
  readonly timing?: string | undefined;
  readonly exit_code?: boolean | undefined;
}

/** In what two runs can differ. */
type Aspect = "status" | "path" | "outputs" | "text" | "timing";

/** Two runs side by side. */
interface Comparison {
  readonly a: Traced;
  readonly b: Traced;
  /** Undefined where the nodes of one of them are not known. */
  readonly nodes: readonly NodePair[] | undefined;
  readonly reversed: readonly Reversal[];
  readonly outputs: readonly Difference[];
  /** Undefined where it is the same, not known in full, or the outputs tell the difference. */
  readonly text: readonly [a: string, b: string] | undefined;
  /** What took longer in the second run than the limit allows. */
  readonly slower: readonly string[];
  readonly aspects: readonly Aspect[];
}

/** Compares two runs. Throws gate as a verdict where they differ and that was asked for. */
export async function* run(input: Input, context: Context): AsyncGenerator<Report> {
  if (input.a === "-" && input.b === "-") throw wrong("standard input can only be one of the two");
  const limit = input.timing === undefined ? undefined : shareIn(input.timing);
  // Runs that go on are followed side by side, or the second one's beginning would be missed.
  const [a, b] = await Promise.all([traced(input.a, context), traced(input.b, context)]);
  const compared = comparison(a, b, limit);
  yield report(compared);
  const problem = a.problem ?? b.problem;
  if (problem) throw problem;
  if (!input.exit_code || compared.aspects.length === 0) return;
  throw new CliError("gate", `the runs differ in ${compared.aspects.join(", ")}`, {
    verdict: true,
    details: { differences: compared.aspects },
  });
}

const wrong = (message: string, hint?: string): CliError =>
  new CliError("usage", message, { changed: "nothing", hint });

/** 0.2 of `20%`. */
function shareIn(text: string): number {
  const percent = /^(\d+(?:\.\d+)?) ?%$/.exec(text)?.[1];
  if (percent === undefined)
    throw wrong(`--timing ${JSON.stringify(text)} is no percentage`, "it looks like 20%");
  return Number(percent) / 100;
}

function comparison(a: Traced, b: Traced, limit: number | undefined): Comparison {
  const known = a.trace.nodes.length > 0 && b.trace.nodes.length > 0;
  const nodes = known ? nodePairs(spansOf(a.trace).top, spansOf(b.trace).top) : undefined;
  const reversed = nodes ? reversals(nodes) : [];
  const outputs = [...differences(a.trace.outputs, b.trace.outputs)];
  const text = outputs.length > 0 ? undefined : textDifference(a, b);
  const slower = limit === undefined ? [] : slowerOnes(a, b, nodes ?? [], limit);
  const differs: Readonly<Record<Aspect, boolean>> = {
    status: a.trace.status !== b.trace.status,
    path: reversed.length > 0 || (nodes ?? []).some(({ a: one, b: other }) => !sameEnd(one, other)),
    outputs: outputs.length > 0,
    text: text !== undefined,
    timing: slower.length > 0,
  };
  const aspects = (Object.keys(differs) as Aspect[]).filter((aspect) => differs[aspect]); // its own keys
  return { a, b, nodes, reversed, outputs, text, slower, aspects };
}

const sameEnd = (a: NodeSide | undefined, b: NodeSide | undefined): boolean =>
  a?.runs === b?.runs && a?.state === b?.state;

/** Streamed texts, where all of both was seen: a pause and a cut leave parts out (server §15.6, §18). */
function textDifference(a: Traced, b: Traced): Comparison["text"] {
  const isWhole = ({ trace }: Traced) =>
    trace.gaps === 0 && trace.pauses === 0 && trace.nodes.length > 0;
  if (!isWhole(a) || !isWhole(b) || a.trace.text === b.trace.text) return undefined;
  return [a.trace.text, b.trace.text];
}

/** ms below which a difference is noise, whatever the share. */
const noise = 100;

function slowerOnes(
  a: Traced,
  b: Traced,
  nodes: readonly NodePair[],
  limit: number,
): readonly string[] {
  const isSlower = (before: number, after: number) =>
    after - before > Math.max(noise, before * limit);
  return [
    ...(isSlower(tookOf(a), tookOf(b)) ? ["the run"] : []),
    ...nodes.flatMap(({ node, a: one, b: other }) =>
      one && other && isSlower(one.took, other.took) ? [node] : [],
    ),
  ];
}

/** ms of a run: the server's, but after a pause that is of its last part only (server §13). */
const tookOf = ({ trace }: Traced): number =>
  trace.pauses === 0 && trace.elapsed !== undefined ? trace.elapsed * 1000 : spansOf(trace).length;

function report(compared: Comparison): Report {
  const { nodes, outputs, text } = compared;
  return {
    data: dataOf(compared),
    sections: [
      runSection(compared),
      ...(nodes ? [nodeSection(nodes, compared.reversed)] : []),
      ...(outputs.length > 0 ? [outputSection(outputs)] : []),
      ...(text ? [textSection(text)] : []),
    ],
  };
}

function dataOf({ a, b, nodes, reversed, outputs, text, slower, aspects }: Comparison) {
  return {
    same: aspects.length === 0,
    differences: aspects,
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
    outputs: outputs.map(({ path, a: one, b: other }) => ({
      path,
      ...(one !== undefined && { a: one }),
      ...(other !== undefined && { b: other }),
    })),
    text: text ? { a: text[0], b: text[1] } : null,
    slower,
  };
}

const runData = (traced: Traced) => ({
  place: traced.place,
  run: traced.trace.runId ?? null,
  status: traced.trace.status,
  error: traced.trace.error ?? null,
  took_ms: Math.round(tookOf(traced)),
  tokens: traced.trace.tokens ?? null,
  steps: traced.trace.steps ?? null,
  pauses: traced.trace.pauses,
  gaps: traced.trace.gaps,
  redacted: traced.redacted,
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

function runSection({ a, b, aspects, nodes, slower }: Comparison): Section {
  const [left, right] = [a.trace, b.trace];
  const rows: Cell[][] = [
    ["run", left.runId ?? a.place, right.runId ?? b.place, null],
    ["status", left.status, differing(right.status, left.status !== right.status), null],
    ["time", durationText(tookOf(a)), durationText(tookOf(b)), percent(tookOf(a), tookOf(b), 1)],
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
  const cut = [a, b].filter(({ trace }) => trace.gaps > 0);
  return {
    columns: [label(""), label("a"), label("b"), label("change", true)],
    rows: left.error !== undefined || right.error !== undefined ? [...rows, errors] : rows,
    notes: [
      aspects.length === 0
        ? `No difference in ${nodes ? "status, path and outputs" : "status and outputs"}.`
        : `They differ in ${aspects.join(", ")}.`,
      ...(slower.length > 0 ? [`Slower than --timing allows: ${slower.join(", ")}.`] : []),
      ...unseen.map(({ place }) => `The nodes of ${place} are not known: the run was over.`),
      ...cut.map(({ place }) => `The line of ${place} was cut: rounds of loops may be missing.`),
      ...(a.redacted !== b.redacted
        ? [`The texts of ${(a.redacted ? a : b).place} were redacted: outputs cannot be compared.`]
        : []),
    ],
  };
}

/** How many nodes ran; nothing where that is not known. */
const countOf = ({ trace }: Traced): number | null =>
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
      a ? durationText(a.took) : null,
      b ? durationText(b.took) : null,
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

const outputSection = (outputs: readonly Difference[]): Section => ({
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
