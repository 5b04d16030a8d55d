import type { ConcurrencyLimiter } from "../../api/concurrency-limit.ts";
import type { Values } from "../../api/request.ts";
import { isFatal } from "../../commands/several.ts";
import { isObject, valueAt } from "../../lib/json.ts";
import { ApiError, CliError, reasonOf, signalKinds } from "../../errors.ts";
import { retryOf } from "../../operations/operation.ts";
import type { AnyOperation, Returns } from "../../operations/operation.ts";
import { callAndWait } from "../execute/reindexing.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import type { Journal, JournalState } from "./journal.ts";
import { createsNoun } from "../parse/create-nouns.ts";
import { indexingVerdict } from "../execute/indexing-error.ts";
import { lookupOf } from "../execute/lookup.ts";
import { isAlreadyExists, isAlreadyDeleted } from "../execute/row-values.ts";
import type { FileRow } from "../../lib/rows-file.ts";
import type { Session } from "../execute/session.ts";
import { isUuid } from "../parse/values.ts";

/** What became of one row. */
export interface RowOutcome {
  readonly row: number;
  readonly status: "ok" | "failed" | "unknown" | "skipped";
  readonly id: string | null;
  readonly error: string | null;
}

/** A row whose names are ids. */
export interface ReadyRow {
  readonly row: FileRow;
  /** Undefined when the thing is gone and `--if-exists` takes that. */
  readonly input: Values | undefined;
  /** How far an earlier run came with it. */
  readonly left: JournalState | undefined;
}

interface Sendable extends ReadyRow {
  readonly input: Values;
}

/** What holds for all rows of a run. */
export interface BatchRun {
  readonly row: AnyOperation;
  readonly command: Command;
  readonly globals: Globals;
  readonly extra: Values | undefined;
  readonly session: Session;
  readonly journal: Journal;
}

/** `1 row`, `2 rows`. */
export const countOutcome = (rows: number): string => `${rows} ${rows === 1 ? "row" : "rows"}`;

/** How far the run is. */
export interface BatchCounts {
  readonly counts: Readonly<Record<RowOutcome["status"], number>>;
  /** Numbers of the rows that were refused and may be sent again. */
  readonly failed: ReadonlySet<number>;
  /** What would have met every further row. */
  readonly reason: CliError | undefined;
  /** No further row is sent. */
  readonly stopped: boolean;
  add(outcome: RowOutcome): void;
  stop(reason?: CliError): void;
}

/** Counts outcomes and tells how far they are. */
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
      const wrong = counts.failed + counts.unknown;
      const note = wrong > 0 ? `${wrong} failed` : undefined;
      context.progress({ done: ++done, total, unit: "rows", note });
    },
    stop(error) {
      stopped = true;
      reason ??= error;
    },
  };
}

/** May the row be sent again when it is open whether the server did it? */
const repeatable = ({ row }: BatchRun, input: Values): boolean => {
  const retry = retryOf(row);
  return retry === "idempotent" || (retry === "upsert" && input["duplicate"] !== false);
};

/** Outcomes kept for a slow reader before the sending waits for it. */
const mostKept = 1000;

/** Sends the rows and gives what became of each as it is known; goes on when nobody reads. */
export async function* sendRows(
  run: BatchRun,
  rows: readonly ReadyRow[],
  lanes: ConcurrencyLimiter,
  tally: BatchCounts,
): AsyncGenerator<RowOutcome> {
  const kept: RowOutcome[] = [];
  const change = openBell();
  let [read, ended] = [true, false];
  const give = (outcome: RowOutcome) => {
    tally.add(outcome);
    if (read) kept.push(outcome);
    change.ring();
  };

  const open: Sendable[] = [];
  for (const { row, input, left } of rows) {
    const known = knownBefore(row.number, run, input, left);
    if (known) give(known);
    else if (input) open.push({ row, input, left });
  }
  const next = upcoming(run, open);
  const broken = (error: unknown) => tally.stop(stopping(error));
  const lane = async (number: number) => {
    let info = Promise.resolve();
    while (number < lanes.limit && !tally.stopped) {
      if (kept.length >= mostKept) {
        await change.heard();
        continue;
      }
      const sendable = await next();
      if (!sendable) break;
      if (tally.stopped) {
        await run.journal.failed(sendable.row.number); // it was noted, but not sent
        break;
      }
      lanes.onStart();
      const { outcome, stop } = await attempt(run, sendable);
      if (stop) tally.stop(stop);
      else if (run.globals.stopOnError && outcome.error !== null) tally.stop();
      // The next row need not wait until this one is noted, but nobody is told before it is tried:
      // what was done counts also where the note fails.
      const before = info;
      info = noted(run.journal, outcome)
        .catch(broken)
        .then(() => give(outcome))
        .then(() => before);
    }
    await info;
  };
  const numbers = Array.from({ length: lanes.limit }, (_, number) => number);
  const work = Promise.all(numbers.map((number) => lane(number).catch(broken))).then(() => {
    ended = true;
    change.ring();
  });
  try {
    for (;;) {
      const batch = kept.splice(0);
      change.ring();
      yield* batch;
      if (kept.length > 0) continue;
      if (ended) return;
      await change.heard();
    }
  } finally {
    read = false;
    kept.length = 0;
    change.ring();
    await work;
  }
}

/** The outcome of a row that is not to be sent; undefined for the others. */
function knownBefore(
  row: number,
  run: BatchRun,
  input: Values | undefined,
  left: JournalState | undefined,
): RowOutcome | undefined {
  if (left?.kind === "done") return { row, status: "skipped", id: left.id ?? null, error: null };
  if (!input) return { row, status: "skipped", id: null, error: null };
  if (left?.kind !== "sent" || repeatable(run, input)) return undefined;
  const error = "sent by an interrupted run; the change may have been applied";
  return { row, status: "unknown", id: thingIn(run.command, input), error };
}

/**
 * Rows noted ahead of those on their way, so that nobody waits for the disk. A note too many does
 * no harm where a row may be sent again; elsewhere a row is noted only when it is its turn.
 */
const notedAhead = 256;

/** Gives the next row once the journal says on disk that it is sent; undefined after the last. */
function upcoming(run: BatchRun, rows: readonly Sendable[]): () => Promise<Sendable | undefined> {
  const ahead = rows.every(({ input }) => repeatable(run, input)) ? notedAhead : 1;
  const waiting: { readonly sendable: Sendable; readonly onDisk: Promise<void> }[] = [];
  const rest = rows.values();
  return async () => {
    while (waiting.length < ahead) {
      const { value, done } = rest.next();
      if (done) break;
      waiting.push({ sendable: value, onDisk: run.journal.sent(value.row.number) });
    }
    const first = waiting.shift();
    await first?.onDisk;
    return first?.sendable;
  };
}

/** What became of a row, and the error when no further row is to be tried. */
interface Attempt {
  readonly outcome: RowOutcome;
  readonly stop?: CliError;
}

async function attempt(run: BatchRun, { row, input, left }: Sendable): Promise<Attempt> {
  const { command, globals, session } = run;
  const { number } = row;
  const ended = (status: RowOutcome["status"], id: string | null, error: string | null = null) => ({
    outcome: { row: number, status, id, error },
  });
  const thing = thingIn(command, input);
  try {
    const answer = await callAndWait(run.row, input, run.extra, session);
    const given: unknown[] = Array.isArray(answer) ? answer : [answer];
    const [made] = given;
    const verdict = indexingVerdict(run.row, given);
    if (verdict) return ended("failed", idOf(run.row.returns, made) ?? thing, verdict.message);
    return ended("ok", idOf(run.row.returns, made) ?? thing);
  } catch (thrown) {
    // Whatever a request throws that was cut off by an interrupt, that is why.
    const { signal, abortError: interrupted } = session.context;
    const error = signal.aborted && !isInterrupt(thrown) ? interrupted() : thrown;
    // No row failed when this machine allows no write, or the mistake is ours.
    if (!(error instanceof CliError) || error.info.code === "read-only") throw error;
    if (isAlreadyDeleted(error, globals)) return ended("skipped", thing);
    // The run that was cut off had done it.
    const status = error instanceof ApiError ? error.response.status : undefined;
    if (left?.kind === "sent" && status === run.row.alreadyDoneStatus) return ended("ok", thing);
    const noun = createsNoun[run.row.id];
    if (globals.ifNotExists && noun !== undefined && isAlreadyExists(error)) {
      const name = `name:${String(input["name"])}`;
      const { resolveName } = await import("../execute/resolve-names.ts");
      return ended("skipped", (await resolveName(noun, name, input, lookupOf(session))).id);
    }
    const failed = ended(
      error.info.sideEffect === "unknown" ? "unknown" : "failed",
      thing,
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

/** The id of what a row acts on: the last one in its positionals. */
const thingIn = ({ positionals }: Command, input: Values): string | null =>
  positionals
    .flatMap(({ name }) => input[name])
    .findLast((value): value is string => typeof value === "string" && isUuid(value)) ?? null;

/** Resolves when the outcome is in the journal. What is unknown stays noted as sent. */
function noted(journal: Journal, { row, status, id }: RowOutcome): Promise<void> {
  if (status === "failed") return journal.failed(row);
  return status === "unknown" ? Promise.resolve() : journal.done(row, id ?? undefined);
}

const stopping = (error: unknown): CliError =>
  error instanceof CliError
    ? error
    : new CliError("failure", `no further row was sent: ${reasonOf(error)}`, { cause: error });

/** Something to wait for that happens again and again. */
function openBell() {
  let { promise, ring } = nextRing();
  return {
    heard: () => promise,
    ring() {
      const now = ring;
      ({ promise, ring } = nextRing());
      now();
    },
  };
}

function nextRing() {
  let ring = () => {};
  const promise = new Promise<void>((resolve) => (ring = resolve));
  return { promise, ring };
}
