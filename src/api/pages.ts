import { CliError } from "../errors.ts";
import type { AnyOperation, Returns } from "../operations/operation.ts";
import { isObject, valueAt, stringifyJson } from "../lib/json.ts";
import { invalidResponse } from "./response.ts";

/** One page of a list: its rows and, if the server reports it, the total. */
export interface Page {
  readonly rows: readonly unknown[];
  readonly total: number | undefined;
  readonly more: boolean | undefined;
  /** Unix seconds by the server's clock, at or before the moment it read the rows. */
  readonly asOf?: number | undefined;
}

/** Which rows of a list to read. */
export interface RowLimit {
  /** Maximum number of rows; Infinity for all. */
  readonly limit: number;
  /** Read only this page, from 1. */
  readonly page?: number | undefined;
  /** Field in Unix seconds that a list with a cursor is sorted by (default `created_at`). */
  readonly sortedBy?: string | undefined;
}

/** The places of these rows among all that are wanted, from 0: the first one, and the one after the last. */
export function placesOf({ limit, page = 1 }: Pick<RowLimit, "limit" | "page">) {
  const from = page === 1 ? 0 : (page - 1) * limit;
  return { from, to: from + limit };
}

/** Progress of reading a list. */
export interface PageCounter {
  shown: number;
  /** The smallest total that the server reported while the list was read. */
  total: number | undefined;
  /** The list ended before the limit. */
  complete: boolean;
  /** Rows may be missing that cannot be requested. */
  maybeIncomplete: boolean;
}

/** The counter of a list of which nothing is read yet. */
export const newCounter = (): PageCounter => ({
  shown: 0,
  total: undefined,
  complete: false,
  maybeIncomplete: false,
});

/** The rows in a response. Throws `failure` if they are not where the row declares them. */
export function readPage(returns: Returns<never>, body: unknown): Page {
  const rows = "rows" in returns ? valueAt(body, returns.rows) : undefined;
  if (!Array.isArray(rows)) {
    throw new CliError("failure", "invalid response: expected a list");
  }
  const total = isObject(body) && isCount(body["total"]) ? body["total"] : undefined;
  const more =
    isObject(body) && typeof body["has_more"] === "boolean" ? body["has_more"] : undefined;
  return { rows, total, more };
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

/** Whether the server counts more rows than it returned. */
export const lacksRows = ({ shown, total = 0 }: PageCounter): boolean => shown < total;

/** Throws `failure` if the list is known to be incomplete, so that no action is based on it. */
export function requireComplete(progress: PageCounter): void {
  const { shown, total, complete, maybeIncomplete } = progress;
  if (complete && !maybeIncomplete && !lacksRows(progress)) return;
  const of = lacksRows(progress) ? ` of ${total}` : "";
  throw new CliError("failure", `failed to read the whole list: received ${shown}${of} rows`, {
    code: "incomplete-list",
    details: { shown, total },
    hint: "the list may have changed while it was read; retry",
  });
}

/**
 * Reads a list page by page and yields the new rows of each page, which are never none: no row twice.
 * `fetch` requests one page: the next one while the rows of this one are used, so a reader that stops
 * early has requested one page too many. `progress` is updated before the rows are yielded. A list
 * that ends with fewer rows than the server counts is read a second time, because rows move while
 * others are added or removed.
 */
export async function* readPages(
  returns: Returns<never>,
  request: RowLimit,
  fetch: (paging: Paging) => Promise<Page>,
  progress: PageCounter,
): AsyncGenerator<readonly unknown[]> {
  if (returns.kind === "list") {
    const { rows: all, total } = await fetch({});
    const rows = all.slice(0, request.limit);
    progress.total = total ?? all.length;
    progress.shown += rows.length;
    if (rows.length > 0) yield rows;
    progress.complete = all.length <= request.limit;
    return;
  }
  if (returns.kind !== "page" && returns.kind !== "cursor") return;
  const known = new Set<string>();
  const isNew = (row: unknown) => {
    const id = idIn(row);
    return id === undefined || known.size < known.add(id).size;
  };
  const reading = { returns, request, fetch, progress, isNew };
  yield* readOnce(reading);
  const retry = progress.complete && lacksRows(progress) && request.page === undefined;
  // Rows without an ID would be duplicated.
  if (retry && known.size === progress.shown) {
    progress.total = undefined;
    yield* readOnce(reading);
  }
}

/**
 * Lets a request be sent before the rows of an earlier page are used: undici waits for a turn of the event
 * loop before it uses a connection again, and printing rows may take none. An error is thrown when its
 * turn comes, if it does.
 */
export async function sentAhead(request: Promise<unknown> | undefined): Promise<void> {
  request?.catch(() => {});
  if (request) await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

interface Reading {
  readonly returns: Paged;
  readonly request: RowLimit;
  readonly fetch: (paging: Paging) => Promise<Page>;
  readonly progress: PageCounter;
  readonly isNew: (row: unknown) => boolean;
}

/** Reads a list from its first page to its end. */
async function* readOnce(reading: Reading): AsyncGenerator<readonly unknown[]> {
  const { returns, request, fetch, progress, isNew } = reading;
  const size = Math.min(request.limit, returns.cap);
  const next =
    returns.kind === "page"
      ? byNumber(size, request.page ?? 1)
      : afterRow(size, returns.after, request.sortedBy ?? "created_at");
  const fetchNext = async (paging: Paging) => {
    if (returns.kind === "cursor" && paging[returns.after] === undefined)
      throw invalidResponse("the list continues after a row without an ID");
    return fetch(paging);
  };
  // Consecutive pages without a new row; limited because a server may repeat its pages forever.
  let emptyPages = 0;
  const maxEmptyPages = MAX_KNOWN_PAGES + Math.ceil(progress.shown / size);
  let previous = "";
  const first = next(undefined, progress);
  for (let coming = first && fetch(first); coming !== undefined;) {
    const page = await coming;
    progress.total = smaller(page.total, progress.total);
    const text = textWithoutIds(page.rows);
    const repeated = text !== "" && text === previous;
    previous = text;
    const fresh = repeated ? [] : page.rows.filter(isNew);
    const rows = fresh.slice(0, request.limit - progress.shown);
    progress.shown += rows.length;
    emptyPages = rows.length === 0 ? emptyPages + 1 : 0;
    const paging = next(page, progress);
    const isEnough =
      request.page !== undefined || progress.shown >= request.limit || emptyPages === maxEmptyPages;
    coming = isEnough || paging === undefined ? undefined : fetchNext(paging);
    await sentAhead(coming);
    if (rows.length > 0) yield rows;
    const cutOff = page.rows.length === 0 && page.more === true;
    progress.complete = paging === undefined && !cutOff && rows.length === fresh.length;
  }
}

type Paged = Extract<Returns<never>, { readonly kind: "page" | "cursor" }>;

const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** A page of rows without IDs as text, to detect that it is repeated; otherwise empty. */
const textWithoutIds = (rows: readonly unknown[]): string =>
  rows.length > 0 && rows.every((row) => idIn(row) === undefined) ? stringifyJson(rows) : "";

/** Query parameters for a page. */
export type Paging = Readonly<Record<string, string>>;

/** The parameters for the page after this one, or for the first; undefined at the end of the list. */
type NextPage = (page: Page | undefined, progress: PageCounter) => Paging | undefined;

/**
 * Numbered pages. They end with an empty page, or when all rows that the server counts were received
 * and the page is not full or `has_more` is false: either may be wrong (server §5).
 */
function byNumber(size: number, first: number): NextPage {
  let number = first;
  return (page, { shown }) => {
    if (page) {
      const { rows, total, more } = page;
      const full = rows.length >= size;
      // The server may return smaller pages than requested.
      const open = total === undefined ? full || more === true : shown < total;
      if (rows.length === 0 || !(open || (full && more !== false))) return undefined;
      number++;
    }
    return { page: String(number), limit: String(size) };
  };
}

/**
 * Pages after a row (cursor). The server compares whole seconds, so it would skip the rest of the
 * last row's second (server §5): the next page starts after a row of an earlier second and repeats
 * some rows. This fails for a second that fills a whole page.
 */
function afterRow(size: number, after: string, field: string): NextPage {
  const limit = String(size);
  let filled: number | undefined;
  return (page, progress) => {
    if (!page) return { limit };
    const { rows, more } = page;
    const times = rows.map((row) => secondIn(row, field));
    // Servers that compare more than seconds continue inside that second.
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

/** The field that a list is sorted by: the requested one or the server's default. */
export function sortField(row: AnyOperation | undefined, requested: unknown): string | undefined {
  const field = requested ?? row?.params["sort_by"]?.serverDefault;
  return typeof field === "string" ? field.replace(/^-/, "") : undefined;
}

/** The whole second of a row's time; undefined if it has none. */
function secondIn(row: unknown, field: string): number | undefined {
  const value = valueAt(row, field);
  return typeof value === "number" ? Math.floor(value) : undefined;
}

/** Rows added during the read can fill a page with known ones; three such pages mean a loop. */
const MAX_KNOWN_PAGES = 3;

/** The ID of a row, if it has one. */
export const idIn = (row: unknown): string | undefined =>
  isObject(row) && typeof row["id"] === "string" ? row["id"] : undefined;
