import { seededRandom } from "../../../../lib/numbers.ts";
import { totalPasses } from "../../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../../lib/statistics/pass-rates.ts";
import { likelyRates, suitePrior } from "../../../../lib/statistics/suite-prior.ts";
import { passesOf } from "./count-runs.ts";
import { exitOf } from "./gate.ts";
import type { GateInput } from "./gate.ts";
import { drawByRates, simulateBaseline, simulateGate } from "./simulate.ts";
import type { SimulatedSuite } from "./simulate.ts";

/** A suite whose gate is to be simulated. */
export interface PlannedSuite extends Omit<SimulatedSuite, "before" | "baselineAt" | "history"> {
  /** The pass rate of tests without results. */
  readonly rate: number;
  /** Undefined if one is simulated, too, with as many repeats. */
  readonly baseline?: Pick<GateInput, "before" | "baselineAt" | "history"> | undefined;
}

/** What may become of an application: a test that passed, `one`, or all tests pass less often. */
const changes = {
  dead: (rate: number, isOne: boolean) => (isOne ? 0 : rate),
  half: (rate: number, isOne: boolean) => (isOne ? rate / 2 : rate),
  fall: (rate: number) => Math.max(0, rate - 0.1),
  none: (rate: number) => rate,
} as const;

/** A change of an application, or none. */
export type AppChange = keyof typeof changes;

/** The names of all changes. */
export const changeNames = Object.keys(changes) as readonly AppChange[];

/**
 * Simulates a run after a change: whether the command exits with 14, and how many runs of the history counted. The same
 * seed gives the same answer.
 */
export function simulateChange(suite: PlannedSuite, change: AppChange, seed: number) {
  const random = seededRandom(seed);
  const { baseline, tests, repeat } = suite;
  const { rates, one } = baseline ? knownRates(suite, baseline, random) : assumedRates(suite);
  const before = () => simulateBaseline(tests, repeat, drawByRates(rates, random));
  const compared = baseline ?? { before: before(), baselineAt: "", history: [] };
  const now = rates.map((rate, index) => changes[change](rate, index === one));
  const verdict = simulateGate({ ...suite, ...compared }, drawByRates(now, random));
  const exit = exitOf(verdict, { allowRemoved: true, strict: false });
  return { isRed: exit === "gate", history: verdict.history };
}

/** Without results: the first test always passes, so that it can change. */
function assumedRates({ tests, rate }: PlannedSuite) {
  return { rates: tests.map((_, index) => (index === 0 ? 1 : rate)), one: 0 };
}

/** Rates that the results make likely, and one of the tests that passed most often. */
function knownRates(
  { tests, rate }: PlannedSuite,
  { before, history }: NonNullable<PlannedSuite["baseline"]>,
  random: () => number,
) {
  const known = new Map(
    before.map(({ name, runs }): [string, Passes] => {
      const earlier = history.flatMap(({ tests: all }) => all.get(name) ?? []);
      return [name, totalPasses([passesOf(runs), ...earlier])];
    }),
  );
  const counts = [...known.values()];
  const prior = suitePrior(counts.map((passes) => ({ ...passes, weight: 1 })));
  const likely = likelyRates(counts, prior, random);
  const rateOf = new Map([...known.keys()].map((name, index) => [name, likely[index]]));
  const shares = tests.map(({ name }) => {
    const { passes, runs } = known.get(name) ?? { passes: 0, runs: 1 };
    return runs > 0 ? passes / runs : 0;
  });
  const most = Math.max(...shares);
  const surest = shares.flatMap((share, index) => (share === most ? [index] : []));
  const one = surest[Math.floor(random() * surest.length)];
  return { rates: tests.map(({ name }) => rateOf.get(name) ?? rate), one };
}
