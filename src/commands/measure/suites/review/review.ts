import { usage, CliError, reasonOf } from "../../../../errors.ts";
import { counted } from "../../../../lib/text.ts";
import { openWordDiff } from "../../../../lib/word-diff.ts";
import type { Input } from "../../../../operations/operation.ts";
import { left, noTable, right } from "../../../../output/report-model.ts";
import type { Report, Section } from "../../../../output/report-model.ts";
import { askReply } from "../../../task/ask.ts";
import type { Context } from "../../../task/command-spec.ts";
import { changedAnswers, restOf } from "./changed-answers.ts";
import type { ChangedAnswer, ReviewedAnswers } from "./changed-answers.ts";
import type { testAcceptParams, testReviewParams } from "./command.ts";
import { groupBy } from "../../../../lib/collect.ts";
import { csvLines } from "../../../../lib/formats/csv.ts";
import { readRowFile } from "../../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../../lib/formats/rows-file.ts";
import { editYaml } from "../../../../lib/formats/yaml-edit.ts";
import { isObject, tryParseJson, stringifyJson } from "../../../../lib/json.ts";
import { asText } from "../../../../operations/operation.ts";
import { MAX_YAML_SIZE } from "../../../wf/expect/index.ts";
import { isRowFile, readSuite } from "../../suite-file/index.ts";

/** Shows changed answers; on a terminal, prompts for each whether it becomes the expected one. */
export async function* review(
  input: Input<typeof testReviewParams>,
  context: Context,
): AsyncGenerator<Report> {
  const reviewed = await changedAnswers(input, context);
  const { input: mayPrompt, terminal, typed } = context.options;
  const asks = mayPrompt && terminal && typed === undefined;
  if (asks && reviewed.changed.length > 0) yield* dialog(reviewed, context);
  else yield await reviewReport(reviewed);
}

async function* dialog({ changed }: ReviewedAnswers, context: Context): AsyncGenerator<Report> {
  let accepted = 0;
  for (const [index, each] of changed.entries()) {
    const section = await answerSection(each, `${index + 1} of ${changed.length}: `);
    yield { data: null, sections: [section] };
    const mayAccept = each.obstacle === undefined && each.doubt === undefined;
    const words = mayAccept ? (["accept", "skip"] as const) : (["skip"] as const);
    const reply = await askReply("Accept this answer?", words, context);
    if (reply === "quit") break;
    if (reply === "skip") continue;
    // At once, so that an interrupt loses nothing.
    await acceptAnswers([each], context);
    await context.promptLine(`accepted: ${each.suite.path} line ${each.test.from.line}`);
    accepted++;
  }
  await context.notice(`${counted(accepted, "answer")} accepted`);
}

/** Accepts changed answers. Throws `usage`, before anything is written, if that is impossible for a named test. */
export async function* accept(input: Input<typeof testAcceptParams>, context: Context) {
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
  await acceptAnswers(accepted, context, { dryRun });
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

/** The changed answers as a table; a terminal shows the texts with the words that differ. */
async function reviewReport(reviewed: ReviewedAnswers): Promise<Report> {
  const { changed, same, unknown, unanswered } = reviewed;
  const title = `${counted(changed.length, "changed answer")}`;
  const rest = restOf(reviewed);
  const notes = rest === "" ? [] : [rest];
  const screens: Section[] = [];
  for (const [index, each] of changed.entries())
    screens.push(await answerSection(each, `${index + 1} of ${changed.length}: `));
  const sections: Section[] = [
    {
      title,
      columns: [left("test"), left("expected"), left("answer"), right("times"), right("runs")],
      rows: changed.map(({ name, expected, answer, count, runs }) => [
        name,
        expected[0] ?? null,
        answer,
        count,
        runs,
      ]),
      notes,
    },
  ];
  return {
    data: { changed: changed.map(dataOf), same, unknown, unanswered },
    sections,
    page: () => ({ sections: [...sections, ...screens] }),
    screen: [...screens, { ...noTable, title, notes }],
  };
}

const dataOf = ({ name, suite, test, obstacle, doubt, ...found }: ChangedAnswer) => ({
  name,
  suite: suite.name,
  path: suite.path,
  test: test.name,
  line: test.from.line,
  ...found,
  obstacle: obstacle ?? null,
  doubt: doubt ?? null,
});

/** The expected answer and the new one, with the words that differ. */
async function answerSection(changed: ChangedAnswer, place = ""): Promise<Section> {
  const { name, expected, answer, count, runs, unmet, obstacle, doubt } = changed;
  const [first = "", ...others] = expected;
  const or = others.length > 0 ? ` (or ${counted(others.length, "other")})` : "";
  const times = runs > 1 ? ` (${count} of ${runs})` : "";
  return {
    ...noTable,
    title: `${place}${name}`,
    comparison: {
      titles: [`expected${or}`, `answer${times}`],
      parts: (await openWordDiff())(first, answer),
    },
    notes: [
      ...(unmet.length > 0 ? [`not met: ${unmet.join("; ")}`] : []),
      ...(obstacle === undefined ? [] : [`cannot be accepted: ${obstacle}`]),
      ...(doubt === undefined ? [] : [`accepted only if its test is named: ${doubt}`]),
    ],
  };
}

/** An answer that becomes the expected one of a test as it is now, or one more of several. */
type AcceptedAnswer = Pick<ChangedAnswer, "suite" | "test" | "answer">;

/**
 * Writes answers into their suites, each of which is read again and replaced at once; the rest of it stays as it is.
 * With `dryRun`, only checks that this is possible. Throws `usage` before anything is written if not.
 */
async function acceptAnswers(
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
