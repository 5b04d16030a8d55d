import { newCounter } from "../../api/pages.ts";
import type { PageCounter } from "../../api/pages.ts";
import type { Values } from "../../api/request.ts";
import { noticeRowCount } from "../../commands/row-count-notice.ts";
import { ApiError, CliError, startRefused, withInfo } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { isObject } from "../../lib/json.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { progress } from "../../output/live/progress.ts";
import { screenOf } from "../../output/live/screen.ts";
import { progressStyle, wantsRedraw } from "../../output/terminal.ts";
import { carriedOut } from "./reindexing.ts";
import { actionOf, isList } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { indexingVerdict } from "./indexing-error.ts";
import { checkedInput, extraBody, needChange, resolvedInput, sourcesOf } from "../parse/input.ts";
import { createsNoun } from "../parse/create-nouns.ts";
import { lookupOf } from "./lookup.ts";
import type { Lookup } from "./lookup.ts";
import { optionsFor, styleFor } from "../parse/options.ts";
import type { Options } from "../parse/options.ts";
import type { ParsedLine } from "../parse/parser.ts";
import { namedFailure } from "../errors/name-arguments.ts";
import { DryRunShown, openSession } from "./session.ts";
import type { Session } from "./session.ts";
import { withTimeLimit } from "./deadline.ts";
import type { RequestLog } from "../trace/request-log.ts";

/**
 * Carries out a parsed command line: checks values, finds settings, turns names into ids, sends,
 * prints. Throws CliError; a request that was shown instead of sent is no failure.
 */
export async function execute(
  { command, typed, globals }: Extract<ParsedLine, { kind: "run" }>,
  plainHost: Host,
  trail: RequestLog,
): Promise<void> {
  const options = optionsFor(globals, plainHost);
  if (globals.columns === "help") return printColumns(command, plainHost);
  const waits = command.key !== undefined && !options.quiet;
  const limit = withTimeLimit(plainHost, options.timeout);
  const { host: sharing, screen } = screenOf(limit.host);
  const { host, tell, stop } = progress(
    sharing,
    command.summary,
    progressStyle(globals, plainHost, waits),
  );
  const session = openSession(command, options, host, tell, trail);
  let input: Values = {};
  try {
    const sources = sourcesOf(host);
    input = await checkedInput(command, typed, sources);
    const extra = await extraBody(globals, sources);
    needChange(command, input, extra);
    const output = await session.output();
    // A task's parameters were checked as its own, so this is its input.
    const returns =
      command.task?.output?.(input as never, session.context.options.format) ??
      (repeatedBy(command, input).length > 1
        ? (await import("../../commands/several.ts")).itemOutcomes
        : command.returns);
    const { formulas } = session.context;
    const style = {
      ...styleFor(globals, host, output, returns, formulas),
      stop: { signal: session.context.signal, error: session.context.abortError },
      ...(wantsRedraw(host, host.stdout) && { screen }),
    };
    // A dry run prints requests, no answer, so nothing to print answers with is loaded.
    const dryRun = session.context.options.dryRun && !command.task?.plans;
    const { checkStyle, render } = dryRun ? requestsOnly : await import("../../output/print.ts");
    await checkStyle(returns, style);

    const progress = newCounter();
    const verdict = untilVerdict();
    const given = command.task
      ? taskValues(command, input, session)
      : rowValues(command, input, extra, progress, session, options);
    const finishes = command.effect !== "reads" || command.task?.runsToEnd === true;
    const values = verdict.values(finishes ? toTheEnd(given) : given);
    const pieces = returns.kind === "file" || returns.kind === "text";
    if (pieces && globals.outputFile !== undefined && globals.outputFile !== "-") {
      // Such a command yields bytes, or pieces of text.
      await host.files.writeAtomic(
        globals.outputFile,
        values as AsyncIterable<Uint8Array | string>,
      );
      await session.context.notice(`written to ${globals.outputFile}`);
    } else {
      // Whoever reads a terminal sees each row at once; a file or a program takes a page at a time.
      const together = isList(returns) && !host.stdout.isTTY && !dryRun;
      const out = together
        ? (await import("../../output/formats/page-buffer.ts")).bufferPages(host.stdout)
        : undefined;
      const printed = await render(returns, values, style, out ?? host.stdout).finally(() =>
        out?.flush(),
      );
      await formulas.warn();
      // What a task found is said by itself, and what --jq left is no count of rows.
      const empty = printed === 0 && command.row !== undefined && globals.jq === undefined;
      if (empty && isList(returns) && host.stdout.isTTY) {
        await session.context.notice("nothing found");
      }
    }
    verdict.give();
    // On a terminal silence would leave doubt; a script has the exit code.
    const silent = returns.kind === "nothing" && command.effect !== "reads" && !dryRun;
    if (silent && command.key !== undefined && host.stderr.isTTY) {
      await session.context.notice(`done: ${actionOf(command)}`);
    }
    if (isList(command.returns) && !command.task) await noticeRowCount(progress, session.context);
  } catch (error) {
    if (error instanceof DryRunShown) return;
    const named = namedFailure(error, command, input);
    throw writes(command, options) ? afterWrite(named, session) : named;
  } finally {
    limit.stop();
    stop();
    await session.close();
  }
}

const writes = ({ effect }: Command, { globals }: Options): boolean =>
  effect !== "reads" && !globals.dryRun && !globals.curl;

/** An answer that cannot be printed comes after the write, and a request that did nothing after others. */
function afterWrite(error: unknown, session: Session): unknown {
  if (!(error instanceof CliError)) return error;
  const { code, sideEffect: changed } = error.info;
  // A start that the stream refused was accepted before.
  const undone = code === startRefused ? 1 : 0;
  // The verdict on a single write knows what was changed.
  const judged = error.info.isResult && code === "remote-failed";
  const done = code === "output" || (!judged && changed === "none" && session.writes() > undone);
  return done ? withInfo(error, { sideEffect: "applied" }) : error;
}

/** The same values; work that was begun is done to its end when nobody wants them any more. */
async function* toTheEnd<T>(values: AsyncGenerator<T>): AsyncGenerator<T> {
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

/** Runs a command to its end without printing what it gives. */
const requestsOnly: Pick<typeof import("../../output/print.ts"), "checkStyle" | "render"> = {
  checkStyle: () => Promise.resolve(),
  async render(_returns, values) {
    let count = 0;
    for await (const _ of values) count++;
    return count;
  },
};

/** Lets what was given be printed whole before the error that is its verdict ends the command. */
function untilVerdict() {
  let given: CliError | undefined;
  return {
    async *values(source: AsyncIterable<unknown>): AsyncGenerator<unknown> {
      try {
        yield* source;
      } catch (error) {
        if (!(error instanceof CliError) || !error.info.isResult) throw error;
        given = error;
      }
    },
    give() {
      if (given) throw given;
    },
  };
}

async function printColumns(command: Command, host: Host): Promise<void> {
  const { columnNames } = await import("../../output/print.ts");
  await host.stdout.write(`${columnNames(command.returns).join("\n")}\n`);
}

async function* taskValues(
  command: Command,
  input: Values,
  session: Session,
): AsyncGenerator<unknown> {
  const { task } = command;
  if (!task) return;
  const ids = await resolvedInput(command, input, lookupOf(session));
  const { run: perform } = await task.load();
  // Values were checked against the task's own parameters above.
  const given = perform(ids as never, session.context);
  if (given instanceof Promise) await given;
  else yield* given;
}

/** What a row gives: rows of a list, one object, or bytes; once per value of a repeated positional. */
async function* rowValues(
  command: Command,
  input: Values,
  extra: Values | undefined,
  progress: PageCounter,
  session: Session,
  options: Options,
): AsyncGenerator<unknown> {
  const { row } = command;
  if (!row) return;
  const lookup = lookupOf(session);
  if (repeatedBy(command, input).length > 1) {
    return yield* severalThings(command, input, extra, session, options);
  }
  let ids: Values;
  try {
    ids = await resolvedInput(command, withOne(command, input), lookup);
  } catch (error) {
    if (!isAlreadyDeleted(error, options.globals)) throw error;
    await session.context.notice("it is not there; nothing to do");
    return;
  }
  if (command.effect === "destroys" && !session.context.options.dryRun) {
    await session.context.confirm(`Delete ${namesTyped(command, input)}?`);
  }
  const given: unknown[] = [];
  if (isList(row.returns)) {
    for await (const each of session.rows(row, ids, session.context.options.rows, progress)) {
      if (row.indexes) given.push(each);
      yield each;
    }
    throwVerdict(row, given);
    return;
  }
  try {
    if (row.returns.kind === "events") return yield* await session.open(row, ids);
    const answer = await carriedOut(row, ids, extra, session);
    // A file row answers with its bytes, unread.
    if (row.returns.kind === "file") yield* answer as AsyncIterable<Uint8Array>;
    else if (row.returns.kind !== "nothing") yield answer;
    given.push(answer);
  } catch (error) {
    if (isAlreadyDeleted(error, options.globals))
      await session.context.notice("it is gone already");
    else if (options.globals.ifNotExists && isAlreadyExists(error))
      yield await existing(command, ids, lookup, error, session);
    else throw error;
  }
  throwVerdict(row, given);
}

function throwVerdict(row: AnyOperation, given: readonly unknown[]): void {
  const verdict = indexingVerdict(row, given);
  if (verdict) throw verdict;
}

/** What was typed for a positional that takes several words but is sent one at a time. */
function repeatedBy(command: Command, input: Values): readonly unknown[] {
  const last = command.positionals.at(-1);
  const values = last?.variadic && !command.params[last.name]?.many ? input[last.name] : undefined;
  return command.row && Array.isArray(values) ? values : [];
}

/** The same input where a positional of several words has one. */
function withOne(command: Command, input: Values): Values {
  const [only] = repeatedBy(command, input);
  const last = command.positionals.at(-1);
  return only === undefined || !last ? input : { ...input, [last.name]: only };
}

/** Sends one request for each of several things; gives what became of each. */
async function* severalThings(
  command: Command,
  input: Values,
  extra: Values | undefined,
  session: Session,
  { globals }: Options,
): AsyncGenerator<unknown> {
  const { row } = command;
  const last = command.positionals.at(-1);
  if (!row || !last) return;
  const { forEachItem } = await import("../../commands/several.ts");
  const lookup = lookupOf(session);
  const shared = await resolvedInput(command, { ...input, [last.name]: undefined }, lookup);
  const found: ({ readonly name: string } & ({ ids: Values } | { error: CliError }))[] = [];
  for (const name of repeatedBy(command, input)) {
    // A name that cannot be found is one failure among others.
    const one = resolvedInput(command, { ...shared, [last.name]: name }, lookup);
    found.push({ name: String(name), ...(await one.then((ids) => ({ ids }), unresolved)) });
  }
  const { dryRun } = session.context.options;
  const some = found.some((each) => "ids" in each);
  if (command.effect === "destroys" && !dryRun && some) {
    await session.context.confirm(`Delete ${namesTyped(command, input)}?`);
  }
  let shown: DryRunShown | undefined;
  const act = async (each: (typeof found)[number]) => {
    try {
      if ("error" in each) throw each.error;
      await session.call(row, each.ids, { extra });
      return String(each.ids[last.name]);
    } catch (error) {
      if (error instanceof DryRunShown) shown = error;
      else if (!isAlreadyDeleted(error, globals)) throw error;
      return undefined;
    }
  };
  yield* forEachItem(
    last.word,
    found.map((each) => ({ name: each.name, act: () => act(each) })),
  );
  if (shown) throw shown;
}

/** The error of a name; what is no error of names ends the command. */
function unresolved(error: unknown): { readonly error: CliError } {
  const aboutNames = ["usage", "not-found", "refused"];
  if (error instanceof CliError && aboutNames.includes(error.kind)) return { error };
  throw error;
}

const namesTyped = (command: Command, input: Values): string =>
  command.positionals
    .map(
      ({ name, word }) =>
        `${word} ${[input[name]]
          .flat()
          .map((value) => JSON.stringify(value))
          .join(", ")}`,
    )
    .reverse()
    .join(" of ");

/** Is the thing to delete gone, and was that foreseen? */
export const isAlreadyDeleted = (error: unknown, globals: Globals): boolean =>
  globals.ifExists === true && error instanceof CliError && error.kind === "not-found";

/** Does the server refuse because there is one of that name? */
export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.response.serverCode === "dataset_name_duplicate" || /already exists/.test(error.message));

/** The object that stood in the way of a create. */
async function existing(
  command: Command,
  ids: Values,
  lookup: Lookup,
  error: unknown,
  session: Session,
): Promise<unknown> {
  const noun = createsNoun[command.row?.id ?? ""];
  if (noun === undefined) throw error;
  const { resolveName } = await import("./resolve-names.ts");
  const { object } = await resolveName(noun, `name:${String(ids["name"])}`, ids, lookup);
  const asked = isObject(object)
    ? Object.keys(ids).filter(
        (name) => object[name] !== undefined && command.params[name]?.in === "body",
      )
    : [];
  const other = asked.filter((name) => isObject(object) && object[name] !== ids[name]);
  if (other.length > 0) {
    throw new CliError("refused", `it is there already, with another ${other.join(", ")}`, {
      sideEffect: "none",
      hint: "choose another name, or change the one that is there",
    });
  }
  await session.context.notice("it is there already");
  return object;
}
