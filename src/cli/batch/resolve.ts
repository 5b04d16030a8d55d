import type { Values } from "../../api/request.ts";
import { CliError } from "../../errors.ts";
import type { FailureKind } from "../../errors.ts";
import { isObject, own } from "../../lib/json.ts";
import type { AnyOperation, Noun } from "../../operations/operation.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { resolvedInput } from "../parse/input.ts";
import type { Journal } from "./journal.ts";
import type { Lookup } from "../execute/lookup.ts";
import { isAlreadyDeleted } from "../execute/row-values.ts";
import type { FileRow } from "../../lib/rows-file.ts";
import type { CheckedRow } from "./row-input.ts";
import type { Session } from "../execute/session.ts";
import { isUuid } from "../parse/values.ts";
import { countOutcome } from "./send.ts";
import type { ReadyRow } from "./send.ts";

/** More different names than this, and their whole list is read instead of one keyword each. */
const keywordLookups = 20;

/**
 * Every name turned into an id, each looked up once. What an earlier run found is taken over: by
 * now the thing may have its new name. Throws for all rows that are wrong at once.
 */
export async function resolvedRows(
  command: Command,
  name: string,
  checked: readonly CheckedRow[],
  journal: Journal,
  globals: Globals,
  session: Session,
): Promise<ReadyRow[]> {
  const lookup = lookupFor(command, checked, session);
  const ready: ReadyRow[] = [];
  const wrong: { row: FileRow; error: CliError }[] = [];
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
      if (isAlreadyDeleted(error, globals)) ready.push({ row, input: undefined, left });
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

function wrongRows(file: string, wrong: readonly { row: FileRow; error: CliError }[]): CliError {
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
  const others = wrong.length > 1 ? ` (and ${countOutcome(wrong.length - 1)} more)` : "";
  const candidates = isObject(error?.info.details) ? error.info.details : {};
  return new CliError(error?.kind ?? "refused", `${place}: ${first?.message}${others}`, {
    ...error?.info,
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
    base: async (name: string) => own((await session.settings()).bases, name),
    trace: (level, text) => session.context.trace(level, text),
    notice: (text) => session.context.notice(text),
    checks: !session.context.options.dryRun,
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
