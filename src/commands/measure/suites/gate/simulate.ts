import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import { judge, secondLookRuns } from "./gate.ts";
import type { GateInput, GateVerdict } from "./gate.ts";
import type { GateRun, TestBefore, TestNow } from "./match-tests.ts";

/** What a suite is compared with, and how it is run now. */
export interface SimulatedSuite extends Pick<
  GateInput,
  "before" | "baselineAt" | "history" | "rules"
> {
  readonly tests: readonly Pick<TestNow, "name" | "content" | "rate">[];
  /** How often each test is planned. */
  readonly repeat: number;
}

/**
 * Whether a run of a test passes, both by their number from 0. The planned runs of a test come first, then those that it
 * is asked again.
 */
export type Draw = (test: number, run: number) => boolean;

/** A draw by pass rates alone; `random` gives numbers from 0 to 1. */
export const drawByRates =
  (rates: readonly number[], random: () => number): Draw =>
  (test) =>
    random() < (rates[test] ?? 0);

/** Runs tests as a baseline, in rounds: each test once, then again. */
export function simulateBaseline(
  tests: readonly Pick<TestBefore, "name" | "content">[],
  repeat: number,
  draw: Draw,
): TestBefore[] {
  const runs = inRounds(tests.length, repeat, draw);
  return tests.map(({ name, content }, index) => ({ name, content, runs: runs[index] ?? [] }));
}

/**
 * Runs a suite as `wf test run --baseline` does, with fresh runs and the second look, and judges it. Answers are not
 * simulated: they are taken as short, so that no cache is seen.
 */
export function simulateGate(suite: SimulatedSuite, draw: Draw): GateVerdict {
  const { tests, repeat, rules } = suite;
  const planned = inRounds(tests.length, repeat, draw);
  const fresh = tests.map((): GateRun[] => []);
  /** Runs of the second look that are not fresh runs of a candidate. */
  const extra = tests.map((): GateRun[] => []);
  const ask = (test: number, runs: GateRun[][]) => {
    const asked = repeat + (fresh[test]?.length ?? 0) + (extra[test]?.length ?? 0);
    runs[test]?.push(runOf(draw(test, asked)));
  };

  /** Asks tests again, in rounds, until no run of any is due. */
  const judgeInRounds = (second?: ReadonlyMap<string, Passes>): GateVerdict => {
    for (;;) {
      const now = tests.map((test, index) => ({
        ...test,
        planned: planned[index] ?? [],
        fresh: fresh[index] ?? [],
      }));
      const verdict = judge({ ...suite, now, skipped: new Set(), second });
      const due = tests.flatMap((_, index) => {
        const test = verdict.tests[index];
        return test && "isAsked" in test && test.isAsked ? [index] : [];
      });
      if (due.length === 0) return verdict;
      for (const test of due) ask(test, fresh);
    }
  };

  const first = judgeInRounds();
  if (first.suite.verdict !== "worse" || rules.confirm === 0) return first;
  const again = secondLookRuns(repeat);
  const second = tests.map(({ name }, test) => {
    for (let run = fresh[test]?.length ?? 0; run < again; run++) ask(test, extra);
    const runs = [...(fresh[test] ?? []), ...(extra[test] ?? [])].slice(0, again);
    return [name, { passes: runs.filter((run) => run === passed).length, runs: again }] as const;
  });
  return judgeInRounds(new Map(second));
}

const passed: GateRun = { status: "passed", answer: "", byModel: false };
const failed: GateRun = { status: "failed", answer: "", byModel: false };
const runOf = (passes: boolean): GateRun => (passes ? passed : failed);

/** The runs of each test: all tests once, then all of them again. */
function inRounds(tests: number, repeat: number, draw: Draw): GateRun[][] {
  const runs = Array.from({ length: tests }, (): GateRun[] => []);
  for (let run = 0; run < repeat; run++)
    for (const [test, own] of runs.entries()) own.push(runOf(draw(test, run)));
  return runs;
}
