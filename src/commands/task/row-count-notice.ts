import { lacksRows } from "../../api/pages.ts";
import type { PageCounter } from "../../api/pages.ts";
import { CliError } from "../../errors.ts";
import type { Context } from "./command-spec.ts";

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
    await notice(`${shown} of ${total} shown${byDefault ? ", --all for the rest" : ""}`);
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
