import { CliError, reasonOf, usage } from "../../../../errors.ts";
import { groupBy } from "../../../../lib/collect.ts";
import { csvLines } from "../../../../lib/formats/csv.ts";
import { readRowFile } from "../../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../../lib/formats/rows-file.ts";
import { editYaml } from "../../../../lib/formats/yaml-edit.ts";
import { isObject, tryParseJson, stringifyJson } from "../../../../lib/json.ts";
import { asText } from "../../../../operations/operation.ts";
import type { Context } from "../../../task/command-spec.ts";
import { MAX_YAML_SIZE } from "../../../wf/expect/index.ts";
import { isRowFile, readSuite } from "../../suite-file/index.ts";
import type { ChangedAnswer } from "./changed-answers.ts";

/** An answer that becomes the expected one of a test as it is now, or one more of several. */
type AcceptedAnswer = Pick<ChangedAnswer, "suite" | "test" | "answer">;

/**
 * Writes answers into their suites, each of which is read again and replaced at once; the rest of it stays as it is.
 * With `dryRun`, only checks that this is possible. Throws `usage` before anything is written if not.
 */
export async function acceptAnswers(
  accepted: readonly ChangedAnswer[],
  { host }: Context,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<void> {
  const edited: { readonly path: string; readonly text: string }[] = [];
  for (const [{ path }, all] of groupBy(accepted, ({ suite }) => suite)) {
    const suite = await readSuite(path, host.files);
    const answers = all.map(({ test: { name }, answer }) => {
      const test = suite.tests.find((each) => each.name === name);
      if (!test) throw usage(`${path} has no test ${JSON.stringify(name)} any more`);
      return { suite, test, answer };
    });
    const withAnswers = isRowFile(path) ? withRowAnswers : withYamlAnswers;
    edited.push({ path, text: await withAnswers(path, suite.text, answers) });
  }
  if (dryRun) return;
  for (const { path, text } of edited)
    await host.files.writeAtomic(path, text).catch((cause: unknown) => {
      throw new CliError("failure", `failed to write ${path}: ${reasonOf(cause)}`, { cause });
    });
}

async function withYamlAnswers(
  path: string,
  source: string,
  answers: readonly AcceptedAnswer[],
): Promise<string> {
  const edits = answers.map(({ suite, test, answer }) => {
    const at = ["tests", suite.tests.findIndex(({ name }) => name === test.name)];
    // A test without turns is its own single turn.
    const hasTurns = test.turns.at(-1)?.from !== test.from;
    const turn = hasTurns ? ["turns", test.turns.length - 1] : [];
    return { path: [...at, ...turn], key: "answer", text: answer, after: ["name", "query"] };
  });
  const changed = await editYaml(source, edits);
  if (changed !== undefined && Buffer.byteLength(changed) > MAX_YAML_SIZE)
    throw usage(
      `${path} would be larger than ${MAX_YAML_SIZE} bytes, which no suite may be`,
      "accept shorter answers, or move tests to another suite",
    );
  if (changed !== undefined) return changed;
  for (const [index, edit] of edits.entries())
    if ((await editYaml(source, [edit])) === undefined)
      throw usage(
        `${path} line ${answers[index]?.test.from.line}: the answer of test ${JSON.stringify(answers[index]?.test.name)} is shared with other parts of the file`,
        "replace the alias (*name) by its value, then accept again",
      );
  throw usage(
    `${path}: these answers cannot be written together`,
    "accept them one by one with --test",
  );
}

async function withRowAnswers(
  path: string,
  source: string,
  answers: readonly AcceptedAnswer[],
): Promise<string> {
  const { rows, columns, delimiter, withOnly } = await readRowFile(path, Buffer.from(source));
  const csv = await csvLines(delimiter);
  const byLine = new Map(answers.map(({ test, answer }) => [test.from.line, answer]));
  return withOnly(
    rows.map((row): FileRow => {
      const answer = byLine.get(row.line);
      if (answer === undefined) return row;
      const values = withAnswer(row.values, answer, columns !== undefined);
      if (!columns) return { ...row, raw: stringifyJson(values) };
      if (!columns.includes("answer") && !("turns" in values))
        throw usage(`${path} has no column answer`, "add the column to its header and rows");
      const cells = columns.map((column) => asText(values[column]));
      const end = row.raw.endsWith("\r") ? "\r" : "";
      return { ...row, raw: csv([cells]).replace(/\r\n$/, end) };
    }),
  );
}

type Cells = Readonly<Record<string, unknown>>;

/** The cells of a test with its new answer: that of its last turn, or one more of several. */
function withAnswer(cells: Cells, answer: string, isCsv: boolean): Cells {
  // In CSV, a list is JSON.
  const listIn = (value: unknown): unknown[] | undefined => {
    const list = isCsv && typeof value === "string" ? tryParseJson(value) : value;
    return Array.isArray(list) ? list : undefined;
  };
  const turns = listIn(cells["turns"]);
  const last: unknown = turns?.at(-1);
  if (turns && isObject(last))
    return { ...cells, turns: [...turns.slice(0, -1), withAnswer(last, answer, false)] };
  const known = listIn(cells["answer"]) ?? (listIn(answer) && []); // a text that would be read as a list
  return { ...cells, answer: known ? [...known, answer] : answer };
}
