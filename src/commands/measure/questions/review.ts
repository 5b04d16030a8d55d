import { usage } from "../../../errors.ts";
import { readRowFile } from "../../../lib/formats/rows-file.ts";
import { counted } from "../../../lib/text.ts";
import { valueAt, stringifyJson } from "../../../lib/json.ts";
import { asText } from "../../../operations/operation.ts";
import { noTable } from "../../../output/report-model.ts";
import type { Report } from "../../../output/report-model.ts";
import { ask, askReply } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";
import { readInput, writeOutput } from "../../task/files.ts";

/** Prompts for each question of a file, and writes the file after each answer: an interrupt loses nothing. */
export async function* reviewFile(file: string, context: Context): AsyncGenerator<Report> {
  if (!context.options.input)
    throw usage("--review prompts, and no prompt is possible", "edit the file instead");
  const { rows, columns } = await readRowFile(file, await readInput(file, context.host));
  if (columns) throw usage(`${file} is not JSON Lines`, "review CSV in a spreadsheet");
  let left: { readonly line: number; readonly values: Readonly<Record<string, unknown>> }[] = [
    ...rows,
  ];
  const write = () => {
    const text = left.map(({ values }) => `${stringifyJson(values)}\n`).join("");
    return writeOutput("<file>", file, text, context.host);
  };
  let [dropped, changed] = [0, 0];
  for (const [index, { line, values }] of rows.entries()) {
    const passages = [valueAt(values, "passages") ?? []].flat();
    const lines = passages.map((passage) => ({
      lead: `${asText(valueAt(passage, "document"))}: `,
      parts: [{ text: asText(valueAt(passage, "text") ?? passage) }],
    }));
    const title = `${index + 1} of ${rows.length}: ${asText(values["question"])}`;
    yield { data: null, sections: [{ ...noTable, title, lines }] };
    const reply = await askReply("Keep this question?", ["keep", "change", "drop"], context);
    if (reply === "quit") break;
    if (reply === "drop") {
      left = left.filter((each) => each.line !== line);
      dropped++;
    } else if (reply === "change") {
      const question = await ask("The question: ", context);
      left = left.map((each) =>
        each.line === line && question ? { line, values: { ...values, question } } : each,
      );
      changed++;
    } else continue;
    await write();
  }
  await context.notice(
    `${counted(left.length, "question")} in ${file}: ${changed} changed, ${dropped} dropped`,
  );
}
