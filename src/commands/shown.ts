import type { Progress } from "../api/pages.ts";
import { CliError } from "../errors.ts";
import type { Context } from "./task.ts";

/** Says how much of a list was shown; a list that does not add up is a partial failure. */
export async function tellShown(
  { shown, total, complete }: Progress,
  { asked, host, notice }: Context,
): Promise<void> {
  const { limit, page, byDefault } = asked.rows;
  if (host.stdout.closed) return;
  if (limit === Infinity && total !== undefined && shown < total) {
    throw new CliError(
      "partial",
      `the server counts ${total} rows, but its pages held ${shown} different ones`,
      {
        details: { shown, total },
        hint: "rows were added or removed meanwhile, or the pages overlap; repeat, or narrow the list",
      },
    );
  }
  if (limit === Infinity || page !== undefined) return;
  if (total !== undefined && shown < total) {
    await notice(`${shown} of ${total} shown${byDefault ? ", --all for the rest" : ""}`);
  } else if (total === undefined && !complete && byDefault) {
    await notice(`${shown} shown, --all for the rest`);
  }
}
