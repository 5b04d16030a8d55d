import { counted, firstNames } from "../../../lib/text.ts";
import type { Shift, SuiteComparison, TimesBasis } from "./comparison.ts";
import { neededDesign, suitePower, testPower } from "./verdict/index.ts";

/** `226 of 300 runs passed, 283 of 300 before (p = 2.1e-9)` */
export const suiteText = ({ p, before, now }: SuiteComparison): string =>
  `${now.passes} of ${counted(now.runs, "run")} passed, ${before.passes} of ${before.runs} before (p = ${p.toPrecision(2)})`;

/** What a comparison says of the suite as a whole, and what it rests on. */
export function comparisonNotes(compared: SuiteComparison, level: number): string[] {
  const { tests, removed, reduced, isWorse, times, seconds, tokens } = compared;
  const renamed = tests.flatMap(({ name, renamed: before }) =>
    before === null ? [] : [`${before} is now ${name}`],
  );
  const added = tests.filter(({ verdict }) => verdict === "new").map(({ name }) => name);
  return [
    `${isWorse ? "the suite is worse" : "no decline of the suite is seen"}: ${suiteText(compared)}`,
    `a false alarm has a chance of at most ${Number((level * 100).toPrecision(3))} %, ${timesTexts[times]}`,
    ...(reduced > 0
      ? [`the runs of ${counted(reduced, "test")} gave the same answer and count once`]
      : []),
    ...(removed.length > 0 ? [`removed since then: ${firstNames(removed)}`] : []),
    ...(added.length > 0 ? [`new: ${firstNames(added)}`] : []),
    ...(renamed.length > 0 ? [`renamed: ${firstNames(renamed)}`] : []),
    ...neededNote(compared, level),
    ...shiftNote("time", seconds, (value) => `${value.toFixed(1)} s`),
    ...shiftNote("tokens", tokens, String),
  ];
}

/** The chance with which a plan finds a change. */
const POWER = 0.8;

/** The repeats that tell a fall of one test to half of its passes, if there is one of which it cannot be told. */
export const neededFor = ({ tests }: SuiteComparison, level: number) =>
  tests.some(({ verdict }) => verdict === "undecided")
    ? neededDesign((design) => testPower(0.5, design), POWER, level)
    : undefined;

function neededNote(compared: SuiteComparison, level: number): string[] {
  const needed = neededFor(compared, level);
  if (!needed) return [];
  const open = compared.tests.filter(({ verdict }) => verdict === "undecided").length;
  const rates = compared.tests.flatMap(({ before }) =>
    before && before.runs > 0 ? [before.passes / before.runs] : [],
  );
  const falls = [0.1, 0.2].map((drop) => {
    const repeat = neededDesign((design) => suitePower(rates, drop, design), POWER, level)?.repeat;
    return `by ${drop * 100} points ${repeat === undefined ? "more than 1000 repeats" : `--repeat ${repeat}`}`;
  });
  return [
    `to tell more of ${counted(open, "test")}: --repeat ${needed.repeat} --confirm ${needed.confirm} finds a fall of one test to 50 % in ${POWER * 100} % of cases, with as many repeats before`,
    `a fall of all tests needs for that: ${falls.join(", ")}`,
  ];
}

const timesTexts: Readonly<Record<TimesBasis, string>> = {
  interleaved: "as both were asked in turn",
  history: "with the differences between earlier runs",
  assumed:
    "if nothing but the application has changed since: --history or --against tell that apart",
};

/** Which figure has moved; a claim only where both were asked in turn. */
function shiftNote(name: string, shift: Shift | null, text: (value: number) => string): string[] {
  if (!shift) return [];
  const { before, now, ratio } = shift;
  const medians = `median ${name}: ${text(now)}, ${text(before)} before`;
  if (!ratio) return [`${medians} (asked at different times, so nothing is claimed)`];
  const [low, high] = [ratio.low.toFixed(2), ratio.high.toFixed(2)];
  const isMoved = ratio.low > 1 || ratio.high < 1;
  return [`${medians}; ${isMoved ? "" : "no difference is seen, "}${low} to ${high} times (95 %)`];
}
