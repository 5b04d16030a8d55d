import { CliError } from "../errors.ts";
import { valueAt } from "../lib/json.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { idIn } from "./pages.ts";
import type { Page, PageCounter, RowLimit } from "./pages.ts";
import type { Values } from "./request.ts";

/** By what a list can be cut into windows of time. */
interface Edges {
  /** Parameters that take the first and the last moment, both included. */
  readonly after: string;
  readonly before: string;
  /** Path of the Unix second in a row. */
  readonly second: string;
  /** Further filters that show some of the rows of one second. */
  readonly parts: readonly Values[];
}

/** Lists whose pages lose rows, because rows of one second have no order (server §12). */
const unsteady: Readonly<Record<string, Edges>> = {
  getWorkflowLogs: {
    after: "created_at__after",
    before: "created_at__before",
    second: "created_at",
    parts: [{ status: "succeeded" }, { status: "failed" }, { status: "stopped" }],
  },
};

/** How this list can be cut into windows; undefined where its pages are complete as they come. */
export const edgesOf = (row: AnyOperation): Edges | undefined => unsteady[row.id];

/** Where rows come from. */
interface Source {
  readonly edges: Edges;
  /** Filters as they were given. */
  readonly input: Values;
  /** Largest page. */
  readonly cap: number;
  ask(input: Values, paging: Readonly<Record<string, string>>): Promise<Page>;
  trace(level: 1, text: string): Promise<void>;
}

/** Whole Unix seconds from the first to the last, both included. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** A window of time with its rows. */
export interface TimeWindow<T = unknown> extends Span {
  /** Newest first, each once. */
  readonly rows: readonly T[];
  /** Rows that the server counts here and did not show. */
  readonly missing: number;
  /** Rows that were received beside these, to get them all. */
  readonly again: number;
  /** Rows that the server counts before this window. */
  readonly left: number;
}

/**
 * The order of a second seems to follow from page and limit, so asking for the same pages again can
 * show the same rows. Every turn has a size of its own.
 */
const sizes = [100, 97, 89, 83, 79, 73, 71, 67, 61, 59, 53, 47];

/**
 * The whole list in windows of time, newest first, no row twice. Only first pages are asked for:
 * what one query shows is in order by second, so all seconds of a page but its oldest are whole, and
 * the next page ends with that one. Each window is given when the server's count of what lies before
 * it agrees; one that does not add up is asked for by itself and halved until it does. The list ends
 * at `last`, a Unix second, else at the server's own clock: rows added while it is read stand
 * outside. Nothing is kept of a window that was given.
 */
export async function* windowsOf(source: Source, last?: number): AsyncGenerator<TimeWindow> {
  const { edges, input, cap, trace } = source;
  const secondOf = (row: unknown) => Number(valueAt(row, edges.second)) || 0;
  let received = 0;
  let given = 0;
  let info = 0;

  const oldest = secondsIn(input[edges.after], Math.ceil) ?? 0;
  const asked = last ?? secondsIn(input[edges.before], Math.floor);
  if (last !== undefined && last < oldest) return;
  let page = await pageIn({ from: oldest, to: asked });
  let to = endOf(page, asked);
  for (;;) {
    const total = countOf(page, cap);
    if (page.rows.length >= total) {
      yield counted({ from: oldest, to, rows: page.rows, missing: 0 }, 0, 0);
      return;
    }
    const edge = Math.min(...page.rows.map(secondOf));
    const newer = page.rows.filter((row) => secondOf(row) > edge);
    let found =
      newer.length > 0
        ? { from: edge + 1, to, rows: newer, missing: 0 }
        : await filled(
            { from: Number.isFinite(edge) ? edge : oldest, to, rows: page.rows },
            Number.isFinite(edge) ? edge : to,
          );
    const end = found.from - 1;
    if (end < oldest) {
      yield counted(found, 0, 0);
      return;
    }
    const next = await pageIn({ from: oldest, to: end });
    if (next.rows.some((row) => secondOf(row) > end)) throw ignoresEdges(edges);
    const left = countOf(next, cap);
    if (newer.length > 0 && left < total - newer.length) found = await filled(found);
    yield counted(found, left, next.rows.length);
    [page, to] = [next, end];
  }

  function counted(found: Found, left: number, ahead: number): TimeWindow {
    given += found.rows.length;
    const spare = received - ahead - given;
    const again = spare - info;
    info = spare;
    return { ...found, again, left };
  }

  async function pageIn(
    { from, to: until }: { readonly from: number; readonly to?: number | undefined },
    filter: Values = {},
    number = 1,
    limit = cap,
  ): Promise<Page> {
    const window = {
      ...(from > 0 && { [edges.after]: timeOf(from) }),
      ...(until !== undefined && { [edges.before]: timeOf(until) }),
    };
    const paging = { page: String(number), limit: String(limit) };
    const answer = await source.ask({ ...input, ...filter, ...window }, paging);
    received += answer.rows.length;
    return answer;
  }

  /** The window with what can be found of the rows that it lacks, all of them up to `until`. */
  async function filled(
    span: Span & { readonly rows: readonly unknown[] },
    until = span.to,
  ): Promise<Found> {
    await trace(1, `${timeOf(span.from)} to ${timeOf(until)} is read in parts`);
    const known = new Map<unknown, unknown>();
    const learn = ({ rows }: { readonly rows: readonly unknown[] }) => {
      for (const row of rows) known.set(idIn(row) ?? row, row);
    };
    const knownIn = ({ from, to: until }: Span) => {
      let count = 0;
      for (const row of known.values()) {
        if (secondOf(row) >= from && secondOf(row) <= until) count++;
      }
      return count;
    };
    /** Gives how many rows stay hidden. */
    const fill = async (part: Span): Promise<number> => {
      const answer = await pageIn(part);
      learn(answer);
      const total = countOf(answer, cap);
      // A page that shows none of those it counts shows none of a part of them.
      if (answer.rows.length === 0) return Math.max(0, total - knownIn(part));
      // All rows of one answer come from one query, in which nothing is lost.
      if (answer.rows.length >= total || knownIn(part) >= total) return 0;
      if (part.from >= part.to) return fillSecond(part, total);
      const middle = Math.floor((part.from + part.to) / 2);
      const newer = await fill({ from: middle + 1, to: part.to });
      return newer + (await fill({ from: part.from, to: middle }));
    };
    /** For a second that holds more than a page. */
    const fillSecond = async (second: Span, count: number): Promise<number> => {
      let total = count;
      let filters = [...edges.parts.filter((part) => isNew(part, input)), {}];
      for (const size of sizes) {
        for (const filter of filters) {
          for (let number = 1; ; number++) {
            const answer = await pageIn(second, filter, number, size);
            learn(answer);
            if (Object.keys(filter).length === 0) total = countOf(answer, size);
            if (knownIn(second) >= total) return 0;
            if (number === 1 && answer.rows.length >= countOf(answer, size)) {
              filters = filters.filter((each) => each !== filter);
            }
            if (answer.rows.length < size) break;
          }
        }
      }
      return total - knownIn(second);
    };
    learn(span);
    const missing = await fill({ from: span.from, to: until });
    const rows = [...known.values()].sort((a, b) => secondOf(b) - secondOf(a));
    return { from: span.from, to: span.to, rows, missing };
  }

  /** The server's clock, unless an earlier end was asked for. A row may be ahead of that clock. */
  function endOf({ rows, date }: Page, wanted: number | undefined): number {
    const now = Math.max(secondsIn(date, Math.floor) ?? 0, ...rows.map(secondOf));
    return wanted === undefined ? now : Math.min(wanted, now);
  }
}

type Found = Span & Pick<TimeWindow, "rows" | "missing">;

/**
 * Every wanted row of a list whose pages lose some, newest first. Throws `partial` as a verdict when
 * the server hides rows that it counts.
 */
export async function* readCompleteRows(
  source: Source,
  wanted: RowLimit,
  progress: PageCounter,
): AsyncGenerator<unknown> {
  let missing = 0;
  for await (const window of windowsOf(source)) {
    missing += window.missing;
    progress.total = progress.shown + window.rows.length + missing + window.left;
    for (const row of window.rows) {
      progress.shown++;
      yield row;
      if (progress.shown >= wanted.limit) return;
    }
  }
  progress.complete = true;
  progress.total = progress.shown + missing;
  if (missing > 0) throw hiddenRows(progress.shown, missing);
}

/** The verdict over a list that the server did not show whole. */
export const hiddenRows = (shown: number, missing: number): CliError =>
  new CliError(
    "partial",
    `${shown} of ${shown + missing} rows: the server did not show the others`,
    {
      isResult: true,
      details: { shown, total: shown + missing },
      hint: "rows of one second have no order, so pages can miss some; repeat, or narrow the list",
    },
  );

const ignoresEdges = ({ after, before }: Edges) =>
  new CliError("failure", `the server does not keep to ${after} and ${before}`, {
    hint: "--page reads single pages without them",
  });

/** Rows that the server counts, of which this page shows the first; without a count, until it ends. */
const countOf = ({ rows, total }: Page, limit: number): number =>
  total ?? (rows.length < limit ? rows.length : Infinity);

const isNew = (part: Values, input: Values) =>
  Object.keys(part).every((name) => input[name] === undefined);

/** Unix seconds of a time as it is typed or stands in a header; without a zone it is UTC (server §12). */
export function secondsIn(time: unknown, round: (seconds: number) => number): number | undefined {
  if (typeof time !== "string") return undefined;
  const iso = time.replace(/^(\d{4}-\d{2}-\d{2}) /, "$1T");
  const ms = Date.parse(/^[\d-]+T[\d:.]+$/.test(iso) ? `${iso}Z` : iso);
  return Number.isNaN(ms) ? undefined : round(ms / 1000);
}

/** `2026-11-21T10:00:00Z` of a Unix second. */
export const timeOf = (second: number): string =>
  new Date(second * 1000).toISOString().replace(".000Z", "Z");
