import { CliError, endOfInput, usage } from "../../../errors.ts";
import { counted } from "../../../lib/plural.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import { askUntil } from "../../ask.ts";
import type { Context } from "../../command-spec.ts";
import type { testReviewParams } from "../test-specs.ts";
import { readSuite } from "../suite-file/index.ts";
import { changedAnswers } from "./changed-answers.ts";
import type { ChangedAnswer, ReviewedAnswers } from "./changed-answers.ts";
import { answerSection, reviewReport } from "./review-report.ts";
import { writeAnswers } from "./write-answers.ts";

/** Shows changed answers; on a terminal, prompts for each whether it becomes the expected one. */
export async function* run(
  input: Input<typeof testReviewParams>,
  context: Context,
): AsyncGenerator<Report> {
  const { results, baseline, test: tests } = input;
  const reviewed = await changedAnswers({ results, baseline, tests }, context);
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
