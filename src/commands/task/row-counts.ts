import { lacksRows, newCounter } from "../../api/pages.ts";
import type { PageCounter } from "../../api/pages.ts";
import { CliError, usage } from "../../errors.ts";
import type { Context } from "./command-spec.ts";
import type { InputOf, Operation, Params, Returns, RowOf } from "../../operations/operation.ts";

/** Prints how much of a list was shown. Throws partial for an incomplete list. */
export async function noticeRowCount(
  progress: PageCounter,
  { options, host, notice }: Context,
): Promise<void> {
  const { shown, total, complete } = progress;
  const { limit, page, byDefault } = options.rows;
  if (host.stdout.closed) return;
  const ended = complete && page === undefined && lacksRows(progress);
  if (limit === Infinity || ended) requireAll(progress);
  if (limit === Infinity || page !== undefined) return;
  if (total !== undefined && shown < total) {
    const sorted = options.flags.sort === undefined ? "" : " and sorted";
    const rest = byDefault || sorted !== "" ? ", --all for the rest" : "";
    await notice(`${shown} of ${total} shown${sorted}${rest}`);
  } else if (total === undefined && !complete && byDefault) {
    await notice(`${shown} shown, --all for the rest`);
  }
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
 * Lists the rows, newest first, that meet a filter which the server does not support, up to the row limit;
 * prints how many of how many. Throws usage with --page.
 */
export async function* matchingRows<P extends Params, R extends Returns<never>>(
  row: Operation<P, R>,
  sent: InputOf<Operation<P, R>>,
  keeps: (row: RowOf<R>) => boolean,
  { options, api, notice, host }: Context,
): AsyncGenerator<RowOf<R>> {
  const { limit, page, byDefault } = options.rows;
  const instead = "use --limit or --all instead of --page";
  if (page !== undefined)
    throw usage("--page cannot be used with filters applied locally", instead);
  const counter = newCounter();
  let read = 0;
  let shown = 0;
  for await (const each of api.rows(row, sent, { counter })) {
    read++;
    if (!keeps(each)) continue;
    shown++;
    yield each;
    if (shown === limit) break;
  }
  if (host.stdout.closed) return;
  const { total = read } = counter;
  if (counter.complete || read === total)
    return notice(`${shown} of ${total} rows match (filtered locally)`);
  const count = `${shown} of ${read} rows match, the newest of ${total} (filtered locally)`;
  await notice(byDefault ? `${count}; use --all for the rest` : count);
}
