import { mapConcurrent } from "../../../../api/concurrent-map.ts";
import { CliError, reasonOf } from "../../../../errors.ts";
import { counted, firstNames } from "../../../../lib/text.ts";
import { getAppInfo } from "../../../../operations/apps.ts";
import type { Input } from "../../../../operations/operation.ts";
import type { Report } from "../../../../output/report-model.ts";
import type { Context } from "../../../task/command-spec.ts";
import { prepareOutputs, writeOutput } from "../../../task/files.ts";
import { isChatMode } from "../../app/index.ts";
import { openJudges, saveCalibration } from "../answers/index.ts";
import type { Judgement } from "../answers/index.ts";
import { calibrationReport, noteOf } from "./calibration-report.ts";
import type { JudgedRow, JudgedWay } from "./calibration-report.ts";
import type { testCalibrateParams } from "./command.ts";
import { readLabels } from "./labels.ts";
import type { LabelledAnswer } from "./labels.ts";

/**
 * Has a judge mark answers that people have marked, and reports how well it agrees with them. Throws
 * usage for a mistake in the rows, and `partial` if an answer could not be judged.
 */
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
    await writeOutput("--save", save, `${JSON.stringify(report.data)}\n`, host);
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
