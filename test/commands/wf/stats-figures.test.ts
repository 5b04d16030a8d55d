import { expect, test } from "vitest";
import type { LoggedRun } from "../../../src/commands/wf/logs/index.ts";
import { StatsCounts, statsFiguresOf } from "../../../src/commands/wf/stats/figures.ts";

/** A run `status seconds tokens`; `-` is unknown. */
function run(text: string): LoggedRun {
  const [status = "", seconds = "-", tokens = "-"] = text.split(" ");
  const number = (word: string) => (word === "-" ? undefined : Number(word));
  return {
    run: "r",
    status,
    at: 0,
    seconds: number(seconds),
    untimed: false,
    tokens: number(tokens),
    steps: 2,
    error: undefined,
    version: undefined,
    user: undefined,
  };
}

function countsOf(runs: readonly string[]) {
  const counts = new StatsCounts();
  for (const text of runs) counts.add(run(text));
  return counts;
}

const mixed = ["succeeded 1 10", "succeeded 3 30", "failed 2 -", "stopped 9 50", "running - -"];
const hundred = Array.from({ length: 100 }, (_, index) => `succeeded ${100 - index} ${index + 1}`);

test.each([
  ["no runs", [], { runs: 0, ended: 0, succeeded: null, p50: null, tokens: null }],
  ["no ended runs", ["running - -"], { runs: 1, running: 1, ended: 0, failed: null }],
  ["shares of ended runs", mixed, { ended: 4, succeeded: 0.5, failed: 0.25, stopped: 0.25 }],
  ["counts", mixed, { runs: 5, running: 1, paused: 0, failed_runs: 1, steps: 10 }],
  ["percentiles by nearest rank", mixed, { p50: 2, p95: 9, p99: 9, max: 9 }],
  ["tokens", mixed, { tokens: 90, tokens_p50: 30, tokens_p95: 50 }],
  ["one run", ["failed 4 7"], { failed: 1, p50: 4, p99: 4, max: 4, tokens_p50: 7 }],
  ["a hundred runs", hundred, { p50: 50, p95: 95, p99: 99, max: 100, tokens: 5050 }],
])("figures: %s", (_, runs, expected) => {
  expect(statsFiguresOf(countsOf(runs))).toMatchObject(expected);
});

test("merged parts have the figures of all runs", () => {
  const parts = [countsOf(mixed.slice(0, 2)), countsOf([]), countsOf(mixed.slice(2))];
  const merged = new StatsCounts();
  for (const part of parts) merged.merge(part);
  expect(statsFiguresOf(merged)).toEqual(statsFiguresOf(countsOf(mixed)));
});
