import { mapConcurrent } from "../../api/concurrent-map.ts";
import type { Values } from "../../api/request.ts";
import { batch, beforeSending, readBatchFile } from "../../commands/batch/index.ts";
import type { BatchFile, BatchJournal, BatchRow, RowAttempt } from "../../commands/batch/index.ts";
import type { Context, RowWork, Task } from "../../commands/command-spec.ts";
import { ApiError, CliError, isFatal, usage } from "../../errors.ts";
import type { FileRow } from "../../lib/formats/rows-file.ts";
import type { Session } from "../execute/session.ts";
import { commandOf } from "../parse/command.ts";
import { ended, rowSources } from "./each-line.ts";
import type { EachLine, RowOutcome } from "./each-line.ts";
import { resolveRows, rowsError } from "./resolve.ts";
import { checkRows, columnsOf } from "./row-input.ts";
import { withRowNames } from "./row-names.ts";
import type { NamedOutcome } from "./row-names.ts";

/** A command line with `--each` for a task. */
interface TaskLine extends EachLine {
  readonly task: Task;
}

/** A row that passed the check, or what failed it and does not stop the others. */
type Prepared = { readonly checked: unknown } | { readonly error: CliError };

/**
 * Carries out a task once per row of a file and yields the outcomes. Nothing is sent before every row is
 * checked and every name is resolved. Throws usage, not-found or refused for invalid rows, and as a
 * batch does.
 */
export async function* eachTaskRow(
  { task, each, typed, globals }: TaskLine,
  session: Session,
): AsyncGenerator<NamedOutcome> {
  if (!task.each) return;
  const { context } = session;
  const command = commandOf(task);
  const file = await readBatchFile(each, context.host);
  const columns = new Set(columnsOf(command).keys());
  const others = task.each.columns === "any" ? (name: string) => !columns.has(name) : () => false;
  const sources = rowSources(each, context.host, globals);
  const known = withColumns(file, (name) => !others(name));
  const checked = await beforeSending(() =>
    checkRows({ command, file: known, typed, sources, extra: undefined }),
  );
  const cells = new Map(file.table.rows.map((row) => [row.number, pick(row, others)]));
  const { rowWork } = await task.each.load();
  const work = rowWork(rowContext(context, globals.yes === true)) as RowWork<Values, unknown>;
  const outcomes = batch<Prepared, RowOutcome>(
    {
      file,
      identity: [task.command, { typed }],
      errorsTo: globals.errorsTo,
      stopOnError: globals.stopOnError,
      async rows(journal) {
        const name = file.name;
        const ready = await resolveRows({
          command,
          file: name,
          checked,
          journal,
          globals,
          session,
        });
        return prepareRows({ name, ready, cells, journal, work }, context);
      },
      isRepeatable: () => true,
      attempt: (prepared, { number }) => attempt(prepared, number, { work, context }),
      interrupted: () => Promise.reject(new Error("every row is repeatable")),
      unsent: (number, status, id) => ({ row: number, status, id, error: null }),
    },
    context,
  );
  yield* withRowNames(outcomes, command, checked);
}

/** Rows are sent several at a time: nothing is asked between them, and they have one progress line. */
const rowContext = (context: Context, yes: boolean): Context => ({
  ...context,
  progress: () => {},
  confirm: (question) =>
    yes
      ? Promise.resolve()
      : Promise.reject(
          usage(`confirmation required: ${question.replace(/\.$/, "")}`, "pass --yes to continue", {
            code: "confirmation-needed",
          }),
        ),
});

/** The file with only the columns of these names. */
function withColumns(file: BatchFile, has: (name: string) => boolean): BatchFile {
  const { rows, columns } = file.table;
  return {
    ...file,
    table: {
      ...file.table,
      columns: columns?.filter(has),
      rows: rows.map((row) => ({ ...row, values: pick(row, has) })),
    },
  };
}

const pick = ({ values }: FileRow, has: (name: string) => boolean) =>
  Object.fromEntries(Object.entries(values).filter(([name]) => has(name)));

/** Rows with resolved names, and what checks them. */
interface RowsToPrepare {
  /** Name of the file, for errors. */
  readonly name: string;
  readonly ready: readonly BatchRow<Values>[];
  /** Cells of columns that are no arguments, by row number. */
  readonly cells: ReadonlyMap<number, Readonly<Record<string, unknown>>>;
  readonly journal: BatchJournal;
  readonly work: RowWork<Values, unknown>;
}

/** Checks all rows that are not done. Throws one error for all that are invalid. */
async function prepareRows(
  { name, ready, cells, journal, work }: RowsToPrepare,
  context: Context,
): Promise<BatchRow<Prepared>[]> {
  const invalid: { row: FileRow; error: CliError }[] = [];
  const prepare = async ({ row, input }: BatchRow<Values>): Promise<Prepared | undefined> => {
    const isDone = journal.states.get(row.number)?.kind === "done";
    if (input === undefined || isDone) return undefined;
    try {
      const checked = await work.check(input, cells.get(row.number) ?? {});
      return checked === undefined ? undefined : { checked };
    } catch (error) {
      if (!(error instanceof CliError) || endsBatch(error)) throw error;
      if (["usage", "not-found"].includes(error.kind)) invalid.push({ row, error });
      return { error };
    }
  };
  const prepared: (Prepared | undefined)[] = [];
  for await (const each of mapConcurrent(ready, context.limitConcurrency(), prepare)) {
    prepared.push(each);
    context.progress({ done: prepared.length, total: ready.length, unit: "rows checked" });
  }
  invalid.sort((a, b) => a.row.number - b.row.number);
  if (invalid.length > 0) throw rowsError(name, invalid);
  return ready.map((row, index) => ({ ...row, input: prepared[index] }));
}

/** Would every further row fail the same way? What a task refuses concerns one object. */
const endsBatch = (error: CliError): boolean =>
  isFatal(error) && (error.kind !== "unsupported" || error instanceof ApiError);

/** Sends one row. Throws what ends the batch: internal errors, read-only mode, the end of a dry run. */
async function attempt(
  prepared: Prepared,
  number: number,
  { work, context }: { readonly work: RowWork<Values, unknown>; readonly context: Context },
): Promise<RowAttempt<RowOutcome>> {
  if ("error" in prepared) {
    const { message } = prepared.error;
    if (context.options.dryRun) await context.notice(`row ${number}: ${message}`);
    return ended(number, "failed", null, message);
  }
  try {
    return ended(number, "ok", await work.send(prepared.checked));
  } catch (thrown) {
    const error = context.signal.aborted ? context.abortError() : thrown;
    if (!(error instanceof CliError) || error.info.code === "read-only") throw error;
    // A change that was made, or may have been, cannot be made again from the same row.
    const end = (error.info.sideEffect ?? "none") === "none" ? "failed" : "unknown";
    const failed = ended(number, end, null, error.message);
    return endsBatch(error) ? { ...failed, stop: error } : failed;
  }
}
