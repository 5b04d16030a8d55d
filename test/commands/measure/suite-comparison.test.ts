/** What is said about tests that are compared with another application, or with an earlier run. */
import { describe, expect, test } from "vitest";
import { storedRun, storedSelection } from "../../../src/commands/measure/suites/answers/index.ts";
import type { TestRun } from "../../../src/commands/measure/suites/answers/index.ts";
import {
  compareAsked,
  comparedWithBaseline,
  doubtfulTests,
} from "../../../src/commands/measure/suites/comparison.ts";
import type {
  SuiteComparison,
  TestComparison,
  Verdict,
} from "../../../src/commands/measure/suites/comparison.ts";
import type { PlannedRun } from "../../../src/commands/measure/suites/runs/plan-runs.ts";
import { TestBoard, testResult } from "../../../src/commands/measure/suites/runs/results.ts";
import type { TestResult } from "../../../src/commands/measure/suites/runs/results.ts";
import { comparisonNotes, testText } from "../../../src/commands/measure/suites/verdict-text.ts";
import type { SuiteRun } from "../../../src/commands/measure/suites/suite-run.ts";

type Share = readonly [passes: number, runs: number];

/** A run of a test that passed, or did not. */
const runOf = (test: string, passed: boolean, more: Partial<TestRun> = {}): TestRun => ({
  ...storedRun({ suite: "suite", path: "suite.yaml", test, status: passed ? "passed" : "failed" }),
  content: test,
  ...more,
});

const runs = (name: string, [passes, count]: Share, more: Partial<TestRun> = {}) =>
  Array.from({ length: count }, (_, index) => runOf(name, index < passes, more));

/** A test of which these runs passed, and these when it was asked again. */
const result = (name: string, planned: Share, fresh: Share = [0, 0], more: Partial<TestRun> = {}) =>
  testResult(name, [
    ...runs(name, planned, more),
    ...runs(name, fresh, { ...more, confirms: true }),
  ]);

const rules = { level: 0.05, confirm: 6 };

describe("the verdict about one test of two applications that were asked in turn", () => {
  // Fisher's exact test of the fresh runs of the new side against all of the old one, by hand: 1/C(n, k).
  test.each<
    readonly [before: Share, again: Share, now: Share, fresh: Share, Verdict, p: number | null]
  >([
    [[1, 1], [6, 6], [0, 1], [0, 6], "broken", 1 / 1716], // C(13, 6)
    [[5, 5], [6, 6], [0, 5], [0, 6], "broken", 1 / 12376], // C(17, 6)
    [[1, 1], [6, 6], [0, 1], [6, 6], "passed again", 1],
    [[1, 1], [0, 0], [0, 1], [0, 0], "inconclusive", null],
    [[5, 5], [6, 6], [4, 5], [5, 6], "varies", 6 / 17],
    [[5, 5], [6, 6], [4, 5], [3, 6], "inconclusive", 20 / 680], // C(6, 3) / C(17, 3), above 0.025
    [[0, 5], [0, 0], [0, 5], [0, 0], "fails as before", null],
    [[5, 5], [0, 0], [5, 5], [0, 0], "passes", null],
    [[0, 5], [0, 0], [5, 5], [0, 0], "fixed", null],
    [[3, 5], [0, 0], [5, 5], [0, 0], "passes", null],
  ])("%j and %j, then %j and %j: %s", (before, again, now, fresh, verdict, p) => {
    const { tests } = compareAsked([result("a", now, fresh)], [result("a", before, again)], rules);
    expect(tests[0]?.verdict).toBe(verdict);
    if (p === null) expect(tests[0]?.p).toBeNull();
    else expect(tests[0]?.p).toBeCloseTo(p, 12);
  });

  test("without asking again, the planned runs decide", () => {
    const [now, before] = [[result("a", [0, 5])], [result("a", [5, 5])]];
    const { tests } = compareAsked(now, before, { level: 0.05, confirm: 0 });
    expect(tests[0]).toMatchObject({ verdict: "broken", limit: 0.025 });
  });

  test("flaky tests that were asked again do not hide a broken one", () => {
    const flaky = Array.from({ length: 20 }, (_, index) => `f${index}`);
    const { tests } = compareAsked(
      [result("a", [0, 5], [0, 6]), ...flaky.map((name) => result(name, [4, 5], [5, 6]))],
      [result("a", [5, 5], [6, 6]), ...flaky.map((name) => result(name, [4, 5], [5, 6]))],
      rules,
    );
    expect(tests.map(({ verdict }) => verdict)).toEqual(["broken", ...flaky.map(() => "varies")]);
  });

  test("the tests that miss what the other side passes are asked again, by planned runs alone", () => {
    const before = [result("a", [5, 5]), result("b", [1, 5]), result("c", [0, 5])];
    const now = [
      result("a", [4, 5]),
      result("b", [3, 5]),
      result("c", [0, 5]),
      result("d", [0, 5]),
    ];
    expect(doubtfulTests(now, before)).toEqual(["a", "b"]);
  });

  test("a test without a judged run on one side is not judged", () => {
    const lost = testResult("a", [runOf("a", false, { status: "error" })]);
    expect(compareAsked([lost], [result("a", [1, 1])], rules).tests[0]?.verdict).toBe("not judged");
    expect(compareAsked([result("a", [1, 1])], [lost], rules).tests[0]?.verdict).toBe("not judged");
  });
});

const baselineOf = (tests: readonly TestResult[]) => ({
  file: "before.json",
  sha256: "0",
  at: new Date("2026-11-28"),
  serverVersion: null,
  selection: storedSelection({}),
  tests,
  old: undefined,
  history: [],
  edited: [],
});

/** Compares tests with a baseline of which some were not to be run. */
const compare = (now: readonly TestResult[], before: readonly TestResult[], isMerge = false) =>
  comparedWithBaseline(
    { tests: now, baseline: baselineOf(before), skipped: new Set(["skipped"]), rules },
    isMerge,
  );

test.each<[string, readonly TestRun["status"][], object | null]>([
  ["as often as all", ["passed", "passed", "failed", "passed", "passed"], { passes: 9, runs: 10 }],
  ["once less", ["passed", "passed", "passed", "passed"], null],
  ["with errors", ["passed", "error", "error", "error", "error"], { passes: 6, runs: 6 }],
])("a test that was asked again %s belongs to a second look or prevents it", (_, fresh, again) => {
  const asked = fresh.map((status) => runOf("b", false, { status, confirms: true }));
  const now = [
    result("a", [5, 5], [5, 5]),
    testResult("b", [...runs("b", [5, 5]), ...asked]),
    testResult("silent", [runOf("silent", false, { status: "error" })]), // belongs to none
  ];
  const { suite } = compare(
    now,
    ["a", "b", "silent"].map((name) => result(name, [5, 5])),
  );
  expect(suite.again).toEqual(again);
});

test("a suite is worse that falls a little everywhere, though no test is broken", () => {
  const names = Array.from({ length: 60 }, (_, index) => `t${index}`);
  const of = (misses: (index: number) => number, again?: Share) =>
    names.map((name, index) => result(name, [5 - misses(index), 5], again));
  const before = of((index) => Number(index < 17));
  const misses = (index: number) => (index < 46 ? 1 + Number(index < 28) : 0);
  // 283 and 226 of 300, and with every test asked again.
  const { suite, tests } = compare(of(misses, [4, 6]), before);
  expect(suite).toMatchObject({
    verdict: "worse",
    before: { passes: 283, runs: 300 },
    now: { passes: 226, runs: 300 },
    again: { passes: 240, runs: 300 }, // four of the first five
  });
  expect(suite.p).toBeLessThan(1e-6);
  expect(suite.fall?.fall).toBeCloseTo(0.19, 12);
  expect(tests.some(({ verdict }) => verdict === "broken")).toBe(false);
  expect(compare(of(misses, [6, 6]), before).suite.verdict).toBe("worse then");
  // Results that are merged cannot be asked again.
  expect(compare(of(misses), before, true).suite.verdict).toBe("inconclusive");
  expect(compare(before, before, true).suite.verdict).toBe("no decline");
});

describe("tests of one side only", () => {
  const asks = (query: string, content: string | null) => ({
    content,
    turns: [
      {
        query,
        inputs: { b: 1, a: 2 },
        answer: null,
        expected: [],
        chunks: [],
        end: null,
        judge: null,
      },
    ],
  });

  test("are new, or removed; those that are skipped are neither", () => {
    const { tests, removed } = compare(
      [result("suite: a", [1, 1])],
      [result("gone", [1, 1]), result("skipped", [1, 1], [0, 0], { content: "suite: a" })],
    );
    expect(tests[0]).toMatchObject({ verdict: "new", before: null });
    expect(removed).toEqual(["gone"]);
  });

  test.each([["h"], [null]])(
    "that ask the same are one that was renamed: content %s",
    (content) => {
      const { tests, removed } = compare(
        [result("new", [1, 1], [0, 0], asks("q", "h"))],
        [
          result("old", [1, 1], [0, 0], asks("q", content)),
          result("other", [1, 1], [0, 0], asks("r", content && "i")),
        ],
      );
      expect(tests[0]).toMatchObject({ verdict: "passes", renamed: "old" });
      expect(removed).toEqual(["other"]);
    },
  );

  test("of the oldest versions, which do not say what they ask, are not renamed", () => {
    const { removed } = compare(
      [result("new", [1, 1])],
      [result("old", [1, 1], [0, 0], { content: null })],
    );
    expect(removed).toEqual(["old"]);
  });
});

test.each<readonly [what: string, more: Partial<TestRun>, byModel: boolean]>([
  ["a model's", { tokens: 9 }, true],
  ["one of an annotation reply", { tokens: 9, annotated: true }, false],
  ["one without tokens", { tokens: null }, false],
])("the answers of a cache count once if they are a model's: %s", (_, more, byModel) => {
  const long = (name: string) => ({ ...more, answer: `${name}: ${"an answer ".repeat(5)}` });
  const names = ["a", "b", "c"];
  const of = (side: string, passes: number) =>
    names.map((name) => result(name, [passes, 5], [0, 0], long(`${name} ${side}`)));
  const { gate, tests } = compare(of("now", 5), of("before", 5));
  expect(gate?.cached).toBe(true);
  expect(tests[0]?.now).toEqual(byModel ? { passes: 1, runs: 1 } : { passes: 5, runs: 5 });
});

describe("the status of a test", () => {
  test("is that of the repeats that were run", () => {
    const status = (...all: readonly TestRun["status"][]) =>
      testResult(
        "t",
        all.map((each) => runOf("t", false, { status: each })),
      ).status;
    expect(status("passed", "not run")).toBe("passed");
    expect(status("not run", "failed")).toBe("failed");
    expect(status("not run", "not run")).toBe("not run");
    expect(status("passed", "error")).toBe("error");
  });

  test.each<readonly [Share, Partial<TestRun["pass"]>, TestRun["status"]]>([
    [[4, 5], {}, "failed"],
    [[4, 5], { rate: 0.8 }, "passed"],
    [[4, 5], { rate: 0.81 }, "failed"],
    [[20, 20], { lower_bound: 0.83 }, "passed"], // Wilson: 0.8389
    [[20, 20], { lower_bound: 0.85 }, "failed"],
    [[19, 20], { rate: 0.9, lower_bound: 0.76 }, "passed"], // 0.7639
  ])("%j by %j: %s", (planned, rule, status) => {
    const pass = {
      rate: rule.rate ?? (rule.lower_bound === undefined ? 1 : 0),
      lower_bound: 0,
      stated: rule.rate !== undefined,
      ...rule,
    };
    expect(result("t", planned, [0, 0], { pass }).status).toBe(status);
  });
});

test("a terminal shows that a test has ended after the last of its repeats", () => {
  const run = { name: "t", side: "new", confirms: false } as PlannedRun;
  const board = new TestBoard([run, run], () => 0);
  board.end(run, runOf("t", true));
  expect(board.takeEnded()).toEqual([]);
  expect(board.progress()).toMatchObject({ done: 1, total: 2, failed: 0 });
  board.end(run, runOf("t", false));
  expect(board.takeEnded()).toMatchObject([{ name: "t" }]);
  expect(board.progress()).toMatchObject({ done: 2, total: 2, failed: 1 });
});

test("time is claimed only where both were asked in turn", () => {
  const of = (seconds: number) =>
    Array.from({ length: 8 }, (_, index) => result(`t${index}`, [1, 1], [0, 0], { seconds }));
  expect(compare(of(2), of(1)).seconds).toEqual({ before: 1, now: 2, ratio: null });
  expect(compareAsked(of(2), of(1), rules)).toMatchObject({
    seconds: { before: 1, now: 2, ratio: { low: 2, high: 2 } },
    tokens: null,
  });
  const rising = of(1).map(({ name }, index) =>
    result(name, [1, 1], [0, 0], { seconds: index + 1 }),
  );
  // The interval from the first to the last of eight ratios misses their median in 2 of 2 ** 8 cases, 0.8 %; from the
  // second to the last but one it would in 7 %.
  expect(compareAsked(rising, of(1), rules).seconds?.ratio).toMatchObject({ low: 1, high: 8 });
});

test.each([
  [0.8, 0.9, "median time: 2.0 s, 1.0 s before; 0.80 to 0.90 times (95 %)"],
  [1.1, 1.2, "median time: 2.0 s, 1.0 s before; 1.10 to 1.20 times (95 %)"],
  [
    0.9,
    1.2,
    "median time: 2.0 s, 1.0 s before; no difference was found, 0.90 to 1.20 times (95 %)",
  ],
])("a time of %d to %d times", (low, high, note) => {
  const compared = compareAsked([result("a", [1, 1])], [result("a", [1, 1])], rules);
  const seconds = { before: 1, now: 2, ratio: { low, high } };
  const run = { tests: [], history: [], baseline: undefined, level: 0.05 };
  expect(
    comparisonNotes(run as unknown as SuiteRun, { ...compared, seconds } as SuiteComparison),
  ).toContain(note);
});

test.each([
  ["varies", "varies: a - 4 of 5 now, 5 of 5 before (p 0.1, limit 5 %)"],
  ["inconclusive", "inconclusive: a - 4 of 5 now, 5 of 5 before (p 0.1, limit 5 %); ask again"],
] as const)("a test that is %s, as a line", (verdict, line) => {
  const of = (passes: number) => ({ passes, runs: 5 });
  const { tests } = compareAsked([result("a", [4, 5])], [result("a", [5, 5])], rules);
  const found = { ...tests[0], verdict, fresh: null, p: 0.1, limit: 0.05, next: "ask again" };
  expect(testText({ ...found, now: of(4), before: of(5) } as TestComparison)).toBe(line);
});
