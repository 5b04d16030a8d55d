import { CliError } from "../errors.ts";
import { isObject, valueAt } from "../json.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { idIn, rowsOf } from "./pages.ts";
import type { Page, Progress, Wanted } from "./pages.ts";
import { perSecond } from "./per-second.ts";
import type { Values } from "./request.ts";
import { seenIds } from "./seen.ts";

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

/** How the pages of this list can be checked; undefined where they are complete as they come. */
export const edgesOf = (row: AnyOperation): Edges | undefined => unsteady[row.id];

/** Where rows come from. */
interface Source {
  readonly row: AnyOperation;
  readonly edges: Edges;
  /** Filters as they were given. */
  readonly input: Values;
  ask(input: Values, paging: Readonly<Record<string, string>>): Promise<Page>;
  trace(level: 1, text: string): Promise<void>;
}

/** Whole Unix seconds from the first to the last, both included. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The order of a second seems to follow from page and limit, so asking for the same pages again can
 * show the same rows. Every turn has a size of its own.
 */
const sizes = [100, 97, 89, 83, 79, 73, 71, 67, 61, 59, 53, 47];

/**
 * Every wanted row of a list whose pages lose some: the pages first, then, as long as there are
 * fewer rows than the server counts, windows of time that are halved until each adds up. Rows found
 * that way stand at the end. Throws `partial` as a verdict when rows of one second stay hidden.
 */
export async function* completeRows(
  { row, edges, input, ask, trace }: Source,
  wanted: Wanted,
  progress: Progress,
): AsyncGenerator<unknown> {
  const seen = seenIds();
  const met = perSecond();
  let last: Last | undefined;
  const bounded = async (filters: Values, paging: Readonly<Record<string, string>>) => {
    const page = await ask({ ...filters, ...(last && { [edges.before]: last.text }) }, paging);
    last ??= lastOf(page, edges, input);
    return page;
  };

  const first = rowsOf(row.returns, wanted, (paging) => bounded(input, paging), progress, seen);
  for await (const each of first) {
    met.add(secondOf(each, edges));
    yield each;
  }
  if (!progress.complete || last === undefined) return;
  const outer: Span = { from: secondsIn(input[edges.after], Math.ceil) ?? 0, to: last.second };
  const { text: lastText } = last;

  const isWhole = () => progress.shown >= (progress.total ?? 0);
  if (isWhole()) return;
  await trace(
    1,
    `${progress.shown} of ${progress.total} rows shown; the others follow, out of order`,
  );
  for await (const each of hidden()) {
    yield each;
    if (progress.shown >= wanted.limit) return;
  }
  if (isWhole()) return;
  throw new CliError(
    "partial",
    `${progress.shown} of ${progress.total} rows: the server did not show the others`,
    {
      verdict: true,
      details: { shown: progress.shown, total: progress.total },
      hint: "rows of one second have no order, so pages can miss some; repeat, or narrow the list",
    },
  );

  async function* hidden(): AsyncGenerator<unknown> {
    const open: Span[] = [outer];
    for (let span = open.pop(); span; span = open.pop()) {
      const page = await pageIn(span, {}, 1, row.returns.kind === "page" ? row.returns.cap : 100);
      if (span === outer) progress.total = page.total;
      yield* fresh(page);
      if (isWhole()) return;
      const total = page.total ?? 0;
      // All rows of one answer come from one query, in which nothing is lost.
      if (page.rows.length >= total || met.between(span.from, span.to) >= total) continue;
      if (span.from >= span.to) yield* within(span, total);
      else open.push(...halves(span));
    }
  }

  /** Older half first, so that the newer one is taken from the end. */
  function halves({ from, to }: Span): [Span, Span] {
    const middle = met.middle(from, to) ?? Math.floor((from + to) / 2);
    const cut = Math.min(middle, to - 1);
    return [
      { from, to: cut },
      { from: cut + 1, to },
    ];
  }

  /** Rows of one second that holds more than a page. */
  async function* within(span: Span, total: number): AsyncGenerator<unknown> {
    let filters = [...edges.parts.filter((part) => isNew(part, input)), {}];
    for (const size of sizes) {
      for (const filter of filters) {
        for (let number = 1; ; number++) {
          const page = await pageIn(span, filter, number, size);
          yield* fresh(page);
          if (met.between(span.from, span.to) >= total) return;
          if (number === 1 && page.rows.length >= (page.total ?? 0)) {
            filters = filters.filter((each) => each !== filter);
          }
          if (page.rows.length < size) break;
        }
      }
    }
  }

  /** The outer edges are asked for as they were given: what has no zone is the server's to read. */
  function pageIn({ from, to }: Span, filter: Values, number: number, limit: number) {
    const window = {
      ...(from > outer.from && { [edges.after]: timeOf(from) }),
      [edges.before]: to < outer.to ? timeOf(to) : lastText,
    };
    const paging = { page: String(number), limit: String(limit) };
    return ask({ ...input, ...filter, ...window }, paging);
  }

  function* fresh(page: Page): Generator<unknown> {
    for (const each of page.rows) {
      const id = idIn(each);
      if (id === undefined || !seen.add(id)) continue;
      met.add(secondOf(each, edges));
      progress.shown++;
      yield each;
    }
  }
}

const isNew = (part: Values, input: Values) =>
  Object.keys(part).every((name) => input[name] === undefined);

const secondOf = (row: unknown, { second }: Edges): number => Number(valueAt(row, second)) || 0;

/** The end of the list: rows that are added while it is read stand outside. */
interface Last {
  readonly second: number;
  readonly text: string;
}

/** By the server's clock, unless an earlier end was asked for. A row may be ahead of that clock. */
function lastOf({ rows, date }: Page, edges: Edges, input: Values): Last {
  const newest = Math.max(0, ...rows.filter(isObject).map((row) => secondOf(row, edges)));
  const now = Math.max(newest, secondsIn(date, Math.floor) ?? 0);
  const asked = input[edges.before];
  const second = secondsIn(asked, Math.floor);
  return second !== undefined && second <= now
    ? { second, text: String(asked) }
    : { second: now, text: timeOf(now) };
}

/** Unix seconds of a time as it is typed or stands in a header; without a zone it is UTC (server §12). */
export function secondsIn(time: unknown, round: (seconds: number) => number): number | undefined {
  if (typeof time !== "string") return undefined;
  const local = /^\d{4}-\d{2}-\d{2}[T ][\d:.]+$/.test(time);
  const ms = Date.parse(local ? `${time.replace(" ", "T")}Z` : time);
  return Number.isNaN(ms) ? undefined : round(ms / 1000);
}

/** A Unix second as the API takes it, in UTC. */
export const timeOf = (second: number) =>
  new Date(second * 1000).toISOString().replace(".000Z", "Z");
