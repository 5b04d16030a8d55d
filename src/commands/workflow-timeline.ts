import type { Cell, Report, Tone } from "../report.ts";
import type { NodeRun, RunTrace } from "../run-trace.ts";
import type { Context } from "./task.ts";
import { timelineSvg } from "./timeline-svg.ts";
import { traced } from "./traced.ts";

/** A node of a waterfall; times are ms since the run began. */
export interface Bar {
  readonly node: string;
  readonly node_id: string;
  readonly type: string;
  readonly status: string;
  /** Loops and iterations that it ran inside of. */
  readonly depth: number;
  /** Round of the loop or iteration it ran in, from 1. */
  readonly round: number | null;
  readonly start: number;
  readonly end: number;
  readonly retries: number;
  readonly tokens: number | null;
  readonly error: string | null;
}

/** A waterfall of the nodes of a run. */
export async function* run(
  input: { readonly run: string },
  context: Context,
): AsyncGenerator<Report> {
  yield timeline(await traced(input.run, context));
}

function timeline(trace: RunTrace): Report {
  const bars = barsOf(trace);
  const length = Math.max(1, ...bars.map(({ end }) => end));
  const data = {
    run: trace.runId ?? null,
    status: trace.status,
    milliseconds: length,
    tokens: trace.tokens ?? null,
    gaps: trace.gaps,
    nodes: bars,
  };
  return {
    data,
    sections: [
      {
        title: `Run ${trace.runId ?? ""} ${trace.status}, ${seconds(length)}`,
        columns: [
          { label: "node" },
          { label: "status" },
          { label: "start", right: true },
          { label: "took", right: true },
          { label: "retries", right: true },
          { label: "tokens", right: true },
          { label: "timeline" },
        ],
        rows: bars.map((bar) => rowOf(bar, length)),
        notes: notesOf(bars, trace),
      },
    ],
    svg: () => timelineSvg(bars, length, trace.runId ?? ""),
  };
}

/** Bars in the order in which the nodes began; a node that never ended ends with the run. */
export function barsOf({ nodes, startedAt = 0, lastAt = 0 }: RunTrace): Bar[] {
  const containers = new Map(
    nodes.filter(({ rounds }) => rounds).map((node) => [node.nodeId, node]),
  );
  const depthOf = (node: NodeRun): number => {
    const around = node.within && containers.get(node.within.nodeId);
    return node.within === undefined ? 0 : 1 + (around && around !== node ? depthOf(around) : 0);
  };
  return nodes.map((node) => {
    const end = Math.max(0, (node.finishedAt ?? lastAt) - startedAt);
    // Somebody who came late saw the start after it: the server's own measure tells.
    const measured = end - (node.elapsed ?? 0) * 1000;
    return {
      node: node.title,
      node_id: node.nodeId,
      type: node.type,
      status: node.status,
      depth: depthOf(node),
      round: node.within?.round ?? null,
      start: Math.max(0, Math.round(Math.min(node.startedAt - startedAt, measured))),
      end: Math.round(end),
      retries: node.retries,
      tokens: node.tokens ?? null,
      error: node.error ?? null,
    };
  });
}

const tones: Readonly<Record<string, Tone>> = {
  succeeded: "good",
  failed: "bad",
  exception: "bad",
  stopped: "bad",
  paused: "warn",
  running: "warn",
};

function rowOf(bar: Bar, length: number): Cell[] {
  const { node, depth, round, status, start, end, retries, tokens } = bar;
  const name = `${"  ".repeat(depth)}${node}${round === null ? "" : ` (round ${round})`}`;
  const tone = tones[status];
  return [
    name,
    tone ? { text: status, tone } : status,
    seconds(start),
    seconds(end - start),
    retries === 0 ? null : retries,
    tokens === 0 ? null : tokens,
    { chart: "span", from: start / length, to: end / length, ...(tone && { tone }) },
  ];
}

/** What took longest, and what is not to be seen. */
function notesOf(bars: readonly Bar[], { gaps, nodes }: RunTrace): string[] {
  const plain = bars.filter((_, index) => nodes[index]?.rounds === undefined);
  const total = Math.max(1, ...bars.map(({ end }) => end));
  const [longest] = plain.toSorted((a, b) => b.end - b.start - (a.end - a.start));
  const share = longest ? Math.round((100 * (longest.end - longest.start)) / total) : 0;
  return [
    ...(longest ? [`${longest.node} took ${share} % of the time.`] : []),
    ...(gaps > 0 ? [`${gaps} times the line was cut: nodes of that time may be missing.`] : []),
  ];
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 3 : 1)} s`;
