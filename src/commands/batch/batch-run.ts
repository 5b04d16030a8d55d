import { mapArriving } from "../../api/concurrent-map.ts";
import type { AdaptiveLimit } from "../../api/adaptive-limit.ts";
import type { Values } from "../../api/request.ts";
import { CliError, internalError, reasonOf } from "../../errors.ts";
import type { FileRow } from "../../lib/formats/rows-file.ts";
import type { Context, RowEnd } from "../task/command-spec.ts";
import { emptyJournal } from "./journal.ts";
import type { BatchJournal, JournalState } from "./journal.ts";

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
  readonly end: RowEnd;
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

/** How rows are sent. `T` is the input of a row, `R` its printed result. */
export interface RowSender<T, R> {
  readonly stopOnError?: boolean | undefined;
  /** Sends a row. Throws only what ends the batch, such as an internal error. */
  attempt(input: T, row: Sending): Promise<RowAttempt<R>>;
  /** May the row be sent again if its end is unknown (default: always)? */
  isRepeatable?(input: T): boolean;
  /** A row that an interrupted run has sent, and that is not repeatable. */
  interrupted?(input: T, row: number, id: string | undefined): Promise<RowAttempt<R>>;
  /** The result of a row that is not sent. */
  unsent(row: number, end: UnsentEnd, id: string | null): R;
}

/** The rows of a run, which were checked. */
export interface CheckedRows<T> {
  readonly count: number;
  readonly rows: () => AsyncIterable<BatchRow<T>>;
  /** May all of them be sent again if their end is unknown (default: no)? */
  readonly areRepeatable?: boolean;
  readonly limiter: AdaptiveLimit;
  /** Where it is noted what is sent (default: nowhere). */
  readonly journal?: BatchJournal;
  /** Reports how many rows have ended, and how many failed; `begun` is the input of one that is sent now. */
  report(done: number, failed: number, begun?: T): void;
}

/** Is this the error of a single row? */
export const isRowError = (error: unknown): error is CliError =>
  error instanceof CliError && ["usage", "not-found", "refused"].includes(error.kind);

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
    if (!isRowError(cause)) throw cause;
    throw new CliError("failure", `no further row was sent: ${cause.message}`, { cause });
  }
}

/** Sends rows, and knows what became of them. */
export class BatchRun<T, R> {
  readonly #sender: RowSender<T, R>;
  readonly #checked: CheckedRows<T>;
  readonly #context: Pick<Context, "host" | "abortError">;
  readonly journal: BatchJournal;
  readonly counts = { ok: 0, failed: 0, unknown: 0, skipped: 0, "not sent": 0 };
  #ended = 0;
  #failures = 0;
  #stopped = false;
  /** The fatal error, which every further row would have met. */
  reason: CliError | undefined;
  /** Is the error that of the journal? It does not matter once all rows are done. */
  lostJournal = false;

  constructor(
    sender: RowSender<T, R>,
    checked: CheckedRows<T>,
    context: Pick<Context, "host" | "abortError">,
  ) {
    this.#sender = sender;
    this.#checked = checked;
    this.#context = context;
    this.journal = checked.journal ?? emptyJournal;
  }

  /** Sends the rows and yields their results in the order of the rows. `reason` is what stopped it. */
  async *results(): AsyncGenerator<RowResult<T, R>> {
    const { count, limiter } = this.#checked;
    this.#report();
    try {
      const ended = mapArriving(this.#journaled(), count, limiter, (row) => this.#send(row));
      for await (const { sent, attempt, recorded } of ended) {
        // A row that is done counts even if the journal fails.
        await recorded.catch((error: unknown) => this.#stopWithoutJournal(error));
        this.counts[attempt.end]++;
        yield { sent, end: attempt.end, result: attempt.result };
      }
    } catch (error) {
      this.#stop(error);
    }
  }

  /** Rows that have ended in whatever order count; their results wait for those before them. */
  #report(begun?: T): void {
    this.#checked.report(this.#ended, this.#failures, begun);
  }

  /** The rows in order, each once its entry is being written. */
  async *#journaled(): AsyncGenerator<Journaled<T>> {
    const ahead = this.#checked.areRepeatable ? WRITE_AHEAD : 0;
    const queue: Journaled<T>[] = [];
    for await (const each of whileSending(this.#checked.rows())) {
      const earlier = this.journal.states.get(each.row.number);
      const isSent = each.input !== undefined && earlier?.kind !== "done" && !this.#stopped;
      const onDisk = isSent ? this.journal.sent(each.row.number) : undefined;
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
    if (end !== "not sent") this.#ended++;
    if (end === "failed" || end === "unknown") this.#failures++;
    this.#report();
    if (stop) this.#stop(stop);
    else if (this.#sender.stopOnError && (end === "failed" || end === "unknown"))
      // What stays unknown was so before, and would stop every later run, too.
      this.#stopped ||= end === "failed" || !this.#isOpen(journaled);
    const recorded = this.#record(journaled, end, id ?? undefined);
    recorded.catch(() => {}); // awaited with its report, which may wait for the rows before it
    return { sent: journaled, attempt, recorded };
  }

  /** Did an interrupted run send the row, so that sending it again could repeat a change? */
  #isOpen({ input, earlier }: Journaled<T>): boolean {
    const { isRepeatable } = this.#sender;
    return earlier?.kind === "sent" && input !== undefined && isRepeatable?.(input) === false;
  }

  async #attempt(journaled: Journaled<T>): Promise<RowAttempt<R>> {
    const { row, input, earlier, onDisk } = journaled;
    const { number } = row;
    const unsent = (end: UnsentEnd, id: string | null): RowAttempt<R> => ({
      end,
      id,
      result: this.#sender.unsent(number, end, id),
    });
    if (earlier?.kind === "done") return unsent("skipped", earlier.id ?? null);
    if (input === undefined) return unsent("skipped", null);
    await onDisk?.catch((error: unknown) => this.#stopWithoutJournal(error));
    const { host, abortError } = this.#context;
    if (host.signal.aborted && !this.#stopped) this.#stop(abortError());
    const isOpen = this.#isOpen(journaled);
    if (this.#stopped) return unsent(isOpen ? "unknown" : "not sent", earlier?.id ?? null);
    let id = earlier?.id;
    const created = (made: string) => {
      id = made;
      return this.journal
        .sent(number, made)
        .catch((error: unknown) => this.#stopWithoutJournal(error));
    };
    this.#report(input);
    try {
      const { attempt, interrupted } = this.#sender;
      return isOpen && interrupted
        ? await interrupted(input, number, id)
        : await attempt(input, { number, again: earlier !== undefined, created });
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
    if (end === "ok" || end === "skipped") return this.journal.done(row.number, id);
    // If this attempt did nothing, that of the interrupted run may still have had an effect.
    const isFollowed = end === "failed" && this.#isOpen(journaled);
    if (earlier === undefined || isFollowed) await this.journal.failed(row.number);
  }

  #stopWithoutJournal(error: unknown): void {
    this.lostJournal ||= this.reason === undefined;
    this.#stop(error);
  }

  #stop(error: unknown): void {
    const message = `no further row was sent: ${reasonOf(error)}`;
    const reason =
      error instanceof CliError ? error : new CliError("failure", message, { cause: error });
    this.#stopped = true;
    this.reason ??= reason;
    if (reason.info.sideEffect === "unknown")
      this.reason = this.reason.with({ sideEffect: "unknown" });
  }
}
