import { describe, expect, test } from "vitest";
import { compareSuites } from "../../../src/commands/wf/test/comparison.ts";
import { testResult } from "../../../src/commands/wf/test/results.ts";
import type { TestRun } from "../../../src/commands/wf/test/run-tests.ts";
import type { TestFigures, Verdict } from "../../../src/commands/wf/test/comparison.ts";

const figures = (
  name: string,
  passes: number,
  runs: number,
  more: Partial<TestFigures> = {},
): TestFigures => ({
  name,
  passes,
  runs,
  answers: [],
  results: [],
  seconds: null,
  tokens: null,
  ...more,
});

const alone = (before: readonly [number, number], now: readonly [number, number]) =>
  compareSuites([figures("a", ...now)], [figures("a", ...before)], 0.05);

describe("the verdict about one test", () => {
  test.each<
    readonly [
      before: readonly [number, number],
      now: readonly [number, number],
      Verdict,
      significant: boolean,
    ]
  >([
    [[19, 20], [2, 20], "broken", true],
    [[2, 20], [19, 20], "fixed", true],
    [[20, 20], [18, 20], "noise", false], // p = 0.49
    [[20, 20], [14, 20], "broken", true], // p = 0.020
    [[20, 20], [15, 20], "broken", true], // p = 0.047
    [[20, 20], [16, 20], "noise", false], // p = 0.106
    [[1, 1], [0, 1], "broken", false],
    [[0, 1], [1, 1], "fixed", false],
    [[3, 3], [0, 3], "broken", false], // p = 0.1
    [[4, 4], [0, 4], "broken", true], // p = 0.029
    [[20, 20], [20, 20], "same", false],
    [[10, 20], [5, 10], "same", false],
  ])("%j, then %j: %s", (before, now, verdict, significant) => {
    expect(alone(before, now).tests).toMatchObject([{ verdict, significant }]);
  });
});

test("more tests need a smaller p-value each", () => {
  const others = Array.from({ length: 39 }, (_, index) => figures(`t${index}`, 20, 20));
  const { tests } = compareSuites(
    [figures("a", 14, 20), ...others],
    [figures("a", 20, 20), ...others],
    0.05,
  );
  expect(tests[0]).toMatchObject({ verdict: "noise", significant: false });
  expect(tests[0]?.p).toBeCloseTo(0.80784, 5); // 40 · 2 · C(20, 6) / C(40, 6)
});

test("a test without baseline, or without a judged run, is new", () => {
  const { tests } = compareSuites(
    [figures("a", 1, 1), figures("b", 1, 1)],
    [figures("b", 0, 0), figures("gone", 1, 1)],
    0.05,
  );
  expect(tests).toEqual([
    { name: "a", verdict: "new", p: null, significant: false },
    { name: "b", verdict: "new", p: null, significant: false },
  ]);
});

test("a test that passes with other answers has changed", () => {
  const verdict = (before: readonly string[], now: readonly string[]) =>
    compareSuites(
      [figures("a", 2, 2, { answers: now })],
      [figures("a", 2, 2, { answers: before })],
      0.05,
    ).tests[0]?.verdict;
  expect(verdict(["30 days"], ["14 days"])).toBe("changed");
  expect(verdict(["30 days", "thirty days"], ["a month", "thirty days"])).toBe("same");
  expect(verdict(["30 days"], [])).toBe("same");
});

test("similar answers count as the same", () => {
  const of = (hash: string, ...texts: readonly (string | null)[]) =>
    figures("a", 2, 2, { answers: [hash], results: texts.map((answer) => ({ answer })) });
  const verdict = (before: TestFigures, now: TestFigures) =>
    compareSuites([now], [before], 0.05).tests[0]?.verdict;
  const before = of("1", null, "You have thirty days of leave.");
  expect(verdict(before, of("2", "x", "You have thirty days of vacation."))).toBe("same");
  expect(verdict(before, of("3", "You have twenty weeks of vacation."))).toBe("changed");
});

test("a test of which only some repeats were run has their status", () => {
  const run = (status: TestRun["status"]) => ({ status, answer: null }) as TestRun;
  const status = (...all: readonly TestRun["status"][]) => testResult("t", all.map(run)).status;
  expect(status("passed", "not run")).toBe("passed");
  expect(status("not run", "failed")).toBe("failed");
  expect(status("not run", "not run")).toBe("not run");
});

test("time and tokens are compared over all tests", () => {
  const of = (seconds: number, tokens: number | null) =>
    Array.from({ length: 8 }, (_, index) => figures(`t${index}`, 1, 1, { seconds, tokens }));
  const { seconds, tokens } = compareSuites(of(2, null), of(1, 5), 0.05);
  expect(seconds).toEqual({ more: 8, fewer: 0, p: expect.closeTo(0.0078125, 12) });
  expect(tokens).toEqual({ more: 0, fewer: 0, p: 1 });
});

test.each([
  [1, 7],
  [6, 7],
  [7, undefined],
])("40 tests that ran %d times: %s runs are needed", (runs, needed) => {
  const tests = Array.from({ length: 40 }, (_, index) => figures(`t${index}`, runs, runs));
  expect(compareSuites(tests, tests, 0.05).needed).toBe(needed);
});
