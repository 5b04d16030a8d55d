import type { WantedRows } from "../../commands/command-spec.ts";
import { CliError } from "../../errors.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { count } from "../parse/options.ts";

/** Rows where nothing is said: the first page as the server would cut it. */
const usualRows = 20;

/** Which rows of a list --all, --limit and --page ask for. Throws usage. */
export function rowLimits({ returns }: Command, { limit, all, page }: Globals): WantedRows {
  if (all && (limit !== undefined || page !== undefined)) {
    throw new CliError("usage", "--all cannot be used with --limit or --page");
  }
  const number = page === undefined ? undefined : count("--page", page, 1, 99_999);
  if (all) return { limit: Infinity, byDefault: false };
  if (limit !== undefined)
    return { limit: count("--limit", limit, 1, 1_000_000_000), page: number, byDefault: false };
  return { limit: returns.kind === "list" ? Infinity : usualRows, page: number, byDefault: true };
}

/** What makes output wait for the last row, if anything does: a flag, or a format of the settings. */
export const gathering = (
  { sort, reverse }: Globals,
  format: string | undefined,
  source: string,
): string | undefined =>
  sort !== undefined
    ? "--sort"
    : reverse
      ? "--reverse"
      : format === "md" || format === "yaml"
        ? source === "-o"
          ? `-o ${format}`
          : `the output format ${format} (${source})`
        : undefined;
