/** Rules of the gate that the cases of gate.test.ts do not decide. */
import { expect, test } from "vitest";
import { findsDeadTest, judge } from "../../../src/commands/measure/suites/gate/gate.ts";
import type { GateRun } from "../../../src/commands/measure/suites/gate/match-tests.ts";

let asked = 0;
/** Runs such as `PPF`, each with an answer of its own; or all with this one. */
const runs = (marks: string, answer?: string): GateRun[] =>
  [...marks].map((mark) => ({
    status: mark === "P" ? "passed" : "failed",
    answer: answer ?? `answer ${asked++} of a model, with more than forty characters`,
    byModel: true,
  }));

interface Sides {
  readonly before: GateRun[];
  readonly now: GateRun[];
  readonly fresh?: GateRun[];
}

/** The verdicts on tests that are called 0, 1 and so on. */
const judged = (...sides: readonly Sides[]) =>
  judge({
    before: sides.map(({ before }, at) => ({ name: `${at}`, content: `${at}`, runs: before })),
    now: sides.map(({ now, fresh = [] }, at) => ({
      name: `${at}`,
      content: `${at}`,
      planned: now,
      fresh,
    })),
    baselineAt: "2026-11-28T00:00:00.000Z",
    history: [],
    skipped: new Set(),
    rules: { level: 0.05, confirm: 6 },
  });

const sure = (count: number): Sides[] =>
  Array.from({ length: count }, () => ({ before: runs("PPP"), now: runs("PP") }));

test("a test whose fresh runs are not all there is inconclusive", () => {
  const found = judged({ before: runs("PPP"), now: runs("PF"), fresh: runs("F") }, ...sure(3));
  // 1 of 3 after 3 of 3 is not rare, 1 of 8 would be.
  expect(found.tests[0]).toMatchObject({ verdict: "inconclusive", isAsked: true });
});

test("a test that never passes is asked on where the suite makes it likely, and else is broken", () => {
  const dead = { before: runs("P"), now: runs("F"), fresh: runs("FFFFFF") };
  const varied = Array.from({ length: 5 }, () => [
    { before: runs("P"), now: runs("F"), fresh: runs("P") },
    { before: runs("F"), now: runs("P") },
  ]).flat();
  expect(judged(dead, ...varied).tests[0]).toMatchObject({
    verdict: "inconclusive",
    isAsked: true,
  });
  expect(judged(dead, ...sure(10)).tests[0]).toMatchObject({ verdict: "broken", isAsked: false });
});

test("of equal answers of a cache, a failed one counts", () => {
  const answer = "the same words of a model, more than forty characters";
  const cached = Array.from({ length: 3 }, (_, at) => ({
    before: runs("PP", `${at}: ${answer} before`),
    now: runs("PP", `${at}: ${answer} now`),
  }));
  const found = judged({ before: runs("PP"), now: runs("PF", answer) }, ...cached);
  expect(found.cached).toBe(true);
  expect(found.tests[0]).toMatchObject({ counts: { now: { passes: 0, runs: 1 } } });
});

test.each([
  [
    "one long answer, twice",
    runs("FF", "the same words of a model, more than forty characters"),
    3,
  ],
  ["one answer once", runs("F"), 0],
  ["two answers", runs("FF"), 0],
  ["a short answer, twice", runs("FF", "no"), 0],
])("fresh runs with %s ask whether a cache answers", (_, fresh, controls) => {
  const found = judged({ before: runs("PPP"), now: runs("PF"), fresh }, ...sure(3));
  expect(found.controls).toHaveLength(controls);
});

// The p of Boschloo is the chance of all and of none if half of the runs pass: 1 in 2 ** 2n. If one of 3 passed now, it
// would be 7 in 64: 3 and 0, 3 and 1, or 2 and 0.
test.each([
  [2, 2, false], // 1/16, limit 0.05
  [3, 3, true], // 1/64, limit 0.05
])("all of %i runs that pass beside none of %i tell a dead test: %s", (before, now, finds) => {
  expect(findsDeadTest(before, now, { level: 0.05, confirm: 0 })).toBe(finds);
});
