import { verdict } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { groupDigits } from "../../../lib/numbers.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { countsOf, isOutOfSync, plannedRow, sizeOf } from "../changes/index.ts";
import type { Action, Change } from "../changes/index.ts";
import type { Context } from "../../task/command-spec.ts";
import type { statusParams } from "./command.ts";
import { parsePrefix } from "./local-files.ts";
import { openSync, planSync } from "./plan.ts";
import type { SyncPlan } from "./plan.ts";

/** What a sync would do, as counts for programs and as texts for people. */
interface SyncStatus {
  readonly state: "up to date" | "out of date";
  readonly files: number;
  /** Number of files, and of documents to delete, by what a sync would do. */
  readonly actions: Readonly<Partial<Record<Action, number>>>;
  /** Documents whose file no longer exists; a sync deletes them with --prune only. */
  readonly without_file: number;
  readonly changes: string;
  readonly unchanged: string;
  readonly problems: string;
}

/** Compares a directory with a knowledge base. With `exit_code`, throws gate if they differ. */
export async function* run(
  { exit_code, ...args }: Input<typeof statusParams>,
  context: Context,
): AsyncGenerator<SyncStatus> {
  const flags = { ...args, prefix: parsePrefix(args.prefix) };
  // A dry run opens the journal to read it.
  const reads = { ...context, options: { ...context.options, dryRun: true } };
  const sync = await openSync(flags, { isPrivate: args.allow_private }, reads);
  const status = statusOf(await planSync(flags, sync, undefined, context).finally(sync.close));
  yield status;
  if (!exit_code || status.state === "up to date") return;
  const { actions } = status;
  throw verdict("gate", `${args.directory} and the knowledge base differ`, { actions });
}

/** `2 would fail: a.md, b.md` */
const namesOf = (rows: readonly Change[]): string =>
  rows.length === 0 ? "" : `${countsOf(rows, true)}: ${firstNames(rows.map(({ name }) => name))}`;

function statusOf({ changes, count: files, unfit, withoutFile }: SyncPlan): SyncStatus {
  const rows = [...changes.map(plannedRow), ...unfit];
  const isProblem = (row: Change) => isOutOfSync(row) || row.action === "skip";
  const same = rows.filter(({ action }) => action === "unchanged");
  const problems = rows.filter(isProblem);
  const made = rows.filter((row) => row.action !== "unchanged" && !isProblem(row));
  const isSent = (row: Change) => row.action === "create" || row.action === "update";
  const sent = changes.flatMap((each) => (isSent(each) && each.source ? [each.source] : []));
  const kept = withoutFile - made.filter(({ action }) => action === "delete").length;
  const joined = (...parts: readonly string[]) => parts.filter(Boolean).join("; ") || "none";
  return {
    state: made.length === 0 && !rows.some(isOutOfSync) ? "up to date" : "out of date",
    files,
    actions: Object.fromEntries(
      [...groupBy(rows, ({ action }) => action)].map(([action, all]) => [action, all.length]),
    ),
    without_file: withoutFile,
    changes: joined(countsOf(made, true), sent.length === 0 ? "" : `${sizeOf(sent)} to index`),
    unchanged: `${groupDigits(same.length)} of ${counted(files, "file")}`,
    problems: joined(
      countsOf(
        problems.filter(({ action }) => action === "skip"),
        true,
      ),
      namesOf(problems.filter(({ action }) => action === "conflict")),
      namesOf(problems.filter(({ action }) => action === "failed")),
      kept <= 0 ? "" : `${counted(kept, "document")} without a file (deleted by --prune only)`,
    ),
  };
}
