/* What --where does: it shows rows of a list, or stands for the documents that a command changes. */
import type { Values } from "../../api/request.ts";
import { parseCondition, rowScope } from "../../commands/conditions/index.ts";
import { matchingRows } from "../../commands/task/row-counts.ts";
import { usage } from "../../errors.ts";
import { readColumns } from "../../operations/operation.ts";
import type { AnyOperation, Column } from "../../operations/operation.ts";
import { programOf } from "../parse/command-list.ts";
import { asksForBackup, matchedDocuments, takesWhere } from "../parse/shared-flags.ts";
import { confirmationText } from "./command-texts.ts";
import type { Session } from "./session.ts";

/** The rows of a list that meet the conditions of --where. */
export async function* rowsWhere(row: AnyOperation, ids: Values, session: Session) {
  const { options, context, api } = session;
  const { columns = [] } = row.returns as { readonly columns?: readonly Column[] }; // of any list
  const scope = rowScope<unknown>(readColumns(columns), [], "differs");
  const { matching = [] } = options.globals;
  const checks = matching.map((text) => parseCondition("--where", text, scope));
  const keeps = (each: unknown) => checks.every(({ evaluate }) => evaluate(each).passed === true);
  yield* matchingRows(row, ids as never, keeps, { ...context, api }); // checked values
}

/**
 * The command with the documents that meet the conditions of --where as its arguments, confirmed if it does not ask on
 * its own; undefined without any. Throws usage, before the list is read, for what cannot be carried out.
 */
export async function withMatching(given: { readonly session: Session; readonly input: Values }) {
  const { session, input } = given;
  const { command, typed, options, context, names } = session;
  const { matching = [], yes } = options.globals;
  if (!takesWhere(command))
    throw usage("--where is not possible here", "write it behind the command, without --each");
  const last = matchedDocuments(command);
  if (last === undefined) return given;
  if (typed[last] !== undefined) throw usage("use either --where or named documents, not both");
  const { dryRun } = context.options;
  const isBackedUp = asksForBackup(options.globals);
  if (!yes && !dryRun && !options.input)
    await context.confirm(confirmationText(command, typed, { isBackedUp }));
  const dataset_id = await context.resolveId("kb", String(input["dataset_id"]));
  const none = { ...input, dataset_id, [last]: [] };
  const work = (await command.task?.load())?.rowWork?.(context);
  // The task itself says that there is nothing to do.
  if (work && !(await work.check(none as never, {}))) return { session, input: none };
  const found = (await programOf(command).documentsWhere?.(dataset_id, matching, context)) ?? [];
  if (found.length === 0) return undefined;
  for (const { id, name } of found) names.set(id, name);
  const named = { ...session, typed: { ...typed, [last]: found.map(({ name }) => name) } };
  if (command.effect !== "destroys" && !dryRun) {
    const question = confirmationText(command, named.typed, { isBackedUp });
    await context.confirm(question, { declined: "nothing was changed" });
  }
  return { session: named, input: { ...none, [last]: found.map(({ id }) => id) } };
}
