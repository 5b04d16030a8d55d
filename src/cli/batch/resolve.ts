import type { Values } from "../../api/request.ts";
import { formatRowCount } from "../../commands/batch/index.ts";
import type { BatchRow } from "../../commands/batch/index.ts";
import type { BatchJournal } from "../../commands/batch/index.ts";
import { CliError } from "../../errors.ts";
import type { FailureKind } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { AnyOperation, Noun } from "../../operations/operation.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { resolvedInput } from "../parse/input.ts";
import { lookupOf } from "../execute/lookup.ts";
import type { Lookup } from "../execute/lookup.ts";
import { isAlreadyDeleted } from "../execute/row-values.ts";
import { rowPlace } from "../../lib/formats/rows-file.ts";
import type { FileRow } from "../../lib/formats/rows-file.ts";
import type { CheckedRow } from "./row-input.ts";
import type { Session } from "../execute/session.ts";
import { isIdPrefix, isUuid } from "../../lib/uuid.ts";

/** With more distinct names than this, the whole list is read instead of one search per name. */
const MAX_KEYWORD_LOOKUPS = 20;

/** What resolving the rows of a file needs. */
interface RowsToResolve {
  readonly command: Command;
  /** Name of the file, for errors. */
  readonly file: string;
  readonly checked: readonly CheckedRow[];
  readonly journal: BatchJournal;
  readonly globals: Globals;
  readonly session: Session;
}

/**
 * Resolves the names of all rows, each once. Takes over what the journal of an earlier run has,
 * because a rename may have been applied since. Throws one error for all rows that fail.
 */
export async function resolveRows({
  command,
  file,
  checked,
  journal,
  globals,
  session,
}: RowsToResolve): Promise<BatchRow<Values>[]> {
  if (journal.resolved) {
    return checked.map(({ row, input }) => {
      const resolved = journal.resolved?.get(row.number);
      return { row, input: resolved && { ...input, ...resolved }, resolved };
    });
  }
  const lookup = lookupFor(command, checked, session);
  const ready: BatchRow<Values>[] = [];
  const failed: { row: FileRow; error: CliError }[] = [];
  for (const { row, input } of checked) {
    try {
      const all = await resolvedInput(command, input, lookup(input));
      const changed = Object.entries(all).filter(([name, value]) => value !== input[name]);
      ready.push({ row, input: all, resolved: Object.fromEntries(changed) });
    } catch (error) {
      if (isAlreadyDeleted(error, globals)) ready.push({ row, input: undefined });
      else if (error instanceof CliError && nameErrors.has(error.kind)) failed.push({ row, error });
      else throw error;
    }
  }
  if (failed.length > 0) throw rowsError(file, failed);
  return ready;
}

const nameErrors: ReadonlySet<FailureKind> = new Set(["usage", "not-found", "refused"]);

/** Rows in the details of an error. */
const MAX_LISTED = 100;

/** One error for all rows of a file that are invalid; it has the kind of the first. */
export function rowsError(
  file: string,
  failed: readonly { row: FileRow; error: CliError }[],
): CliError {
  const placed = failed.slice(0, MAX_LISTED).map(({ row, error }) => {
    // The lookup does not know the column, but its error quotes the value.
    const cell = Object.entries(row.values).find(([, value]) =>
      error.message.includes(JSON.stringify(String(value).replace(/^(name|id):/, ""))),
    );
    return { row: row.number, column: cell?.[0] ?? null, message: error.message };
  });
  const [first] = placed;
  const [{ row, error } = { row: undefined, error: undefined }] = failed;
  const place = `${file}${row ? ` ${rowPlace(row)}` : ""}${first?.column ? `, column ${first.column}` : ""}`;
  const others = failed.length > 1 ? ` (and ${formatRowCount(failed.length - 1)} more)` : "";
  const candidates = isObject(error?.info.details) ? error.info.details : {};
  return new CliError(error?.kind ?? "refused", `${place}: ${first?.message}${others}`, {
    ...error?.info,
    details: { ...candidates, rows: placed },
  });
}

/** Lookups for the names of one row; all rows share the lists that are read. */
function lookupFor(
  command: Command,
  checked: readonly CheckedRow[],
  session: Session,
): (input: Values) => Lookup {
  const refs = Object.entries(command.params).filter(([, { noun, listed }]) => noun ?? listed);
  const textsOf = (input: Values, noun?: Noun) =>
    refs
      .filter(([, param]) => noun === undefined || param.noun === noun)
      .flatMap(([name]) => [input[name] ?? []].flat().map(String))
      .filter((text) => !isUuid(text))
      .map((text) => text.replace(/^(name|id):/, ""));

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
    const known = lists.get(key) ?? indexByName(session.rows(row, query, { limit: Infinity }));
    lists.set(key, known);
    return known;
  };
  const objects = new Map<string, Promise<unknown>>();
  const plain = lookupOf(session);
  return (input) => ({
    ...plain,
    async *rows(row, query) {
      const { keyword: _, ...unfiltered } = query;
      const names = "dataset_id" in query ? documents.get(input["dataset_id"]) : kbs;
      const many = row.returns.kind === "list" || (names?.size ?? 0) > MAX_KEYWORD_LOOKUPS;
      const list = await byName(row, many ? unfiltered : query);
      const texts = new Set(textsOf(input));
      // The beginning of an ID can be that of any row.
      if ([...texts].some(isIdPrefix)) for (const same of list.values()) yield* same;
      else for (const text of texts) yield* list.get(text) ?? [];
    },
    one(row, query) {
      const key = `${row.id} ${JSON.stringify(query)}`;
      const known = objects.get(key) ?? session.call(row, query);
      objects.set(key, known);
      return known;
    },
  });
}

async function indexByName(rows: AsyncIterable<unknown>): Promise<Map<unknown, unknown[]>> {
  const index = new Map<unknown, unknown[]>();
  for await (const row of rows) {
    const name = isObject(row) ? row["name"] : undefined;
    const same = index.get(name);
    if (same) same.push(row);
    else index.set(name, [row]);
  }
  return index;
}
