import { newFloat64List } from "../../../lib/float-array.ts";
import type { Float64List } from "../../../lib/float-array.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { LoggedRun } from "../logs/index.ts";
import type { FigureName } from "../stats-fields.ts";

/** Runs, counted. Times and tokens are kept, each as a number: percentiles are exact. */
export interface StatsCounts {
  runs: number;
  readonly statuses: Map<string, number>;
  /** Of ended runs. */
  readonly seconds: Float64List;
  readonly tokens: Float64List;
  steps: number | undefined;
  /** Runs whose time is that from start to finish. */
  byClock: number;
}

export const newStatsCounts = (): StatsCounts => ({
  runs: 0,
  statuses: new Map(),
  seconds: newFloat64List(),
  tokens: newFloat64List(),
  steps: undefined,
  byClock: 0,
});

export function addRun(into: StatsCounts, run: LoggedRun): void {
  into.runs++;
  add(into.statuses, run.status, 1);
  if (run.seconds !== undefined) into.seconds.add(run.seconds);
  if (run.tokens !== undefined) into.tokens.add(run.tokens);
  if (run.steps !== undefined) into.steps = (into.steps ?? 0) + run.steps;
  if (run.byClock) into.byClock++;
}

/** All of several as one. */
export function mergeCounts(tallies: readonly StatsCounts[]): StatsCounts {
  const all = newStatsCounts();
  for (const each of tallies) {
    all.runs += each.runs;
    for (const [status, runs] of each.statuses) add(all.statuses, status, runs);
    all.seconds.addAll(each.seconds);
    all.tokens.addAll(each.tokens);
    if (each.steps !== undefined) all.steps = (all.steps ?? 0) + each.steps;
    all.byClock += each.byClock;
  }
  return all;
}

const add = (counts: Map<string, number>, key: string, more: number) =>
  counts.set(key, (counts.get(key) ?? 0) + more);

/** Figures by name; undefined where nothing was measured, which what is counted always is. */
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

/** Seconds, shares from 0 to 1 of the runs that have ended, and numbers. */
export function statsFiguresOf({
  runs,
  statuses,
  seconds,
  tokens,
  steps,
}: StatsCounts): StatsFigures {
  const times = seconds.sorted();
  const perRun = tokens.sorted();
  const number = (status: string) => statuses.get(status) ?? 0;
  const ended = [...statuses].reduce((sum, [status, of]) => sum + (isEnded(status) ? of : 0), 0);
  const share = (status: string) => (ended === 0 ? undefined : number(status) / ended);
  return {
    runs,
    running: number("running"),
    paused: number("paused"),
    ended,
    succeeded: share("succeeded"),
    partial: share("partial-succeeded"),
    failed: share("failed"),
    stopped: share("stopped"),
    failed_runs: number("failed"),
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
 * By nearest rank (definition 1 of Hyndman and Fan, "Sample Quantiles in Statistical Packages",
 * 1996; SQL's percentile_disc): the smallest value that at least so many percent do not exceed. It
 * is always the value of a run. `percent` is a whole number, so that no rank suffers from rounding.
 */
const percentile = (sorted: Float64Array, percent: number): number | undefined =>
  sorted[Math.ceil((percent * sorted.length) / 100) - 1];
