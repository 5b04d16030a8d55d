import { mapConcurrent } from "../../../../api/concurrent-map.ts";
import { CliError, reasonOf, usage } from "../../../../errors.ts";
import type { Files } from "../../../../host/host.ts";
import { rowPlace, unreadable } from "../../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../../lib/formats/rows-file.ts";
import { counted, firstNames } from "../../../../lib/text.ts";
import { getAppInfo } from "../../../../operations/apps.ts";
import type { Input } from "../../../../operations/operation.ts";
import type { Report } from "../../../../output/report-model.ts";
import type { Context } from "../../../task/command-spec.ts";
import { prepareOutputs, writeOutput } from "../../../task/files.ts";
import { isChatMode } from "../../../wf/app/index.ts";
import { readEach } from "../../../wf/expect/index.ts";
import { openJudges, saveCalibration } from "../answers/index.ts";
import type { Judgement } from "../answers/index.ts";
import { rowsInFile } from "../../suite-file/index.ts";
import { calibrationReport, noteOf } from "./calibration-report.ts";
import type { JudgedRow, JudgedWay } from "./calibration-report.ts";
import type { testCalibrateParams } from "./command.ts";
import { stringifyJson } from "../../../../lib/json.ts";

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
  const { errors, answers } = report.data;
  if (answers.length > 0)
    await saveCalibration(by, noteOf(report.data), context).catch((error: unknown) =>
      context.notice(`reports will not show this calibration: ${reasonOf(error)}`),
    );
  if (errors.length === 0) return;
  throw new CliError("partial", `${counted(errors.length, "answer")} could not be judged`, {
    outputFirst: true,
    hint: `the reasons are in the report: ${firstNames(errors.map(({ id }) => id))}`,
  });
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
