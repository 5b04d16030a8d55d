/** Synthetic applications with known pass rates: how often the gate is red, beside what another program has found. */
import { exitOf } from "../../src/commands/measure/suites/gate/gate.ts";
import type { GateVerdict } from "../../src/commands/measure/suites/gate/gate.ts";
import {
  drawByRates,
  simulateBaseline,
  simulateGate,
} from "../../src/commands/measure/suites/gate/simulate.ts";
import type { Draw, SimulatedSuite } from "../../src/commands/measure/suites/gate/simulate.ts";
import { seededRandom } from "../../src/lib/numbers.ts";
import { betaValue, normalValue } from "../../src/lib/statistics/random-values.ts";

/** A way to run a suite, and how often it was red elsewhere (test/fixtures/verdicts/README.md). */
export interface Cell {
  readonly table: string;
  readonly suite: string;
  readonly tests: number;
  readonly repeat: number;
  /** Repeats of the baseline, if they are others. */
  readonly baseline?: number;
  /** Runs before the baseline. */
  readonly history?: number;
  /** What the runs of one command share, with its standard deviation in log odds. */
  readonly effect?: "day" | "test" | "document";
  readonly sd?: number;
  readonly change?: keyof typeof changes;
  /** The share of the planned runs that fail, one after the other, in the order of time. */
  readonly outage?: number;
  readonly order?: "rounds" | "row";
  /** The pass rate of five new tests. */
  readonly rate?: number;
  /** Runs that are compared with one baseline. */
  readonly nights?: number;
  /** Percent, rounded as it is written, of `n`. */
  readonly share: string;
  readonly n: number;
}

/** The cells in the text of the fixture. */
export const cellsIn = (text: string): Cell[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Cell);

/** What a cell is, without what it gave elsewhere: `unchanged, mix, tests 60, repeat 5`. */
export const nameOf = (cell: Cell): string => {
  const { table, suite, ...more } = cell;
  const given = Object.entries(more).filter(([name]) => name !== "share" && name !== "n");
  return [table, suite, ...given.map(([name, value]) => `${name} ${value}`)].join(", ");
};

type Random = () => number;

const mix = (test: number) => (test % 3 === 2 ? 0.9 : 1);

/** The pass rate of each test of a suite, by its number. */
const suites: Readonly<Record<string, (test: number, random: Random) => number>> = {
  sure: () => 1,
  mix,
  nine: () => 0.9,
  half: () => 0.5,
  beta: (_, random) => betaValue(4, 0.7, random),
  low: (test) => [0.1, 0.2, 0.3][test % 3] ?? 0,
  eighth: (test) => (test === 0 ? 1 / 8 : 1),
  "three low": (test) => (test < 3 ? 0.1 : 1),
  "ten low": (test) => (test < 10 ? 0.1 : 1),
  "hopeless 3": (test) => (test < 3 ? 0 : mix(test)),
  "hopeless 10": (test) => (test < 10 ? 0 : mix(test)),
};

/** Pass rates of the last tests before and now: the others stay as they are, or all change. */
const changes = {
  "one dead": { tests: 1, before: 1, now: 0 },
  "five dead": { tests: 5, before: 1, now: 0 },
  "one half": { tests: 1, before: 1, now: 0.5 },
  "five fall": { tests: 5, before: 0.9, now: 0.3 },
  "all fall": { tests: Infinity, before: 0.9, now: 0.8 },
} as const;

/** Which signs of a decline one application gave. */
export interface Red {
  /** The suite is worse or a test is broken. */
  readonly alarm: boolean;
  /** The command exits with 14. */
  readonly exit: boolean;
}

/** Plays an application of a cell; with several nights, `alarm` in one of them and `exit` in all. */
export function playedApp(cell: Cell, seed: number): Red {
  const random = seededRandom(seed);
  const { suite, rates, draw } = drawnApp(cell, seed, random);
  const nights = Array.from({ length: cell.nights ?? 1 }, () =>
    redOf(simulateGate(suite, draw(rates.now, true))),
  );
  return {
    alarm: nights.some(({ alarm }) => alarm),
    exit: nights.every(({ exit }) => exit),
  };
}

function redOf(verdict: GateVerdict): Red {
  const broken = verdict.tests.some((test) => test.verdict === "broken");
  return {
    alarm: verdict.suite.verdict === "worse" || broken,
    exit: exitOf(verdict, { allowRemoved: true, strict: false }) === "gate",
  };
}

const NEW_TESTS = 5;

function drawnApp(cell: Cell, seed: number, random: Random) {
  const { tests: count, repeat, baseline = repeat, history: runs = 0, rate } = cell;
  const rates = ratesOf(cell, seed, random);
  const tests = rates.before.map((_, index) => ({ name: `t${index}`, content: "question" }));
  const draw = (all: readonly number[], isNow: boolean) => drawOf(cell, all, isNow, random);
  const ran = (times: number) => simulateBaseline(tests, times, draw(rates.before, false));
  const suite: SimulatedSuite = {
    history: Array.from({ length: runs }, (_, index) => ({
      at: String(index),
      alarmed: false,
      tests: new Map(
        ran(baseline).map(({ name, content, runs: all }) => {
          const passes = all.filter(({ status }) => status === "passed").length;
          return [name, { content, passes, runs: all.length }] as const;
        }),
      ),
    })),
    before: ran(baseline),
    baselineAt: "later",
    tests: [
      ...tests,
      ...Array.from({ length: rate === undefined ? 0 : NEW_TESTS }, (_, index) => ({
        name: `new ${index}`,
        content: "question",
      })),
    ],
    repeat,
    rules: { level: 0.05, confirm: 6 },
  };
  const now = [...rates.now, ...suite.tests.slice(count).map(() => rate ?? 0)];
  return { suite, rates: { ...rates, now }, draw };
}

/** The pass rates of an application before and now. "hopeless" has three tests that never pass, or ten, in turn. */
function ratesOf({ suite, tests, change }: Cell, seed: number, random: Random) {
  const dead = seed % 2 === 0 && tests > 10 ? 10 : 3;
  const rateOf = suites[suite === "hopeless" ? `hopeless ${dead}` : suite];
  if (!rateOf) throw new Error(`no suite ${suite}`);
  const rates = Array.from({ length: tests }, (_, test) => rateOf(test, random));
  if (!change) return { before: rates, now: rates };
  const { tests: changed, before, now } = changes[change];
  const replaced = (other: number) =>
    rates.map((rate, test) => (tests - test <= changed ? other : rate));
  return { before: replaced(before), now: replaced(now) };
}

/** The draws of a command: its runs share what happens at its time. */
function drawOf(cell: Cell, rates: readonly number[], isNow: boolean, random: Random): Draw {
  const { table, tests, repeat, outage, order } = cell;
  const shift = shiftOf(cell, random);
  const shifted = rates.map((rate, test) => {
    const odds = (rate / (1 - rate)) * Math.exp(shift(test));
    return rate > 0 && rate < 1 ? odds / (1 + odds) : rate;
  });
  const draw = drawByRates(shifted, random);
  if (table === "cached draws") {
    const cached = rates.map((_, test) => draw(test, 0));
    return (test) => cached[test] ?? false;
  }
  if (outage === undefined || !isNow) return draw;
  const length = Math.round(outage * tests * repeat);
  const start = Math.floor(random() * (tests * repeat - length + 1));
  return (test, run) => {
    const at = (order === "row" ? test * repeat + run : run * tests + test) - start;
    const isOut = run < repeat && at >= 0 && at < length;
    return !isOut && draw(test, run);
  };
}

/** Tests of one document, where a document is read well or badly. */
const DOCUMENT = 5;

/** The change of the log odds of each test at the time of a command. */
function shiftOf({ effect, sd = 0 }: Cell, random: Random): (test: number) => number {
  if (effect === undefined) return () => 0;
  const sharing = { day: Infinity, test: 1, document: DOCUMENT }[effect];
  const shifts = new Map<number, number>();
  return (test) => {
    const group = Math.floor(test / sharing);
    const shift = shifts.get(group) ?? sd * normalValue(random);
    shifts.set(group, shift);
    return shift;
  };
}

/** Which red the table of a cell counts. */
export const countsExit = ({ table }: Cell): boolean =>
  /^(power|stays broken|new tests)/.test(table);

/** Applications that were red in a cell, of so many. */
export interface Found {
  readonly n: number;
  readonly alarm: number;
  readonly exit: number;
}

/** Plays so many applications of a cell; by its number in the fixture each has applications of its own. */
export function playedCell(cell: Cell, number: number, n: number): Found {
  const first = 1_000_000 * (number + 1);
  const all = Array.from({ length: n }, (_, index) => playedApp(cell, first + index));
  return {
    n,
    alarm: all.filter(({ alarm }) => alarm).length,
    exit: all.filter(({ exit }) => exit).length,
  };
}

/** Two-sided quantile of the standard normal distribution for 99.9 %. */
const NORMAL_999 = 3.290526731491925;

/**
 * The difference of the found share and that of the fixture, with its 99.9 % interval (R. G. Newcombe, "Interval
 * estimation for the difference between independent proportions", 1998, method 10). Of the shares that are written so in
 * the fixture, it takes the one that is closest.
 */
export function difference(cell: Cell, found: Found) {
  const share = (countsExit(cell) ? found.exit : found.alarm) / found.n;
  const written = Number(cell.share) / 100;
  const isExact = written === 0 || written === 1;
  const rounding = isExact ? 0 : (cell.share.includes(".") ? 0.1 : 1) / 200;
  const known = Math.min(Math.max(share, written - rounding), written + rounding);
  const [mine, other] = [scoreInterval(share, found.n), scoreInterval(known, cell.n)];
  const low = share - known - Math.hypot(share - mine.low, other.high - known);
  const high = share - known + Math.hypot(mine.high - share, known - other.low);
  return { share, low, high, agrees: low <= 0 && high >= 0 };
}

/** E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927. */
function scoreInterval(share: number, n: number) {
  const square = NORMAL_999 ** 2 / n;
  const center = (share + square / 2) / (1 + square);
  const half =
    (NORMAL_999 / (1 + square)) * Math.sqrt((share * (1 - share)) / n + square / (4 * n));
  return { low: center - half, high: center + half };
}
