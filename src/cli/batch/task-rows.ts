import type { Values } from "../../api/request.ts";
import { mapArriving } from "../../api/concurrent-map.ts";
import type { BatchFile, BatchJournal, BatchRow, RowAttempt } from "../../commands/batch/index.ts";
import type { Context, RowWork, Task } from "../../commands/task/command-spec.ts";
import { ApiError, CliError, isFatal, usage } from "../../errors.ts";
import type { Session } from "../execute/session.ts";
import { commandOf } from "../parse/command.ts";
import { ended, sendRows } from "./each-line.ts";
import type { NamedOutcome, RowOutcome, RowSteps } from "./each-line.ts";
import { failedRows } from "./resolve.ts";
import { columnsOf } from "./row-input.ts";

/** A row that passed the check, or what failed it and does not stop the others. */
type Prepared = { readonly checked: unknown } | { readonly error: CliError };

/** Carries out a task once per row of a file. */
export async function* eachTaskRow(
  { task, typed }: { readonly task: Task; readonly typed: RowSteps<Values>["typed"] },
  file: BatchFile,
  session: Session,
): AsyncGenerator<NamedOutcome> {
  if (!task.each) return;
  const { context } = session;
  const command = commandOf(task);
  const columns = new Set(columnsOf(command).keys());
  const isOther = (name: string) => task.each?.columns === "any" && !columns.has(name);
  const { rowWork } = await task.load();
  const inner = rowContext(context, session.options.globals.yes === true);
  const work = rowWork?.(inner) as RowWork<Values, unknown>;
  const steps: RowSteps<Prepared> = {
    command,
    typed,
    isOther,
    identity: [task.command, { typed }],
    prepare: (ready, journal) => prepareRows({ file, ready, isOther, journal, work }, context),
    attempt: (prepared, { number }) => attempt(prepared, number, { work, context }),
  };
  yield* sendRows(steps, file, session);
}

/** Rows are sent several at a time: nothing is asked between them, and they have one progress line. */
export const rowContext = (context: Context, yes: boolean): Context => ({
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

/** Rows with resolved names, and what checks them. */
interface RowsToPrepare {
  readonly file: BatchFile;
  readonly ready: () => AsyncIterable<BatchRow<Values>>;
  readonly isOther: (column: string) => boolean;
  readonly journal: BatchJournal;
  readonly work: RowWork<Values, unknown>;
}

/** Checks all rows that are not done, once all names are found. Throws one error for all that are invalid. */
async function prepareRows(
  { file, ready, isOther, journal, work }: RowsToPrepare,
  context: Context,
): Promise<() => AsyncGenerator<BatchRow<Prepared>>> {
  for await (const _ of ready()) if (context.signal.aborted) throw context.abortError();
  const prepare = async ({ row, input }: BatchRow<Values>): Promise<Prepared | undefined> => {
    const isDone = journal.states.get(row.number)?.kind === "done";
    if (input === undefined || isDone) return undefined;
    const cells = Object.entries(row.values).filter(([name]) => isOther(name));
    try {
      const checked = await work.check(input, Object.fromEntries(cells));
      return checked === undefined ? undefined : { checked };
    } catch (error) {
      if (!(error instanceof CliError) || endsBatch(error)) throw error;
      return { error };
    }
  };
  const invalid = failedRows(file.name);
  const prepared = new Map<number, Prepared>();
  const all = mapArriving(ready(), file.count, context.api.limitConcurrency(), async (each) => ({
    row: each.row,
    input: await prepare(each),
  }));
  let done = 0;
  for await (const { row, input } of all) {
    context.progress({ done: ++done, total: file.count, unit: "rows checked" });
    if (input === undefined) continue;
    if ("error" in input && ["usage", "not-found"].includes(input.error.kind)) {
      const named = Object.entries(row.values).filter(([name]) => !isOther(name));
      invalid.add({ ...row, values: Object.fromEntries(named) }, input.error);
    } else if (!work.checksAgain || "error" in input) prepared.set(row.number, input);
  }
  invalid.check();
  return async function* read() {
    for await (const each of ready()) {
      const held = prepared.get(each.row.number);
      yield { ...each, input: held ?? (work.checksAgain ? await prepare(each) : undefined) };
    }
  };
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
