import type { Values } from "../../api/request.ts";
import { formatRowCount, isRowError } from "../../commands/batch/index.ts";
import type { BatchRow, BatchJournal } from "../../commands/batch/index.ts";
import { CliError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { AnyOperation, Noun } from "../../operations/operation.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { resolvedInput, lookupOf } from "../resolve/resolve-input.ts";
import type { Lookup } from "../resolve/listings.ts";
import { isAlreadyDeleted } from "../execute/already-done.ts";
import { rowPlace } from "../../lib/formats/rows-file.ts";
import type { FileRow } from "../../lib/formats/rows-file.ts";
import type { ReadRows } from "./row-input.ts";
import type { Session } from "../execute/session.ts";
import { isIdPrefix, isUuid, withSlashes } from "../../lib/text.ts";

/** With more distinct names than this, the whole list is read instead of one search per name. */
const MAX_KEYWORD_LOOKUPS = 20;

/** What resolving the rows of a file needs. */
interface RowsToResolve {
  readonly command: Command;
  /** Name of the file, for errors. */
  readonly file: string;
  readonly checked: ReadRows;
  readonly names: NamesOfRows;
  readonly journal: BatchJournal;
  readonly globals: Globals;
}

/**
 * Returns a function that reads the rows with their names resolved, each once. Takes over what the journal
 * of an earlier run has, because a rename may have been applied since. What it reads throws one error for
 * all rows that fail.
 */
export function resolveRows({ command, file, checked, names, journal, globals }: RowsToResolve) {
  const { resolved: earlier } = journal;
  return async function* read(): AsyncGenerator<BatchRow<Values>> {
    const failed = failedRows(file);
    for await (const { row, input } of checked()) {
      if (earlier) {
        const resolved = earlier.get(row.number);
        yield { row, entered: input, input: resolved && { ...input, ...resolved }, resolved };
        continue;
      }
      try {
        const all = await resolvedInput(command, input, names.lookup(input));
        const changed = Object.entries(all).filter(([name, value]) => value !== input[name]);
        yield { row, entered: input, input: all, resolved: Object.fromEntries(changed) };
      } catch (error) {
        if (isAlreadyDeleted(error, globals)) yield { row, entered: input, input: undefined };
        else if (isRowError(error)) failed.add(row, error);
        else throw error;
      }
    }
    failed.check();
    names.found();
  };
}

/** Rows in the details of an error. */
const MAX_LISTED = 100;

/** Collects the rows that are invalid. */
export function failedRows(file: string) {
  const failed: { readonly row: FileRow; readonly error: CliError }[] = [];
  let count = 0;
  return {
    add(row: FileRow, error: CliError): void {
      if (count++ < MAX_LISTED) failed.push({ row, error });
    },
    /** Throws one error for all of them; it has the kind of the first. */
    check(): void {
      if (count > 0) throw rowsError(file, failed, count);
    },
  };
}

function rowsError(
  file: string,
  failed: readonly { readonly row: FileRow; readonly error: CliError }[],
  count: number,
): CliError {
  const placed = failed.map(({ row, error }) => {
    // The lookup does not know the column, but its error quotes the value.
    const cell = Object.entries(row.values).find(([, value]) =>
      error.message.includes(JSON.stringify(String(value).replace(/^(name|id):/, ""))),
    );
    return { row: row.number, column: cell?.[0] ?? null, message: error.message };
  });
  const [first] = placed;
  const [{ row, error } = { row: undefined, error: undefined }] = failed;
  const place = `${file}${row ? ` ${rowPlace(row)}` : ""}${first?.column ? `, column ${first.column}` : ""}`;
  const others = count > 1 ? ` (and ${formatRowCount(count - 1)} more)` : "";
  const candidates = isObject(error?.info.details) ? error.info.details : {};
  return new CliError(error?.kind ?? "refused", `${place}: ${first?.message}${others}`, {
    ...error?.info,
    details: { ...candidates, rows: placed },
  });
}

/** The names in the rows of a file. */
export interface NamesOfRows {
  see(input: Values): void;
  /** Lookups for the names of one row; all rows share the lists that are read. */
  lookup(input: Values): Lookup;
  /** All rows were looked up: what follows looks up the same again, and says nothing more about it. */
  found(): void;
}

/** Looks up the names of rows once it has seen all of them. */
export function namesOfRows(command: Command, session: Session): NamesOfRows {
  const refs = Object.entries(command.params).filter(([, { noun, listed }]) => noun ?? listed);
  const textsOf = (input: Values, noun?: Noun) =>
    refs
      .filter(([, param]) => noun === undefined || param.noun === noun)
      .flatMap(([name]) => [input[name] ?? []].flat().map(String))
      .filter((text) => !isUuid(text))
      .map((text) => text.replace(/^(name|id):/, ""));

  // Of many names, it only matters that they are many.
  const note = (names: Set<string>, texts: readonly string[]) => {
    for (const text of texts) if (names.size <= MAX_KEYWORD_LOOKUPS) names.add(text);
  };
  const kbs = new Set<string>();
  const documents = new Map<unknown, Set<string>>();

  const lists = new Map<string, Promise<ReadonlyMap<unknown, readonly unknown[]>>>();
  const byName = (row: AnyOperation, query: Values) => {
    const key = `${row.id} ${JSON.stringify(query)}`;
    const known = lists.get(key) ?? indexByName(session.api.rows(row, query));
    lists.set(key, known);
    return known;
  };
  const objects = new Map<string, Promise<unknown>>();
  let plain = lookupOf(session);
  const lookup = (input: Values): Lookup => ({
    ...plain,
    async *rows(row, query) {
      const { keyword: _, ...unfiltered } = query;
      const names = "dataset_id" in query ? documents.get(input["dataset_id"]) : kbs;
      const many = row.returns.kind === "list" || (names?.size ?? 0) > MAX_KEYWORD_LOOKUPS;
      const list = await byName(row, many ? unfiltered : query);
      const texts = new Set(textsOf(input));
      // The beginning of an ID can be that of any row.
      if ([...texts].some(isIdPrefix)) for (const same of list.values()) yield* same;
      else for (const text of texts) yield* list.get(withSlashes(text)) ?? [];
    },
    one(row, query) {
      const key = `${row.id} ${JSON.stringify(query)}`;
      const known = objects.get(key) ?? session.api.call(row, query);
      objects.set(key, known);
      return known;
    },
  });
  return {
    see(input) {
      note(kbs, textsOf(input, "kb"));
      const within = input["dataset_id"];
      const known = documents.get(within) ?? new Set();
      note(known, textsOf(input, "document"));
      documents.set(within, known);
    },
    lookup,
    found() {
      const silent = () => Promise.resolve();
      plain = { ...plain, trace: silent, notice: silent };
    },
  };
}

async function indexByName(rows: AsyncIterable<unknown>): Promise<Map<unknown, unknown[]>> {
  const index = new Map<unknown, unknown[]>();
  for await (const row of rows) {
    const own = isObject(row) ? row["name"] : undefined;
    const name = typeof own === "string" ? withSlashes(own) : own;
    const same = index.get(name);
    if (same) same.push(row);
    else index.set(name, [row]);
  }
  return index;
}
