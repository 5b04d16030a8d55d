import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Values } from "../../api/request.ts";
import { openFailedRows } from "../../commands/failed-rows.ts";
import { targetOf } from "../../config/target.ts";
import type { Settings } from "../../config/settings.ts";
import { CliError, reasonOf, usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { list } from "../../operations/operation.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { progress } from "../../output/live/progress.ts";
import { TerminalWriter } from "../../output/live/terminal-writer.ts";
import { progressStyle } from "../../output/terminal.ts";
import { commandOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { takesEach } from "../parse/shared-flags.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { extraBody, sourcesOf } from "../parse/input.ts";
import { emptyJournal, openBatchJournal } from "./journal.ts";
import type { BatchJournal } from "./journal.ts";
import { optionsFor, styleFor, wholeNumber } from "../parse/options.ts";
import type { ParsedLine } from "../parse/parser.ts";
import type { TypedLine } from "../parse/typed-values.ts";
import { bytesOf } from "../../lib/collect.ts";
import { readRowFile } from "../../lib/rows-file.ts";
import { checkRows } from "./row-input.ts";
import type { CheckedRow } from "./row-input.ts";
import { confirmationText, progressText } from "../execute/command-texts.ts";
import { DryRunShown } from "../execute/dry-run.ts";
import { openSession } from "../execute/session.ts";
import type { Session } from "../execute/session.ts";
import { withTimeLimit } from "../execute/deadline.ts";
import type { RequestLog } from "../trace/request-log.ts";
import { resolveRows } from "./resolve.ts";
import { formatRowCount, newBatchCounts, sendRows } from "./send.ts";
import type { RowOutcome, ReadyRow, BatchRun, BatchCounts } from "./send.ts";

const outcomes = list<RowOutcome>("", "row", "status", "id", "error");

/** The commands as `--each` changes them: columns may fill positionals, and outcomes are printed. */
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
 * Carries out a command once per row of a file. Nothing is sent before every row is checked and every
 * name is resolved. Throws usage, not-found or refused for invalid rows, partial if some failed, and
 * otherwise the fatal error that stopped the run.
 */
export async function executeBatch(
  { command: { row }, typed, globals }: Extract<ParsedLine, { kind: "run" }>,
  plainHost: Host,
  log: RequestLog,
): Promise<void> {
  if (!row || globals.each === undefined) return;
  const command = commandOf(row);
  const options = optionsFor(globals, plainHost);
  const printer = await import("../../output/print.ts");
  if (globals.columns === "help") {
    return plainHost.stdout.write(`${printer.columnNames(outcomes).join("\n")}\n`);
  }
  const concurrency = globals.concurrency ?? (row.ordered ? "1" : "3");
  const atOnce = wholeNumber("--concurrency", concurrency, 1, 50);
  const limit = withTimeLimit(plainHost, options.timeout);
  const { file, bytes, host: reading } = await readEach(globals.each, limit.host);
  const terminal = new TerminalWriter(reading);
  const { host } = terminal;
  const bar = progress(
    terminal,
    progressText(command, {}),
    progressStyle(globals, plainHost, !options.quiet),
  );
  const session = openSession(command, options, host, bar.update, log);
  const { context } = session;
  let release = () => {};
  try {
    const settings = await session.settings();
    const format = await session.output();
    const style = {
      ...styleFor(globals, host, format, outcomes, context.formulas),
      stop: { signal: context.signal, error: context.abortError },
    };
    await printer.checkStyle(outcomes, style);
    const sources = sourcesOf(host);
    const table = await readRowFile(file, bytes);
    const extra = await extraBody(globals, sources);
    const checked = await checkRows({ command, file, table, typed, sources, extra });

    const hash = fingerprint(row, typed, globals, bytes, settings);
    const path = join(host.directories.state, `each-${hash}.jsonl`);
    // Rows from stdin cannot be read again, so such a run cannot be continued.
    const isFile = globals.each !== "-";
    if (isFile && !context.options.dryRun) release = await lockJournal(path, host);
    const earlier = isFile ? await openBatchJournal(path, host.files) : emptyJournal;
    const rows = await resolveRows({ command, file, checked, journal: earlier, globals, session });
    if (context.options.dryRun)
      return await printRequests(row, rows, extra, session, { globals, host });

    await announce(command, rows, path, session);
    const writeFailed = await openFailedRows(globals.errorsTo, globals.each, table, host);
    const journal = await beginJournal(earlier, checked, rows, session);
    const run: BatchRun = { row, command, globals, extra, session, journal };
    const counts = newBatchCounts(rows, session);
    const sent = sendRows(run, rows, context.limitConcurrency(atOnce), counts);
    await printer.render(outcomes, sent, style, host.stdout);
    await context.formulas.warn();
    await writeFailed(
      rows.map((each) => each.row).filter((each) => counts.failed.has(each.number)),
    );
    await conclude(run, rows, counts);
  } finally {
    limit.stop();
    release();
    bar.stop();
    await session.close();
  }
}

/**
 * Locks the journal, so that no other command sends the same rows. Throws failure if it is locked.
 * On a full or read-only disk it locks nothing: beginJournal then reports that there is no journal.
 */
async function lockJournal(path: string, host: Host): Promise<() => void> {
  const lock = await host.files
    .makeDirectory(host.directories.state, 0o700)
    .then(() => host.files.lock(`${path}.lock`, host.process))
    .catch(() => ({ release: () => {} }));
  if ("release" in lock) return lock.release;
  throw new CliError("failure", `another command is sending these rows, ${lock.heldBy}`, {
    sideEffect: "none",
    hint: "wait until it has finished, then check its output",
  });
}

/** The rows' bytes, and a host whose stdin is used up if they came from there. */
async function readEach(path: string, host: Host) {
  if (path !== "-") {
    await sourcesOf(host).file(path); // throws for an invalid path
    return { file: path, bytes: await host.files.read(path), host };
  }
  const bytes = await bytesOf(host.stdin.bytes());
  const usedUp = () => {
    throw usage("stdin (-) has the rows and can only be used once");
  };
  return {
    file: "stdin",
    bytes,
    host: { ...host, stdin: { isTTY: host.stdin.isTTY, bytes: usedUp } },
  };
}

/** Identifies a run by target, command and rows, to find its journal. Contains no readable key. */
function fingerprint(
  row: AnyOperation,
  typed: Readonly<Record<string, TypedLine>>,
  { body, bodySet, user, ifExists, ifNotExists }: Globals,
  bytes: Uint8Array,
  settings: Settings,
): string {
  const { baseUrl, key } = targetOf(settings, row.key);
  const values = { typed, body, bodySet, user, ifExists, ifNotExists };
  return createHash("sha256")
    .update(JSON.stringify([baseUrl, key, row.command, values]))
    .update(bytes)
    .digest("hex")
    .slice(0, 32);
}

const isDone = ({ earlier }: ReadyRow): boolean => earlier?.kind === "done";

/** Prints all requests of a dry run. */
async function printRequests(
  row: AnyOperation,
  rows: readonly ReadyRow[],
  extra: Values | undefined,
  session: Session,
  { globals, host }: { readonly globals: Globals; readonly host: Host },
): Promise<void> {
  const open = rows.filter((each) => !isDone(each));
  for (const [index, { input }] of open.entries()) {
    if (!input) continue;
    if (index > 0 && !globals.curl) await host.stdout.write("\n");
    await session.call(row, input, { extra }).catch((error: unknown) => {
      if (!(error instanceof DryRunShown)) throw error;
    });
  }
}

/** Prompts before a delete, and prints whether the run resumes an earlier one. */
async function announce(
  command: Command,
  rows: readonly ReadyRow[],
  path: string,
  { context }: Session,
): Promise<void> {
  const open = rows.filter((row) => !isDone(row)).length;
  if (command.effect === "destroys" && open > 0) {
    await context.confirm(confirmationText(command, {}, formatRowCount(open)));
  }
  if (open === rows.length) return;
  await context.notice(
    `resuming: ${rows.length - open} of ${formatRowCount(rows.length)} already done; delete ${path} to start over`,
  );
}

/** Writes all resolved IDs to the journal. Without it, prints a notice and uses none. */
async function beginJournal(
  journal: BatchJournal,
  checked: readonly CheckedRow[],
  rows: readonly ReadyRow[],
  { context }: Session,
): Promise<BatchJournal> {
  function* resolved(): Generator<[number, Values]> {
    for (const [index, { row, input }] of rows.entries()) {
      if (!input) continue;
      const typed = checked[index]?.input ?? {};
      const changed = Object.entries(input).filter(([name, value]) => value !== typed[name]);
      yield [row.number, Object.fromEntries(changed)];
    }
  }
  try {
    await journal.begin(resolved());
    return journal;
  } catch (error) {
    await journal.remove().catch(() => {}); // an incomplete journal is useless
    await context.notice(`if this run is interrupted, it cannot resume: ${reasonOf(error)}`);
    return emptyJournal;
  }
}

/** Ends the run: deletes the journal if all rows are done, otherwise throws what is left. */
async function conclude(
  { journal, globals, session }: BatchRun,
  rows: readonly ReadyRow[],
  { counts, reason }: BatchCounts,
): Promise<void> {
  const { ok, failed, unknown, skipped } = counts;
  const unsent = rows.length - ok - failed - unknown - skipped;
  const summary = [
    `${ok} of ${formatRowCount(rows.length)} done`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
    ...(unsent > 0 ? [`${unsent} not sent`] : []),
  ].join(", ");
  const complete = reason === undefined && failed + unknown + unsent === 0;
  const untouched = ok + unknown + skipped === 0 && rows.every(({ earlier }) => !earlier);
  if (complete || untouched) await journal.remove();
  if (complete) return session.context.notice(summary);

  const resumable = journal !== emptyJournal && !untouched;
  const hint = nextStep(counts, unsent, globals.errorsTo, resumable);
  if (!reason) throw new CliError("partial", summary, { hint, details: { ...counts, unsent } });
  await session.context.notice(summary);
  if (resumable && hint !== undefined) await session.context.notice(hint);
  throw reason;
}

function nextStep(
  { unknown, failed }: BatchCounts["counts"],
  unsent: number,
  errorsTo: string | undefined,
  resumable: boolean,
): string | undefined {
  if (unknown > 0) {
    return "check the unknown rows; the same command sends them again only if that is safe";
  }
  if (errorsTo !== undefined && failed > 0 && unsent === 0) {
    return `correct the failed rows in ${errorsTo} and pass it to --each`;
  }
  return resumable ? "run the same command again to send the remaining rows" : undefined;
}
