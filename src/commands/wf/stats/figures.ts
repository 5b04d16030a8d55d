import { sum } from "../../../lib/numbers.ts";
import { percentile } from "../../../lib/statistics/averages.ts";
import { shortened } from "../../../lib/text.ts";
import { isEnded } from "../../../runs/outcome.ts";
import type { LoggedRun } from "../logs/index.ts";
import type { FigureName, Grouping } from "./command.ts";

/** Counts of runs. Every duration and token count is stored, so percentiles are exact. */
export class StatsCounts {
  runs = 0;
  readonly statuses = new Map<string, number>();
  /** Durations of ended runs. */
  readonly seconds = new NumberList();
  readonly tokens = new NumberList();
  /** Null if no run has any. */
  steps: number | null = null;
  /** Ended runs without a duration, because they were paused. */
  untimed = 0;

  add({ status, seconds, tokens, steps, untimed }: LoggedRun): void {
    this.runs++;
    this.#count(status, 1);
    if (seconds !== undefined) this.seconds.push(seconds);
    if (tokens !== undefined) this.tokens.push(tokens);
    if (steps !== undefined) this.steps = (this.steps ?? 0) + steps;
    if (untimed) this.untimed++;
  }

  /** Adds the runs of other counts. */
  merge(other: StatsCounts): void {
    this.runs += other.runs;
    for (const [status, runs] of other.statuses) this.#count(status, runs);
    this.seconds.append(other.seconds);
    this.tokens.append(other.tokens);
    if (other.steps !== null) this.steps = (this.steps ?? 0) + other.steps;
    this.untimed += other.untimed;
  }

  #count(status: string, runs: number): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + runs);
  }
}

/** Figures by name; null without data. */
export type StatsFigures = ReturnType<typeof statsFiguresOf>;

/** Durations in seconds, shares of ended runs from 0 to 1, and numbers. */
export function statsFiguresOf(counts: StatsCounts) {
  const { runs, statuses, steps } = counts;
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
    steps,
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

/** Runs that failed with the same error. */
interface ErrorGroup {
  runs: number;
  /** Unix second and ID of the latest run. */
  last_seen: number | null;
  example_run: string | null;
}

/** The offset of every time zone is a multiple of this, so it divides all hours and days. */
export const BUCKET_SECONDS = 900;

/** Bounds the memory for a log in which every error is different. */
const MAX_ERRORS = 10_000;

/** Counts of the runs read so far, for every section of the report. */
export class Accumulator {
  readonly all = new StatsCounts();
  /** By Unix second divided by `BUCKET_SECONDS`. */
  readonly buckets = new Map<number, StatsCounts>();
  /** By the error with `<id>` and `<n>` for the parts that differ between runs. */
  readonly errors = new Map<string, ErrorGroup>();
  /** Runs with a new error after `MAX_ERRORS` was reached. */
  ungroupedErrors = 0;
  /** By the value of each grouping, "" for runs without one. */
  readonly groups: ReadonlyMap<Grouping, Map<string, StatsCounts>>;
  /** Unix seconds of the first and the last run. */
  first: number | undefined;
  last: number | undefined;

  constructor(by: readonly Grouping[]) {
    this.groups = new Map(by.map((grouping) => [grouping, new Map()]));
  }

  add(run: LoggedRun): void {
    const { at, error } = run;
    this.all.add(run);
    if (error !== undefined) this.#addError(normalizeError(error), run);
    for (const [grouping, groups] of this.groups) countsAt(groups, run[grouping] ?? "").add(run);
    if (at === undefined) return;
    countsAt(this.buckets, Math.floor(at / BUCKET_SECONDS)).add(run);
    this.first = Math.min(this.first ?? at, at);
    this.last = Math.max(this.last ?? at, at);
  }

  #addError(error: string, { at, run }: LoggedRun): void {
    let group = this.errors.get(error);
    if (group === undefined) {
      if (this.errors.size >= MAX_ERRORS) return void this.ungroupedErrors++;
      this.errors.set(error, (group = { runs: 0, last_seen: null, example_run: null }));
    }
    group.runs++;
    if (group.example_run !== null && (at ?? 0) <= (group.last_seen ?? 0)) return;
    group.last_seen = at ?? null;
    group.example_run = run ?? null;
  }
}

function countsAt<K>(map: Map<K, StatsCounts>, key: K): StatsCounts {
  let counts = map.get(key);
  if (counts === undefined) map.set(key, (counts = new StatsCounts()));
  return counts;
}

/** The groups with the most runs, and counts of the others. */
export function largestGroups<G extends { readonly runs: number }>(
  groups: ReadonlyMap<string, G>,
  top: number,
  ungrouped = 0,
) {
  const sorted = [...groups].sort(
    ([a, left], [b, right]) => right.runs - left.runs || (a < b ? -1 : 1),
  );
  const rest = sorted.slice(top);
  return {
    largest: sorted.slice(0, top),
    others: {
      groups: rest.length + (ungrouped > 0 ? 1 : 0),
      runs: sum(rest.map(([, { runs }]) => runs)) + ungrouped,
    },
  };
}

/** Characters of an error. */
const MAX_ERROR = 200;

// Parts that differ between runs: UUIDs, long words with digits, times, long and separate numbers.
// Numbers that identify the kind of error stay, as in `Errno 111` and `status code: 429`.
const VARIABLE_PARTS = new RegExp(
  [
    /(?<kind>\b(?:(?:errno|code)\W{0,3}\d{1,5}|(?:status|error|http(?:\/[\d.]+)?)\W{0,3}\d{3})\b)/,
    /(?<id>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-z_]*\d)(?:[0-9a-f]{8,}|\w{16,})\b)/,
    /\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\d{5,}|(?<![\w.-])\d+(?:[.,:]\d+)*/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gi",
);

/**
 * The error on one line, without the parts that differ between runs:
 *
 *     "Timeout after 12.5 s, request 4f6e8c2a9b01"  →  "Timeout after <n> s, request <id>"
 */
function normalizeError(error: string): string {
  const line = error
    .slice(0, 4 * MAX_ERROR)
    .replace(/\s+/g, " ")
    .trim();
  const text = line.replace(VARIABLE_PARTS, (match: string, kind?: string, id?: string) => {
    if (kind !== undefined) return match;
    return id !== undefined && /[a-z-]/i.test(id) ? "<id>" : "<n>";
  });
  return shortened(text, MAX_ERROR);
}
