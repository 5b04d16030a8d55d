import { percentile, sum } from "../../../lib/numbers.ts";
import { isEnded } from "../../../runs/status.ts";
import type { LoggedRun } from "../logs/index.ts";
import type { FigureName } from "./fields.ts";

/** Counts of runs. Every duration and token count is stored, so percentiles are exact. */
export interface StatsCounts {
  runs: number;
  readonly statuses: Map<string, number>;
  /** Durations of ended runs. */
  readonly seconds: NumberList;
  readonly tokens: NumberList;
  /** Null if no run has any. */
  steps: number | null;
  /** Ended runs without a duration, because they were paused. */
  untimed: number;
}

export const newStatsCounts = (): StatsCounts => ({
  runs: 0,
  statuses: new Map(),
  seconds: new NumberList(),
  tokens: new NumberList(),
  steps: null,
  untimed: 0,
});

export function addRun(into: StatsCounts, run: LoggedRun): void {
  into.runs++;
  increase(into.statuses, run.status, 1);
  if (run.seconds !== undefined) into.seconds.push(run.seconds);
  if (run.tokens !== undefined) into.tokens.push(run.tokens);
  if (run.steps !== undefined) into.steps = (into.steps ?? 0) + run.steps;
  if (run.untimed) into.untimed++;
}

/** The sum of several counts. */
export function mergeCounts(parts: readonly StatsCounts[]): StatsCounts {
  const all = newStatsCounts();
  for (const part of parts) {
    all.runs += part.runs;
    for (const [status, runs] of part.statuses) increase(all.statuses, status, runs);
    all.seconds.append(part.seconds);
    all.tokens.append(part.tokens);
    if (part.steps !== null) all.steps = (all.steps ?? 0) + part.steps;
    all.untimed += part.untimed;
  }
  return all;
}

const increase = (counts: Map<string, number>, key: string, by: number) =>
  counts.set(key, (counts.get(key) ?? 0) + by);

/** Figures by name; null without data. */
export type StatsFigures = ReturnType<typeof statsFiguresOf>;

/** Durations in seconds, shares of ended runs from 0 to 1, and numbers. */
export function statsFiguresOf({ runs, statuses, ...counts }: StatsCounts) {
  const seconds = counts.seconds.sorted();
  const tokens = counts.tokens.sorted();
  const countOf = (status: string) => statuses.get(status) ?? 0;
  const ended = sum([...statuses.keys()].filter(isEnded).map(countOf));
  const share = (status: string) => (ended === 0 ? null : countOf(status) / ended);
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
    p50: percentile(seconds, 50),
    p95: percentile(seconds, 95),
    p99: percentile(seconds, 99),
    max: seconds.at(-1) ?? null,
    tokens: tokens.length === 0 ? null : sum(tokens),
    tokens_p50: percentile(tokens, 50),
    tokens_p95: percentile(tokens, 95),
    steps: counts.steps,
  } satisfies Readonly<Record<FigureName, number | null>>;
}

/**
 * Numbers that are added one by one, eight bytes each: 132 instead of 184 to 213 bytes per row in statistics of a
 * million rows with plain arrays (`npm run bench -- stats`).
 */
class NumberList {
  #values = new Float64Array(8);
  #length = 0;

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Float64Array(Math.ceil(this.#length * 1.5));
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  /** Adds all numbers of another list. */
  append(other: NumberList): void {
    for (let index = 0; index < other.#length; index++) this.push(other.#values[index] ?? 0);
  }

  /** A copy in ascending order. */
  sorted(): Float64Array {
    return this.#values.slice(0, this.#length).sort();
  }
}
