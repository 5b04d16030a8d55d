import type { Input } from "../../../operations/operation.ts";
import { usage } from "../../../errors.ts";
import { SAMPLE_SEED } from "../../../lib/statistics/intervals.ts";
import { intervalText, passRate } from "../../../lib/statistics/pass-rates.ts";
import type { PassRate } from "../../../lib/statistics/pass-rates.ts";
import { counted } from "../../../lib/text.ts";
import { right } from "../../../output/report-model.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { readSuite } from "../suite-file/index.ts";
import { readHistory } from "./baseline.ts";
import type { testPlanParams } from "./command.ts";
import { changeNames, openSimulation, usualRules } from "./gate/index.ts";
import type { AppChange, PlannedSuite } from "./gate/index.ts";
import { isJudged, testNameOf } from "./runs/index.ts";
import { readSavedResults } from "./saved-results.ts";

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
  const names = await testNames(input.suites, context);
  const baseline = await readCompared(input, new Set(names), context);
  const tests = names.map((name) => ({ name, content: "" }));
  const usual = baseline ? [1] : REPEATS;
  const repeats = input.repeat === undefined ? usual : [input.repeat];
  const suites = repeats.map((repeat) => ({
    tests,
    repeat,
    rate,
    baseline,
    rules: { level, confirm },
  }));
  const { draws, red, history } = await simulated(suites, context);
  const rows = repeats.map((repeat, row) => {
    const chance = (change: AppChange) => passRate(red[row]?.[change] ?? 0, draws);
    return {
      repeat,
      runs: repeat * names.length,
      chances: Object.fromEntries(changeNames.map((change) => [change, chance(change)])),
    };
  });
  /** The lowest repeats that find a change; null if none of these does. */
  const needed = Object.fromEntries(
    changes.map(({ change }) => {
      const found = rows.find(({ chances }) => (chances[change]?.rate ?? 0) >= power);
      return [change, found?.repeat ?? null];
    }),
  );
  const isSearched = input.repeat === undefined && !baseline;
  yield {
    data: {
      tests: names.length,
      level,
      confirm,
      draws,
      history,
      repeats: rows,
      ...(isSearched && { aim: power, needed }),
    },
    title: "Repeats",
    sections: [
      {
        title: `${counted(names.length, "test")}, ${counted(draws, "draw")}`,
        columns: [
          right("--repeat"),
          right("runs"),
          ...changes.map(({ heading }) => right(heading)),
          right("no change"),
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
          ...(isSearched ? neededNotes(needed, power) : []),
        ],
      },
    ],
  };
}

const changes = [
  { change: "dead", heading: "one dead" },
  { change: "half", heading: "one half" },
  { change: "fall", heading: "all fall by 10" },
] as const;

/** `97.5 % (93-99)` */
function chanceText(chance: PassRate | null | undefined): string | null {
  if (!chance) return null;
  const percent = (share: number) => Number((100 * share).toFixed(1));
  return `${percent(chance.rate)} % (${intervalText(chance).replace(" %", "")})`;
}

const neededNotes = (needed: Readonly<Record<string, number | null>>, power: number) => {
  const texts = changes.map(({ change, heading }) => {
    const repeat = needed[change] ?? `more than ${REPEATS.at(-1)}`;
    return `${heading} ${repeat}`;
  });
  return [`lowest --repeat that finds it in ${100 * power} % or more: ${texts.join(", ")}`];
};

/** The names of the tests that are run. Throws `usage` if there are none. */
async function testNames(paths: readonly string[], { host }: Context): Promise<string[]> {
  const names: string[] = [];
  for (const path of paths) {
    const suite = await readSuite(path, host.files);
    for (const { name, skip } of suite.tests)
      if (!skip) names.push(testNameOf({ suite: suite.name, test: name }));
  }
  if (names.length === 0) throw usage("all tests of these suites are skipped");
  return names;
}

/** The results of --baseline and --history, as far as they are of these tests. */
async function readCompared(
  { baseline: file, history: directory }: PlanInput,
  names: ReadonlySet<string>,
  context: Context,
): Promise<PlannedSuite["baseline"]> {
  if (file === undefined && directory !== undefined) throw usage("--history requires --baseline");
  if (file === undefined) return undefined;
  const { at, tests } = await readSavedResults("--baseline ", file, context.host);
  const before = tests
    .filter(({ name }) => names.has(name))
    .map(({ name, results }) => ({
      name,
      content: "",
      runs: results.flatMap((run) =>
        isJudged(run) && !run.confirms
          ? [
              {
                status: run.status === "passed" ? "passed" : "failed",
                answer: "",
                byModel: false,
              } as const,
            ]
          : [],
      ),
    }));
  const earlier = directory === undefined ? [] : await readHistory(directory, context);
  const history = earlier.map(({ at, alarmed, tests: all }) => ({
    at: at.toISOString(),
    alarmed,
    tests: new Map(
      all.map(({ name, passes, runs }) => [name, { content: "", passes, runs }] as const),
    ),
  }));
  return { before, baselineAt: at?.toISOString() ?? "", history };
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
