import { isEnded } from "../../../runs/outcome.ts";
import type { LoggedRun } from "../logs/index.ts";
import type { FigureName } from "../stats-fields.ts";

/** Counts of runs. Every duration and token count is stored, so percentiles are exact. */
export interface StatsCounts {
  runs: number;
  readonly statuses: Map<string, number>;
  /** Durations of ended runs. */
  readonly seconds: number[];
  readonly tokens: number[];
  steps: number | undefined;
  /** Runs whose duration is the time from start to finish. */
  byClock: number;
}

export const newStatsCounts = (): StatsCounts => ({
  runs: 0,
  statuses: new Map(),
  seconds: [],
  tokens: [],
  steps: undefined,
  byClock: 0,
});

export function addRun(into: StatsCounts, run: LoggedRun): void {
  into.runs++;
  increase(into.statuses, run.status, 1);
  if (run.seconds !== undefined) into.seconds.push(run.seconds);
  if (run.tokens !== undefined) into.tokens.push(run.tokens);
  if (run.steps !== undefined) into.steps = (into.steps ?? 0) + run.steps;
  if (run.byClock) into.byClock++;
}

/** The sum of several counts. */
export function mergeCounts(parts: readonly StatsCounts[]): StatsCounts {
  const all = newStatsCounts();
  for (const part of parts) {
    all.runs += part.runs;
    for (const [status, runs] of part.statuses) increase(all.statuses, status, runs);
    for (const value of part.seconds) all.seconds.push(value);
    for (const value of part.tokens) all.tokens.push(value);
    if (part.steps !== undefined) all.steps = (all.steps ?? 0) + part.steps;
    all.byClock += part.byClock;
  }
  return all;
}

const increase = (counts: Map<string, number>, key: string, by: number) =>
  counts.set(key, (counts.get(key) ?? 0) + by);

/** Figures by name; undefined without data, except for counts. */
export type StatsFigures = {
  readonly [Name in FigureName]: Name extends
    | "runs"
    | "running"
    | "paused"
    | "ended"
    | "failed_runs"
    ? number
    : number | undefined;
};

/** Durations in seconds, shares of ended runs from 0 to 1, and numbers. */
export function statsFiguresOf({
  runs,
  statuses,
  seconds,
  tokens,
  steps,
}: StatsCounts): StatsFigures {
  const times = Float64Array.from(seconds).sort();
  const perRun = Float64Array.from(tokens).sort();
  const countOf = (status: string) => statuses.get(status) ?? 0;
  const ended = [...statuses.keys()]
    .filter(isEnded)
    .reduce((sum, status) => sum + countOf(status), 0);
  const share = (status: string) => (ended === 0 ? undefined : countOf(status) / ended);
  return {
    runs,
    running: countOf("running"),
    paused: countOf("paused"),
    ended,
    succeeded: share("succeeded"),
    partial: share("partial-succeeded"),
    failed: share("failed"),
    stopped: share("stopped"),
    failed_runs: countOf("failed"),
    p50: percentile(times, 50),
    p95: percentile(times, 95),
    p99: percentile(times, 99),
    max: times.at(-1),
    tokens: perRun.length === 0 ? undefined : perRun.reduce((sum, value) => sum + value, 0),
    tokens_p50: percentile(perRun, 50),
    tokens_p95: percentile(perRun, 95),
    steps,
  };
}

/**
 * The percentile by nearest rank (definition 1 of Hyndman and Fan, "Sample Quantiles in Statistical
 * Packages", 1996; SQL's percentile_disc): the smallest value that at least `percent` of all values do
 * not exceed. It is always the value of a run. `percent` is a whole number, so ranks are exact.
 */
const percentile = (sorted: Float64Array, percent: number): number | undefined =>
  sorted[Math.ceil((percent * sorted.length) / 100) - 1];
