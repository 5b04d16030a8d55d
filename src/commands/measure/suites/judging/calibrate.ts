import { mapConcurrent } from "../../../../api/concurrent-map.ts";
import { CliError, reasonOf, usage } from "../../../../errors.ts";
import type { Files } from "../../../../host/host.ts";
import { rowPlace, unreadable } from "../../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../../lib/formats/rows-file.ts";
import { counted, firstNames } from "../../../../lib/text.ts";
import { getAppInfo } from "../../../../operations/apps.ts";
import type { Input } from "../../../../operations/operation.ts";
import { left, literal, right } from "../../../../output/report-model.ts";
import type { Report, Cell, Section } from "../../../../output/report-model.ts";
import type { Context } from "../../../task/command-spec.ts";
import { prepareOutputs, writeOutput } from "../../../task/files.ts";
import { isChatMode } from "../../../wf/app/index.ts";
import { gateError, readEach } from "../../../wf/expect/index.ts";
import { openJudges, saveCalibration } from "../answers/index.ts";
import type { Judgement } from "../answers/index.ts";
import { rowsInFile } from "../../suite-file/index.ts";
import type { testCalibrateParams } from "./command.ts";
import { stringifyJson } from "../../../../lib/json.ts";
import { sum } from "../../../../lib/numbers.ts";
import { intervalText, passRate } from "../../../../lib/statistics/pass-rates.ts";
import {
  agreementOf,
  bestThreshold,
  biasesOf,
  comparedWithChance,
  kappaOf,
} from "../../../../lib/statistics/judge-agreement.ts";
import type { Agreement, Kappa } from "../../../../lib/statistics/judge-agreement.ts";

/** Compares the marks of a judge with those of people. Throws `partial` if an answer could not be judged. */
export async function* run(
  input: Input<typeof testCalibrateParams>,
  context: Context,
): AsyncGenerator<Report> {
  const { host } = context;
  const { at_least = 0.5, repeat = 1, level = 0.05, save, judge } = input;
  const read = await readLabels(input.labels, host.files);
  const rows = read.map((row) => ({ ...row, criteria: row.criteria ?? input.criteria }));
  if (!context.options.dryRun) await prepareOutputs({ save }, host);
  const judged = await askAll(rows, { ...input, at_least, repeat }, context);
  const criteria = new Set(rows.map((row) => row.criteria));
  const how = { judge, made: host.now().toISOString(), at_least, repeat, level };
  const report = calibrationReport({ ...how, criteria: [...criteria] }, judged);
  yield report;
  if (save !== undefined)
    await writeOutput("--save", save, `${stringifyJson(report.data)}\n`, host);
  const [only] = criteria;
  const by = { app: judge, criteria: criteria.size > 1 || only };
  const { errors, answers, chance, agreement } = report.data;
  if (answers.length > 0)
    await saveCalibration(by, { note: noteOf(report.data), chance, agreement }, context).catch(
      (error: unknown) =>
        context.notice(`reports will not show this calibration: ${reasonOf(error)}`),
    );
  if (errors.length === 0) return requireKappa(report.data, input.at_least_kappa);
  throw new CliError("partial", `${counted(errors.length, "answer")} could not be judged`, {
    outputFirst: true,
    hint: `the reasons are in the report: ${firstNames(errors.map(({ id }) => id))}`,
  });
}

/** Throws `gate` if kappa may be below a limit: its interval begins there. */
function requireKappa({ judge, kappa }: CalibrationData, least: number | undefined): void {
  const [value, low = value] = kappa ?? [];
  if (least === undefined || (low !== undefined && low >= least)) return;
  throw gateError(`judge ${judge}: ${kappaText(kappa)} may be below ${least}`, { kappa });
}

/** Has the judge mark each answer, with `pairs` in each way to give it. */
async function askAll(
  rows: readonly LabelledAnswer[],
  input: Input<typeof testCalibrateParams> & { readonly at_least: number; readonly repeat: number },
  context: Context,
): Promise<JudgedRow[]> {
  const { judge: app, repeat, at_least: atLeast, labels: path } = input;
  const judgeOf = ({ criteria }: LabelledAnswer) => ({ app, repeat, atLeast, criteria });
  const turns = rows.map((row) => ({ judge: judgeOf(row), from: { path, line: row.line } }));
  const ask = await openJudges(turns, undefined, context);
  const changes: JudgedWay[] = ["usual"];
  if (input.pairs) {
    const { mode = "" } = await context.with({ app }).api.call(getAppInfo, {});
    changes.push(...(isChatMode(mode) ? (["reversed"] as const) : []), "padded");
  }
  const judged: JudgedRow[] = [];
  const results = mapConcurrent(rows, context.api.limitConcurrency(), async (row) => {
    const said: Partial<Record<JudgedWay, Judgement>> = {};
    for (const change of changes) {
      const answer = change === "padded" ? padded(row.answer) : row.answer;
      said[change] = await ask(judgeOf(row), { ...row, answer, reversed: change === "reversed" });
    }
    return { row, said };
  });
  for await (const each of results) {
    judged.push(each);
    context.progress({ done: judged.length, total: rows.length, unit: "answers" });
  }
  return judged;
}

/** A text of at least twice the length that says nothing more: it ends with its first sentence, repeated. */
function padded(text: string): string {
  const [first] = new Intl.Segmenter("und", { granularity: "sentence" }).segment(
    text.slice(0, 500),
  );
  const sentence = first?.segment.trim() || text;
  const times = Math.ceil(text.length / sentence.length);
  return [text, ...Array.from({ length: times }, () => sentence)].join(" ");
}

const labels: Readonly<Record<"true" | "false", readonly string[]>> = {
  true: ["pass", "true", "yes", "1"],
  false: ["fail", "false", "no", "0"],
};

/** Reads answers with a label, or a mark that is good from 0.5 on. Throws `usage` for a row without one of them. */
async function readLabels(path: string, files: Files) {
  const { rows } = await rowsInFile(path, files);
  if (rows.length === 0) throw usage(`${path} has no rows`);
  return readEach(rows, (row) => [labelledAnswer(path, row)]);
}

/** An answer that people have marked. */
type LabelledAnswer = ReturnType<typeof labelledAnswer>;

function labelledAnswer(path: string, row: FileRow) {
  const cell = (name: string) => {
    const value = row.values[name] ?? "";
    return typeof value === "object" ? stringifyJson(value) : String(value).trim();
  };
  const [answer, label] = [cell("answer"), cell("label").toLowerCase()];
  const mark = cell("mark") === "" ? Number.NaN : Number(cell("mark"));
  const isGood = label === "" ? mark >= 0.5 : labels.true.includes(label);
  const isMarked = label === "" ? mark >= 0 && mark <= 1 : isGood || labels.false.includes(label);
  if (answer === "" || !isMarked)
    throw unreadable(
      `${path} ${rowPlace(row)}`,
      answer === "" ? "the row has no answer" : "the row has no valid label or mark",
      `a label is one of ${Object.values(labels).flat().join(", ")}; a mark is a number from 0 to 1`,
    );
  const { expected } = row.values;
  const texts = Array.isArray(expected) ? expected.map(String) : [cell("expected")];
  return {
    id: cell("id") || `row ${row.number}`,
    line: row.line,
    question: cell("question"),
    answer,
    /** Any of these will do. */
    expected: texts.filter((text) => text !== ""),
    criteria: cell("criteria") || undefined,
    isGood,
  };
}

/** Ways to give an answer to its judge, which should make no difference. */
type JudgedWay = "usual" | "reversed" | "padded";

/** What a judge said about an answer, by the way it was given. */
interface JudgedRow {
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
function calibrationReport(how: CalibrationHow, judged: readonly JudgedRow[]) {
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
  const kappa = kappaOf(agreement);
  const best = scored.length === answers.length ? bestThreshold(scored) : undefined;
  return {
    wf_calibration: 1,
    ...how,
    agreement,
    kappa,
    chance: comparedWithChance(agreement, kappa),
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

/** `kappa 0.17 (-0.71 to 1.00)` */
function kappaText(kappa: Kappa | null): string {
  const [, value, interval] = kappaRow("", kappa);
  return `kappa ${String(value)}${interval === null ? "" : ` (${String(interval)})`}`;
}

function figureSection(data: CalibrationData): Section {
  const { agreement, kappa, chance, threshold, judge, answers, at_least, tokens } = data;
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
      chanceText(chance, agreement),
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

/** Whether a judge is better than chance, as a sentence. */
function chanceText(chance: CalibrationData["chance"], agreement: Agreement): string {
  const { good, bad, false_passes, false_fails } = agreement;
  const passed = good - false_fails + false_passes;
  const isConstant = passed === 0 || passed === good + bad;
  if (chance === "better") return "it agrees with people more often than chance";
  if (chance === "worse") return "it says the opposite of people more often than chance";
  return `it is not shown that it agrees with people more often than chance${isConstant ? ": it says the same about all answers" : ""}`;
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
function noteOf({ judge, made, at_least, agreement, kappa, chance }: CalibrationData): string {
  const { good, bad, false_passes, false_fails } = agreement;
  return `judge ${judge} was calibrated on ${made.slice(0, 10)} with ${counted(good + bad, "answer")} and at_least ${at_least}: ${kappaText(kappa)}, ${false_passes} of ${bad} bad answers passed, ${false_fails} of ${good} good answers failed${chance === "better" ? "" : `; ${chanceText(chance, agreement)}`}`;
}
