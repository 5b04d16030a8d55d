import { CliError } from "../errors.ts";
import { readerOf } from "../lib/json.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { idIn, sentAhead } from "./pages.ts";
import type { Page, PageCounter, Paging, RowLimit } from "./pages.ts";
import type { Values } from "./request.ts";

/** Is it the list whose pages lose rows, because rows of the same second have no order (server §12)? */
export const isUnordered = ({ id }: AnyOperation): boolean => id === "getWorkflowLogs";

/** Its parameters for the first and the last moment, both inclusive. */
const AFTER = "created_at__after";
const BEFORE = "created_at__before";
/** Filters, each of which selects some of the rows of one second. */
const PARTS: readonly Values[] = ["succeeded", "failed", "stopped"].map((status) => ({ status }));
/** Reads the Unix second of a row. */
const readSecond = readerOf("created_at");
const secondOf = (row: unknown): number => Number(readSecond(row)) || 0;

/** A list to read by windows. */
interface Source {
  /** The user's own filters. */
  readonly input: Values;
  /** Maximum page size. */
  readonly cap: number;
  fetch(input: Values, paging: Paging): Promise<Page>;
  trace(level: 1, text: string): Promise<void>;
}

/** Whole Unix seconds, both ends inclusive. */
interface Seconds {
  readonly from: number;
  readonly to: number;
}

/** A window of time with its rows. */
export interface TimeWindow<T = unknown> extends Seconds {
  /** Newest first, without duplicates. */
  readonly rows: readonly T[];
  /** Rows that the server counts in this window but did not return. */
  readonly missing: number;
  /** Duplicate rows that were received while reading this window. */
  readonly again: number;
  /** Rows that the server counts before this window. */
  readonly left: number;
}

type WindowRows = Seconds & Pick<TimeWindow, "rows" | "missing">;

/**
 * Page sizes for a second that holds more than a page. Its order seems to depend on page and limit,
 * so the same pages again can return the same rows: every attempt uses another size.
 */
const PAGE_SIZES = [100, 97, 89, 83, 79, 73, 71, 67, 61, 59, 53, 47];

/**
 * Reads the whole list in windows of time, newest first, without duplicates. It requests only first
 * pages: one query is ordered by second, so every second of a page except its oldest is complete,
 * and the next page ends with that one.
 *
 *     page 1 (newest 4 of 9): 12:05 12:05 12:04 12:03   → window 12:04…now, 3 rows
 *     page 1 up to 12:03:     12:03 12:03 12:02 12:01   → window 12:02…12:03, 3 rows
 *     page 1 up to 12:01:     12:01 12:00 12:00         → window 0…12:01, the last 3 rows
 *
 * A window is yielded when the server's count of the rows before it agrees; otherwise it is read by
 * itself and halved until it does. Where the next page decides which page follows it, that one is
 * requested while the window is used. The list ends at `last` (a Unix second), by default at the
 * server's own clock before the first request, so rows added during the read are not part of it.
 */
export async function* readWindows(source: Source, last?: number): AsyncGenerator<TimeWindow> {
  const { input, cap } = source;
  const reader = new WindowReader(source);
  const oldest = secondsIn(input[AFTER], Math.ceil) ?? 0;
  const requested = last ?? secondsIn(input[BEFORE], Math.floor);
  if (last !== undefined && last < oldest) return;
  let page = await reader.fetch({ from: oldest, to: requested });
  let to = reader.lastSecond(page, requested);
  let seconds = reader.completeSeconds(page);
  let coming: Promise<Page> | undefined;
  for (;;) {
    const total = countOf(page, cap);
    if (page.rows.length >= total) {
      yield reader.counted({ from: oldest, to, rows: page.rows, missing: 0 }, 0, 0);
      return;
    }
    const { edge, newer } = seconds;
    let window: WindowRows = { from: edge + 1, to, rows: newer, missing: 0 };
    if (newer.length === 0) {
      // The page holds a single second, or no rows although the server counts some.
      const [from, until] = Number.isFinite(edge) ? [edge, edge] : [oldest, to];
      window = await reader.complete({ from, to, rows: page.rows }, until);
    }
    const end = window.from - 1;
    if (end < oldest) {
      yield reader.counted(window, 0, 0);
      return;
    }
    const next = await (coming ?? reader.fetch({ from: oldest, to: end }));
    if (next.rows.some((row) => secondOf(row) > end)) throw filterIgnored();
    const left = countOf(next, cap);
    if (newer.length > 0 && left < total - newer.length) window = await reader.complete(window);
    seconds = reader.completeSeconds(next);
    const isKnown = next.rows.length < left && seconds.newer.length > 0 && seconds.edge >= oldest;
    coming = isKnown ? reader.fetch({ from: oldest, to: seconds.edge }) : undefined;
    await sentAhead(coming);
    yield reader.counted(window, left, next.rows.length);
    [page, to] = [next, end];
  }
}

class WindowReader {
  private readonly source: Source;
  private received = 0;
  private yielded = 0;
  private duplicates = 0;

  constructor(source: Source) {
    this.source = source;
  }

  /** The oldest second of a page, and the rows of the others, which are complete. */
  completeSeconds({ rows }: Page): { readonly edge: number; readonly newer: readonly unknown[] } {
    const edge = Math.min(...rows.map(secondOf));
    return { edge, newer: rows.filter((row) => secondOf(row) > edge) };
  }

  /** One page of a window. */
  async fetch(
    window: { readonly from: number; readonly to?: number | undefined },
    filter: Values = {},
    number = 1,
    limit = this.source.cap,
  ): Promise<Page> {
    const bounds = {
      ...(window.from > 0 && { [AFTER]: timeOf(window.from) }),
      ...(window.to !== undefined && { [BEFORE]: timeOf(window.to) }),
    };
    const paging = { page: String(number), limit: String(limit) };
    const page = await this.source.fetch({ ...this.source.input, ...filter, ...bounds }, paging);
    this.received += page.rows.length;
    return page;
  }

  /** The window with its counts; `ahead` rows of the next one are received already. */
  counted(window: WindowRows, left: number, ahead: number): TimeWindow {
    this.yielded += window.rows.length;
    const duplicates = this.received - ahead - this.yielded;
    const again = duplicates - this.duplicates;
    this.duplicates = duplicates;
    return { ...window, again, left };
  }

  /** The server's clock before the request, or the requested end if earlier. A row may be ahead of it. */
  lastSecond({ rows, asOf = 0 }: Page, requested: number | undefined): number {
    const now = Math.max(Math.floor(asOf), ...rows.map(secondOf));
    return requested === undefined ? now : Math.min(requested, now);
  }

  /** The window with every row up to `until` that the server can be brought to return. */
  async complete(
    window: Seconds & { readonly rows: readonly unknown[] },
    until = window.to,
  ): Promise<WindowRows> {
    const { from, to } = window;
    await this.source.trace(1, `reading ${timeOf(from)} to ${timeOf(until)} in parts`);
    const found = new FoundRows();
    found.add(window.rows);
    const missing = await this.fill({ from, to: until }, found);
    return { from, to, rows: found.newestFirst(), missing };
  }

  /** Adds the rows of a window, halved until each half is complete. Returns how many stay hidden. */
  private async fill(window: Seconds, found: FoundRows): Promise<number> {
    const page = await this.fetch(window);
    found.add(page.rows);
    const total = countOf(page, this.source.cap);
    // A server that returns none of the rows it counts returns none of a half of them either.
    if (page.rows.length === 0) return Math.max(0, total - found.countIn(window));
    // All rows of one response come from one query, in which no row is lost.
    if (page.rows.length >= total || found.countIn(window) >= total) return 0;
    if (window.from >= window.to) return this.fillSecond(window, total, found);
    const middle = Math.floor((window.from + window.to) / 2);
    const newer = await this.fill({ from: middle + 1, to: window.to }, found);
    return newer + (await this.fill({ from: window.from, to: middle }, found));
  }

  /** Adds the rows of a second that holds more than a page. Returns how many stay hidden. */
  private async fillSecond(second: Seconds, count: number, found: FoundRows): Promise<number> {
    const { input } = this.source;
    const isUnused = (part: Values) => Object.keys(part).every((name) => input[name] === undefined);
    let total = count;
    let parts: Values[] = [...PARTS.filter(isUnused), {}];
    for (const size of PAGE_SIZES) {
      for (const part of parts) {
        for (let number = 1; ; number++) {
          const page = await this.fetch(second, part, number, size);
          found.add(page.rows);
          if (Object.keys(part).length === 0) total = countOf(page, size);
          if (found.countIn(second) >= total) return 0;
          if (number === 1 && page.rows.length >= countOf(page, size)) {
            parts = parts.filter((each) => each !== part);
          }
          if (page.rows.length < size) break;
        }
      }
    }
    return total - found.countIn(second);
  }
}

class FoundRows {
  private readonly byId = new Map<unknown, unknown>();

  add(rows: readonly unknown[]): void {
    for (const row of rows) this.byId.set(idIn(row) ?? row, row);
  }

  countIn({ from, to }: Seconds): number {
    const seconds = [...this.byId.values()].map(secondOf);
    return seconds.filter((second) => second >= from && second <= to).length;
  }

  newestFirst(): unknown[] {
    return [...this.byId.values()].sort((a, b) => secondOf(b) - secondOf(a));
  }
}

/**
 * Up to `limit` rows of a list whose pages lose some, newest first, as they arrive together. Throws
 * `partial` as a result if the server hides rows that it counts.
 */
export async function* readCompletePages(
  source: Source,
  { limit }: RowLimit,
  progress: PageCounter,
): AsyncGenerator<readonly unknown[]> {
  let missing = 0;
  for await (const window of readWindows(source)) {
    missing += window.missing;
    progress.total = progress.shown + window.rows.length + missing + window.left;
    const rows = window.rows.slice(0, limit - progress.shown);
    progress.shown += rows.length;
    if (rows.length > 0) yield rows;
    if (progress.shown >= limit) return;
  }
  progress.complete = true;
  progress.total = progress.shown + missing;
  if (missing > 0) throw hiddenRows(progress.shown, missing);
}

/** The error for a list that the server did not return completely. */
export const hiddenRows = (shown: number, missing: number): CliError =>
  new CliError(
    "partial",
    `incomplete list: the server returned ${shown} of ${shown + missing} rows`,
    {
      isResult: true,
      details: { shown, total: shown + missing },
      hint: "rows of the same second have no order, so pages can miss some; retry, or narrow the list",
    },
  );

const filterIgnored = () =>
  new CliError("failure", `the server ignores ${AFTER} and ${BEFORE}`, {
    hint: "--page reads single pages without them",
  });

/** Rows that the server counts; without a count, those of the page if it is the last. */
function countOf({ rows, total }: Page, limit: number): number {
  if (total !== undefined) return total;
  return rows.length < limit ? rows.length : Infinity;
}

/** Unix seconds of a time from a flag or a header; without a zone it is UTC (server §12). */
export function secondsIn(time: unknown, round: (seconds: number) => number): number | undefined {
  if (typeof time !== "string") return undefined;
  const iso = time.replace(/^(\d{4}-\d{2}-\d{2}) /, "$1T");
  const ms = Date.parse(/^[\d-]+T[\d:.]+$/.test(iso) ? `${iso}Z` : iso);
  return Number.isNaN(ms) ? undefined : round(ms / 1000);
}

/** A Unix second as `2026-11-21T10:00:00Z`. */
export const timeOf = (second: number): string =>
  new Date(second * 1000).toISOString().replace(".000Z", "Z");
