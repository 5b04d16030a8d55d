import { CliError } from "../errors.ts";
import type { Returns } from "../operations/operation.ts";
import { isObject, valueAt } from "../json.ts";

/** One list answer: its rows and, where the server tells, how many there are in all. */
export interface Page {
  readonly rows: readonly unknown[];
  readonly total: number | undefined;
  readonly more: boolean | undefined;
  /** When the server answered, by its own clock, as it stands in the header. */
  readonly date?: string | undefined;
}

/** Which rows of a list are wanted. */
export interface Wanted {
  /** Rows in all; Infinity for every one. */
  readonly limit: number;
  /** Only this page, from 1. */
  readonly page?: number | undefined;
}

/** How far a list was read. */
export interface Progress {
  shown: number;
  /** As the server counts; undefined where it does not. */
  total: number | undefined;
  /** Rows that came twice because others were added meanwhile. */
  repeated: number;
  /** Did the list end before the limit? */
  complete: boolean;
}

export const noProgress = (): Progress => ({
  shown: 0,
  total: undefined,
  repeated: 0,
  complete: false,
});

/** The rows inside an answer. Throws `failure` when they are not where the row says. */
export function pageOf(returns: Returns<never>, answer: unknown): Page {
  const rows = "rows" in returns ? valueAt(answer, returns.rows) : undefined;
  if (!Array.isArray(rows)) {
    throw new CliError("failure", "the answer holds no list where one was expected");
  }
  const total =
    isObject(answer) && typeof answer["total"] === "number" ? answer["total"] : undefined;
  const more =
    isObject(answer) && typeof answer["has_more"] === "boolean" ? answer["has_more"] : undefined;
  return { rows, total, more };
}

/**
 * Every wanted row, page after page, each once. `ask` sends one request with the paging parameters
 * given. Numbered pages end on a short page, or when there are as many rows as the server counts, never
 * on `has_more`, which is wrong on an exactly full last page (server §5). `progress` is kept up to date while rows are given out, and so is `seen`.
 */
export async function* rowsOf(
  returns: Returns<never>,
  wanted: Wanted,
  ask: (paging: Readonly<Record<string, string>>) => Promise<Page>,
  progress: Progress,
): AsyncGenerator<unknown> {
  if (returns.kind === "list") {
    const { rows } = await ask({});
    progress.total = rows.length;
    for (const row of rows.slice(0, wanted.limit)) {
      progress.shown++;
      yield row;
    }
    progress.complete = rows.length <= wanted.limit;
    return;
  }
  if (returns.kind !== "page" && returns.kind !== "cursor") return;
  const seen = (await import("./seen.ts")).seenIds();
  const size = Math.min(wanted.limit, returns.cap);
  let after: string | undefined;
  /** Pages in a row without a new row: a server that repeats itself is not asked for ever. */
  let inVain = 0;
  for (let number = wanted.page ?? 1; ; number++) {
    const limit = String(size);
    const paging: Record<string, string> =
      returns.kind === "page"
        ? { page: String(number), limit }
        : { ...(after !== undefined && { [returns.after]: after }), limit };
    const { rows, total, more } = await ask(paging);
    const before = progress.shown;
    progress.total = total ?? progress.total;
    for (const row of rows) {
      if (progress.shown >= wanted.limit) return;
      const id = idIn(row);
      if (id !== undefined && !seen.add(id)) {
        progress.repeated++;
        continue;
      }
      progress.shown++;
      yield row;
    }
    after = nextAfter(returns, rows);
    const ended =
      returns.kind === "cursor"
        ? more === false || rows.length === 0
        : rows.length < size || (total !== undefined && progress.shown >= total);
    if (ended) {
      progress.complete = true;
      return;
    }
    if (wanted.page !== undefined || progress.shown >= wanted.limit) return;
    inVain = progress.shown === before ? inVain + 1 : 0;
    if (inVain === mostInVain) return;
  }
}

/** Rows that were added meanwhile can fill a page with known ones; three such pages mean a loop. */
const mostInVain = 3;

/** By what a row is known when it comes again. */
export const idIn = (row: unknown): string | undefined =>
  isObject(row) && typeof row["id"] === "string" ? row["id"] : undefined;

/** Id to go on after: the last row's, or the oldest one's where the list goes back in time. */
function nextAfter(
  returns: { readonly kind: string },
  rows: readonly unknown[],
): string | undefined {
  if (!("after" in returns)) return undefined;
  const [first, last] = [rows[0], rows.at(-1)];
  const backwards =
    returns.after === "first_id" &&
    Number(valueAt(first, "created_at")) <= Number(valueAt(last, "created_at"));
  const id = valueAt(backwards ? first : last, "id");
  return typeof id === "string" ? id : undefined;
}
