import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Values } from "../../api/request.ts";
import { openFailedRows } from "../../commands/failed-rows.ts";
import { targetOf } from "../../config/target.ts";
import type { Settings } from "../../config/settings.ts";
import { CliError, reasonOf } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { list } from "../../operations/operation.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { progress } from "../../output/live/progress.ts";
import { progressStyle } from "../../output/terminal.ts";
import { commandOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { takesEach } from "../parse/shared-flags.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { allOf, extraBody, sourcesOf } from "../parse/input.ts";
import { emptyJournal, openJournal } from "./journal.ts";
import type { Journal } from "./journal.ts";
import { optionsFor, styleFor, wholeNumber } from "../parse/options.ts";
import type { ParsedLine } from "../parse/parser.ts";
import type { TypedLine } from "../parse/typed-values.ts";
import { readRowFile } from "../../lib/rows-file.ts";
import { checkedRows } from "./row-input.ts";
import type { CheckedRow } from "./row-input.ts";
import { confirmationText, progressText } from "../execute/command-texts.ts";
import { DryRunShown } from "../execute/dry-run.ts";
import { openSession } from "../execute/session.ts";
import type { Session } from "../execute/session.ts";
import { withTimeLimit } from "../execute/deadline.ts";
import type { RequestLog } from "../trace/request-log.ts";
import { resolvedRows } from "./resolve.ts";
import { countOutcome, newBatchCounts, sendRows } from "./send.ts";
import type { RowOutcome, ReadyRow, BatchRun, BatchCounts } from "./send.ts";

const outcomes = list<RowOutcome>("", "row", "status", "id", "error");

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

/**
 * Carries out a command once per row of a file. Nothing is sent before every row is checked and
 * every name is known. Throws usage, not-found or refused for rows that are wrong, partial when
 * some failed, and otherwise what stopped the run because it would have met every further row.
 */
export async function execute(
  { command: { row }, typed, globals }: Extract<ParsedLine, { kind: "run" }>,
  plainHost: Host,
  trail: RequestLog,
): Promise<void> {
  if (!row || globals.each === undefined) return;
  const command = commandOf(row);
  const options = optionsFor(globals, plainHost);
  const { checkStyle, columnNames, render } = await import("../../output/print.ts");
  if (globals.columns === "help") {
    return plainHost.stdout.write(`${columnNames(outcomes).join("\n")}\n`);
  }
  const atOnce = wholeNumber(
    "--concurrency",
    globals.concurrency ?? (row.ordered ? "1" : "3"),
    1,
    50,
  );
  const limit = withTimeLimit(plainHost, options.timeout);
  const { name, bytes, host: reading } = await fileOf(globals.each, limit.host);
  const shown = progressStyle(globals, plainHost, !options.quiet);
  const { host, update, stop } = progress(reading, progressText(command, {}), shown);
  const session = openSession(command, options, host, update, trail);
  let release = () => {};
  try {
    const settings = await session.settings();
    const { signal, abortError: interrupted, formulas } = session.context;
    const style = {
      ...styleFor(globals, host, await session.output(), outcomes, formulas),
      stop: { signal, error: interrupted },
    };
    await checkStyle(outcomes, style);
    const sources = sourcesOf(host);
    const table = await readRowFile(name, bytes);
    const extra = await extraBody(globals, sources);
    const checked = await checkedRows(command, name, table, typed, sources, extra);

    const hash = fingerprint(row, typed, globals, bytes, settings);
    const path = join(host.directories.state, `each-${hash}.jsonl`);
    if (globals.each !== "-" && !session.context.options.dryRun)
      release = await journalTaken(path, host);
    // Nobody can give the same standard input again, so there is nothing to continue.
    const found = globals.each === "-" ? emptyJournal : await openJournal(path, host.files);
    const rows = await resolvedRows(command, name, checked, found, globals, session);
    if (session.context.options.dryRun) return await show(row, rows, extra, globals, session, host);

    await announce(command, rows, path, session);
    const collect = await openFailedRows(globals.errorsTo, globals.each, table, host);
    const journal = await begun(found, checked, rows, session);
    const run: BatchRun = { row, command, globals, extra, session, journal };
    const tally = newBatchCounts(rows, session);
    await render(
      outcomes,
      sendRows(run, rows, session.context.limitConcurrency(atOnce), tally),
      style,
      host.stdout,
    );
    await formulas.warn();
    await collect(rows.map(({ row }) => row).filter(({ number }) => tally.failed.has(number)));
    await conclude(run, rows, tally);
  } finally {
    limit.stop();
    release();
    stop();
    await session.close();
  }
}

/**
 * Keeps others from sending the same rows at the same time, until it is let go. Throws failure where
 * somebody does; a disk that takes no lock takes no journal either, which is said later.
 */
async function journalTaken(path: string, host: Host): Promise<() => void> {
  const lock = await host.files
    .makeDirectory(host.directories.state, 0o700)
    .then(() => host.files.lock(`${path}.lock`, host.process))
    .catch(() => ({ release: () => {} }));
  if ("release" in lock) return lock.release;
  throw new CliError("failure", `these rows are being sent by another command, ${lock.heldBy}`, {
    sideEffect: "none",
    hint: "wait until it has ended, then look at what it says",
  });
}

/** The bytes of the file, and a host whose standard input is used up when it held them. */
async function fileOf(path: string, host: Host) {
  if (path !== "-") {
    await sourcesOf(host).file(path); // says what is wrong with a path
    return { name: path, bytes: await host.files.read(path), host };
  }
  const bytes = await allOf(host.stdin.bytes());
  const taken = () => {
    throw new CliError("usage", "standard input (-) holds the rows, nothing else can come from it");
  };
  const stdin = { isTTY: host.stdin.isTTY, bytes: taken };
  return { name: "standard input", bytes, host: { ...host, stdin } };
}

/** What makes two runs the same one: where to, which command, with what. Holds no readable key. */
function fingerprint(
  row: AnyOperation,
  typed: Readonly<Record<string, TypedLine>>,
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

/** Prints every request instead of sending it. */
async function show(
  row: AnyOperation,
  rows: readonly ReadyRow[],
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
      if (!(error instanceof DryRunShown)) throw error;
    });
  }
}

/** Asks before a delete, and says when a run goes on that was begun before. */
async function announce(
  command: Command,
  rows: readonly ReadyRow[],
  path: string,
  { context }: Session,
): Promise<void> {
  const open = rows.filter(({ left }) => left?.kind !== "done").length;
  if (command.effect === "destroys" && open > 0) {
    await context.confirm(confirmationText(command, {}, countOutcome(open)));
  }
  if (open === rows.length) return;
  await context.notice(
    `going on: ${rows.length - open} of ${countOutcome(rows.length)} were done before; to send all again, delete ${path}`,
  );
}

/** The journal with all ids in it; none where the disk takes none, which is said. */
async function begun(
  journal: Journal,
  checked: readonly CheckedRow[],
  rows: readonly ReadyRow[],
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
    await journal.remove().catch(() => {}); // what of it there is helps nobody
    await context.notice(`this run cannot be continued if it is cut off: ${reasonOf(error)}`);
    return emptyJournal;
  }
}

/** Ends the run: the journal goes when nothing is left, otherwise the error says what is. */
async function conclude(
  { journal, globals, session }: BatchRun,
  rows: readonly ReadyRow[],
  { counts, reason }: BatchCounts,
): Promise<void> {
  const { ok, failed, unknown, skipped } = counts;
  const unsent = rows.length - ok - failed - unknown - skipped;
  const parts = [
    `${ok} of ${countOutcome(rows.length)} done`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(unknown > 0 ? [`${unknown} unknown whether applied`] : []),
    ...(unsent > 0 ? [`${unsent} not sent`] : []),
  ];
  const complete = reason === undefined && failed + unknown + unsent === 0;
  const untouched = ok + unknown + skipped === 0 && rows.every(({ left }) => left === undefined);
  if (complete || untouched) await journal.remove();
  if (complete) return session.context.notice(parts.join(", "));

  const kept = journal !== emptyJournal && !untouched;
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
