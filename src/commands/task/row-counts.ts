import { lacksRows, newCounter, placesOf } from "../../api/pages.ts";
import type { PageCounter } from "../../api/pages.ts";
import { CliError } from "../../errors.ts";
import type { Context } from "./command-spec.ts";
import type { InputOf, Operation, Params, Returns, RowOf } from "../../operations/operation.ts";

/** Prints how much of a list was shown. Throws partial for an incomplete list. */
export async function noticeRowCount(
  progress: PageCounter,
  { options, host, notice }: Context,
): Promise<void> {
  const { rows } = options;
  if (host.stdout.closed) return;
  const ended = progress.complete && rows.page === undefined && lacksRows(progress);
  if (rows.limit === Infinity || ended) requireAll(progress);
  const { limit, page } = rows.shown ?? rows;
  if (limit === Infinity || page !== undefined) return;
  const shown = Math.min(progress.shown, limit);
  const total = rows.shown ? progress.shown : progress.total;
  const rest = rows.byDefault ? ", --all for the rest" : "";
  if (total !== undefined && shown < total) await notice(`${shown} of ${total} shown${rest}`);
  else if (total === undefined && !progress.complete && rows.byDefault)
    await notice(`${shown} shown${rest}`);
}

/** Throws partial for a whole list that is known to be incomplete. */
export function requireAll(progress: PageCounter): void {
  const { shown, total, complete, maybeIncomplete } = progress;
  if (lacksRows(progress)) {
    throw new CliError(
      "partial",
      `the server reports ${total} rows, but its pages contain ${shown} distinct ones`,
      {
        isResult: true,
        details: { shown, total },
        hint: "rows changed while they were read, or pages overlap; try again, or narrow the list",
      },
    );
  }
  if (complete && !maybeIncomplete) return;
  throw new CliError("partial", `failed to read the whole list: got ${shown} rows`, {
    isResult: true,
    details: { shown },
    hint: maybeIncomplete
      ? "one second may have more rows than fit on a page; they cannot be requested"
      : "the server sends the same rows again, or none although it reports more",
  });
}

/**
 * Lists the rows, newest first, that meet a filter which the server does not support: all of them are read, up to the
 * last one that is requested. Prints how many meet it if that is known. Throws partial for an incomplete list.
 */
export async function* matchingRows<P extends Params, R extends Returns<never>>(
  row: Operation<P, R>,
  sent: InputOf<Operation<P, R>>,
  keeps: (row: RowOf<R>) => boolean,
  { options, api, notice, host }: Context,
): AsyncGenerator<RowOf<R>> {
  const { rows } = options;
  const { from, to } = placesOf(rows);
  const counter = newCounter();
  let read = 0;
  let matching = 0;
  for await (const each of api.rows(row, sent, { counter })) {
    read++;
    if (!keeps(each)) continue;
    matching++;
    if (matching > from) yield each;
    if (matching === to) break;
  }
  if (host.stdout.closed) return;
  const rest = rows.byDefault ? ", --all for the rest" : "";
  const isCut = matching === to;
  if (isCut && read !== counter.total)
    return notice(`${matching - from} shown, more may match${rest}`);
  const { limit, page } = rows.shown ?? rows;
  const some = page === undefined && limit < matching ? `; ${limit} shown${rest}` : "";
  await notice(`${matching} of ${read} rows match (filtered locally)${some}`);
  if (!isCut) requireAll(counter);
}
