import { usage } from "../../../../errors.ts";
import { counted } from "../../../../lib/text.ts";
import type { Input } from "../../../../operations/operation.ts";
import type { Context } from "../../../task/command-spec.ts";
import type { testAcceptParams } from "./command.ts";
import { changedAnswers, restOf } from "./changed-answers.ts";
import type { ChangedAnswer } from "./changed-answers.ts";
import { writeAnswers } from "./write-answers.ts";

/** What became of the answer of a test. */
interface AcceptedRow {
  readonly test: string;
  readonly result: "accepted" | "acceptable" | "skipped";
  readonly reason: string | null;
  readonly file: string;
  readonly line: number;
}

/**
 * Writes changed answers into their suites as the expected ones. Throws `usage`, before anything is
 * written, if that is impossible for a test that is named.
 */
export async function* run(
  input: Input<typeof testAcceptParams>,
  context: Context,
): AsyncGenerator<AcceptedRow> {
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
