import { groupBy } from "../../../lib/collect.ts";
import {
  intervalText,
  rateOf,
  totalPasses,
  totalRate,
} from "../../../lib/statistics/pass-rates.ts";
import type { Passes } from "../../../lib/statistics/pass-rates.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { MIN_HISTORY } from "./gate/index.ts";
import { namesOf } from "./comparison.ts";
import type { Shift, SuiteComparison, TestComparison, Verdict } from "./comparison.ts";
import type { TestResult } from "./runs/index.ts";
import type { SuiteRun } from "./suite-run.ts";

/** `0.0021`, `2e-9`: two digits of a chance. */
const chanceText = (p: number): string =>
  p > 0 && p < 1e-4 ? p.toExponential(0) : String(Number(p.toPrecision(2)));

const percentText = (share: number): string => `${Number((100 * share).toPrecision(3))} %`;
const shareText = ({ passes, runs }: Passes): string => `${passes} of ${runs}`;
const rateText = (all: Passes): string => `${Math.round(100 * rateOf(all))} %`;

/** What is said about the suite as a whole, in one line. */
export function suiteText(compared: SuiteComparison): string {
  const { verdict, before, now, again, p, limit } = compared.suite;
  if (now.runs === 0) return "no test was compared: none was judged on both sides";
  const rates = `${shareText(now)} runs passed, ${shareText(before)} before`;
  const looked = again ? `; asked again ${rateText(again)}, ${rateText(before)} before` : "";
  const chance = `(p ${chanceText(p)}, limit ${percentText(limit)})`;
  if (verdict === "worse") return `the suite is worse: ${rates}${looked} ${chance}`;
  if (verdict === "worse then")
    return `the suite was worse, but not when asked again: ${rates}${looked} ${chance}`;
  if (verdict === "inconclusive")
    return `it is inconclusive whether the suite is worse: ${rates} ${chance}; not all of its tests were asked again`;
  const named = countTexts(compared, "broken", "fails", "inconclusive");
  const but = named.length > 0 ? `, beside ${named.join(" and ")}` : "";
  return `no decline of the suite as a whole was found${but}: ${rates} ${chance}`;
}

/** `2 broken`, for each of these verdicts that a test has. */
const countTexts = (compared: SuiteComparison, ...verdicts: readonly Verdict[]): string[] =>
  verdicts.flatMap((verdict) => {
    const count = namesOf(compared, verdict).length;
    return count > 0 ? [`${count} ${verdict}`] : [];
  });

/** What is said about a test, in one line. */
export function testText(test: TestComparison): string {
  return `${verdictText(test)}: ${test.name} - ${becauseText(test)}`;
}

const verdictText = ({ verdict, fails }: TestComparison): string =>
  fails ? `${verdict}, and below its rate` : verdict;

function becauseText({ verdict, before, now, fresh, p, limit, e, next }: TestComparison): string {
  if (verdict === "not judged") return "there is no answer that was judged";
  if (!before || !now) return p === null ? "" : `so few passes have the chance ${chanceText(p)}`;
  const all = fresh ? totalPasses([now, fresh]) : now;
  const rates = `${shareText(all)} now, ${shareText(before)} before`;
  const chance =
    p === null || limit === null ? "" : ` (p ${chanceText(p)}, limit ${percentText(limit)})`;
  const expected =
    e !== null && e < 0.001 ? "less than 0.1" : Number((100 * (e ?? 0)).toPrecision(2));
  if (verdict === "fails" || (verdict === "broken" && e !== null))
    return `${verdict === "fails" ? "misses every time: " : ""}${rates}; with nothing changed a suite like this shows such a test in ${expected} of 100 runs (e)`;
  if (verdict !== "inconclusive") return `${rates}${chance}`;
  return [`${rates}${chance}`, ...(next === null ? [] : [next])].join("; ");
}

/** `the suite is worse, 1 broken, 1 not judged`; empty if there is nothing to name. */
export function headlineOf(compared: SuiteComparison): string {
  const { suite, tests, removed } = compared;
  const below = tests.filter(({ fails }) => fails).length;
  return [
    ...(suite.verdict === "worse" ? ["the suite is worse"] : []),
    ...(suite.verdict === "inconclusive" ? ["the suite is inconclusive"] : []),
    ...countTexts(compared, "broken", "fails", "inconclusive", "not judged"),
    ...(below > 0 ? [`${below} below its rate`] : []),
    ...(removed.length > 0 ? [`${removed.length} removed`] : []),
  ].join(", ");
}

/** What must be read: a line for the suite, for each test that is red or inconclusive, and for those that were not judged. */
export function verdictLines(compared: SuiteComparison): string[] {
  const { tests, removed } = compared;
  const isNamed = ({ verdict, fails }: TestComparison) =>
    fails || ["broken", "fails", "inconclusive"].includes(verdict);
  const unjudged = namesOf(compared, "not judged");
  return [
    suiteText(compared),
    ...tests.filter(isNamed).map(testText),
    ...(removed.length > 0 ? [`removed: ${firstNames(removed)}`] : []),
    ...(unjudged.length > 0 ? [`without an answer that was judged: ${firstNames(unjudged)}`] : []),
  ];
}

/** What a comparison rests on: for those who want to check it. */
export function comparisonNotes(run: SuiteRun, compared: SuiteComparison): string[] {
  const { tests, baseline, level } = run;
  const { fall } = compared.suite;
  const points = (share: number) => `${Math.round(100 * share)}`;
  const unclaimed = baseline ? "asked at different times" : "too few tests";
  return [
    ...(fall
      ? [
          `the share of passes ${fall.fall > 0 ? `fell by ${points(fall.fall)} points` : "did not fall"} (95 %: ${points(fall.low)} to ${points(fall.high)}): a fall of more than ${points(fall.high)} points is excluded`,
        ]
      : []),
    `level ${percentText(level)}; a test counts as broken up to e = ${percentText(level / 2)} (wf help verdicts)`,
    ...(baseline ? baselineNotes(baseline) : ["both were asked in turn"]),
    ...historyNotes(run, compared),
    ...askedNotes(tests),
    ...groupNotes(compared, baseline?.edited ?? []),
    ...(compared.gate?.cached ? ["a cache repeats answers: equal ones count once"] : []),
    ...shiftNote("time", compared.seconds, (value) => `${value.toFixed(1)} s`, unclaimed),
    ...shiftNote("tokens", compared.tokens, String, unclaimed),
  ];
}

/** Comparisons with one baseline from which on the report says what many mean. */
const MANY_LOOKS = 5;

function baselineNotes(baseline: NonNullable<SuiteRun["baseline"]>): string[] {
  const { file, sha256, at, looks, serverVersion, tests } = baseline;
  const unknown = tests.filter(({ results: [run] }) => (run?.content ?? null) === null);
  const server = serverVersion === null ? "" : `, server ${serverVersion}`;
  return [
    `baseline ${file} of ${at?.toISOString() ?? "an unknown time"} (sha256 ${sha256}${server}); comparison ${looks ?? "(not known which)"} with it`,
    ...(looks !== undefined && looks >= MANY_LOOKS
      ? [
          "each comparison has its own chance of a false alarm: where nothing changed, 3 to 51 of 100 simulated suites had at least one in thirty",
        ]
      : []),
    ...(unknown.length > 0
      ? [
          `compared by name, since the baseline says neither questions nor expectations: ${counted(unknown.length, "test")}`,
        ]
      : []),
  ];
}

function historyNotes({ history, baseline }: SuiteRun, { gate }: SuiteComparison): string[] {
  if (!gate || history.length === 0) return [];
  if (!baseline?.at)
    return ["history: not used, since the baseline has no time (files of version 0.2.0 have none)"];
  const reasons = [...groupBy(gate.refused, (reason) => reason)].map(
    ([reason, all]) => `${all.length} ${reason}`,
  );
  const why = reasons.length > 0 ? `; refused: ${reasons.join(", ")}` : "";
  return gate.history > 0
    ? [
        `history: ${counted(gate.history, "run")} used, correlation within runs ${chanceText(gate.correlation)}${why}`,
      ]
    : [`history: not used, since it takes ${MIN_HISTORY} runs before the baseline${why}`];
}

function askedNotes(tests: readonly TestResult[]): string[] {
  const asked = tests.flatMap(({ name, fresh }) => (fresh ? [`${name} (${fresh.runs})`] : []));
  const looked = tests.filter(({ results }) => results.some((run) => run.second_look)).length;
  return [
    ...(asked.length > 0
      ? [`asked again, with the number of times: ${firstNames(asked, 20)}`]
      : []),
    ...(looked > 0 ? [`asked once more to look at the suite: ${counted(looked, "test")}`] : []),
  ];
}

/** Tests that are not what they were. */
function groupNotes(compared: SuiteComparison, judgedAgain: readonly string[]): string[] {
  const renamed = compared.tests.flatMap(({ name, renamed: before }) =>
    before === null ? [] : [`${before} is now ${name}`],
  );
  const own = "judged by their own rate, not part of the level";
  const groups: readonly (readonly [names: readonly string[], what: string])[] = [
    [namesOf(compared, "new"), `new (${own})`],
    [namesOf(compared, "edited"), `edited (${own})`],
    [judgedAgain, "edited, and judged again on the stored answers of the baseline"],
    [renamed, "renamed"],
  ];
  return groups
    .filter(([names]) => names.length > 0)
    .map(([names, what]) => `${what}: ${firstNames(names)}`);
}

/** Which figure has moved; without an interval, why nothing is claimed. */
function shiftNote(
  name: string,
  shift: Shift | null,
  text: (value: number) => string,
  unclaimed: string,
): string[] {
  if (!shift) return [];
  const { before, now, ratio } = shift;
  const medians = `median ${name}: ${text(now)}, ${text(before)} before`;
  if (!ratio) return [`${medians} (${unclaimed}, so nothing is claimed)`];
  const [low, high] = [ratio.low.toFixed(2), ratio.high.toFixed(2)];
  const isMoved = ratio.low > 1 || ratio.high < 1;
  return [
    `${medians}; ${isMoved ? "" : "no difference was found, "}${low} to ${high} times (95 %)`,
  ];
}

/** `82 % of runs passed (95 %: 77–88 %)`; nothing without runs. */
export function totalText(tests: readonly TestResult[]): string[] {
  const total = totalRate(tests);
  if (!total) return [];
  return [
    `${percentText(total.rate)} of runs passed (95 %: ${intervalText(total)}, runs of one test counted as alike)`,
  ];
}
