import { seededRandom } from "../../../../lib/numbers.ts";
import { likelyRates, suitePrior } from "../../../../lib/statistics/suite-prior.ts";
import { rateOf } from "../../../../lib/statistics/pass-rates.ts";
import { exitOf } from "./gate.ts";
import type { KnownRuns } from "./gate.ts";
import { drawByRates, openSimulatedGate, simulateBaseline, simulateGate } from "./simulate.ts";
import type { SimulatedSuite } from "./simulate.ts";

/** A suite whose gate is to be simulated. */
export interface PlannedSuite extends Omit<SimulatedSuite, keyof KnownRuns> {
  /** The pass rate of tests without results. */
  readonly rate: number;
  /** Undefined if one is simulated, too, with as many repeats. */
  readonly baseline?: KnownRuns | undefined;
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
 * Opens simulated runs of a suite after changes: whether the command exits with 14, and how many runs of the history
 * count. The same seed gives the same answer.
 */
export function openSimulation(suite: PlannedSuite) {
  const { baseline, tests, repeat } = suite;
  const known = baseline && knownRates(suite, baseline);
  return {
    history: known?.history ?? 0,
    isRed(change: AppChange, seed: number): boolean {
      const random = seededRandom(seed);
      const { rates, one } = known ? known.draw(random) : assumedRates(suite);
      const before = () => simulateBaseline(tests, repeat, drawByRates(rates, random));
      const compared = baseline ?? { before: before(), baselineAt: "", history: [] };
      const now = rates.map((rate, index) => changes[change](rate, index === one));
      const verdict = simulateGate({ ...suite, ...compared }, drawByRates(now, random));
      return exitOf(verdict, { allowRemoved: true, strict: false }) === "gate";
    },
  };
}

/** Without results: the first test always passes, so that it can change. */
function assumedRates({ tests, rate }: PlannedSuite) {
  return { rates: tests.map((_, index) => (index === 0 ? 1 : rate)), one: 0 };
}

/** Draws rates that the results make likely, and one of the tests that passed most often. */
function knownRates({ tests, rate, rules }: PlannedSuite, baseline: KnownRuns) {
  const gate = openSimulatedGate({ ...baseline, tests, rules, repeat: 1 }, () => true);
  const pairs = gate.tests.flatMap((test) => (test.kind === "pair" ? test : []));
  const counts = pairs.map(({ before }) => before);
  const prior = suitePrior(counts.map((passes) => ({ ...passes, weight: 1 })));
  const most = Math.max(...counts.map(rateOf));
  const surest = pairs.filter(({ before }) => rateOf(before) === most);
  return {
    history: gate.history,
    draw(random: () => number) {
      const likely = likelyRates(counts, prior, random);
      const rateOfTest = new Map(pairs.map(({ name }, index) => [name, likely[index]]));
      const one = surest[Math.floor(random() * surest.length)];
      return {
        rates: tests.map(({ name }) => rateOfTest.get(name) ?? rate),
        one: tests.findIndex(({ name }) => name === one?.name),
      };
    },
  };
}
