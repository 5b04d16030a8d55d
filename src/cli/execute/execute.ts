import { placesOf } from "../../api/pages.ts";
import type { Values } from "../../api/request.ts";
import { itemOutcomes } from "../../commands/task/command-spec.ts";
import type { Context, EngineTools } from "../../commands/task/command-spec.ts";
import { noticeRowCount } from "../../commands/task/row-counts.ts";
import { CliError, DryRunShown } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { Rows } from "../../lib/collect.ts";
import { valueAt } from "../../lib/json.ts";
import { groupDigits } from "../../lib/numbers.ts";
import { formulasIn } from "../../lib/formats/csv.ts";
import { isList, success } from "../../operations/operation.ts";
import type { Returns } from "../../operations/operation.ts";
import { visible } from "../../output/display-width.ts";
import { progress } from "../../output/live/progress.ts";
import { TerminalWriter } from "../../output/live/terminal-writer.ts";
import type { PageInfo, Style } from "../../output/print/print.ts";
import { progressStyle, wantsRedraw } from "../../output/style.ts";
import type { Command } from "../parse/command.ts";
import { checkedLine } from "../parse/input.ts";
import { optionsFor, styleFor } from "../parse/options.ts";
import type { Options } from "../parse/options.ts";
import type { ParsedLine } from "../parse/parser.ts";
import { asksForBackup, changedKb } from "../parse/shared-flags.ts";
import type { RequestLog } from "../trace/request-log.ts";
import {
  confirmationText,
  emptyText,
  progressText,
  readingText,
  successText,
  titleText,
  withNamesIn,
} from "./command-texts.ts";
import { commandValues, itemsOf, withEnding, withSideEffect } from "./row-values.ts";
import type { RowEnding } from "./row-values.ts";
import { fileOutput } from "./file-output.ts";
import { commandRunner } from "./run-command.ts";
import { openSession, withTimeLimit } from "./session.ts";
import type { Session } from "./session.ts";
import { shellQuote } from "../../lib/command-line.ts";
import { programOf, rulesOf } from "../parse/command-list.ts";

// Not needed for the errors of wrong command lines.
export { logError } from "../errors/log-error.ts";

/** Yields values instead of the command's row or task. */
type ValuesOf = (session: Session) => AsyncGenerator<unknown>;

/**
 * Carries out a parsed command line: checks values, reads settings, resolves names, sends requests
 * and prints the result, or what `valuesOf` yields. Throws CliError; a dry run is not an error.
 */
export async function execute(
  { command, typed, globals }: Extract<ParsedLine, { kind: "run" }>,
  plainHost: Host,
  log: RequestLog,
  valuesOf?: ValuesOf,
): Promise<void> {
  const options = optionsFor(globals, plainHost);
  if (globals.columns === "help") return printColumns(command, plainHost);
  const limit = withTimeLimit(plainHost, command.task?.serves ? undefined : options.timeout);
  const terminal = new TerminalWriter(limit.host);
  const { host } = terminal;
  const bar = progress(
    terminal,
    progressText(command, typed),
    progressStyle(globals, plainHost, {
      enabled: !options.quiet,
      start: startText(command, typed, options),
    }),
  );
  const commands = () => commandRunner(command, globals, plainHost);
  const session = openSession({ command, typed, options, host, progress: bar.update, log });
  try {
    const shared = wantsRedraw(host, host.stdout) ? { terminal } : {};
    await perform(session, { valuesOf, commands, shared });
  } catch (thrown) {
    if (thrown instanceof DryRunShown) return;
    const error = withNamesIn(thrown, command, typed);
    const writes = command.effect !== "reads" && !globals.dryRun && !globals.curl;
    throw writes ? withSideEffect(error, session) : error;
  } finally {
    limit.stop();
    bar.stop();
    await session.close();
  }
}

/** What a spinner shows before the first step: before a delete is confirmed, that it is only read. */
function startText(
  command: Command,
  typed: Values,
  { input, globals }: Options,
): string | undefined {
  if (command.key === undefined) return undefined;
  const isRead =
    command.effect === "destroys" && (globals.dryRun === true || (input && !globals.yes));
  return visible(isRead ? readingText(command, typed) : progressText(command, typed));
}

interface Performing extends Pick<EngineTools, "commands"> {
  readonly valuesOf: ValuesOf | undefined;
  readonly shared: Pick<Style, "terminal">;
}

async function perform(opened: Session, { valuesOf, commands, shared }: Performing): Promise<void> {
  const { command, options, context } = opened;
  const { globals } = options;
  const line = await checkedLine({ command, typed: opened.typed, globals }, opened.host);
  const { withMatching } = globals.matching ? await import("./matching.ts") : {};
  const given = { session: opened, input: line.input };
  const ready = withMatching ? await withMatching(given) : given;
  if (!ready) return;
  const { session, input } = ready;
  const { typed } = session;
  // A dry run prints requests and no result, so the printing code is not loaded.
  const dryRun = context.options.dryRun && !command.task?.plans;
  const { outputFile = "-" } = globals;
  const isFile = outputFile !== "-" && !dryRun;
  const file = isFile ? fileOutput(outputFile, session.host.files) : undefined;
  const host = file ? { ...session.host, stdout: file.out } : session.host;
  const format = await session.output();
  const returns = returnsOf(command, input, context.options.format);
  const verdict = deferredVerdict();
  const { shown } = context.options.rows;
  const formulas = formulasIn(globals.safeCells === true, context.notice);
  const style: Style = {
    ...styleFor(globals, host, returns, { output: format, formulas }),
    page: {
      command: command.words.join(" "),
      action: host.secrets.masked(titleText(command, typed)),
      verdict: () => pageVerdict(verdict.error(), session),
    },
    stop: { signal: context.host.signal, error: context.abortError },
    ...(shown && { places: placesOf(shown) }),
    allRows: options.verbosity > 0 || context.options.dryRun,
    ...(!file && shared),
  };
  const printer = dryRun ? drain : await import("../../output/print/print.ts");
  const engine: EngineTools = { valueColumns: await printer.checkStyle(returns, style), commands };

  const finishes = command.effect !== "reads" || command.task?.runsToEnd === true;
  const own = (inner: Context) =>
    commandValues({ session: { ...session, context: inner }, input, extra: line.extra, engine });
  const source = withEnding(valuesOf?.(session) ?? guarded(session, input, own));
  const read = shown ? announced(source.values, context) : source.values;
  const values = verdict.values(finishes ? drainOnStop(read) : read);
  const succeeds = reportsSuccess(command, style, host) && !dryRun;
  // On a terminal, the sentence has all that a create returns by default.
  const saysId = command.row?.creates && format === undefined && !options.quiet;
  const isSaid = command.returns === success || saysId;
  let id: unknown;
  const remember: typeof drain.render = async (...[, values]) => {
    let count = 0;
    for await (const value of values) {
      id = valueAt(value, "id");
      count++;
    }
    return count;
  };
  const render = succeeds && isSaid ? remember : printer.render;
  try {
    await print({ ...session, host }, { returns, style, values, render });
    await file?.close();
    if (file) await context.notice(`wrote ${outputFile}`);
    await formulas.warn();
    await session.finishOutput();
    if (succeeds && verdict.error() === undefined)
      await noticeSuccess(session, source.ending(), id);
  } finally {
    await file?.discard();
    await session.printSummary(); // it counts the rows even if they cannot be printed
  }
  verdict.throwIfSet();
  const { counter } = source.ending();
  if (counter && command.row && isList(command.returns)) await noticeRowCount(counter, context);
}

/** Says what a write has done, with the ID of what it created. */
async function noticeSuccess(
  { command, typed, context, writes }: Session,
  { success: said, deleted, done = {} }: RowEnding,
  id: unknown,
): Promise<void> {
  const isDone = Object.values(done).every((items) => items.length > 0);
  if (writes() === 0 || !isDone) return;
  const shown = { ...typed, ...done };
  const text = said ?? successText(command, shown, deleted);
  const next = rulesOf(command)?.next?.(shown) ?? "";
  if (text !== "")
    await context.notice(`${text}${typeof id === "string" ? ` (${id})` : ""}${next}`);
}

/** What the command prints: a task may change it by its flags. */
function returnsOf(command: Command, input: Values, format: string | undefined): Returns<never> {
  // A task's parameters were checked as its own, so this is its input.
  const changed = command.task?.output?.(input as never, format);
  if (changed) return changed;
  return itemsOf(command, input).length < 2 ? command.returns : itemOutcomes;
}

async function print(
  { command, typed, options: { globals }, host, context }: Session,
  {
    returns,
    style,
    values,
    render,
  }: {
    readonly returns: Returns<never>;
    readonly style: Style;
    readonly values: AsyncIterable<unknown>;
    readonly render: typeof drain.render;
  },
): Promise<void> {
  const paths = style.columns?.some((name) => name.includes("."))
    ? (await import("../../output/print/print.ts")).watchPaths(values, { returns, style })
    : undefined;
  const printed = await render(returns, paths?.values ?? values, style, host.stdout);
  for (const path of paths?.unseen() ?? [])
    await context.notice(`no row has a value of ${JSON.stringify(path)}`);
  // --jq does not count rows, and a task that changes something reports on its own.
  const countsRows = command.effect === "reads" && globals.jq === undefined && isList(returns);
  const empty = countsRows && printed === 0 ? emptyText(command, typed) : undefined;
  if (empty !== undefined && host.stdout.isTTY) await context.notice(empty);
}

/** May a success message follow? Only after a single write, on a terminal. */
function reportsSuccess(command: Command, { format, jq, columns }: Style, host: Host): boolean {
  if (command.effect === "reads" || !host.stderr.isTTY) return false;
  if (command.row === undefined && command.task?.wraps === undefined) return false;
  if (command.returns.kind === "nothing") return true;
  const isTable = format === undefined || format === "grid" || format === "wide";
  const isPlain = isTable && jq === undefined && columns === undefined;
  return command.returns.kind !== "events" && isPlain && host.stdout.isTTY;
}

/** More rows than this, read to show some of them, are worth a notice. */
const MANY_ROWS = 1000;

/** The values; reports that all of them are read, since they are sorted. */
async function* announced(
  values: AsyncGenerator<unknown>,
  { notice, progress }: Context,
): AsyncGenerator<unknown> {
  let read = 0;
  let isSaid = false;
  for await (const value of values) {
    read += value instanceof Rows ? value.all.length : 1;
    progress({ done: read, unit: "rows", verb: "Reading" });
    if (read > MANY_ROWS && !isSaid) {
      isSaid = true;
      await notice(`reading all rows, which are more than ${groupDigits(MANY_ROWS)}, to sort them`);
    }
    yield value;
  }
}

/** Drains the generator even if the consumer stops early (e.g. `| head`), so writes complete. */
async function* drainOnStop<T>(values: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    for (;;) {
      const next = await values.next();
      if (next.done) return;
      yield next.value;
    }
  } finally {
    while (!(await values.next()).done);
  }
}

/** Runs a command to its end without printing its result. */
const drain: Pick<typeof import("../../output/print/print.ts"), "checkStyle" | "render"> = {
  checkStyle: () => Promise.resolve([]),
  async render(_returns, values) {
    let count = 0;
    for await (const _ of values) count++;
    return count;
  },
};

/** What a page says about the result as a whole: the error that it is, or else the summary. */
function pageVerdict(
  error: CliError | undefined,
  { summaries, context }: Session,
): ReturnType<PageInfo["verdict"]> {
  const { masked } = context.host.secrets;
  if (error) return { text: masked(error.message), tone: error.kind === "gate" ? "bad" : "warn" };
  return summaries.length === 0 ? undefined : { text: masked(summaries.join("\n")) };
}

/** Holds back an error that is the command's result until everything before it is printed. */
function deferredVerdict() {
  let verdict: CliError | undefined;
  return {
    async *values(source: AsyncIterable<unknown>): AsyncGenerator<unknown> {
      try {
        yield* source;
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        if (!error.info.isResult && !error.info.outputFirst) throw error;
        verdict = error;
      }
    },
    error: () => verdict,
    throwIfSet() {
      if (verdict) throw verdict;
    },
  };
}

async function printColumns(command: Command, host: Host): Promise<void> {
  const { explainedColumns } = await import("../../output/print/print.ts");
  await host.stdout.write(`${explainedColumns(command.returns).join("\n")}\n`);
}

/** The values of a command, with what a feature does around a change, such as backups. */
async function* guarded(
  { command, typed, options, context, writes }: Session,
  input: Values,
  values: (context: Context) => ReturnType<typeof commandValues>,
): ReturnType<typeof commandValues> {
  const { guard } = programOf(command);
  const object = input[changedKb(command) ?? ""];
  if (!guard || typeof object !== "string" || context.options.dryRun) return yield* values(context);
  const isBackedUp = asksForBackup(options.globals);
  // Nothing is stored for a delete that cannot be confirmed.
  if (command.row?.destructive && isBackedUp && !options.input && !options.globals.yes)
    await context.confirm(confirmationText(command, typed, { isBackedUp }));
  return yield* guard({ object, line: lineOf(command, typed), writes, values }, context);
}

/** The command with its arguments, not its flags, whose values may be long or private. */
const lineOf = ({ words, positionals }: Command, input: Values): string =>
  [
    ...words,
    ...positionals.flatMap(({ name }) => {
      const value = input[name];
      const all: readonly unknown[] = Array.isArray(value) ? value : [value];
      return all.filter((each) => typeof each === "string").map(shellQuote);
    }),
  ].join(" ");
