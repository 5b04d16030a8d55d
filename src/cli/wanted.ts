import type { WantedRows } from "../commands/task.ts";
import { CliError } from "../errors.ts";
import type { Command } from "./command.ts";
import type { Globals } from "./globals.ts";
import { count } from "./options.ts";

/** Rows where nothing is said: the first page as the server would cut it. */
const usualRows = 20;

/** Which rows of a list --all, --limit and --page ask for. Throws usage. */
export function wantedRows({ returns }: Command, { limit, all, page }: Globals): WantedRows {
  if (all && (limit !== undefined || page !== undefined)) {
    throw new CliError("usage", "--all cannot be used with --limit or --page");
  }
  const number = page === undefined ? undefined : count("--page", page, 1, 99_999);
  if (all) return { limit: Infinity, byDefault: false };
  if (limit !== undefined)
    return { limit: count("--limit", limit, 1, 1_000_000_000), page: number, byDefault: false };
  return { limit: returns.kind === "list" ? Infinity : usualRows, page: number, byDefault: true };
}

/** The flag that makes output wait for the last row, if one was given. */
export const gathering = ({ sort, reverse, output }: Globals): string | undefined =>
  sort !== undefined
    ? "--sort"
    : reverse
      ? "--reverse"
      : output === "md" || output === "yaml"
        ? `-o ${output}`
        : undefined;
