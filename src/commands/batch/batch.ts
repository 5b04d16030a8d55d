import { join } from "node:path";
import type { ConcurrencyOptions } from "../../api/adaptive-limit.ts";
import { CliError, diskProblem, DryRunShown, reasonOf, isFatal } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { counted } from "../../lib/text.ts";
import type { Context, ItemOutcome } from "../task/command-spec.ts";
import { lockJournal } from "../task/files.ts";
import { openFailedRows } from "./batch-file.ts";
import type { BatchFile } from "./batch-file.ts";
import { BatchRun, isRowError } from "./batch-run.ts";
import type { BatchRow, CheckedRows, RowResult, RowSender, RowAttempt } from "./batch-run.ts";
import { emptyJournal, openBatchJournal } from "./journal.ts";
import type { BatchJournal } from "./journal.ts";
import { AdaptiveLimit } from "../../api/adaptive-limit.ts";

/** What a batch sends, and how. `T` is the input of a row, `R` its printed result. */
export interface Batch<T, R> extends RowSender<T, R> {
  readonly file: BatchFile;
  /** The command and its values; with the rows and the target, they identify the journal. */
  readonly identity: readonly unknown[];
  /** Begins the summary of a run without failures: `Created tag`. */
  readonly done?: string;
  readonly concurrency?: ConcurrencyOptions | undefined;
  /** Path of the file for rows that can be sent again. */
  readonly errorsTo: string | undefined;
  /** Where the unknown rows can be looked up, for a hint. */
  readonly unknownPlace?: string;
  /**
   * Checks all rows; nothing was sent yet. The returned function reads them again, in their order, as they
   * are sent.
   */
  rows(earlier: BatchJournal): Promise<() => AsyncIterable<BatchRow<T>>>;
  /** Prompts before these rows are sent; says in a dry run what they delete. */
  confirm?(rows: AsyncIterable<BatchRow<T>>): Promise<void>;
}

/** `1 row`, `2 rows`. */
export const formatRowCount = (rows: number): string => counted(rows, "row");

/**
 * Sends the rows of a file and yields their results in the order of the file. Nothing is sent before
 * every row is checked; a row is sent only once the journal has it, so that the same command continues
 * after a kill and never repeats a row blindly:
 *
 *     journal   {"sent":1} {"sent":2}    {"done":2} {"sent":3}    {"done":1}
 *     worker A  row 1 ────────────────────────────────────────▶ ok
 *     worker B  row 2 ──────────▶ ok    row 3 ────────▶ ok
 *     yields                                                      1 2 3
 *
 * Throws `partial` if rows failed, and otherwise the fatal error that stopped it.
 */
export async function* batch<T, R>(
  spec: Batch<T, R>,
  context: Context,
): AsyncGenerator<RowResult<T, R>> {
  const { host, options } = context;
  const { file } = spec;
  // Rows from stdin cannot be read again, so such a run cannot be continued.
  const isFile = file.path !== "-";
  const identity = await context.api.fingerprint(spec.identity, isFile ? file.bytes() : []);
  const journalPath = join(host.directories.state, `each-${identity}.jsonl`);
  const busy = "another command is sending these rows";
  const isLocked = isFile && !options.dryRun;
  const { release, files } = await lockJournal(journalPath, busy, host, isLocked);
  try {
    const earlier = isFile ? await openBatchJournal(journalPath, files) : emptyJournal;
    const rows = await beforeSending(() => spec.rows(earlier));
    const { open, areRepeatable } = await beforeSending(() => survey(spec, rows, earlier, context));
    if (open > 0) await spec.confirm?.(openRows(rows, earlier));
    if (options.dryRun) return await showRequests(spec, openRows(rows, earlier), host);
    if (open < file.count) {
      await context.notice(
        `resuming: ${file.count - open} of ${formatRowCount(file.count)} already done; delete ${journalPath} to start over`,
      );
    }
    const writeFailed = await openFailedRows(spec.errorsTo, file, host);
    const journal = await beforeSending(() => beginJournal(earlier, rows, context));
    const { count } = file;
    const limiter = context.api.limitConcurrency(spec.concurrency);
    const report: CheckedRows<T>["report"] = (done, failed, begun) => {
      if (begun === undefined) context.progress({ done, total: count, unit: "rows", failed });
    };
    const checked = { count, rows, areRepeatable, limiter, journal, report };
    const run = new BatchRun(spec, checked, context);
    /** 1 at the numbers of rows that can be sent again. */
    const left = new Uint8Array(count + 1);
    for await (const result of run.results()) {
      const { end, sent } = result;
      const maySend =
        end === "failed" || end === "not sent" || (end === "unknown" && areRepeatable);
      if (maySend) left[sent.row.number] = 1;
      // On a terminal their number in the summary is enough.
      if (end !== "not sent" || !options.redraws) yield result;
    }
    await writeFailed(left);
    await conclude(spec, run, areRepeatable, context);
  } finally {
    release();
  }
}

async function* openRows<T>(rows: () => AsyncIterable<BatchRow<T>>, { states }: BatchJournal) {
  for await (const each of rows()) if (states.get(each.row.number)?.kind !== "done") yield each;
}

/** Reads all rows once, as they will be sent. */
async function survey<T, R>(
  { isRepeatable }: Batch<T, R>,
  rows: () => AsyncIterable<BatchRow<T>>,
  earlier: BatchJournal,
  { host, abortError }: Context,
) {
  let [open, areRepeatable] = [0, true];
  for await (const { row, input } of rows()) {
    if (host.signal.aborted) throw abortError();
    if (earlier.states.get(row.number)?.kind !== "done") open++;
    if (input !== undefined && isRepeatable?.(input) === false) areRepeatable = false;
  }
  return { open, areRepeatable };
}

/** Checks rows; the error of one says that none was sent. */
export async function beforeSending<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw isRowError(error) ? error.with({}, `${error.message}; no changes were made`) : error;
  }
}

/** Prints the request of each row in a dry run. */
async function showRequests<T, R>(
  { attempt }: Batch<T, R>,
  rows: AsyncIterable<BatchRow<T>>,
  { stdout }: Host,
): Promise<void> {
  let isFirst = true;
  for await (const { row, input } of rows) {
    if (input !== undefined && !isFirst) await stdout.write("\n");
    isFirst = false;
    if (input === undefined) continue;
    const sending = { number: row.number, again: false, created: () => Promise.resolve() };
    await attempt(input, sending).catch((error: unknown) => {
      if (!(error instanceof DryRunShown)) throw error;
    });
  }
}

/**
 * Writes what the rows were resolved to. If the disk takes none, a first run prints a notice and uses no
 * journal; one that continues throws, because the journal has what must not be sent again.
 */
async function beginJournal<T>(
  journal: BatchJournal,
  rows: () => AsyncIterable<BatchRow<T>>,
  { notice }: Context,
): Promise<BatchJournal> {
  try {
    await journal.begin(resolvedIn(rows()));
    return journal;
  } catch (error) {
    if (journal.states.size > 0) {
      const kind = diskProblem(error)?.kind ?? "failure";
      const message = `failed to write the journal of the interrupted run: ${reasonOf(error)}`;
      throw new CliError(kind, message, { sideEffect: "none", cause: error });
    }
    await journal.remove().catch(() => {}); // an incomplete journal is useless
    if (error instanceof CliError) throw error; // of the rows
    await notice(`if this run is interrupted, it cannot resume: ${reasonOf(error)}`);
    return emptyJournal;
  }
}

async function* resolvedIn<T>(rows: AsyncIterable<BatchRow<T>>) {
  for await (const { row, resolved } of rows) if (resolved) yield [row.number, resolved] as const;
}

/** Ends a run: the journal is deleted after the output if all rows are done; otherwise throws what is left. */
async function conclude<T, R>(
  spec: Batch<T, R>,
  run: BatchRun<T, R>,
  areRepeatable: boolean,
  { summary: print, afterOutput }: Context,
): Promise<void> {
  const { counts, journal } = run;
  const { ok, failed, unknown, skipped } = counts;
  const unsent = spec.file.count - ok - failed - unknown - skipped;
  const others = Object.entries({ skipped, failed, unknown, "not sent": unsent });
  const summary = [
    `${ok} of ${formatRowCount(spec.file.count)} done`,
    ...others.flatMap(([end, count]) => (count > 0 ? [`${count} ${end}`] : [])),
  ].join(", ");
  const allDone = failed + unknown + unsent === 0;
  const reason = allDone && run.lostJournal ? undefined : run.reason;
  const untouched = ok + unknown + skipped === 0 && journal.states.size === 0;
  if (reason === undefined && allDone) {
    // Once it is gone, the same command sends all rows again.
    afterOutput(() => journal.remove());
    return print(spec.done === undefined || ok === 0 ? summary : `${spec.done}: ${summary}`);
  }
  if (untouched) await journal.remove();
  const [doubtful, certain] = areRepeatable ? [0, failed + unknown] : [unknown, failed];
  const ends = { doubtful, failed: certain };
  const hint = nextStep(spec, ends, journal !== emptyJournal && !untouched);
  if (!reason) {
    const details = { ok, failed, unknown, skipped, unsent };
    throw new CliError("partial", summary, { outputFirst: true, hint, details });
  }
  print(summary);
  if (hint !== undefined) print(hint);
  throw reason.with({ outputFirst: true });
}

function nextStep<T, R>(
  { errorsTo, unknownPlace = "" }: Batch<T, R>,
  { failed, doubtful }: { readonly failed: number; readonly doubtful: number },
  resumable: boolean,
): string | undefined {
  if (doubtful > 0) {
    const again = resumable ? "them again only if that is safe" : "all rows again";
    return `check the unknown rows${unknownPlace}; the same command sends ${again}`;
  }
  if (errorsTo !== undefined && failed > 0) {
    return `correct the failed rows in ${errorsTo} and pass it to --each`;
  }
  if (resumable) return "run the same command again to send the remaining rows";
  return failed > 0
    ? "correct the failed rows and pass them to --each; --errors-to FILE collects them"
    : undefined;
}

/** One of several items; `act` returns its ID, or undefined if there was nothing to do. */
interface Item {
  readonly name: string;
  readonly act: () => Promise<string | undefined>;
}

/**
 * Acts on each item in order and yields the outcomes: a batch without a file and a journal. Ends early on a
 * fatal error. Throws at the end: the fatal error, an error of the common kind if all items failed, or else
 * `partial`.
 */
export async function* forEachItem(
  noun: string,
  items: readonly Item[],
  context: Context,
): AsyncGenerator<ItemOutcome> {
  const failures: { readonly outcome: ItemOutcome; readonly error: CliError }[] = [];
  const attempt = async ({ name, act }: Item): Promise<RowAttempt<ItemOutcome | undefined>> => {
    try {
      const id = (await act()) ?? null;
      const end = id === null ? "skipped" : "ok";
      return { end, result: { name, status: end, id, error: null } };
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const end = error.info.sideEffect === "unknown" ? "unknown" : "failed";
      const outcome = { name, status: end, id: null, error: error.message } as const;
      failures.push({ outcome, error });
      return { end, result: outcome, stop: isFatal(error) ? error : undefined };
    }
  };
  const total = items.length;
  const sender = { attempt, unsent: () => undefined };
  const checked: CheckedRows<Item> = {
    count: total,
    rows: () => rowsOf(items),
    limiter: new AdaptiveLimit({ start: 1, max: 1 }),
    report(done, failed, begun) {
      if (begun) context.progress({ done, total, unit: "items", failed, current: begun.name });
    },
  };
  const run = new BatchRun(sender, checked, context);
  for await (const { result } of run.results()) if (result) yield result;
  const { counts, reason } = run;
  const errors = failures.map((each) => each.error);
  const isUnknown = [...errors, reason].some((each) => each?.info.sideEffect === "unknown");
  const changed = counts.ok > 0 && !context.options.dryRun ? "applied" : "none";
  const sideEffect = isUnknown ? "unknown" : changed;
  if (reason) {
    const unsent = counts["not sent"];
    const left = unsent > 0 ? `; ${unsent} not sent` : "";
    throw reason.with({ isResult: true, sideEffect }, `${reason.message}${left}`);
  }
  const [first] = failures;
  if (!first) return;
  const { outcome, error } = first;
  const details = { failed: failures.map((each) => each.outcome) };
  const alike = failures.length === total && errors.every(({ kind }) => kind === error.kind);
  throw new CliError(
    alike ? error.kind : "partial",
    `${failures.length} of ${total} failed: ${noun} ${JSON.stringify(outcome.name)}: ${error.message}`,
    { isResult: true, sideEffect, details, hint: error.info.hint },
  );
}

async function* rowsOf(items: readonly Item[]): AsyncGenerator<BatchRow<Item>> {
  for (const [index, input] of items.entries()) {
    const number = index + 1;
    yield { row: { number, line: number, values: {}, raw: input.name }, input };
  }
}
