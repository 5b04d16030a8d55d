/** How often `wf test flaky` says what about tests whose true pass rate is known. */
import { expect, test } from "vitest";
import { verdictOf } from "../../src/commands/measure/suites/flaky.ts";
import { seeded } from "../lib/seeded.ts";

/** Percent in docs/verdicts.md, computed apart from the code: the number of switches is a Markov chain. */
test.each([
  [0.5, { flaky: 100, unclear: 0, broken: 0, fixed: 0, passing: 0 }],
  [0.8, { flaky: 91.2, unclear: 6.9, broken: 0.4, fixed: 0.4, passing: 1.2 }],
  [0.9, { flaky: 57.4, unclear: 27.4, broken: 1.5, fixed: 1.5, passing: 12.2 }],
  [0.95, { flaky: 24.3, unclear: 35.8, broken: 2, fixed: 2, passing: 35.8 }],
  [0.99, { flaky: 1.5, unclear: 15, broken: 0.8, fixed: 0.8, passing: 81.8 }],
])("20 results of a test that passes at a rate of %d", (rate, expected) => {
  const random = seeded(7);
  const histories = 20_000;
  const counts: Record<string, number> = {};
  for (let index = 0; index < histories; index++) {
    const draw = (day: number) => ({
      at: new Date(day),
      version: "",
      passed: random() < rate,
    });
    const others = Array.from({ length: 19 }, (_, day) => draw(day + 1));
    const { verdict } = verdictOf([draw(0), ...others]);
    counts[verdict] = (counts[verdict] ?? 0) + 1;
  }
  // Three standard errors of 20,000 draws are at most 1.1 points.
  for (const [verdict, percent] of Object.entries(expected))
    expect(Math.abs(((counts[verdict] ?? 0) * 100) / histories - percent)).toBeLessThan(1.1);
});
