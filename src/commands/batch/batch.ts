import { join } from "node:path";
import type { ConcurrencyOptions } from "../../api/concurrency-limiter.ts";
import type { Values } from "../../api/request.ts";
import { CliError, diskProblem, DryRunShown, internalError, reasonOf } from "../../errors.ts";
import type { FailureKind } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { counted } from "../../lib/plural.ts";
import type { FileRow } from "../../lib/formats/rows-file.ts";
import type { Context } from "../command-spec.ts";
import { lockJournal, unlockedJournal } from "../lock-work.ts";
import type { BatchFile } from "./batch-file.ts";
import { openFailedRows } from "./failed-rows.ts";
import { emptyJournal, openBatchJournal } from "./journal.ts";
import type { BatchJournal, JournalState } from "./journal.ts";
import { mapRows } from "./map-rows.ts";

/** A row as it is sent. */
export interface BatchRow<T> {
  readonly row: FileRow;
  /** Undefined if there is nothing to do. */
  readonly input: T | undefined;
  /** The input with names instead of IDs, for people. */
  readonly entered?: Values | undefined;
  /** What the journal keeps of the input, because a later run may not find it again. */
  readonly resolved?: Values | undefined;
}

/** What became of a row. */
export type RowEnd = "ok" | "failed" | "unknown" | "skipped" | "not sent";

type UnsentEnd = Extract<RowEnd, "skipped" | "unknown" | "not sent">;

/** A row that was sent, or is known from an earlier run. */
export interface RowAttempt<R> {
  readonly end: RowEnd;
  /** What the row has created or changed, for the journal. */
  readonly id?: string | null;
  /** As printed. */
  readonly result: R;
  /** The error that every further row would meet. */
  readonly stop?: CliError | undefined;
}

/** A row with its printed result. */
export interface RowResult<T, R> {
  readonly sent: BatchRow<T>;
  readonly result: R;
}

/** A row that is being sent. */
export interface Sending {
  /** From 1. */
  readonly number: number;
  /** Has an interrupted run sent it before? */
  readonly again: boolean;
  /** Notes in the journal what the row has created, before its end is known. */
  created(id: string): Promise<void>;
}

/** What a batch sends, and how. `T` is the input of a row, `R` its printed result. */
export interface Batch<T, R> {
  readonly file: BatchFile;
  /** The command and its values; with the rows and the target, they identify the journal. */
  readonly identity: readonly unknown[];
  readonly concurrency?: ConcurrencyOptions | undefined;
  /** Path of the file for rows that can be sent again. */
  readonly errorsTo: string | undefined;
  readonly stopOnError: boolean | undefined;
  /** Where the unknown rows can be looked up, for a hint. */
  readonly unknownPlace?: string;
  /**
   * Checks all rows; nothing was sent yet. The returned function reads them again, in their order, as they
   * are sent.
   */
  rows(earlier: BatchJournal): Promise<() => AsyncIterable<BatchRow<T>>>;
  /** Prompts before these rows are sent; says in a dry run what they delete. */
  confirm?(rows: AsyncIterable<BatchRow<T>>): Promise<void>;
  /** May the row be sent again if its end is unknown? */
  isRepeatable(input: T): boolean;
  /** Sends a row. Throws only what ends the batch, such as an internal error. */
  attempt(input: T, row: Sending): Promise<RowAttempt<R>>;
  /** A row that an interrupted run has sent, and that is not repeatable. */
  interrupted(input: T, row: number, id: string | undefined): Promise<RowAttempt<R>>;
  /** The result of a row that is not sent. */
  unsent(row: number, end: UnsentEnd, id: string | null): R;
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
  const { release, files } =
    isFile && !options.dryRun
      ? await lockJournal(journalPath, "another command is sending these rows", host)
      : unlockedJournal(host);
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
    const run = new BatchRun(spec, { rows, areRepeatable }, journal, context);
    yield* run.results();
    await writeFailed(run.left);
    await run.conclude();
  } finally {
    release();
  }
}

async function* openRows<T>(
  rows: () => AsyncIterable<BatchRow<T>>,
  { states }: BatchJournal,
): AsyncGenerator<BatchRow<T>> {
  for await (const each of rows()) if (states.get(each.row.number)?.kind !== "done") yield each;
}

/** Reads all rows once, as they will be sent. */
async function survey<T, R>(
  { isRepeatable }: Batch<T, R>,
  rows: () => AsyncIterable<BatchRow<T>>,
  earlier: BatchJournal,
  { signal, abortError }: Context,
) {
  let [open, areRepeatable] = [0, true];
  for await (const { row, input } of rows()) {
    if (signal.aborted) throw abortError();
    if (earlier.states.get(row.number)?.kind !== "done") open++;
    if (input !== undefined && !isRepeatable(input)) areRepeatable = false;
  }
  return { open, areRepeatable };
}

/** Errors of a row. */
const rowErrors: ReadonlySet<FailureKind> = new Set(["usage", "not-found", "refused"]);

/** Checks rows; the error of one says that none was sent. */
export async function beforeSending<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw error instanceof CliError && rowErrors.has(error.kind)
      ? error.with({}, `${error.message}; no changes were made`)
      : error;
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

async function* resolvedIn<T>(
  rows: AsyncIterable<BatchRow<T>>,
): AsyncGenerator<readonly [number, Values]> {
  for await (const { row, resolved } of rows) if (resolved) yield [row.number, resolved];
}

/**
 * Rows in the journal before they are sent, so that sending does not wait for the disk: 87 instead of
 * 72 % of the rows per second of a bare loop (`npm run bench -- bulk`). Rows that must not be sent
 * twice are journaled one at a time.
 */
const WRITE_AHEAD = 256;

/** A row whose journal entry is being written, if it is sent. */
interface Journaled<T> extends BatchRow<T> {
  readonly earlier: JournalState | undefined;
  readonly onDisk: Promise<void> | undefined;
}

/** Rows as they are sent: that one can no longer be read or checked is found after others were sent. */
async function* whileSending<T>(rows: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* rows;
  } catch (cause) {
    if (!(cause instanceof CliError) || !rowErrors.has(cause.kind)) throw cause;
    throw new CliError("failure", `no further row was sent: ${cause.message}`, { cause });
  }
}

/** The rows of a batch, which were checked. */
interface CheckedRows<T> {
  readonly rows: () => AsyncIterable<BatchRow<T>>;
  /** May all of them be sent again if their end is unknown? */
  readonly areRepeatable: boolean;
}

/** The progress of a batch. */
class BatchRun<T, R> {
  readonly #spec: Batch<T, R>;
  readonly #checked: CheckedRows<T>;
  readonly #journal: BatchJournal;
  readonly #context: Context;
  readonly #counts: Record<RowEnd, number> = {
    ok: 0,
    failed: 0,
    unknown: 0,
    skipped: 0,
    "not sent": 0,
  };
  #ended = 0;
  #failures = 0;
  /** 1 at the numbers of rows that can be sent again. */
  readonly left: Uint8Array;
  #stopped = false;
  /** The fatal error, which every further row would have met. */
  #reason: CliError | undefined;
  /** Is the error that of the journal? It does not matter once all rows are done. */
  #lostJournal = false;

  constructor(spec: Batch<T, R>, checked: CheckedRows<T>, journal: BatchJournal, context: Context) {
    this.#spec = spec;
    this.#checked = checked;
    this.left = new Uint8Array(spec.file.count + 1);
    this.#journal = journal;
    this.#context = context;
  }

  async *results(): AsyncGenerator<RowResult<T, R>> {
    const limiter = this.#context.api.limitConcurrency(this.#spec.concurrency);
    const { count } = this.#spec.file;
    this.#report();
    try {
      const sent = mapRows(this.#journaled(), count, limiter, (row) => this.#send(row));
      for await (const { sent: row, attempt, recorded } of sent) {
        // A row that is done counts even if the journal fails.
        await recorded.catch((error: unknown) => this.#stopWithoutJournal(error));
        this.#counts[attempt.end]++;
        if (attempt.end === "failed" || attempt.end === "not sent") this.left[row.row.number] = 1;
        // On a terminal their number in the summary is enough.
        if (attempt.end !== "not sent" || !this.#context.options.redraws)
          yield { sent: row, result: attempt.result };
      }
    } catch (error) {
      this.#stop(error);
    }
  }

  /** Reports the rows that have ended, in whatever order; their results wait for those before them. */
  #report(end: RowEnd = "not sent"): void {
    if (end !== "not sent") this.#ended++;
    if (end === "failed" || end === "unknown") this.#failures++;
    const [done, failed] = [this.#ended, this.#failures];
    this.#context.progress({ done, total: this.#spec.file.count, unit: "rows", failed });
  }

  /** The rows in order, each once its entry is being written. */
  async *#journaled(): AsyncGenerator<Journaled<T>> {
    const ahead = this.#checked.areRepeatable ? WRITE_AHEAD : 0;
    const queue: Journaled<T>[] = [];
    for await (const each of whileSending(this.#checked.rows())) {
      const earlier = this.#journal.states.get(each.row.number);
      const isSent = each.input !== undefined && earlier?.kind !== "done" && !this.#stopped;
      const onDisk = isSent ? this.#journal.sent(each.row.number) : undefined;
      queue.push({ ...each, earlier, onDisk });
      const first = queue.length > ahead ? queue.shift() : undefined;
      if (first) yield first;
    }
    yield* queue;
  }

  /** Sends a row. The next one does not wait until its end is in the journal, but its report does. */
  async #send(journaled: Journaled<T>) {
    const attempt = await this.#attempt(journaled);
    const { end, id, stop } = attempt;
    this.#report(end);
    if (stop) this.#stop(stop);
    else if (this.#spec.stopOnError && (end === "failed" || end === "unknown"))
      // What stays unknown was so before, and would stop every later run, too.
      this.#stopped ||= end === "failed" || !this.#isOpen(journaled);
    const recorded = this.#record(journaled, end, id ?? undefined);
    recorded.catch(() => {}); // awaited with its report, which may wait for the rows before it
    return { sent: journaled, attempt, recorded };
  }

  /** Did an interrupted run send the row, so that sending it again could repeat a change? */
  #isOpen({ input, earlier }: Journaled<T>): boolean {
    return earlier?.kind === "sent" && input !== undefined && !this.#spec.isRepeatable(input);
  }

  async #attempt(journaled: Journaled<T>): Promise<RowAttempt<R>> {
    const { row, input, earlier, onDisk } = journaled;
    const { number } = row;
    const unsent = (end: UnsentEnd, id: string | null): RowAttempt<R> => ({
      end,
      id,
      result: this.#spec.unsent(number, end, id),
    });
    if (earlier?.kind === "done") return unsent("skipped", earlier.id ?? null);
    if (input === undefined) return unsent("skipped", null);
    await onDisk?.catch((error: unknown) => this.#stopWithoutJournal(error));
    const { signal, abortError } = this.#context;
    if (signal.aborted && !this.#stopped) this.#stop(abortError());
    const isOpen = this.#isOpen(journaled);
    if (this.#stopped) return unsent(isOpen ? "unknown" : "not sent", earlier?.id ?? null);
    let id = earlier?.id;
    const created = (made: string) => {
      id = made;
      return this.#journal
        .sent(number, made)
        .catch((error: unknown) => this.#stopWithoutJournal(error));
    };
    try {
      return isOpen
        ? await this.#spec.interrupted(input, number, id)
        : await this.#spec.attempt(input, { number, again: earlier !== undefined, created });
    } catch (error) {
      if (error instanceof CliError) throw error;
      // A bug: the row may be on the server, and the rows in flight still get their results.
      this.#stop(internalError(error).with({ sideEffect: "unknown" }));
      return unsent("unknown", id ?? null);
    }
  }

  /** Resolves when the end of a row is in the journal; unknown ones stay marked as sent. */
  async #record(journaled: Journaled<T>, end: RowEnd, id?: string): Promise<void> {
    const { row, earlier, onDisk } = journaled;
    if (onDisk === undefined || end === "unknown") return;
    if (end === "ok" || end === "skipped") return this.#journal.done(row.number, id);
    // If this attempt did nothing, that of the interrupted run may still have had an effect.
    const isFollowed = end === "failed" && this.#isOpen(journaled);
    if (earlier === undefined || isFollowed) await this.#journal.failed(row.number);
  }

  #stopWithoutJournal(error: unknown): void {
    this.#lostJournal ||= this.#reason === undefined;
    this.#stop(error);
  }

  #stop(error: unknown): void {
    const message = `no further row was sent: ${reasonOf(error)}`;
    const reason =
      error instanceof CliError ? error : new CliError("failure", message, { cause: error });
    this.#stopped = true;
    this.#reason ??= reason;
    if (reason.info.sideEffect === "unknown")
      this.#reason = this.#reason.with({ sideEffect: "unknown" });
  }

  /** Ends the run: the journal is deleted after the output if all rows are done; otherwise throws what is left. */
  async conclude(): Promise<void> {
    const { ok, failed, unknown, skipped } = this.#counts;
    const unsent = this.#spec.file.count - ok - failed - unknown - skipped;
    const summary = [
      `${ok} of ${formatRowCount(this.#spec.file.count)} done`,
      ...(skipped > 0 ? [`${skipped} skipped`] : []),
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(unknown > 0 ? [`${unknown} unknown`] : []),
      ...(unsent > 0 ? [`${unsent} not sent`] : []),
    ].join(", ");
    const { summary: print } = this.#context;
    const allDone = failed + unknown + unsent === 0;
    const reason = allDone && this.#lostJournal ? undefined : this.#reason;
    const complete = reason === undefined && allDone;
    const untouched = ok + unknown + skipped === 0 && this.#journal.states.size === 0;
    if (untouched && !complete) await this.#journal.remove();
    if (complete) {
      // Once it is gone, the same command sends all rows again.
      this.#context.afterOutput(() => this.#journal.remove());
      return print(summary);
    }

    const hint = this.#nextStep(this.#journal !== emptyJournal && !untouched);
    if (!reason) {
      const details = { ok, failed, unknown, skipped, unsent };
      throw new CliError("partial", summary, { outputFirst: true, hint, details });
    }
    print(summary);
    if (hint !== undefined) print(hint);
    throw reason.with({ outputFirst: true });
  }

  #nextStep(resumable: boolean): string | undefined {
    const { errorsTo, unknownPlace = "" } = this.#spec;
    const { failed, unknown } = this.#counts;
    if (unknown > 0) {
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
}
