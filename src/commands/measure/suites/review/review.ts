import { CliError, endOfInput, usage } from "../../../../errors.ts";
import { counted } from "../../../../lib/text.ts";
import { openWordDiff } from "../../../../lib/word-diff.ts";
import type { Input } from "../../../../operations/operation.ts";
import { left, noTable, right } from "../../../../output/report-model.ts";
import type { Report, Section } from "../../../../output/report-model.ts";
import { askUntil } from "../../../task/ask.ts";
import type { Context } from "../../../task/command-spec.ts";
import { readSuite } from "../../suite-file/index.ts";
import { writeAnswers } from "./accept.ts";
import { changedAnswers, restOf } from "./changed-answers.ts";
import type { ChangedAnswer, ReviewedAnswers } from "./changed-answers.ts";
import type { testReviewParams } from "./command.ts";

/** Shows changed answers; on a terminal, prompts for each whether it becomes the expected one. */
export async function* run(
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
    const reply = await replyTo(each, context);
    if (reply === "quit") break;
    if (reply === "skip") continue;
    await accept(each, context);
    accepted++;
  }
  await context.notice(`${counted(accepted, "answer")} accepted`);
}

/** Writes at once, so that an interrupt loses nothing. The suite may have changed in the meantime. */
async function accept({ suite, test, answer }: ChangedAnswer, context: Context): Promise<void> {
  const current = await readSuite(suite.path, context.host.files);
  const same = current.tests.find(({ name }) => name === test.name);
  if (!same) throw usage(`${suite.path} has no test ${JSON.stringify(test.name)} any more`);
  await writeAnswers([{ suite: current, test: same, answer }], context);
  await context.promptLine(`accepted: ${suite.path} line ${test.from.line}`);
}

const replies = ["accept", "skip", "quit"] as const;
type Reply = (typeof replies)[number];

async function replyTo({ obstacle, doubt }: ChangedAnswer, context: Context): Promise<Reply> {
  const mayAccept = obstacle === undefined && doubt === undefined;
  const possible = replies.filter((reply) => mayAccept || reply !== "accept");
  const names = possible.map((reply) => `${reply[0]} = ${reply}`).join(", ");
  const read = (typed: string) => {
    const word = typed.toLowerCase();
    const found = possible.find((reply) => word !== "" && reply.startsWith(word));
    return found ? { found } : `type one of: ${names}`;
  };
  try {
    return (await askUntil(`Accept this answer? (${names}): `, read, context)).found;
  } catch (error) {
    if (error instanceof CliError && error.info.code === endOfInput) return "quit";
    throw error;
  }
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
