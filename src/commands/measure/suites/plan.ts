import { sum } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import type { testPlanParams } from "./command.ts";
import { readSuite } from "../suite-file/index.ts";
import { testNameOf } from "./plan-runs.ts";
import { readSavedResults } from "./saved-results.ts";
import { neededDesign, suitePower, testPower } from "../../../lib/statistics/power.ts";
import type { Design } from "../../../lib/statistics/power.ts";

/** The share of passes of a test that is not known, the chance of finding a change, and the level. */
const defaults = { rate: 0.9, power: 0.8, level: 0.05 };

/** Prints how often the tests of suites must run so that a change is found. Asks nothing. */
export async function* run(
  input: Input<typeof testPlanParams>,
  { host }: Context,
): AsyncGenerator<Report> {
  const { rate = defaults.rate, power: aim = defaults.power, level = defaults.level } = input;
  const known = new Map<string, number>();
  if (input.baseline !== undefined) {
    const { tests } = await readSavedResults("--baseline ", input.baseline, host);
    for (const test of tests) if (test.rate) known.set(test.name, test.rate.rate);
  }
  const rates: number[] = [];
  for (const path of input.suites) {
    const suite = await readSuite(path, host.files);
    for (const { name, skip } of suite.tests)
      if (!skip) rates.push(known.get(testNameOf({ suite: suite.name, test: name })) ?? rate);
  }
  const changes = [
    {
      text: "all tests fall by 10 points",
      power: (design: Design) => suitePower(rates, 0.1, design),
    },
    {
      text: "all tests fall by 20 points",
      power: (design: Design) => suitePower(rates, 0.2, design),
    },
    {
      text: "one test falls from 100 % to 50 %",
      power: (design: Design) => testPower(0.5, design),
    },
    { text: "one test falls from 100 % to 0 %", power: (design: Design) => testPower(0, design) },
  ];
  const given = input.repeat;
  const rows = changes.map(({ text, power }) => {
    const needed =
      given === undefined
        ? neededDesign(power, aim, level)
        : { repeat: given, confirm: input.confirm ?? Math.max(5, given), level };
    return {
      change: text,
      repeat: needed?.repeat ?? null,
      confirm: needed?.confirm ?? null,
      power: needed ? power(needed) : null,
      runs: needed ? needed.repeat * rates.length : null,
    };
  });
  yield {
    data: { tests: rates.length, level, aim, changes: rows },
    title: "Repeats",
    sections: [
      {
        title: `${counted(rates.length, "test")}, ${Math.round((100 * sum(rates)) / rates.length)} % of runs pass`,
        columns: [
          left("change"),
          right("--repeat"),
          right("--confirm"),
          right("found in"),
          right("runs"),
        ],
        rows: rows.map(({ change, repeat, confirm, power, runs }) => [
          change,
          repeat ?? "over 1000",
          confirm,
          power === null ? null : `${Math.floor(power * 100)} %`,
          runs,
        ]),
        notes: [
          `false alarms in at most ${level * 100} %; the runs come on top of as many for the baseline`,
          ...(known.size > 0
            ? []
            : [`assumes that ${rate * 100} % of runs pass; --baseline uses measured rates`]),
        ],
      },
    ],
  };
}
