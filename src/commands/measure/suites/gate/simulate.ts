import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import { openGate, secondLookRuns } from "./gate.ts";
import type { GateRules, GateVerdict, KnownRuns } from "./gate.ts";
import type { GateRun, TestBefore, TestNow } from "./match-tests.ts";

/** A test as it is simulated. */
export interface SimulatedTest extends Pick<TestNow, "name" | "content" | "rate"> {
  /** How often it is planned, if it says so itself. */
  readonly repeat?: number | undefined;
}

/** What a suite is compared with, and how it is run now. */
export interface SimulatedSuite extends KnownRuns {
  readonly rules: GateRules;
  readonly tests: readonly SimulatedTest[];
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

/** Runs tests as a baseline. */
export const simulateBaseline = (
  tests: readonly SimulatedTest[],
  repeat: number,
  draw: Draw,
): TestBefore[] => inRounds(tests, repeat, draw);

/** Opens the gate of a suite whose planned runs are drawn. */
export function openSimulatedGate(suite: SimulatedSuite, draw: Draw) {
  const played = inRounds(suite.tests, suite.repeat, draw);
  const now = played.map(({ runs: planned, ...test }) => ({ ...test, planned, fresh: [] }));
  return openGate({ ...suite, now, skipped: new Set() });
}

/**
 * Runs a suite as `wf test run --baseline` does, with fresh runs and the second look, and judges it. Answers are not
 * simulated: they are taken as short, so that no cache is seen.
 */
export function simulateGate(suite: SimulatedSuite, draw: Draw): GateVerdict {
  const gate = openSimulatedGate(suite, draw);
  const asked = gate.tests.map((test) => ({
    test,
    /** Whether its fresh runs pass. */
    fresh: [] as boolean[],
    /** Those of the second look that are not fresh runs of a candidate. */
    extra: [] as boolean[],
  }));
  type Asked = (typeof asked)[number];
  const next = ({ test, fresh, extra }: Asked, index: number) =>
    draw(index, test.now.runs + fresh.length + extra.length);
  const counted = ({ test, fresh }: Asked) => ({ ...test, fresh: passesIn(fresh) });

  /** Asks tests again, in rounds, until no run of any is due. */
  const askInRounds = (isWorse: boolean) => {
    let due = [...asked.entries()];
    while (due.length > 0) {
      due = due.filter(([, each]) => gate.isDue(counted(each), isWorse));
      for (const [index, each] of due) each.fresh.push(next(each, index));
    }
  };

  const isWorse = gate.judgeSuite(undefined).verdict === "worse";
  askInRounds(isWorse);
  if (!isWorse || suite.rules.confirm === 0) return gate.judgeAll(asked.map(counted), undefined);
  const second = new Map<string, Passes>();
  for (const [index, each] of asked.entries()) {
    const again = secondLookRuns(each.test.now.runs);
    while (each.fresh.length + each.extra.length < again) each.extra.push(next(each, index));
    second.set(each.test.name, passesIn([...each.fresh, ...each.extra].slice(0, again)));
  }
  askInRounds(gate.judgeSuite(second).verdict === "worse");
  return gate.judgeAll(asked.map(counted), second);
}

const passesIn = (runs: readonly boolean[]): Passes => ({
  passes: runs.filter(Boolean).length,
  runs: runs.length,
});

const passed: GateRun = { status: "passed", answer: "", byModel: false };
const failed: GateRun = { ...passed, status: "failed" };

/** Tests with their runs: all of them once, then those again that are planned more often. */
function inRounds(tests: readonly SimulatedTest[], repeat: number, draw: Draw) {
  const all = tests.map((test) => ({ ...test, runs: [] as GateRun[] }));
  const most = Math.max(0, ...tests.map((test) => test.repeat ?? repeat));
  for (let run = 0; run < most; run++)
    for (const [index, test] of all.entries())
      if (run < (test.repeat ?? repeat)) test.runs.push(draw(index, run) ? passed : failed);
  return all;
}
