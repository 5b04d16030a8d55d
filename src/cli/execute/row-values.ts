import type { ApiClient } from "../../api/client.ts";
import type { Values } from "../../api/request.ts";
import { CliError, DryRunShown, startRefused } from "../../errors.ts";
import { Rows } from "../../lib/collect.ts";
import { isObject } from "../../lib/json.ts";
import { isList } from "../../operations/operation.ts";
import { newCounter } from "../../api/pages.ts";
import { forEachItem } from "../../commands/batch/index.ts";
import type { Ending, EngineTools } from "../../commands/task/command-spec.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import { rulesOf } from "../parse/command-list.ts";
import type { Command } from "../parse/command.ts";
import { lookupOf, resolvedInput } from "../resolve/resolve-input.ts";
import { confirmationText, dryDeletionText } from "./command-texts.ts";
import {
  existingObject,
  idOf,
  indexingVerdict,
  isAlreadyDeleted,
  isAlreadyExists,
  withExistsHint,
} from "./row-outcome.ts";
import type { Session } from "./session.ts";
import { asksForBackup } from "../parse/shared-flags.ts";

/** The command of a session with its checked values. */
interface CheckedCommand {
  readonly session: Session;
  /** Names are not resolved yet. */
  readonly input: Values;
  /** Further fields of the body, from --body and --body-set. */
  readonly extra: Values | undefined;
  readonly engine: EngineTools;
}

/** What a command of one request leaves behind besides. */
export interface RowEnding extends Ending {
  /** Size of the object that a delete has prompted for; the success message repeats it. */
  readonly deleted?: string | undefined;
  /** The positional of a command over several items, with those that were done. */
  readonly done?: Readonly<Record<string, readonly string[]>>;
}

type RunValues = AsyncGenerator<unknown, RowEnding | void>;

/**
 * Yields the result of a row: `Rows` of a list, one object, or bytes; once per item of the last
 * positional.
 */
async function* rowValues(given: CheckedCommand): RunValues {
  const run = await withAnswers(given);
  const { input, extra, session } = run;
  const { command, options, context } = session;
  const { row } = command;
  if (!row) return;
  if (itemsOf(command, input).length > 1) return yield* itemValues(run, row);
  const ids = await resolvedIds(run);
  if (!ids) return;
  const deleted = await confirmDelete(run, ids);
  const values: unknown[] = [];
  const counter = newCounter();
  let success: string | void = undefined;
  if (isList(row.returns) && options.globals.matching) {
    return yield* (await import("./matching.ts")).rowsWhere(row, ids, session);
  } else if (isList(row.returns)) {
    const { rows } = context.options;
    const pages = session.api.pages(row, ids, { ...rows, counter, extra });
    for await (const page of pages) {
      if (row.indexes) for (const each of page) values.push(each);
      yield new Rows(page);
    }
  } else
    try {
      if (row.returns.kind === "events") return yield* await session.api.open(row, ids);
      const response = await sendRow({ command, row, extra, session }, ids);
      // The response of a file row is its unread bytes.
      if (row.returns.kind === "file") yield* response as AsyncIterable<Uint8Array>;
      else if (row.returns.kind !== "nothing") yield response;
      success = await rulesOf(command)?.explain?.(response, context, ids);
      values.push(response);
    } catch (error) {
      if (isAlreadyDeleted(error, options.globals)) await context.notice("already deleted");
      else if (options.globals.ifNotExists && isAlreadyExists(error)) {
        yield await existingObject(command, ids, error, session);
      } else throw withExistsHint(error, command, session.typed);
    }
  const verdict = indexingVerdict(row, values);
  if (verdict) throw verdict;
  return { deleted, counter, success: success ?? undefined };
}

/** Asks on a terminal for what the line leaves open. */
async function withAnswers(run: CheckedCommand): Promise<CheckedCommand> {
  const { input, extra, session } = run;
  const { command, options } = session;
  const { dryRun, terminal } = session.context.options;
  const rules = rulesOf(command);
  if (!rules?.ask || extra) return run;
  // A script that stores the ID of what it creates must not wait for an answer. `input` is read last: it opens stdin.
  if (!terminal || dryRun || options.globals.ifNotExists || !options.input) return run;
  return { ...run, input: await rules.ask(input, session.context) };
}

/** The values with names resolved; undefined where --if-exists allows that there is nothing to delete. */
async function resolvedIds({ input, session }: CheckedCommand) {
  const { command, options } = session;
  const [only] = itemsOf(command, input);
  const last = command.positionals.at(-1);
  const single = only === undefined || !last ? input : { ...input, [last.name]: only };
  try {
    return await resolvedInput(command, single, lookupOf(session));
  } catch (error) {
    if (!isAlreadyDeleted(error, options.globals)) throw error;
    await session.context.notice("not found; nothing to delete");
    return undefined;
  }
}

/**
 * Prompts before a delete, and returns the size of the object that the prompt said; a dry run says what would be
 * deleted. `ids` are those of a single object.
 */
async function confirmDelete(run: CheckedCommand, ids?: Values): Promise<string | undefined> {
  const { session } = run;
  const { command, options, context } = session;
  if (command.effect !== "destroys") return undefined;
  const lost = rulesOf(command)?.deletion;
  // What is deleted is named by its whole ID, also if `last` or a beginning was entered.
  const whole = Object.entries(ids ?? {}).filter(([name]) => command.params[name]?.kind === "uuid");
  const named = { ...session.typed, ...Object.fromEntries(whole) };
  if (context.options.dryRun) {
    // It needs no server where it has IDs.
    const { call } = session.api.with({ retries: 0 });
    const found = ids && (await lost?.(ids, call).catch(onlyFailures));
    await context.notice(dryDeletionText(command, named, found?.size));
    return undefined;
  }
  const asks = options.input && !options.globals.yes;
  const found = ids && asks ? await lost?.(ids, session.api.call) : undefined;
  const isBackedUp = asksForBackup(options.globals);
  const question = confirmationText(command, named, { size: found?.size, isBackedUp });
  await context.confirm(question, { type: found?.type });
  return found?.size;
}

function onlyFailures(error: unknown): undefined {
  if (!(error instanceof CliError)) throw error;
}

/** The values of a positional that takes several but is sent one at a time. */
export function itemsOf(command: Command, input: Values): readonly unknown[] {
  const last = command.positionals.at(-1);
  const values = last?.variadic && !command.params[last.name]?.many ? input[last.name] : undefined;
  return command.row && Array.isArray(values) ? values : [];
}

async function* itemValues(run: CheckedCommand, row: AnyOperation): RunValues {
  const { input, session } = run;
  const { command, options } = session;
  const last = command.positionals.at(-1);
  if (!last) return;
  const lookup = lookupOf(session);
  const shared = await resolvedInput(command, { ...input, [last.name]: undefined }, lookup);
  const items: ({ readonly name: string } & ({ ids: Values } | { error: CliError }))[] = [];
  for (const name of itemsOf(command, input)) {
    // A name that is not found fails only its own item.
    const ids = resolvedInput(command, { ...shared, [last.name]: name }, lookup);
    const item = {
      name: session.names.get(String(name)) ?? itemName(name),
      ...(await ids.then((ids) => ({ ids }), nameProblem)),
    };
    // What is named twice is deleted once.
    if (!row.destructive || !items.some((other) => isSameItem(item, other))) items.push(item);
  }
  if (items.some((item) => "ids" in item)) await confirmDelete(run);
  const done: string[] = [];
  let shown: DryRunShown | undefined;
  const act = async (item: (typeof items)[number]) => {
    try {
      if ("error" in item) throw item.error;
      await rulesOf(command)?.beforeSend?.({ ...item.ids, ...run.extra }, session.context);
      const response = await session.api.call(row, item.ids, { extra: run.extra });
      done.push(item.name);
      return idOf(row.returns, response) ?? String(item.ids[last.name]);
    } catch (error) {
      if (error instanceof DryRunShown) shown = error;
      else if (!isAlreadyDeleted(error, options.globals)) throw error;
      return undefined;
    }
  };
  yield* forEachItem(
    last.word,
    items.map((item) => ({ name: item.name, act: () => act(item) })),
    session.context,
  );
  if (shown) throw shown;
  return { done: { [last.name]: done } };
}

const isSameItem = (one: object, other: object): boolean =>
  "ids" in one && "ids" in other && JSON.stringify(one.ids) === JSON.stringify(other.ids);

/** A file by its path, anything else as given. */
const itemName = (item: unknown): string =>
  isObject(item) && typeof item["path"] === "string" ? item["path"] : String(item);

/** The error of resolving a name; any other error ends the command. */
function nameProblem(error: unknown): { readonly error: CliError } {
  const kinds = ["usage", "not-found", "refused"];
  if (error instanceof CliError && kinds.includes(error.kind)) return { error };
  throw error;
}

/** Yields what a command's row or task gives. */
export const commandValues = (checked: CheckedCommand): RunValues =>
  checked.session.command.task ? taskValues(checked) : rowValues(checked);

/** The values, and what is left behind once they have ended. */
export function withEnding(source: RunValues) {
  let ending: RowEnding = {};
  async function* values(): AsyncGenerator<unknown> {
    ending = (yield* source) ?? {};
  }
  return { values: values(), ending: () => ending };
}

async function* taskValues({ input, session, engine }: CheckedCommand): RunValues {
  const { command } = session;
  if (!command.task) return;
  const resolve = (values: Values) => resolvedInput(command, values, lookupOf(session));
  const given = await withChosen(input, session);
  const ids = await resolve(given).catch(async (error: unknown) => {
    const mended = await rulesOf(command)?.ask?.(given, session.context, error);
    if (!mended) throw error;
    return resolve(mended);
  });
  const { run } = await command.task.load();
  // Values were checked against the task's own parameters.
  const result = run(ids as never, session.context, engine);
  return result instanceof Promise ? result : yield* result;
}

/** The values with the arguments that are chosen by a word or on a terminal. */
async function withChosen(input: Values, { command, context }: Session): Promise<Values> {
  const { chosen } = rulesOf(command) ?? {};
  if (!chosen) return input;
  const known: Record<string, unknown> = { ...input };
  const name = command.words.join(" ");
  for (const param of chosen.params) {
    const value = await chosen.choose(input[param], { kind: chosen.kind, command: name }, context);
    known[param] = command.params[param]?.many ? [value].flat() : value;
  }
  return known;
}

/**
 * Corrects the side effect of an error after a write: a result that cannot be printed comes after
 * it, and so may a request that had no effect.
 */
export function withSideEffect(error: unknown, session: Session): unknown {
  if (!(error instanceof CliError)) return error;
  const { code, sideEffect, isResult } = error.info;
  // A run that fails to start was accepted before.
  const withoutEffect = code === startRefused ? 1 : 0;
  // The verdict on a single write states its own side effect.
  const judged = isResult && code === "remote-failed";
  const wrote = !judged && sideEffect === "none" && session.writes() > withoutEffect;
  return code === "output" || wrote ? error.with({ sideEffect: "applied" }) : error;
}

/** A row that is sent, with what its request is made of. */
export interface SentRow {
  readonly command: Command;
  readonly row: AnyOperation;
  /** Further fields of the body. */
  readonly extra: Values | undefined;
  readonly session: Session;
}

/** Sends the request of a row, with what the rules of its command add. */
export async function sendRow(
  { command, row, extra, session }: SentRow,
  input: Values,
): Promise<unknown> {
  const { send, beforeSend } = rulesOf(command) ?? {};
  const { api, context } = session;
  await beforeSend?.({ ...input, ...extra }, context);
  const onSent = (done: number, total: number) =>
    context.progress({ done, total, unit: "bytes", verb: "Uploading" });
  if (!send) return api.call(row, input, { extra, onSent });
  const call: ApiClient["call"] = (each, values, options) =>
    api.call(each, values, each.id === row.id ? { ...options, extra } : options);
  return send(input, { ...context, api: { ...context.api, call } });
}
