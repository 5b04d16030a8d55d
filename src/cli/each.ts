import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Values } from "../api/request.ts";
import { targetOf } from "../config/settings.ts";
import type { Settings } from "../config/settings.ts";
import { ApiError, CliError } from "../errors.ts";
import type { FailureKind } from "../errors.ts";
import type { Host } from "../host.ts";
import { isObject } from "../json.ts";
import { list, retryOf } from "../operations/operation.ts";
import type { AnyOperation, Noun } from "../operations/operation.ts";
import { progress } from "../render/progress.ts";
import { commandOf } from "./command.ts";
import type { Command } from "./command.ts";
import { takesEach } from "./globals.ts";
import type { Globals } from "./globals.ts";
import { extraBody, resolvedInput, sourcesOf } from "./input.ts";
import { noJournal, openJournal } from "./journal.ts";
import type { Journal, Left } from "./journal.ts";
import { madeBy, resolve } from "./names.ts";
import type { Lookup } from "./names.ts";
import { count, optionsFor, styleFor } from "./options.ts";
import { existsAlready, goneAlready } from "./perform.ts";
import type { Parsed, Typed } from "./program.ts";
import { checkedRows, tableOf } from "./rows.ts";
import type { CheckedRow, Row, Table } from "./rows.ts";
import { Shown, idOf, openSession } from "./session.ts";
import type { Session } from "./session.ts";
import { isUuid } from "./values.ts";

/** What became of one row. */
interface Outcome {
  readonly row: number;
  readonly status: "ok" | "failed" | "unknown" | "skipped";
  readonly id: string | null;
  readonly error: string | null;
}

const outcomes = list<Outcome>("", "row", "status", "id", "error");

/**
 * The commands as `--each` changes them: positionals may come from columns, and what is printed is
 * what became of each row.
 */
export const overRows = (commands: readonly Command[]): readonly Command[] =>
  commands.map((command) =>
    takesEach(command)
      ? {
          ...command,
          positionals: command.positionals.map((word) => ({ ...word, optional: true })),
          returns: outcomes,
        }
      : command,
  );

/** A row whose names are ids. */
interface Ready {
  readonly row: Row;
  /** Undefined when the thing is gone and `--if-exists` takes that. */
  readonly input: Values | undefined;
  /** How far an earlier run came with it. */
  readonly left: Left | undefined;
}

interface Sendable extends Ready {
  readonly input: Values;
}

/** What holds for all rows of a run. */
interface Run {
  readonly row: AnyOperation;
  readonly command: Command;
  readonly globals: Globals;
  readonly extra: Values | undefined;
  readonly session: Session;
  readonly journal: Journal;
}

/**
 * Carries out a command once per row of a file. Nothing is sent before every row is checked and
 * every name is known. Throws usage, not-found or refused for rows that are wrong, partial when
 * some failed, and otherwise what stopped the run because it would have met every further row.
 */
export async function perform(
  { command: { row }, typed, globals }: Extract<Parsed, { kind: "run" }>,
  plainHost: Host,
): Promise<void> {
  if (!row || globals.each === undefined) return;
  const command = commandOf(row);
  const options = optionsFor(globals, plainHost);
  const { checkStyle, columnNames, render } = await import("../render/render.ts");
  if (globals.columns === "help") {
    return plainHost.stdout.write(`${columnNames(outcomes).join("\n")}\n`);
  }
  const lanes = openLanes(count("--concurrency", globals.concurrency ?? "3", 1, 50));
  const waits = !options.quiet && !plainHost.env["KB_ACCESSIBLE"];
  const { name, bytes, host: reading } = await fileOf(globals.each, plainHost);
  const { host: showing, stop } = progress(reading, command.summary, waits);
  const host = watched(showing, lanes.slowDown);
  const session = openSession(command, options, host);
  try {
    const settings = await session.settings();
    const style = styleFor(globals, host, settings.output.value || undefined);
    await checkStyle(outcomes, style);
    const sources = sourcesOf(host);
    const table = await tableOf(name, bytes);
    const checked = await checkedRows(command, name, table, typed, sources);
    const extra = await extraBody(globals, sources);

    const hash = fingerprint(row, typed, globals, bytes, settings);
    const path = join(host.folders.state, `each-${hash}.jsonl`);
    // Nobody can give the same standard input again, so there is nothing to continue.
    const found = globals.each === "-" ? noJournal : await openJournal(path, host.files);
    const rows = await resolvedRows(command, name, checked, found, globals, session);
    if (session.context.asked.dryRun) return await show(row, rows, extra, globals, session, host);

    await announce(command, rows, path, session);
    const failures = await openFailures(globals, table, host);
    const journal = await begun(found, checked, rows, session);
    const run: Run = { row, command, globals, extra, session, journal };
    const tally = openTally(rows, session, host);
    await render(outcomes, results(run, rows, lanes, tally), style, host.stdout);
    await failures.write(rows, tally.failed);
    await conclude(run, rows, tally);
  } finally {
    stop();
    session.close();
  }
}

/** The bytes of the file, and a host whose standard input is used up when it held them. */
async function fileOf(path: string, host: Host) {
  if (path !== "-") {
    await sourcesOf(host).file(path); // says what is wrong with a path
    return { name: path, bytes: await host.files.read(path), host };
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of host.stdin.bytes()) pieces.push(piece);
  const taken = () => {
    throw new CliError("usage", "standard input (-) holds the rows, nothing else can come from it");
  };
  const stdin = { isTTY: host.stdin.isTTY, bytes: taken };
  return { name: "standard input", bytes: Buffer.concat(pieces), host: { ...host, stdin } };
}

/** The same host, telling when the client waits before a repeat. */
function watched(host: Host, waiting: () => void): Host {
  return {
    ...host,
    sleep(ms, signal) {
      waiting();
      return host.sleep(ms, signal);
    },
  };
}

/** Requests on their way at a time; how many may be falls when the server is busy. */
interface Lanes {
  readonly width: number;
  started(): void;
  slowDown(): void;
}

function openLanes(most: number): Lanes {
  let [width, started, startedThen] = [most, 0, 0];
  return {
    get width() {
      return width;
    },
    started: () => void started++,
    slowDown() {
      // Rows that were on their way together are refused together: that counts once.
      if (width === 1 || started === startedThen) return;
      width--;
      startedThen = started;
    },
  };
}

/** What makes two runs the same one: where to, which command, with what. Holds no readable key. */
function fingerprint(
  row: AnyOperation,
  typed: Readonly<Record<string, Typed>>,
  { body, bodySet, user, ifExists, ifNotExists }: Globals,
  bytes: Uint8Array,
  settings: Settings,
): string {
  const { baseUrl, key } = targetOf(settings, row.key);
  const given = { typed, body, bodySet, user, ifExists, ifNotExists };
  return createHash("sha256")
    .update(JSON.stringify([baseUrl, key, row.command, given]))
    .update(bytes)
    .digest("hex")
    .slice(0, 32);
}

/** More different names than this, and their whole list is read instead of one keyword each. */
const keywordLookups = 20;

/**
 * Every name turned into an id, each looked up once. What an earlier run found is taken over: by
 * now the thing may have its new name. Throws for all rows that are wrong at once.
 */
async function resolvedRows(
  command: Command,
  name: string,
  checked: readonly CheckedRow[],
  journal: Journal,
  globals: Globals,
  session: Session,
): Promise<Ready[]> {
  const lookup = lookupFor(command, checked, session);
  const ready: Ready[] = [];
  const wrong: { row: Row; error: CliError }[] = [];
  for (const { row, input } of checked) {
    const left = journal.left.get(row.number);
    if (journal.resolved) {
      const values = journal.resolved.get(row.number);
      ready.push({ row, input: values && { ...input, ...values }, left });
      continue;
    }
    try {
      ready.push({ row, input: await resolvedInput(command, input, lookup(input)), left });
    } catch (error) {
      if (goneAlready(error, globals)) ready.push({ row, input: undefined, left });
      else if (error instanceof CliError && aboutNames.has(error.kind)) wrong.push({ row, error });
      else throw error;
    }
  }
  if (wrong.length > 0) throw wrongRows(name, wrong);
  return ready;
}

const aboutNames: ReadonlySet<FailureKind> = new Set(["usage", "not-found", "refused"]);

/** Wrong rows that an error lists for programs. */
const mostListed = 100;

function wrongRows(file: string, wrong: readonly { row: Row; error: CliError }[]): CliError {
  const placed = wrong.slice(0, mostListed).map(({ row, error }) => {
    // The look-up does not know of columns, but its error quotes the value.
    const cell = row.cells.find(([, value]) =>
      error.message.includes(JSON.stringify(String(value).replace(/^(name|id):/, ""))),
    );
    return { row: row.number, column: cell?.[0] ?? null, message: error.message };
  });
  const [first] = placed;
  const [{ error } = { error: undefined }] = wrong;
  const place = `${file} row ${first?.row}${first?.column ? `, column ${first.column}` : ""}`;
  const others = wrong.length > 1 ? ` (and ${counted(wrong.length - 1)} more)` : "";
  const candidates = isObject(error?.told.details) ? error.told.details : {};
  return new CliError(error?.kind ?? "refused", `${place}: ${first?.message}${others}`, {
    ...error?.told,
    details: { ...candidates, rows: placed },
  });
}

/** Look-ups of one row's names that share their lists with all other rows. */
function lookupFor(
  command: Command,
  checked: readonly CheckedRow[],
  session: Session,
): (input: Values) => Lookup {
  const refs = Object.entries(command.params).filter(([, { noun }]) => noun !== undefined);
  const textsOf = (input: Values, noun?: Noun) =>
    refs
      .filter(([, param]) => noun === undefined || param.noun === noun)
      .flatMap(([name]) => [input[name] ?? []].flat().map(String))
      .filter((text) => !isUuid(text))
      .map((text) => text.replace(/^name:/, ""));

  const kbs = new Set<string>();
  const documents = new Map<unknown, Set<string>>();
  for (const { input } of checked) {
    for (const text of textsOf(input, "kb")) kbs.add(text);
    const within = input["dataset_id"];
    const known = documents.get(within) ?? new Set();
    for (const text of textsOf(input, "document")) known.add(text);
    documents.set(within, known);
  }

  const lists = new Map<string, Promise<ReadonlyMap<unknown, readonly unknown[]>>>();
  const byName = (row: AnyOperation, query: Values) => {
    const key = `${row.id} ${JSON.stringify(query)}`;
    const known = lists.get(key) ?? indexed(session.rows(row, query, { limit: Infinity }));
    lists.set(key, known);
    return known;
  };
  const objects = new Map<string, Promise<unknown>>();
  return (input) => ({
    async *rows(row, query) {
      const { keyword: _, ...whole } = query;
      const different = "dataset_id" in query ? documents.get(input["dataset_id"]) : kbs;
      const many = row.returns.kind === "list" || (different?.size ?? 0) > keywordLookups;
      const list = await byName(row, many ? whole : query);
      for (const text of new Set(textsOf(input))) yield* list.get(text) ?? [];
    },
    one(row, query) {
      const key = `${row.id} ${JSON.stringify(query)}`;
      const known = objects.get(key) ?? session.call(row, query);
      objects.set(key, known);
      return known;
    },
    trace: (level, text) => session.context.trace(level, text),
  });
}

async function indexed(rows: AsyncIterable<unknown>): Promise<Map<unknown, unknown[]>> {
  const index = new Map<unknown, unknown[]>();
  for await (const row of rows) {
    const name = isObject(row) ? row["name"] : undefined;
    const same = index.get(name);
    if (same) same.push(row);
    else index.set(name, [row]);
  }
  return index;
}

/** Prints every request instead of sending it. */
async function show(
  row: AnyOperation,
  rows: readonly Ready[],
  extra: Values | undefined,
  { curl }: Globals,
  session: Session,
  host: Host,
): Promise<void> {
  const open = rows.filter(({ left }) => left?.kind !== "done");
  for (const [index, { input }] of open.entries()) {
    if (!input) continue;
    if (index > 0 && !curl) await host.stdout.write("\n");
    await session.call(row, input, { extra }).catch((error: unknown) => {
      if (!(error instanceof Shown)) throw error;
    });
  }
}

const counted = (rows: number): string => `${rows} ${rows === 1 ? "row" : "rows"}`;

/** Asks before a delete, and says when a run goes on that was begun before. */
async function announce(
  { effect, words }: Command,
  rows: readonly Ready[],
  path: string,
  { context }: Session,
): Promise<void> {
  const open = rows.filter(({ left }) => left?.kind !== "done").length;
  if (effect === "destroys" && open > 0) {
    await context.confirm(`${words.join(" ")} for ${counted(open)}?`);
  }
  if (open === rows.length) return;
  await context.notice(
    `going on: ${rows.length - open} of ${counted(rows.length)} were done before; to send all again, delete ${path}`,
  );
}

/** The journal with all ids in it; none where the disk takes none, which is said. */
async function begun(
  journal: Journal,
  checked: readonly CheckedRow[],
  rows: readonly Ready[],
  { context }: Session,
): Promise<Journal> {
  function* found(): Generator<[number, Values]> {
    for (const [index, { row, input }] of rows.entries()) {
      if (!input) continue;
      const typed = checked[index]?.input ?? {};
      const changed = Object.entries(input).filter(([name, value]) => value !== typed[name]);
      yield [row.number, Object.fromEntries(changed)];
    }
  }
  try {
    await journal.begin(found());
    return journal;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    await context.notice(`this run cannot be continued if it is cut off: ${reason}`);
    return noJournal;
  }
}

/** The file of `--errors-to`: the failed rows as they stood in the file of rows. */
async function openFailures({ each, errorsTo }: Globals, table: Table, host: Host) {
  const write = async (rows: readonly Row[]) => {
    if (errorsTo === undefined) return;
    await host.files.writeAtomic(errorsTo, table.withOnly(rows)).catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new CliError("usage", `--errors-to cannot be written: ${reason}`, { cause });
    });
  };
  if (errorsTo !== undefined && (errorsTo === each || errorsTo === "-")) {
    throw new CliError("usage", "--errors-to takes the path of another file", {
      changed: "nothing",
    });
  }
  await write([]); // known to work before anything is sent, and free of what failed last time
  return {
    write: async (rows: readonly Ready[], failed: ReadonlySet<number>) => {
      if (failed.size === 0) return;
      await write(rows.map(({ row }) => row).filter(({ number }) => failed.has(number)));
    },
  };
}

/** How far the run is. */
interface Tally {
  readonly counts: Readonly<Record<Outcome["status"], number>>;
  /** Numbers of the rows that were refused and may be sent again. */
  readonly failed: ReadonlySet<number>;
  /** What would have met every further row. */
  readonly reason: CliError | undefined;
  /** No further row is sent. */
  readonly stopped: boolean;
  add(outcome: Outcome): void;
  stop(reason?: CliError): void;
}

/** ms between two lines of progress; a tenth of the rows may come sooner, after a second. */
const longBeat = 10_000;
const shortBeat = 1000;

/** Counts outcomes and tells progress where no rows are seen on a terminal. */
function openTally(rows: readonly Ready[], { context }: Session, host: Host): Tally {
  const counts = { ok: 0, failed: 0, unknown: 0, skipped: 0 };
  const failed = new Set<number>();
  const start = host.now().getTime();
  const total = rows.length;
  let [told, toldAt, tried] = [0, start, 0];
  let stopped = false;
  let reason: CliError | undefined;

  const beat = () => {
    const now = host.now().getTime();
    const due =
      now - toldAt >= longBeat || (now - toldAt >= shortBeat && tried - told >= total / 10);
    if (!due || tried === total || host.stdout.isTTY) return;
    [told, toldAt] = [tried, now];
    const rate = (tried * 1000) / (now - start);
    const wrong = counts.failed + counts.unknown;
    const parts = [
      `${tried} of ${counted(total)}`,
      ...(wrong > 0 ? [`${wrong} failed`] : []),
      `${rate.toFixed(rate < 10 ? 1 : 0)}/s`,
      `${Math.ceil((total - tried) / rate)} s left`,
    ];
    context.notice(parts.join(", ")).catch(() => {}); // nobody reads standard error
  };
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
      tried++;
      if (status === "failed") failed.add(row);
      beat();
    },
    stop(error) {
      stopped = true;
      reason ??= error;
    },
  };
}

/** May the row be sent again when it is open whether the server did it? */
const repeatable = ({ row }: Run, input: Values): boolean => {
  const retry = retryOf(row);
  return retry === "idempotent" || (retry === "upsert" && input["duplicate"] !== false);
};

/** Outcomes kept for a slow reader before the sending waits for it. */
const mostKept = 1000;

/** Sends the rows and gives what became of each as it is known; goes on when nobody reads. */
async function* results(
  run: Run,
  rows: readonly Ready[],
  lanes: Lanes,
  tally: Tally,
): AsyncGenerator<Outcome> {
  const kept: Outcome[] = [];
  const change = openBell();
  let [read, ended] = [true, false];
  const give = (outcome: Outcome) => {
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
    let told = Promise.resolve();
    while (number < lanes.width && !tally.stopped) {
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
      lanes.started();
      const { outcome, stop } = await attempt(run, sendable);
      if (stop) tally.stop(stop);
      else if (run.globals.stopOnError && outcome.error !== null) tally.stop();
      // The next row need not wait until this one is noted, but nobody is told before it is.
      const before = told;
      told = noted(run.journal, outcome)
        .then(() => give(outcome), broken)
        .then(() => before);
    }
    await told;
  };
  const numbers = Array.from({ length: lanes.width }, (_, number) => number);
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
  run: Run,
  input: Values | undefined,
  left: Left | undefined,
): Outcome | undefined {
  if (left?.kind === "done") return { row, status: "skipped", id: left.id ?? null, error: null };
  if (!input) return { row, status: "skipped", id: null, error: null };
  if (left?.kind !== "sent" || repeatable(run, input)) return undefined;
  const error = "sent by a run that was cut off; unknown whether it was applied";
  return { row, status: "unknown", id: thingIn(run.command, input), error };
}

/**
 * Rows noted ahead of those on their way, so that nobody waits for the disk. A note too many does
 * no harm where a row may be sent again; elsewhere a row is noted only when it is its turn.
 */
const notedAhead = 256;

/** Gives the next row once the journal says on disk that it is sent; undefined after the last. */
function upcoming(run: Run, rows: readonly Sendable[]): () => Promise<Sendable | undefined> {
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
  readonly outcome: Outcome;
  readonly stop?: CliError;
}

async function attempt(run: Run, { row, input, left }: Sendable): Promise<Attempt> {
  const { command, globals, session } = run;
  const { number } = row;
  const ended = (status: Outcome["status"], id: string | null, error: string | null = null) => ({
    outcome: { row: number, status, id, error },
  });
  const thing = thingIn(command, input);
  try {
    const answer = await session.call(run.row, input, { extra: run.extra });
    const made = Array.isArray(answer) ? (answer[0] as unknown) : answer;
    return ended("ok", idOf(run.row.returns, made) ?? thing);
  } catch (thrown) {
    // Whatever a request throws that was cut off by an interrupt, that is why.
    const { signal, interrupted } = session.context;
    const error = signal.aborted ? interrupted() : thrown;
    // No row failed when this machine allows no write, or the mistake is ours.
    if (!(error instanceof CliError) || error.told.code === "read-only") throw error;
    if (goneAlready(error, globals)) return ended("skipped", thing);
    // The run that was cut off had done it.
    const status = error instanceof ApiError ? error.refusal.status : undefined;
    if (left?.kind === "sent" && status === run.row.done) return ended("ok", thing);
    const noun = madeBy[run.row.id];
    if (globals.ifNotExists && noun !== undefined && existsAlready(error)) {
      const name = `name:${String(input["name"])}`;
      return ended("skipped", (await resolve(noun, name, input, lookupNow(session))).id);
    }
    const failed = ended(
      error.told.changed === "unknown" ? "unknown" : "failed",
      thing,
      error.message,
    );
    return meetsAll(error) ? { ...failed, stop: error } : failed;
  }
}

const lookupNow = (session: Session): Lookup => ({
  rows: (row, query) => session.rows(row, query, { limit: Infinity }),
  one: (row, query) => session.call(row, query),
  trace: (level, text) => session.context.trace(level, text),
});

/** The id of what a row acts on: the last one in its positionals. */
const thingIn = ({ positionals }: Command, input: Values): string | null =>
  positionals
    .flatMap(({ name }) => input[name])
    .findLast((value): value is string => typeof value === "string" && isUuid(value)) ?? null;

const always: ReadonlySet<FailureKind> = new Set([
  "unsupported",
  "interrupted",
  "terminated",
  "hangup",
  "deadline",
]);

/** Would every further row meet the same? A wrong key, a used up quota, no server. */
function meetsAll(error: CliError): boolean {
  const status = error instanceof ApiError ? error.refusal.status : undefined;
  const { changed, retryable } = error.told;
  if (always.has(error.kind)) return true;
  if (error.kind === "auth") return status !== 403; // one knowledge base may be closed to the key
  if (error.kind === "limited") return status === 403 || !retryable;
  return error.kind === "network" && changed === "nothing";
}

/** Resolves when the outcome is in the journal. What is unknown stays noted as sent. */
function noted(journal: Journal, { row, status, id }: Outcome): Promise<void> {
  if (status === "failed") return journal.failed(row);
  return status === "unknown" ? Promise.resolve() : journal.done(row, id ?? undefined);
}

const stopping = (error: unknown): CliError =>
  error instanceof CliError
    ? error
    : new CliError(
        "failure",
        `no further row was sent: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );

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

/** Ends the run: the journal goes when nothing is left, otherwise the error says what is. */
async function conclude(
  { journal, globals, session }: Run,
  rows: readonly Ready[],
  { counts, reason }: Tally,
): Promise<void> {
  const { ok, failed, unknown, skipped } = counts;
  const unsent = rows.length - ok - failed - unknown - skipped;
  const parts = [
    `${ok} of ${counted(rows.length)} done`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(unknown > 0 ? [`${unknown} unknown whether applied`] : []),
    ...(unsent > 0 ? [`${unsent} not sent`] : []),
  ];
  const complete = reason === undefined && failed + unknown + unsent === 0;
  const untouched = ok + unknown + skipped === 0 && rows.every(({ left }) => left === undefined);
  if (complete || untouched) await journal.remove();
  if (complete) return session.context.notice(parts.join(", "));

  const kept = journal !== noJournal && !untouched;
  const hint =
    unknown > 0
      ? "look at the unknown ones; the same command again sends them only where that does no harm"
      : globals.errorsTo !== undefined && failed > 0 && unsent === 0
        ? `the failed rows are in ${globals.errorsTo}: correct them and give it to --each`
        : kept
          ? "the same command again sends only what is not done"
          : undefined;
  const details = { ...counts, unsent };
  if (!reason) throw new CliError("partial", parts.join(", "), { hint, details });
  await session.context.notice(parts.join(", "));
  if (kept && hint !== undefined) await session.context.notice(hint);
  throw reason;
}
