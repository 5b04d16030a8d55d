import type { ConcurrencyLimiter } from "../../api/concurrent-map.ts";
import type { Values } from "../../api/request.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { ApiError, CliError, reasonOf, signalKinds, isFatal } from "../../errors.ts";
import { retryOf } from "../../operations/operation.ts";
import type { AnyOperation, Returns } from "../../operations/operation.ts";
import { callAndWait, indexingVerdict } from "../execute/send-row.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import type { BatchJournal, JournalState } from "./journal.ts";
import { createsNoun } from "../parse/create-nouns.ts";
import { lookupOf } from "../execute/lookup.ts";
import { isAlreadyExists, isAlreadyDeleted } from "../execute/row-values.ts";
import type { FileRow } from "../../lib/rows-file.ts";
import type { Session } from "../execute/session.ts";
import { isUuid } from "../parse/values.ts";

/** Outcome of one row. */
export interface RowOutcome {
  readonly row: number;
  readonly status: "ok" | "failed" | "unknown" | "skipped";
  readonly id: string | null;
  readonly error: string | null;
}

/** A row whose names are resolved. */
export interface ReadyRow {
  readonly row: FileRow;
  /** Undefined if the object is already deleted and `--if-exists` allows that. */
  readonly input: Values | undefined;
  /** State of the row after an earlier run. */
  readonly earlier: JournalState | undefined;
}

interface Sendable extends ReadyRow {
  readonly input: Values;
}

/** What all rows of a run share. */
export interface BatchRun {
  readonly row: AnyOperation;
  readonly command: Command;
  readonly globals: Globals;
  readonly extra: Values | undefined;
  readonly session: Session;
  readonly journal: BatchJournal;
}

/** `1 row`, `2 rows`. */
export const formatRowCount = (rows: number): string => `${rows} ${rows === 1 ? "row" : "rows"}`;

/** Progress of a run. */
export interface BatchCounts {
  readonly counts: Readonly<Record<RowOutcome["status"], number>>;
  /** Numbers of the rows that were rejected and can be sent again. */
  readonly failed: ReadonlySet<number>;
  /** The fatal error, which every further row would have met. */
  readonly reason: CliError | undefined;
  /** No further row is sent. */
  readonly stopped: boolean;
  add(outcome: RowOutcome): void;
  stop(reason?: CliError): void;
}

/** Counts outcomes and reports progress. */
export function newBatchCounts(rows: readonly ReadyRow[], { context }: Session): BatchCounts {
  const counts = { ok: 0, failed: 0, unknown: 0, skipped: 0 };
  const failed = new Set<number>();
  const total = rows.length;
  let done = 0;
  let stopped = false;
  let reason: CliError | undefined;
  return {
    counts,
    failed,
    get reason() {
      return reason;
    },
    get stopped() {
      return stopped;
    },
    add({ row, status }) {
      counts[status]++;
      if (status === "failed") failed.add(row);
      const errors = counts.failed + counts.unknown;
      const note = errors > 0 ? `${errors} failed` : undefined;
      context.progress({ done: ++done, total, unit: "rows", note });
    },
    stop(error) {
      stopped = true;
      reason ??= error;
    },
  };
}

/** May the row be sent again if its side effect is unknown? */
const isRepeatable = ({ row }: BatchRun, input: Values): boolean => {
  const retry = retryOf(row);
  return retry === "idempotent" || (retry === "upsert" && input["duplicate"] !== false);
};

/**
 * Sends the rows concurrently and yields the outcomes as they arrive; continues if the consumer
 * stops. Each worker takes the next row once the journal has it:
 *
 *     journal   {"sent":1} {"sent":2}    {"done":2} {"sent":3}    {"done":1}
 *     worker A  row 1 ────────────────────────────────────────▶ ok
 *     worker B  row 2 ──────────▶ ok    row 3 ────────▶ ok
 *     yields                      2                   3          1
 */
export async function* sendRows(
  run: BatchRun,
  rows: readonly ReadyRow[],
  limiter: ConcurrencyLimiter,
  counts: BatchCounts,
): AsyncGenerator<RowOutcome> {
  const sender = new BatchSender(run, limiter, counts);
  const work = sender.start(rows);
  try {
    yield* sender.outcomes();
  } finally {
    sender.discardOutcomes();
    await work;
  }
}

/** Outcomes that are buffered for a slow consumer before sending waits. */
const MAX_BUFFERED = 1000;

class BatchSender {
  readonly #run: BatchRun;
  readonly #limiter: ConcurrencyLimiter;
  readonly #counts: BatchCounts;
  readonly #changed = newSignal();
  readonly #buffer: RowOutcome[] = [];
  #consumed = true;
  #ended = false;

  constructor(run: BatchRun, limiter: ConcurrencyLimiter, counts: BatchCounts) {
    this.#run = run;
    this.#limiter = limiter;
    this.#counts = counts;
  }

  /** Sends all rows that are not done yet. */
  async start(rows: readonly ReadyRow[]): Promise<void> {
    const sendable: Sendable[] = [];
    for (const { row, input, earlier } of rows) {
      const known = knownOutcome(row.number, this.#run, input, earlier);
      if (known) this.#report(known);
      else if (input) sendable.push({ row, input, earlier });
    }
    const next = journaledRows(this.#run, sendable);
    const workers = Array.from({ length: this.#limiter.limit }, (_, index) =>
      this.#work(index, next).catch((error: unknown) => this.#fail(error)),
    );
    await Promise.all(workers);
    this.#ended = true;
    this.#changed.notify();
  }

  async *outcomes(): AsyncGenerator<RowOutcome> {
    for (;;) {
      const batch = this.#buffer.splice(0);
      this.#changed.notify();
      yield* batch;
      if (this.#buffer.length > 0) continue;
      if (this.#ended) return;
      await this.#changed.wait();
    }
  }

  /** The consumer stopped: outcomes are counted, but no longer buffered. */
  discardOutcomes(): void {
    this.#consumed = false;
    this.#buffer.length = 0;
    this.#changed.notify();
  }

  /** Sends rows one after the other, until there are none or the limit drops below this worker. */
  async #work(index: number, next: () => Promise<Sendable | undefined>): Promise<void> {
    const { globals, journal } = this.#run;
    let reported = Promise.resolve();
    while (index < this.#limiter.limit && !this.#counts.stopped) {
      if (this.#buffer.length >= MAX_BUFFERED) {
        await this.#changed.wait();
        continue;
      }
      const sendable = await next();
      if (!sendable) break;
      if (this.#counts.stopped) {
        await journal.failed(sendable.row.number); // in the journal, but not sent
        break;
      }
      this.#limiter.onStart();
      const { outcome, stop } = await attempt(this.#run, sendable);
      if (stop) this.#counts.stop(stop);
      else if (globals.stopOnError && outcome.error !== null) this.#counts.stop();
      // The next row does not wait for the journal, but the report of this one does. A row that is
      // done counts even if the journal fails.
      const before = reported;
      reported = journalOutcome(journal, outcome)
        .catch((error: unknown) => this.#fail(error))
        .then(() => this.#report(outcome))
        .then(() => before);
    }
    await reported;
  }

  #report(outcome: RowOutcome): void {
    this.#counts.add(outcome);
    if (this.#consumed) this.#buffer.push(outcome);
    this.#changed.notify();
  }

  #fail(error: unknown): void {
    const message = `no further row was sent: ${reasonOf(error)}`;
    this.#counts.stop(
      error instanceof CliError ? error : new CliError("failure", message, { cause: error }),
    );
  }
}

/** The outcome of a row that is not sent; undefined for the others. */
function knownOutcome(
  row: number,
  run: BatchRun,
  input: Values | undefined,
  earlier: JournalState | undefined,
): RowOutcome | undefined {
  if (earlier?.kind === "done") {
    return { row, status: "skipped", id: earlier.id ?? null, error: null };
  }
  if (!input) return { row, status: "skipped", id: null, error: null };
  if (earlier?.kind !== "sent" || isRepeatable(run, input)) return undefined;
  const error = "sent by an interrupted run; the change may have been applied";
  return { row, status: "unknown", id: targetId(run.command, input), error };
}

/**
 * Write-ahead window: rows in the journal before they are sent, so that sending does not wait for the
 * disk. Rows that must not be sent twice are journaled one at a time.
 */
const WRITE_AHEAD = 256;

/** Returns the next row once the journal has it on disk; undefined after the last. */
function journaledRows(
  run: BatchRun,
  rows: readonly Sendable[],
): () => Promise<Sendable | undefined> {
  const ahead = rows.every(({ input }) => isRepeatable(run, input)) ? WRITE_AHEAD : 1;
  const queue: { readonly sendable: Sendable; readonly onDisk: Promise<void> }[] = [];
  const rest = rows.values();
  return async () => {
    while (queue.length < ahead) {
      const { value, done } = rest.next();
      if (done) break;
      queue.push({ sendable: value, onDisk: run.journal.sent(value.row.number) });
    }
    const first = queue.shift();
    await first?.onDisk;
    return first?.sendable;
  };
}

/** The outcome of a row, and the error if no further row is to be sent. */
interface Attempt {
  readonly outcome: RowOutcome;
  readonly stop?: CliError;
}

async function attempt(run: BatchRun, { row, input, earlier }: Sendable): Promise<Attempt> {
  const { command, globals, session } = run;
  const { number } = row;
  const ended = (status: RowOutcome["status"], id: string | null, error: string | null = null) => ({
    outcome: { row: number, status, id, error },
  });
  const target = targetId(command, input);
  try {
    const response = await callAndWait(run.row, input, run.extra, session);
    const values: unknown[] = Array.isArray(response) ? response : [response];
    const id = idOf(run.row.returns, values[0]) ?? target;
    const verdict = indexingVerdict(run.row, values);
    return verdict ? ended("failed", id, verdict.message) : ended("ok", id);
  } catch (thrown) {
    // After an interrupt, any error of the request is a consequence of it.
    const { signal, abortError } = session.context;
    const error = signal.aborted && !isInterrupt(thrown) ? abortError() : thrown;
    // Not errors of a row: internal errors, and read-only mode.
    if (!(error instanceof CliError) || error.info.code === "read-only") throw error;
    if (isAlreadyDeleted(error, globals)) return ended("skipped", target);
    // The interrupted run had succeeded.
    const status = error instanceof ApiError ? error.response.status : undefined;
    if (earlier?.kind === "sent" && status === run.row.alreadyDoneStatus) {
      return ended("ok", target);
    }
    const noun = createsNoun[run.row.id];
    if (globals.ifNotExists && noun !== undefined && isAlreadyExists(error)) {
      const name = `name:${String(input["name"])}`;
      const { resolveName } = await import("../execute/resolve-names.ts");
      return ended("skipped", (await resolveName(noun, name, input, lookupOf(session))).id);
    }
    const failed = ended(
      error.info.sideEffect === "unknown" ? "unknown" : "failed",
      target,
      error.message,
    );
    return isFatal(error) ? { ...failed, stop: error } : failed;
  }
}

/** The ID in a response, where `-o name` finds it. */
function idOf(returns: Returns<never>, response: unknown): string | undefined {
  const path = "namePath" in returns && returns.namePath !== undefined ? returns.namePath : "id";
  const id = isObject(response) ? valueAt(response, path) : undefined;
  return typeof id === "string" ? id : undefined;
}

const isInterrupt = (error: unknown): boolean =>
  error instanceof CliError && (Object.values(signalKinds) as string[]).includes(error.kind);

/** ID of the object that a row changes: the last one of its positionals. */
const targetId = ({ positionals }: Command, input: Values): string | null =>
  positionals
    .flatMap(({ name }) => input[name])
    .findLast((value): value is string => typeof value === "string" && isUuid(value)) ?? null;

/** Resolves when the outcome is in the journal; unknown ones stay marked as sent. */
function journalOutcome(journal: BatchJournal, { row, status, id }: RowOutcome): Promise<void> {
  if (status === "failed") return journal.failed(row);
  return status === "unknown" ? Promise.resolve() : journal.done(row, id ?? undefined);
}

/** A resettable event, like a condition variable. */
function newSignal() {
  let { promise, resolve } = newPromise();
  return {
    wait: () => promise,
    notify() {
      const current = resolve;
      ({ promise, resolve } = newPromise());
      current();
    },
  };
}

function newPromise() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
