import type { Input } from "../../../operations/operation.ts";
import { usage } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { sum } from "../../../lib/numbers.ts";
import { SAMPLE_SEED } from "../../../lib/statistics/intervals.ts";
import { intervalText, passRate } from "../../../lib/statistics/pass-rates.ts";
import type { PassRate } from "../../../lib/statistics/pass-rates.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { right } from "../../../output/report-model.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { judgesOf, readSuite, testContent } from "../suite-file/index.ts";
import type { Suite } from "../suite-file/index.ts";
import { openChecker } from "./answers/index.ts";
import { readCompared } from "./baseline.ts";
import type { testPlanParams } from "./command.ts";
import { knownRuns } from "./gate-input.ts";
import { changeNames, openSimulation, usualRules } from "./gate/index.ts";
import type { AppChange, KnownRuns, PlannedSuite } from "./gate/index.ts";
import { isExcused, questionsIn, selectedTests, testNameOf } from "./runs/index.ts";
import { judgedByNow } from "./score.ts";

type PlanInput = Input<typeof testPlanParams>;

/** The share of passes of a test that is not known, the chance of finding a change, and the rules of `wf test run`. */
const defaults = { rate: 0.9, power: 0.8, ...usualRules };

/** Repeats that are compared if none are given. */
const REPEATS = [1, 2, 3, 5, 10];

/** How long is simulated, in ms; the draws are at least and at most so many. */
const LASTS = 2000;
const [LEAST, MOST] = [200, 10_000];

/** Simulates the gate of suites: how often it finds a change, and how often it is wrong. Asks nothing. */
export async function* run(input: PlanInput, context: Context): AsyncGenerator<Report> {
  const { rate = defaults.rate, power = defaults.power } = input;
  const { level = defaults.level, confirm = defaults.confirm } = input;
  const { read, excused } = await readTests(input.suites, context);
  const baseline = await readKnown(input, read, context);
  const tests = read.map(({ name, content, test: { repeat, pass } }) => ({
    name,
    content,
    repeat,
    rate: pass.stated ? pass.rate : undefined,
  }));
  const usual = baseline ? [1] : REPEATS;
  const repeats = input.repeat === undefined ? usual : [input.repeat];
  const rules = { level, confirm };
  const suites = repeats.map((repeat) => ({ tests, repeat, rate, baseline, rules }));
  const { draws, red, history } = await simulated(suites, context);
  const rows = repeats.map((repeat, row) => {
    const chance = (change: AppChange) => passRate(red[row]?.[change] ?? 0, draws);
    return {
      repeat,
      runs: sum(tests.map((test) => test.repeat ?? repeat)),
      chances: Object.fromEntries(changeNames.map((change) => [change, chance(change)])),
    };
  });
  /** The lowest repeats that find a change; null if none of these does. */
  const needed = found.map((change): [AppChange, number | null] => {
    const row = rows.find(({ chances }) => (chances[change]?.rate ?? 0) >= power);
    return [change, row?.repeat ?? null];
  });
  const isSearched = input.repeat === undefined && !baseline;
  yield {
    data: {
      tests: tests.length,
      in_quarantine: excused,
      level,
      confirm,
      draws,
      history,
      repeats: rows,
      ...(isSearched && { aim: power, needed: Object.fromEntries(needed) }),
    },
    title: "Repeats",
    sections: [
      {
        title: `${counted(tests.length, "test")}, ${counted(draws, "draw")}`,
        columns: [
          right("--repeat"),
          right("runs"),
          ...changeNames.map((change) => right(headings[change])),
        ],
        rows: rows.map(({ repeat, runs, chances }) => [
          repeat,
          runs,
          ...changeNames.map((change) => chanceText(chances[change])),
        ]),
        notes: [
          "how often the run exits with 14, with the 95 % interval: after a test that passed no longer does, or in half of its runs; after all tests fall by 10 points; and with no change",
          baseline
            ? `compared with the baseline and ${counted(history, "earlier run")}; pass rates are drawn as their results make them likely`
            : `assumes that one test always passes, the others in ${100 * rate} % of runs, and a baseline with as many repeats; --baseline uses results`,
          ...(isSearched ? [neededNote(needed, power)] : []),
          ...(excused.length > 0
            ? [`in quarantine, so no failure counts: ${firstNames(excused)}`]
            : []),
        ],
      },
    ],
  };
}

const headings: Readonly<Record<AppChange, string>> = {
  dead: "one dead",
  half: "one half",
  fall: "all fall by 10",
  none: "no change",
};

/** Changes that are to be found. */
const found = changeNames.filter((change) => change !== "none");

/** `97.5 % (93-99)` */
function chanceText(chance: PassRate | null | undefined): string | null {
  if (!chance) return null;
  const percent = (share: number) => Number((100 * share).toFixed(1));
  return `${percent(chance.rate)} % (${intervalText(chance).replace(" %", "")})`;
}

const neededNote = (needed: readonly [AppChange, number | null][], power: number): string => {
  const texts = needed.map(
    ([change, repeat]) => `${headings[change]} ${repeat ?? `more than ${REPEATS.at(-1)}`}`,
  );
  return `lowest --repeat that finds it in ${100 * power} % or more: ${texts.join(", ")}`;
};

/** Tests that are run and count, in their order, and the names of those in quarantine. Throws `usage` if none counts. */
async function readTests(paths: readonly string[], { host }: Context) {
  const suites: Suite[] = [];
  for (const path of paths) suites.push(await readSuite(path, host.files));
  const tests = suites.flatMap((suite) =>
    selectedTests(suite.tests).map((test) => ({
      suite,
      test,
      name: testNameOf({ suite: suite.name, test: test.name }),
      content: testContent(test),
      question: test.turns.length > 0 ? questionsIn(test) : "",
    })),
  );
  if (tests.length === 0) throw usage("all tests of these suites are skipped");
  const now = host.now();
  const read = tests.filter(({ test }) => !isExcused(test, now));
  if (read.length === 0) throw usage("no test of these suites counts: all are in quarantine");
  return { read, excused: tests.filter((each) => !read.includes(each)).map(({ name }) => name) };
}

type ReadTest = Awaited<ReturnType<typeof readTests>>["read"][number];

/** The results of --baseline and --history, as `wf test run` takes them. */
async function readKnown(
  input: PlanInput,
  tests: readonly ReadTest[],
  context: Context,
): Promise<KnownRuns | undefined> {
  if (input.history !== undefined && input.baseline === undefined)
    throw usage("--history requires --baseline");
  const { baseline } = await readCompared(input, context);
  if (!baseline) return undefined;
  const judged = await judgedByNow(baseline.tests, await judgeable(tests, context));
  return knownRuns({ ...baseline, ...judged }, tests);
}

/** Tests whose answers are judged without asking anyone or running a program. */
async function judgeable(tests: readonly ReadTest[], context: Context) {
  const found = tests.filter(({ test: { turns } }) =>
    turns.every((turn) => judgesOf(turn).length === 0 && !turn.program),
  );
  const opened = [];
  for (const [suite, own] of groupBy(found, (each) => each.suite)) {
    const checkAnswer = await openChecker(
      { ...suite, tests: own.map(({ test }) => test) },
      context,
    );
    opened.push(...own.map((each) => ({ ...each, checkAnswer })));
  }
  return opened;
}

/**
 * Simulates each suite after each change until the time is over: how often each was red, of so many draws, and how many
 * runs of the history were used.
 */
async function simulated(suites: readonly PlannedSuite[], context: Context) {
  const { host, progress } = context;
  const rows = suites.map((suite) => ({
    simulation: openSimulation(suite),
    red: { dead: 0, half: 0, fall: 0, none: 0 },
  }));
  const start = host.elapsed();
  const hasTime = (draws: number) => {
    const took = host.elapsed() - start;
    return draws < LEAST || (draws < MOST && took > 0 && took < LASTS);
  };
  let draws = 0;
  for (; hasTime(draws); draws++) {
    for (const { simulation, red } of rows)
      for (const change of changeNames)
        if (simulation.isRed(change, SAMPLE_SEED + draws)) red[change]++;
    progress({ done: draws + 1, total: Math.max(LEAST, draws + 1), unit: "draws" });
    await context.pause(0);
  }
  return { draws, red: rows.map(({ red }) => red), history: rows[0]?.simulation.history ?? 0 };
}
