import { verdict } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { groupDigits } from "../../../lib/numbers.ts";
import { counted, firstNames, joinedNotes } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { countsOf, isOutOfSync, plannedRow, sendsContent, sizeOf } from "../changes/index.ts";
import type { Action, Change, SizedChange } from "../changes/index.ts";
import type { Context } from "../../task/command-spec.ts";
import type { statusParams } from "./command.ts";
import { parsePrefix } from "./local-files.ts";
import { openSync, planSync } from "./plan.ts";
import type { SyncPlan } from "./plan.ts";
import { planSheet } from "./plan-rows.ts";
import { openNotes } from "./row-notes.ts";
import { readKeyedSheet } from "./sheet-rows.ts";
import { plannedChanges, requireRows } from "./sync-rows.ts";

/** What a sync would do, as counts for programs and as texts for people. */
interface SyncStatus {
  readonly state: "up to date" | "out of date";
  /** Number of them, or of the rows of a sheet. */
  readonly files?: number;
  readonly rows?: number;
  /** Number of files, and of documents to delete, by what a sync would do. */
  readonly actions: Readonly<Partial<Record<Action, number>>>;
  /** Documents whose file no longer exists, or chunks whose row; a sync deletes them with --prune only. */
  readonly without_file?: number;
  readonly without_row?: number;
  readonly changes: string;
  readonly unchanged: string;
  readonly problems: string;
}

/** Compares a directory with a knowledge base. With `exit_code`, throws gate if they differ. */
export async function* run(
  { exit_code, ...args }: Input<typeof statusParams>,
  context: Context,
): AsyncGenerator<SyncStatus> {
  requireRows(args);
  // A dry run opens the journal to read it.
  const reads = { ...context, options: { ...context.options, dryRun: true } };
  const status = await (args.rows ? statusOfRows(args, reads) : statusOfFiles(args, reads));
  yield status;
  if (!exit_code || status.state === "up to date") return;
  const { actions } = status;
  throw verdict("gate", `${args.directory} and the knowledge base differ`, { actions });
}

type StatusFlags = Input<typeof statusParams>;

async function statusOfFiles(args: StatusFlags, context: Context): Promise<SyncStatus> {
  const flags = { ...args, prefix: parsePrefix(args.prefix) };
  const sync = await openSync(flags, { isPrivate: args.allow_private }, context);
  const plan = await planSync(flags, sync, undefined, context).finally(sync.close);
  const changes = plan.changes.map((each) => ({ ...each, ...plannedRow(each) }));
  return statusOf({ ...plan, changes }, "file");
}

async function statusOfRows(flags: StatusFlags, context: Context): Promise<SyncStatus> {
  const sheet = await readKeyedSheet(flags, context);
  const notes = await openNotes(flags.dataset_id, sheet.name, context);
  const { plan } = await planSheet(sheet, await notes.read(), flags, context);
  const withoutFile = plan.generated.length + plan.gone.length + plan.foreign.length;
  const changes = plannedChanges(plan, flags.prune);
  return statusOf({ changes, count: sheet.rows.length, unfit: [], withoutFile }, "row");
}

/** `2 would fail: a.md, b.md` */
const namesOf = (rows: readonly Change[]): string =>
  rows.length === 0 ? "" : `${countsOf(rows, true)}: ${firstNames(rows.map(({ name }) => name))}`;

type CountedPlan = Pick<SyncPlan, "count" | "unfit" | "withoutFile"> & {
  readonly changes: readonly SizedChange[];
};

function statusOf(
  { changes, count, unfit, withoutFile }: CountedPlan,
  noun: "file" | "row",
): SyncStatus {
  const rows = [...changes, ...unfit];
  const isProblem = (row: Change) => isOutOfSync(row) || row.action === "skip";
  const same = rows.filter(({ action }) => action === "unchanged");
  const problems = rows.filter(isProblem);
  const made = rows.filter((row) => row.action !== "unchanged" && !isProblem(row));
  const sent = changes.flatMap((each) => (sendsContent(each) && each.source ? [each.source] : []));
  const kept = withoutFile - made.filter(({ action }) => action === "delete").length;
  const without = noun === "row" ? "chunk" : "document";
  const joined = (...parts: readonly string[]) => joinedNotes(...parts) ?? "none";
  return {
    state: made.length === 0 && !rows.some(isOutOfSync) ? "up to date" : "out of date",
    ...(noun === "row"
      ? { rows: count, without_row: withoutFile }
      : { files: count, without_file: withoutFile }),
    actions: Object.fromEntries(
      [...groupBy(rows, ({ action }) => action)].map(([action, all]) => [action, all.length]),
    ),
    changes: joined(countsOf(made, true), sent.length === 0 ? "" : `${sizeOf(sent)} to index`),
    unchanged: `${groupDigits(same.length)} of ${counted(count, noun)}`,
    problems: joined(
      countsOf(
        problems.filter(({ action }) => action === "skip"),
        true,
      ),
      namesOf(problems.filter(({ action }) => action === "conflict")),
      namesOf(problems.filter(({ action }) => action === "failed")),
      kept <= 0 ? "" : `${counted(kept, without)} without a ${noun} (deleted by --prune only)`,
    ),
  };
}
