import { CliError, reasonOf, usage } from "../../../../errors.ts";
import { csvLines } from "../../../../lib/formats/csv.ts";
import { readRowFile } from "../../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../../lib/formats/rows-file.ts";
import { editYaml } from "../../../../lib/formats/yaml-edit.ts";
import { isObject, tryParseJson, stringifyJson } from "../../../../lib/json.ts";
import { counted } from "../../../../lib/text.ts";
import { asText } from "../../../../operations/operation.ts";
import type { Input } from "../../../../operations/operation.ts";
import type { Context } from "../../../task/command-spec.ts";
import { MAX_YAML_SIZE } from "../../../wf/expect/index.ts";
import { isRowFile } from "../../suite-file/index.ts";
import { changedAnswers, restOf } from "./changed-answers.ts";
import type { ChangedAnswer } from "./changed-answers.ts";
import type { testAcceptParams } from "./command.ts";

/**
 * Writes changed answers into their suites as the expected ones. Throws `usage`, before anything is
 * written, if that is impossible for a test that is named.
 */
export async function* run(input: Input<typeof testAcceptParams>, context: Context) {
  const { results, test: tests = [], all = false, dry_run: dryRun = false } = input;
  if (all === tests.length > 0)
    throw usage(
      all ? "--all cannot be used with --test" : "no test is named",
      "name tests with --test, or accept all changed answers with --all",
    );
  const reviewed = await changedAnswers({ results, test: tests, baseline: undefined }, context);
  const { changed } = reviewed;
  const impossible = all ? undefined : changed.find(({ obstacle }) => obstacle !== undefined);
  if (impossible)
    throw usage(`the answer of ${impossible.name} cannot be accepted: ${impossible.obstacle}`);
  const reasons = new Map(changed.map((each) => [each, all ? reasonToSkip(each) : undefined]));
  const accepted = changed.filter((each) => reasons.get(each) === undefined);
  await writeAnswers(accepted, context, { dryRun });
  for (const each of changed) {
    const reason = reasons.get(each) ?? null;
    const { path, line } = each.test.from;
    const done = dryRun ? "acceptable" : "accepted";
    yield { test: each.name, result: reason === null ? done : "skipped", reason, file: path, line };
  }
  const rest = restOf(reviewed);
  const count = counted(accepted.length, "answer");
  const what = dryRun ? `${count} would be accepted; nothing was written` : `${count} accepted`;
  await context.notice(rest === "" ? what : `${what}; ${rest}`);
}

/** Why an answer is not accepted unless its test is named; undefined if it is. */
function reasonToSkip({ obstacle, doubt, unmet }: ChangedAnswer): string | undefined {
  if (obstacle !== undefined || doubt !== undefined) return obstacle ?? doubt;
  return unmet.length > 0 ? `it does not meet: ${unmet.join("; ")}` : undefined;
}

/** An answer that becomes the expected one of a test, or one more of several. */
type AcceptedAnswer = Pick<ChangedAnswer, "suite" | "test" | "answer">;

/**
 * Writes answers into their suites, each of which is replaced at once; the rest of it stays as it is.
 * With `dryRun`, only checks that this is possible. Throws `usage` before anything is written if not.
 */
export async function writeAnswers(
  accepted: readonly AcceptedAnswer[],
  { host }: Context,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<void> {
  const edited: { readonly path: string; readonly text: string }[] = [];
  for (const suite of new Set(accepted.map((each) => each.suite))) {
    const { path, text } = suite;
    const answers = accepted.filter((each) => each.suite === suite);
    const withAnswers = isRowFile(path) ? withRowAnswers : withYamlAnswers;
    edited.push({ path, text: await withAnswers(path, text, answers) });
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
