import { sum } from "../../../../lib/numbers.ts";
import { counted } from "../../../../lib/text.ts";
import { left, literal, right } from "../../../../output/report-model.ts";
import type { Cell, Report, Section } from "../../../../output/report-model.ts";
import type { Judgement } from "../answers/index.ts";
import { intervalText, passRate } from "../../../../lib/statistics/pass-rates.ts";
import {
  agreementOf,
  bestThreshold,
  biasesOf,
  kappaOf,
} from "../../../../lib/statistics/judge-agreement.ts";
import type { Agreement, Kappa } from "../../../../lib/statistics/judge-agreement.ts";

/** Ways to give an answer to its judge, which should make no difference. */
export type JudgedWay = "usual" | "reversed" | "padded";

/** What a judge said about an answer, by the way it was given. */
export interface JudgedRow {
  readonly row: { readonly id: string; readonly isGood: boolean };
  readonly said: Readonly<Partial<Record<JudgedWay, Judgement>>>;
}

/** How a calibration was made. */
interface CalibrationHow {
  readonly judge: string;
  readonly criteria: readonly (string | undefined)[];
  /** As in JSON. */
  readonly made: string;
  readonly at_least: number;
  readonly repeat: number;
  readonly level: number;
}

/** What a calibration has found, as `-o json` prints it. */
type CalibrationData = ReturnType<typeof dataOf>;

/** The figures, the verdicts as a table, and the answers about which judge and people differ. */
export function calibrationReport(how: CalibrationHow, judged: readonly JudgedRow[]) {
  const data = dataOf(how, judged);
  const { judge, agreement, biases } = data;
  const sections = [
    figureSection(data),
    tableSection(agreement),
    ...(biases.length > 0 ? [biasSection(data)] : []),
    differenceSection(data),
  ];
  return { data, title: `Calibration of judge ${judge}`, sections } satisfies Report;
}

function dataOf(how: CalibrationHow, judged: readonly JudgedRow[]) {
  const answers = judged.flatMap(({ row: { id, isGood }, said: { usual } }) =>
    usual?.error === null
      ? [{ id, isGood, passed: usual.passed, score: usual.score, actual: usual.actual }]
      : [],
  );
  const scored = answers.flatMap(({ isGood, score }) =>
    score === undefined ? [] : [{ isGood, score }],
  );
  const tried = (["reversed", "padded"] as const).filter((change) =>
    judged.some(({ said }) => said[change]),
  );
  const pairsOf = (change: JudgedWay) =>
    judged.flatMap(({ said: { usual, [change]: other } }) =>
      usual?.error === null && other?.error === null ? [[usual.passed, other.passed] as const] : [],
    );
  const agreement = agreementOf(answers);
  const best = scored.length === answers.length ? bestThreshold(scored) : undefined;
  return {
    wf_calibration: 1,
    ...how,
    agreement,
    kappa: kappaOf(agreement),
    threshold: best ? { ...best, kappa: kappaOf(best.agreement) } : null,
    biases: biasesOf(tried.map((change) => [change, pairsOf(change)])),
    tokens: sum(judged.flatMap(({ said }) => Object.values(said).map(({ tokens }) => tokens ?? 0))),
    answers: answers.map(({ id, isGood: good, ...each }) => ({ id, good, ...each })),
    errors: judged.flatMap(({ row: { id }, said: { usual } }) =>
      typeof usual?.error === "string" ? [{ id, error: usual.error }] : [],
    ),
  };
}

/** A share with its interval. */
function shareRow(figure: string, count: number, of: number): Cell[] {
  const found = passRate(count, of);
  if (!found) return [figure, "0/0", null];
  const share = Math.round(found.rate * 100);
  return [figure, `${count}/${of} (${share} %)`, intervalText(found)];
}

function kappaRow(figure: string, kappa: Kappa | null): Cell[] {
  const [value = "not defined", low, high] = (kappa ?? []).map((each) => each?.toFixed(2));
  return [figure, value, high === undefined ? null : `${low} to ${high}`];
}

function figureSection(data: CalibrationData): Section {
  const { agreement, kappa, threshold, judge, answers, at_least, tokens } = data;
  const { good, bad, false_passes, false_fails } = agreement;
  const agreed = good + bad - false_passes - false_fails;
  const best = Number(threshold?.at_least.toFixed(3));
  return {
    title: `Judge ${judge} agrees with people about ${agreed} of ${counted(answers.length, "answer")}`,
    columns: [left("figure"), right("value"), right("95 %")],
    rows: [
      shareRow("agreement", agreed, good + bad),
      kappaRow("kappa", kappa),
      shareRow("bad answers that passed", false_passes, bad),
      shareRow("good answers that failed", false_fails, good),
      ...(threshold ? [kappaRow(`kappa with at_least ${best}`, threshold.kappa)] : []),
    ],
    notes: [
      ...(kappa ? [] : ["kappa needs good and bad answers, and verdicts of both kinds"]),
      ...(threshold
        ? [
            `at_least is ${at_least}; ${best} fits these answers best; its kappa judges each answer by the threshold that fits the others`,
          ]
        : []),
      ...(tokens > 0 ? [`the judge used ${counted(tokens, "token")}`] : []),
    ],
  };
}

const tableSection = ({ good, bad, false_passes, false_fails }: Agreement): Section => ({
  title: "Verdicts",
  columns: [left("people say"), right("judge passes"), right("judge fails")],
  rows: [
    ["good", good - false_fails, false_fails],
    ["bad", false_passes, bad - false_passes],
  ],
});

const changes = { reversed: "parts in reverse order", padded: "padded answer" } as const;

function biasSection({ biases, level }: CalibrationData): Section {
  const labels = ["pairs", "passes only with it", "only without", "p"];
  return {
    title: "Bias",
    columns: [left("change"), ...labels.map(right), left("bias")],
    rows: biases.map(({ change, pairs, more, fewer, p }): Cell[] => {
      const told = more > fewer ? "for it" : "against it";
      const bias: Cell = p <= level ? { text: told, tone: "bad" } : "none shown";
      return [changes[change], pairs, more, fewer, p.toPrecision(2), bias];
    }),
    notes: biases.some(({ change }) => change === "reversed")
      ? []
      : ["order: not tested, this judge gets the parts as inputs, by name"],
  };
}

/** The answers about which judge and people differ, and those that were not judged. */
const differenceSection = ({ answers, errors }: CalibrationData): Section => ({
  title: "Differences",
  columns: [literal("answer"), left("people say"), literal("judge")],
  rows: [
    ...answers
      .filter(({ good, passed }) => good !== passed)
      .map(({ id, good, actual }): Cell[] => [id, good ? "good" : "bad", actual]),
    ...errors.map(({ id, error }): Cell[] => [id, null, error]),
  ],
});

/** What reports of runs say about the calibration of their judge. */
export function noteOf({ judge, made, at_least, agreement, kappa }: CalibrationData): string {
  const { good, bad, false_passes, false_fails } = agreement;
  const [, value, interval] = kappaRow("", kappa);
  const agreed = `kappa ${String(value)}${interval === null ? "" : ` (${String(interval)})`}`;
  return `judge ${judge} was calibrated on ${made.slice(0, 10)} with ${counted(good + bad, "answer")} and at_least ${at_least}: ${agreed}, ${false_passes} of ${bad} bad answers passed, ${false_fails} of ${good} good answers failed`;
}
