/** Synthetic applications with known pass rates: how often the comparison of two runs is wrong, and how often right. */
import { compareSuites, doubtfulTests } from "../../src/commands/measure/suites/comparison.ts";
import { testResult } from "../../src/commands/measure/suites/results.ts";
import type { TestResult } from "../../src/commands/measure/suites/results.ts";
import type { TestRun } from "../../src/commands/measure/suites/answers/index.ts";
import { runOf } from "./suite-seeds.ts";

/** How runs of a suite depend on each other. */
export interface Dependence {
  readonly name: string;
  /** The repeats of a run give one answer, as from a cache. */
  readonly identical?: true;
  /** Standard deviation of the effect that the time of a run has on all its tests, in log odds. */
  readonly effect?: number;
  /** What removes that effect, or tells it. */
  readonly known?: "interleaved" | "history";
}

/** Independent repeats, a cache, and effects of the time of a run that are removed or known. */
export const dependences: readonly Dependence[] = [
  { name: "independent" },
  { name: "identical", identical: true },
  ...([0.25, 0.5] as const).flatMap((effect) =>
    (["interleaved", "history"] as const).map((known) => ({
      name: `${effect} logit, ${known}`,
      effect,
      known,
    })),
  ),
];

/** Pass rates of suites, repeated in this order. */
export const kinds: Readonly<Record<string, readonly number[]>> = {
  sure: [1],
  mixed: [1, 1, 1, 0.99, 0.95, 1, 1, 1, 0.98, 0.8],
  flaky: [0.9, 0.8, 0.6, 0.5],
};

/** The pass rates of a suite with this many tests. */
export const ratesOf = (kind: string, tests: number): number[] => {
  const rates = kinds[kind] ?? [];
  return Array.from({ length: tests }, (_, index) => rates[index % rates.length] ?? 1);
};

const CONFIRM = 5;
const LEVEL = 0.05;
/** Runs of a history. */
const HISTORY = 5;

/** Numbers from 0 to 1 of a seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What is said of one application that was compared with itself or a changed one. */
export interface Said {
  readonly isWorse: boolean;
  /** Numbers of the tests that are called broken. */
  readonly broken: readonly number[];
}

/** Runs an application with these pass rates twice and compares; `after` are those of the second run. */
export function compared(
  rates: readonly number[],
  after: readonly number[],
  { repeat, dependence }: { readonly repeat: number; readonly dependence: Dependence },
  random: () => number,
): Said {
  const { effect = 0, identical, known } = dependence;
  const timeEffect = () => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return effect * normal;
  };
  const passes = (rate: number, time: number) =>
    random() < (rate >= 1 || rate <= 0 ? rate : 1 / (1 + ((1 - rate) / rate) * Math.exp(-time)));
  /** The runs of a test: with different answers, or all with that of the first. */
  const runs = (index: number, rate: number, time: number, again?: TestResult) => {
    const count = again ? CONFIRM : repeat;
    const [before] = again?.results ?? [];
    if (identical && before)
      return Array.from({ length: count }, () => ({ ...before, confirms: true }));
    const draw = () =>
      drawnRun(index, passes(rate, time), {
        wording: identical ? 0 : Math.floor(random() * WORDINGS),
        confirms: again !== undefined,
      });
    const same = draw();
    return Array.from({ length: count }, () => (identical ? same : draw()));
  };
  const suite = (all: readonly number[], time: number) =>
    all.map((rate, index) => ranTest(`t${index}`, runs(index, rate, time)));
  const then = timeEffect();
  const now = known === "interleaved" ? then : timeEffect();
  const before = suite(rates, then);
  const first = suite(after, now);
  const skipped = new Set<string>();
  const doubtful = doubtfulTests(first, { tests: before, skipped });
  const asked = (tests: readonly TestResult[], all: readonly number[], time: number) =>
    tests.map((test, index) => {
      if (!doubtful.has(test.name)) return test;
      const fresh = runs(index, all[index] ?? 1, time, test);
      return ranTest(test.name, [...test.results, ...fresh]);
    });
  const isInterleaved = known === "interleaved";
  const history =
    known === "history" ? Array.from({ length: HISTORY }, () => suite(rates, timeEffect())) : [];
  const earlier = {
    tests: isInterleaved ? asked(before, rates, then) : before,
    isInterleaved,
    history,
    skipped,
  };
  const { isWorse, tests } = compareSuites(asked(first, after, now), earlier, {
    level: LEVEL,
    confirm: CONFIRM,
  });
  return {
    isWorse,
    broken: tests.flatMap(({ verdict }, index) => (verdict === "broken" ? [index] : [])),
  };
}

/** Runs by what they are: those that are alike are one object, since millions are drawn. */
const drawnRuns = new Map<number, TestRun>();
/** Wordings of an answer, of which each run has one. */
const WORDINGS = 4;

function drawnRun(
  index: number,
  passed: boolean,
  { wording, confirms }: { readonly wording: number; readonly confirms: boolean },
): TestRun {
  const key = ((index * WORDINGS + wording) * 2 + Number(passed)) * 2 + Number(confirms);
  const known = drawnRuns.get(key);
  if (known) return known;
  const answer = `The answer is here in a whole sentence, worded ${passed} as in ${wording}.`;
  const run = runOf(`t${index}`, passed, { answer, tokens: 9, confirms });
  drawnRuns.set(key, run);
  return run;
}

const blank = testResult("", []);

/** A test with what a comparison reads of it: hashes of answers and medians would take most of the time. */
function ranTest(name: string, results: readonly TestRun[]): TestResult {
  const planned = results.filter(({ confirms }) => !confirms);
  const passes = planned.filter(({ status }) => status === "passed").length;
  return { ...blank, name, results, passes, runs: planned.length };
}
