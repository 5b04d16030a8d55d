/** The runs that the simulated gate asks for, and in which order (`wf test run --baseline` does the same). */
import { expect, test } from "vitest";
import {
  simulateBaseline,
  simulateGate,
} from "../../../src/commands/measure/suites/gate/simulate.ts";

const named = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `t${index}`, content: "" }));

/** Plays a suite with two repeats, in which `before` and `now` say what passes; the draws of now in order. */
function played({
  tests,
  known = tests,
  confirm = 6,
  before = () => true,
  now,
}: {
  readonly tests: number;
  /** Tests of the baseline, the first ones. */
  readonly known?: number;
  readonly confirm?: number;
  readonly before?: (test: number, run: number) => boolean;
  readonly now: (test: number, run: number) => boolean;
}) {
  const draws: string[] = [];
  const rules = { level: 0.05, confirm };
  const baseline = {
    before: simulateBaseline(named(known), 2, before),
    baselineAt: "",
    history: [],
  };
  const verdict = simulateGate(
    { ...baseline, rules, tests: named(tests), repeat: 2 },
    (test, run) => {
      draws.push(`${test}.${run}`);
      return now(test, run);
    },
  );
  return { draws, suite: verdict.suite.verdict, tests: verdict.tests.map((each) => each.verdict) };
}

test("a test that passed and no longer does is asked again, the others are not", () => {
  const { draws, suite, tests } = played({ tests: 4, now: (which) => which !== 1 });
  const first = ["0.0", "1.0", "2.0", "3.0", "0.1", "1.1", "2.1", "3.1"];
  expect(draws.slice(0, 8)).toEqual(first);
  expect(draws.slice(8, 14)).toEqual(["1.2", "1.3", "1.4", "1.5", "1.6", "1.7"]);
  expect(new Set(draws.slice(8).map((draw) => draw.split(".")[0]))).toEqual(new Set(["1"]));
  expect(suite).toBe("no decline");
  expect(tests).toEqual(["passes", "broken", "passes", "passes"]);
});

test("a test that passes when asked again is not asked on", () => {
  const { draws, tests } = played({ tests: 2, now: (which, run) => which !== 1 || run >= 2 });
  expect(draws.length).toBeLessThan(4 + 6);
  expect(tests).toEqual(["passes", "passed again"]);
});

test("of a suite that is worse, dead tests have six fresh runs each, which are the second look", () => {
  const { draws, suite } = played({ tests: 6, now: () => false });
  expect(draws).toHaveLength(6 * (2 + 6));
  expect(draws.slice(12, 19)).toEqual(["0.2", "1.2", "2.2", "3.2", "4.2", "5.2", "0.3"]);
  expect(suite).toBe("worse");
});

// 1 of 2 before and 0 of 8 at best: Boschloo's p is r^4 - r^5 at r = 0.8, that is 0.082, so they are not asked again.
// Together, p is 2^-12.
test.each([
  ["still low", false, "worse"],
  ["as before", true, "worse then"],
] as const)("the second look asks each test three times: %s", (_, passes, verdict) => {
  const before = (_test: number, run: number) => run === 0;
  const { draws, suite } = played({ tests: 12, before, now: (_test, run) => passes && run >= 2 });
  expect(draws).toHaveLength(12 * 2 + 12 * 3);
  expect(draws.slice(24)).toEqual(
    Array.from({ length: 12 }, (_each, index) => [2, 3, 4].map((run) => `${index}.${run}`)).flat(),
  );
  expect(suite).toBe(verdict);
});

test("a new test that misses is asked six times", () => {
  const { draws, tests } = played({
    tests: 2,
    known: 1,
    now: (which, run) => which === 0 || run > 0,
  });
  expect(draws.slice(4)).toEqual(["1.2", "1.3", "1.4", "1.5", "1.6", "1.7"]);
  expect(tests).toEqual(["passes", "new"]);
});

test("without --confirm nothing is asked again", () => {
  const { draws, suite } = played({ tests: 12, confirm: 0, now: () => false });
  expect(draws).toHaveLength(24);
  expect(suite).toBe("worse");
});
