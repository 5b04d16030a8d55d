import { lacksRows } from "../api/pages.ts";
import type { PageCounter } from "../api/pages.ts";
import { CliError } from "../errors.ts";
import type { Context } from "./command-spec.ts";

/** Says how much of a list was shown; a list that does not add up is a partial failure. */
export async function noticeRowCount(
  progress: PageCounter,
  { options: asked, host, notice }: Context,
): Promise<void> {
  const { shown, total, complete } = progress;
  const { limit, page, byDefault } = asked.rows;
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

/** Refuses a list that was to be read whole and is known not to be. */
export function requireAll(progress: PageCounter): void {
  const { shown, total, complete, maybeIncomplete: unsure } = progress;
  if (lacksRows(progress)) {
    throw new CliError(
      "partial",
      `the server counts ${total} rows, but its pages held ${shown} different ones`,
      {
        isResult: true,
        details: { shown, total },
        hint: "rows were added or removed meanwhile, or the pages overlap; repeat, or narrow the list",
      },
    );
  }
  if (complete && !unsure) return;
  throw new CliError("partial", `failed to read the whole list: ${shown} rows were found`, {
    isResult: true,
    details: { shown },
    hint: unsure
      ? "more rows of one second may exist than fit on a page, and the server cannot be asked for them"
      : "the server sends the same rows again, or none where it claims more",
  });
}
