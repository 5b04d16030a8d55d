/** What is said about tests that are compared with an earlier run. */
import { describe, expect, test } from "vitest";
import { compareSuites, doubtfulTests } from "../../../src/commands/measure/suites/comparison.ts";
import type { ComparedWith, Verdict } from "../../../src/commands/measure/suites/comparison.ts";
import { testResult } from "../../../src/commands/measure/suites/results.ts";
import type { TestResult } from "../../../src/commands/measure/suites/results.ts";
import type { TestRun } from "../../../src/commands/measure/suites/answers/index.ts";
import { runOf } from "../../lib/suite-seeds.ts";

type Share = readonly [passes: number, runs: number];

const runs = (name: string, [passes, count]: Share, more: Partial<TestRun> = {}) =>
  Array.from({ length: count }, (_, index) => runOf(name, index < passes, more));

/** A test of which these runs passed, and these when it was asked again. */
const result = (name: string, planned: Share, fresh: Share = [0, 0], more: Partial<TestRun> = {}) =>
  testResult(name, [
    ...runs(name, planned, more),
    ...runs(name, fresh, { ...more, confirms: true }),
  ]);

const compare = (
  now: readonly TestResult[],
  before: readonly TestResult[],
  more: Partial<ComparedWith & { readonly confirm: number }> = {},
) => {
  const { confirm = 5, ...rest } = more;
  const none = { isInterleaved: false, history: [], skipped: new Set<string>() };
  return compareSuites(now, { tests: before, ...none, ...rest }, { level: 0.05, confirm });
};

describe("the verdict about one test", () => {
  test.each<readonly [before: Share, now: Share, fresh: Share, Verdict, p: number | null]>([
    [[5, 5], [0, 5], [0, 5], "broken", 1 / 252],
    [[3, 3], [0, 3], [0, 5], "broken", 1 / 56],
    [[2, 2], [0, 2], [0, 5], "undecided", 1 / 21],
    [[5, 5], [4, 5], [1, 5], "broken", 1 / 42],
    [[5, 5], [4, 5], [2, 5], "undecided", 1 / 12],
    [[5, 5], [4, 5], [5, 5], "passed again", 1],
    [[5, 5], [0, 5], [0, 0], "undecided", null],
    [[0, 5], [0, 5], [0, 0], "failing", null],
    [[5, 5], [5, 5], [0, 0], "passes", null],
    [[0, 5], [5, 5], [0, 0], "fixed", null],
    [[3, 5], [5, 5], [0, 0], "passes", null],
  ])("%j, then %j and %j: %s", (before, now, fresh, verdict, p) => {
    const { tests } = compare([result("a", now, fresh)], [result("a", before)]);
    expect(tests[0]?.verdict).toBe(verdict);
    if (p === null) expect(tests[0]?.p).toBeNull();
    else expect(tests[0]?.p).toBeCloseTo(p, 12);
  });

  test("without asking again, the planned runs decide", () => {
    const before = [result("a", [5, 5])];
    expect(compare([result("a", [0, 5])], before, { confirm: 0 }).tests[0]?.verdict).toBe("broken");
  });
});

test("flaky tests that were asked again do not hide a broken one", () => {
  const flaky = Array.from({ length: 20 }, (_, index) => `f${index}`);
  const { tests } = compare(
    [result("a", [0, 5], [0, 5]), ...flaky.map((name) => result(name, [4, 5], [4, 5]))],
    [result("a", [5, 5]), ...flaky.map((name) => result(name, [4, 5]))],
  );
  expect(tests.map(({ verdict }) => verdict)).toEqual(["broken", ...flaky.map(() => "undecided")]);
});

test("a suite is worse that falls a little everywhere, though no test is broken", () => {
  const names = Array.from({ length: 60 }, (_, index) => `t${index}`);
  const of = (misses: (index: number) => number) =>
    names.map((name, index) => result(name, [5 - misses(index), 5]));
  // 283 and 226 of 300.
  const compared = compare(
    of((index) => (index < 46 ? 1 + Number(index < 28) : 0)),
    of((index) => Number(index < 17)),
  );
  expect(compared).toMatchObject({
    before: { passes: 283, runs: 300 },
    now: { passes: 226, runs: 300 },
    isWorse: true,
  });
  expect(compared.p).toBeLessThan(1e-6);
  expect(compared.tests.some(({ verdict }) => verdict === "broken")).toBe(false);
});

describe("tests of one side only", () => {
  const asks = (query: string) => ({
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
      [result("gone", [1, 1]), result("skipped", [1, 1])],
      { skipped: new Set(["skipped"]) },
    );
    expect(tests[0]).toMatchObject({ verdict: "new", before: null });
    expect(removed).toEqual(["gone"]);
  });

  test("that ask the same are one that was renamed", () => {
    const { tests, removed } = compare(
      [result("new", [1, 1], [0, 0], asks("q"))],
      [result("old", [1, 1], [0, 0], asks("q")), result("other", [1, 1], [0, 0], asks("r"))],
    );
    expect(tests[0]).toMatchObject({ verdict: "passes", renamed: "old" });
    expect(removed).toEqual(["other"]);
  });

  test("of earlier versions, which do not say what they ask, are not renamed", () => {
    const { removed } = compare([result("new", [1, 1])], [result("old", [1, 1])]);
    expect(removed).toEqual(["old"]);
  });
});

test("a test without a judged run is new, and one without any has not run", () => {
  const { tests } = compare([result("b", [1, 1])], [testResult("b", [])]);
  expect(tests[0]).toMatchObject({ verdict: "new", p: null });
});

describe("repeats with the same answer", () => {
  const alike = { answer: "You have 30 days of leave in each calendar year.", tokens: 9 };
  const wrong = { answer: "You have no days of leave in any calendar year.", tokens: 9 };

  test("count once where a cache may be the cause, and fresh ones not at all", () => {
    const { tests, reduced, now } = compare(
      [result("a", [0, 5], [0, 5], wrong)],
      [result("a", [5, 5], [0, 0], alike)],
    );
    expect(tests[0]).toMatchObject({
      verdict: "undecided",
      p: null,
      before: { passes: 1, runs: 1 },
    });
    expect({ reduced, now }).toEqual({ reduced: 1, now: { passes: 0, runs: 1 } });
  });

  test("count where another question got two answers: there is no cache", () => {
    const other = testResult("b", [runOf("b", true, alike), runOf("b", true, wrong)]);
    const { tests, reduced } = compare(
      [result("a", [0, 5], [0, 5], wrong), other],
      [result("a", [5, 5], [0, 0], alike), other],
    );
    expect(tests[0]?.verdict).toBe("broken");
    expect(reduced).toBe(0);
  });

  test("count where they are short: models often say the same", () => {
    const { tests } = compare(
      [result("a", [0, 5], [0, 5], { answer: "no", tokens: 1 })],
      [result("a", [5, 5], [0, 0], { answer: "yes", tokens: 1 })],
    );
    expect(tests[0]?.verdict).toBe("broken");
  });

  test("count where no model was used", () => {
    const { tests } = compare(
      [result("a", [0, 5], [0, 5], { ...wrong, tokens: null })],
      [result("a", [5, 5], [0, 0], { ...alike, tokens: 0 })],
    );
    expect(tests[0]?.verdict).toBe("broken");
  });

  test("count once where an annotation reply answered", () => {
    const other = testResult("b", [runOf("b", true, alike), runOf("b", true, wrong)]);
    const { now } = compare(
      [result("a", [5, 5], [0, 0], { ...alike, annotated: true }), other],
      [result("a", [5, 5], [0, 0], alike), other],
    );
    expect(now).toEqual({ passes: 3, runs: 3 });
  });
});

describe("earlier runs", () => {
  const names = Array.from({ length: 10 }, (_, index) => `t${index}`);
  /** Ten tests with five repeats of which so many miss, one in each test. */
  const run = (misses: number) =>
    names.map((name, index) => result(name, [5 - Number(index < misses), 5]));
  const now = names.map((name, index) =>
    result(name, [5 - Number(index < 8) - Number(index < 2), 5]),
  );

  test("tell by how much times differ", () => {
    expect(compare(now, run(1))).toMatchObject({ isWorse: true, times: "assumed" });
    const steady = [1, 0, 1, 1, 2].map(run);
    expect(compare(now, run(1), { history: steady })).toMatchObject({
      isWorse: true,
      times: "history",
    });
    const wild = [10, 0, 9, 1, 10].map(run);
    expect(compare(now, run(1), { history: wild })).toMatchObject({
      isWorse: false,
      times: "history",
    });
  });

  test("are at least five, of the same tests, with no more repeats", () => {
    const wild = [10, 0, 9, 1].map(run);
    const others = [result("x", [5, 5])];
    const more = names.map((name) => result(name, [20, 20]));
    for (const fifth of [[], [others], [more]])
      expect(compare(now, run(1), { history: [...wild, ...fifth] }).times).toBe("assumed");
  });

  test("widen what chance explains in a single test", () => {
    const before = run(1);
    const broken = [result("t9", [1, 5], [1, 5]), ...now.slice(0, 9)];
    const verdict = (history: readonly (readonly TestResult[])[]) =>
      compare(broken, before, { history }).tests[0]?.verdict;
    expect(verdict([])).toBe("broken");
    expect(verdict([1, 0, 1, 1, 2].map(run))).toBe("broken");
    expect(verdict([10, 0, 10, 0, 10].map(run))).toBe("undecided");
  });
});

describe("answers of a test that passes", () => {
  const of = (...answers: readonly string[]) =>
    testResult(
      "a",
      answers.map((answer) => runOf("a", true, { answer })),
    );
  test.each([
    [["30 days"], ["14 weeks"], "changed"],
    [["30 days", "thirty days"], ["a month", "thirty days"], "passes"],
    [["You have thirty days of leave."], ["You have thirty days of vacation."], "passes"],
    [["You have thirty days of leave."], ["You have twenty weeks of vacation."], "changed"],
  ] as const)("%j, then %j: %s", (before, now, verdict) => {
    expect(compare([of(...now)], [of(...before)]).tests[0]?.verdict).toBe(verdict);
  });
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
      ...rule,
    };
    expect(result("t", planned, [0, 0], { pass }).status).toBe(status);
  });
});

test("tests are asked again that miss what they passed, by planned runs alone", () => {
  const before = [result("a", [5, 5]), result("b", [1, 5]), result("c", [0, 5])];
  const now = [result("a", [4, 5]), result("b", [3, 5]), result("c", [0, 5]), result("d", [0, 5])];
  expect([...doubtfulTests(now, { tests: before, skipped: new Set() })]).toEqual(["a", "b"]);
});

test("time is claimed only where both were asked in turn", () => {
  const of = (seconds: number) =>
    Array.from({ length: 8 }, (_, index) => result(`t${index}`, [1, 1], [0, 0], { seconds }));
  expect(compare(of(2), of(1)).seconds).toEqual({ before: 1, now: 2, ratio: null });
  expect(compare(of(2), of(1), { isInterleaved: true })).toMatchObject({
    times: "interleaved",
    seconds: { before: 1, now: 2, ratio: { low: 2, high: 2 } },
    tokens: null,
  });
});
