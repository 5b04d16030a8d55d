import { CliError } from "../errors.ts";
import type { AnyOperation, Returns } from "../operations/operation.ts";
import { isObject, valueAt } from "../lib/json.ts";
import { invalid } from "./response-fields.ts";

/** One list answer: its rows and, where the server tells, how many there are in all. */
export interface Page {
  readonly rows: readonly unknown[];
  readonly total: number | undefined;
  readonly more: boolean | undefined;
  /** When the server answered, by its own clock, as it stands in the header. */
  readonly date?: string | undefined;
}

/** Which rows of a list are wanted. */
export interface RowLimit {
  /** Rows in all; Infinity for every one. */
  readonly limit: number;
  /** Only this page, from 1. */
  readonly page?: number | undefined;
  /** Field by which a list that goes on after a row is sorted: Unix seconds; `created_at` when absent. */
  readonly sortedBy?: string | undefined;
}

/** How far a list was read. */
export interface PageCounter {
  shown: number;
  /** The smallest count of the server while the list was read: rows that are there all the time. */
  total: number | undefined;
  /** Did the list end before the limit? */
  complete: boolean;
  /** May rows be missing that nobody can ask for? */
  maybeIncomplete: boolean;
}

export const newCounter = (): PageCounter => ({
  shown: 0,
  total: undefined,
  complete: false,
  maybeIncomplete: false,
});

/** The rows inside an answer. Throws `failure` when they are not where the row says. */
export function readPage(returns: Returns<never>, answer: unknown): Page {
  const rows = "rows" in returns ? valueAt(answer, returns.rows) : undefined;
  if (!Array.isArray(rows)) {
    throw new CliError("failure", "the answer holds no list where one was expected");
  }
  const total = isObject(answer) && isCount(answer["total"]) ? answer["total"] : undefined;
  const more =
    isObject(answer) && typeof answer["has_more"] === "boolean" ? answer["has_more"] : undefined;
  return { rows, total, more };
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** Does the server count more rows than were found? */
export const lacksRows = ({ shown, total = 0 }: PageCounter): boolean => shown < total;

/** Refuses to act on a list that is known to be incomplete. Throws `failure`. */
export function needWhole(progress: PageCounter): void {
  const { shown, total, complete, maybeIncomplete: unsure } = progress;
  if (complete && !unsure && !lacksRows(progress)) return;
  const of = lacksRows(progress) ? ` of ${total}` : "";
  throw new CliError("failure", `failed to read the whole list: found ${shown}${of} rows`, {
    code: "incomplete-list",
    details: { shown, total },
    hint: "the list may have changed while it was read: run the same command again",
  });
}

/**
 * Every wanted row, page after page, each once. `ask` sends one request with the paging parameters
 * given. `progress` is kept up to date while rows are given out. A list that ends with fewer rows than
 * the server counts is read once more: rows move while others are added or removed.
 */
export async function* readRows(
  returns: Returns<never>,
  wanted: RowLimit,
  ask: (paging: Paging) => Promise<Page>,
  progress: PageCounter,
): AsyncGenerator<unknown> {
  if (returns.kind === "list") {
    const { rows, total } = await ask({});
    progress.total = total ?? rows.length;
    for (const row of rows.slice(0, wanted.limit)) {
      progress.shown++;
      yield row;
    }
    progress.complete = rows.length <= wanted.limit;
    return;
  }
  if (returns.kind !== "page" && returns.kind !== "cursor") return;
  const known = (await import("./id-set.ts")).newIdSet();
  const isNew = (row: unknown) => {
    const id = idIn(row);
    return id === undefined || known.add(id);
  };
  yield* rowsOnce(returns, wanted, ask, progress, isNew);
  const again = progress.complete && lacksRows(progress) && wanted.page === undefined;
  // Rows without an id would come twice.
  if (again && known.size === progress.shown) {
    progress.total = undefined;
    yield* rowsOnce(returns, wanted, ask, progress, isNew);
  }
}

/** One reading of a list from its first page to its end. */
async function* rowsOnce(
  returns: Paged,
  wanted: RowLimit,
  ask: (paging: Paging) => Promise<Page>,
  progress: PageCounter,
  isNew: (row: unknown) => boolean,
): AsyncGenerator<unknown> {
  const size = Math.min(wanted.limit, returns.cap);
  const next =
    returns.kind === "page"
      ? byNumber(size, wanted.page ?? 1)
      : afterRow(size, returns.after, wanted.sortedBy ?? "created_at");
  /** Pages in a row without a new row: a server that repeats itself is not asked for ever. */
  let inVain = 0;
  const mostInVain = knownPages + Math.ceil(progress.shown / size);
  let before = "";
  for (let paging = next(undefined, progress); paging !== undefined;) {
    const page = await ask(paging);
    const { shown } = progress;
    progress.total = smaller(page.total, progress.total);
    const text = nameless(page.rows);
    const repeats = text !== "" && text === before;
    before = text;
    for (const row of repeats ? [] : page.rows) {
      if (progress.shown >= wanted.limit) return;
      if (!isNew(row)) continue;
      progress.shown++;
      yield row;
    }
    paging = next(page, progress);
    const denied = page.rows.length === 0 && page.more === true;
    progress.complete = paging === undefined && !denied;
    if (wanted.page !== undefined || progress.shown >= wanted.limit) return;
    inVain = progress.shown === shown ? inVain + 1 : 0;
    if (inVain === mostInVain) return;
    if (paging && returns.kind === "cursor" && paging[returns.after] === undefined)
      throw invalid(`the list goes on after a row without an id`);
  }
}

type Paged = Extract<Returns<never>, { readonly kind: "page" | "cursor" }>;

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** A page of rows without ids as text, by which it is known when it comes again; else empty. */
const nameless = (rows: readonly unknown[]): string =>
  rows.length > 0 && rows.every((row) => idIn(row) === undefined) ? JSON.stringify(rows) : "";

/** Query parameters that ask for a page. */
type Paging = Readonly<Record<string, string>>;

/** What to ask for after a page, the first one after none; undefined where the list ends. */
type Next = (page: Page | undefined, progress: PageCounter) => Paging | undefined;

/**
 * Numbered pages end on an empty page, or with as many rows as the server counts, unless a full
 * page says that there is more: either may be wrong (server §5).
 */
function byNumber(size: number, first: number): Next {
  let number = first;
  return (page, { shown }) => {
    if (page) {
      const { rows, total, more } = page;
      const full = rows.length >= size;
      // The server may give smaller pages than it was asked for.
      const open = total === undefined ? full || more === true : shown < total;
      if (rows.length === 0 || !(open || (full && more !== false))) return undefined;
      number++;
    }
    return { page: String(number), limit: String(size) };
  };
}

/**
 * Pages after a row. The server compares whole seconds, so it would leave out what is left of the
 * second of the last row (server §5): the next page begins after a row of an earlier one, and brings
 * some rows again. A second that fills a page cannot be passed so.
 */
function afterRow(size: number, after: string, field: string): Next {
  const limit = String(size);
  let filled: number | undefined;
  return (page, progress) => {
    if (!page) return { limit };
    const { rows, more } = page;
    const times = rows.map((row) => secondIn(row, field));
    // Its next page goes on inside that second where the server compares more than seconds.
    if (filled !== undefined && !times.includes(filled)) progress.maybeIncomplete = true;
    filled = undefined;
    // Pages towards older rows may show the oldest first.
    const backwards = after === "first_id" && Number(times[0]) <= Number(times.at(-1));
    const ordered = backwards ? rows.toReversed() : rows;
    const last = ordered.at(-1);
    const second = secondIn(last, field);
    const full = rows.length >= size && second !== undefined;
    if (rows.length === 0 || (more === false && !full)) return undefined;
    const earlier = full ? ordered.findLast((row) => secondIn(row, field) !== second) : undefined;
    if (full && earlier === undefined) filled = second;
    const id = idIn(earlier ?? last);
    return { ...(id !== undefined && { [after]: id }), limit };
  };
}

/** Field by which a list is sorted: what was asked for, else what the server does by itself. */
export function sortedBy(row: AnyOperation | undefined, asked: unknown): string | undefined {
  const said = asked ?? row?.params["sort_by"]?.serverDefault;
  return typeof said === "string" ? said.replace(/^-/, "") : undefined;
}

/** The whole second of a row's time; undefined where it has none. */
function secondIn(row: unknown, field: string): number | undefined {
  const value = valueAt(row, field);
  return typeof value === "number" ? Math.floor(value) : undefined;
}

/** Rows that were added meanwhile can fill a page with known ones; three such pages mean a loop. */
const knownPages = 3;

/** By what a row is known when it comes again. */
export const idIn = (row: unknown): string | undefined =>
  isObject(row) && typeof row["id"] === "string" ? row["id"] : undefined;
