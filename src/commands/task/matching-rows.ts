import { newCounter } from "../../api/pages.ts";
import { usage } from "../../errors.ts";
import type { InputOf, Operation, Params, Returns, RowOf } from "../../operations/operation.ts";
import type { Context } from "./command-spec.ts";

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
  if (page !== undefined) {
    throw usage(
      "--page cannot be used with filters applied locally",
      "use --limit or --all instead of --page",
    );
  }
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
  if (counter.complete || read === total) {
    await notice(`${shown} of ${total} rows match (filtered locally)`);
    return;
  }
  const count = `${shown} of ${read} rows match, the newest of ${total} (filtered locally)`;
  await notice(byDefault ? `${count}; use --all for the rest` : count);
}
