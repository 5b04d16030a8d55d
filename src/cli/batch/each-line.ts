import type { Values } from "../../api/request.ts";
import { batch, beforeSending, formatRowCount, isRowError } from "../../commands/batch/index.ts";
import type {
  Batch,
  BatchFile,
  BatchJournal,
  BatchRow,
  RowAttempt,
  RowResult,
} from "../../commands/batch/index.ts";
import type { RowEnd } from "../../commands/task/command-spec.ts";
import { usage, CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { requireNear } from "../../host/safe-path.ts";
import { isObject, stringifyJson } from "../../lib/json.ts";
import type { Session } from "../execute/session.ts";
import type { Command } from "../parse/command.ts";
import { sourcesOf } from "../parse/input.ts";
import type { Sources, TypedLine } from "../parse/values.ts";
import { checkRows, type ReadRows } from "./row-input.ts";
import type { AnyOperation, Noun } from "../../operations/operation.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { resolvedInput, lookupOf } from "../resolve/resolve-input.ts";
import type { Lookup } from "../../resolve/listings.ts";
import { isAlreadyDeleted } from "../execute/row-outcome.ts";
import { rowPlace, type FileRow } from "../../lib/formats/rows-file.ts";
import { isIdPrefix, isUuid, withSlashes } from "../../lib/text.ts";

/** Outcome of one row. */
export interface RowOutcome {
  readonly row: number;
  readonly status: RowEnd;
  readonly id: string | null;
  readonly error: string | null;
}

/** Outcome of one row, with its name in the file. */
export interface NamedOutcome extends RowOutcome {
  readonly name: string;
}

/** A row that was sent, with its outcome. */
export const ended = (
  row: number,
  status: RowEnd,
  id: string | null,
  error: string | null = null,
): RowAttempt<RowOutcome> => ({ end: status, id, result: { row, status, id, error } });

/** What the rows of an operation and of a task do differently. */
export interface RowSteps<T> extends Omit<
  Batch<T, RowOutcome>,
  "file" | "errorsTo" | "stopOnError" | "unsent" | "rows"
> {
  readonly command: Command;
  /** Values of the command line, for all rows. */
  readonly typed: Readonly<Record<string, TypedLine>>;
  readonly extra?: Values | undefined;
  /** Columns that are no arguments. */
  readonly isOther?: ((column: string) => boolean) | undefined;
  /** Makes what is sent of the rows, once all are checked and their names are resolved. */
  prepare(
    resolved: () => AsyncGenerator<BatchRow<Values>>,
    earlier: BatchJournal,
  ): Promise<() => AsyncIterable<BatchRow<T>>>;
}

/**
 * Carries out a command once per row of a file and yields the outcomes. Nothing is sent before every row
 * is checked and every name is resolved. Throws usage, not-found or refused for invalid rows, and as a
 * batch does.
 */
export async function* sendRows<T>(
  { command, typed, extra, isOther, prepare, ...sender }: RowSteps<T>,
  file: BatchFile,
  session: Session,
): AsyncGenerator<NamedOutcome> {
  const { context } = session;
  const { globals } = session.options;
  const sources = rowSources(file.path, session);
  const [names, shown] = [namesOfRows(command, session), rowNames(command)];
  const seenBy = [names, shown];
  const checked = await beforeSending(() =>
    checkRows({ command, file, typed, sources, extra, isOther, seenBy, context }),
  );
  const outcomes = batch<T, RowOutcome>(
    {
      ...sender,
      file,
      errorsTo: globals.errorsTo,
      stopOnError: globals.stopOnError,
      rows: (journal) =>
        prepare(
          resolveRows({ command, file: file.name, checked, names, journal, globals }),
          journal,
        ),
      unsent: (number, status, id) => ({ row: number, status, id, error: null }),
    },
    context,
  );
  yield* shown.withNames(outcomes);
}

/** What values of the command line may read, not stdin if it has the rows, and what those of rows may. */
export function rowSources(each: string, { host, options: { globals } }: Session) {
  const line = sourcesOf(each === "-" ? withoutStdin(host) : host, globals);
  const naming = { file: each, allowed: globals.allowFiles ?? [] };
  const near =
    <T>(read: (path: string, encoding?: string) => Promise<T>) =>
    async (path: string, encoding?: string) => {
      if (path !== "-") await requireNear(path, naming, host);
      return read(path, encoding);
    };
  const cells: Sources = { ...line, text: near(line.text), file: near(line.file) };
  return { line, cells };
}

const withoutStdin = (host: Host): Host => ({
  ...host,
  stdin: {
    isTTY: host.stdin.isTTY,
    bytes() {
      throw usage("stdin (-) has the rows and can only be used once");
    },
  },
});

/** Names the rows of a file once it has seen all of them. */
interface RowNames {
  see(input: Values): void;
  withNames(results: AsyncIterable<RowResult<unknown, RowOutcome>>): AsyncGenerator<NamedOutcome>;
}

/** A file by its path, anything else as entered. */
const textOf = (value: unknown): string =>
  isObject(value) && typeof value["path"] === "string" ? value["path"] : String(value ?? "");

/** Rows by the object that they change, or by the value of the last argument in which they differ. */
function rowNames({ positionals, params }: Command): RowNames {
  // `rename <tag> <name>` changes the tag, but `add <kb> <name>` adds what the name says.
  const isChanged = (noun: string | undefined) => noun !== undefined && noun !== "kb";
  const objects = positionals.filter(({ name }) => isChanged(params[name]?.noun));
  const names = [...positionals, ...objects].map(({ name }) => name);
  const different = new Set<string>();
  let first: Values | undefined;
  let count = 0;
  return {
    see(input) {
      first ??= input;
      count++;
      for (const name of names)
        if (textOf(input[name]) !== textOf(first[name])) different.add(name);
    },
    async *withNames(results) {
      const by = names.findLast((name) => count === 1 || different.has(name));
      for await (const { sent, result } of results) {
        const { row, ...outcome } = result;
        const name = by === undefined ? "" : textOf(sent.entered?.[by]);
        yield { name: name || `row ${row}`, row, ...outcome };
      }
    },
  };
}

/** With more distinct names than this, the whole list is read instead of one search per name. */
const MAX_KEYWORD_LOOKUPS = 20;

interface RowsToResolve {
  readonly command: Command;
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
function resolveRows({ command, file, checked, names, journal, globals }: RowsToResolve) {
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

interface NamesOfRows {
  see(input: Values): void;
  /** Lookups for the names of one row; all rows share the lists that are read. */
  lookup(input: Values): Lookup;
  /** All rows were looked up: what follows looks up the same again, and says nothing more about it. */
  found(): void;
}

/** Looks up the names of rows once it has seen all of them. */
function namesOfRows(command: Command, session: Session): NamesOfRows {
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
    const key = `${row.id} ${stringifyJson(query)}`;
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
      const key = `${row.id} ${stringifyJson(query)}`;
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
