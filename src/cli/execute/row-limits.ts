import type { RequestedRows } from "../../commands/command-spec.ts";
import { usage } from "../../errors.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { wholeNumber } from "../parse/options.ts";

/** Default number of rows: the default page size of the server. */
const DEFAULT_ROWS = 20;

/** The rows that --all, --limit and --page request. Throws usage. */
export function rowLimits({ returns }: Command, { limit, all, page }: Globals): RequestedRows {
  if (all && (limit !== undefined || page !== undefined)) {
    throw usage("--all cannot be used with --limit or --page");
  }
  const number = page === undefined ? undefined : wholeNumber("--page", page, 1, 99_999);
  if (all) return { limit: Infinity, byDefault: false };
  if (limit !== undefined)
    return {
      limit: wholeNumber("--limit", limit, 1, 1_000_000_000),
      page: number,
      byDefault: false,
    };
  return {
    limit: returns.kind === "list" ? Infinity : DEFAULT_ROWS,
    page: number,
    byDefault: true,
  };
}

/** Why output waits for the last row, if it does: a flag, or a format of the settings. */
export function bufferingReason(
  { sort, reverse }: Globals,
  format: string | undefined,
  source: string,
): string | undefined {
  if (sort !== undefined) return "--sort";
  if (reverse) return "--reverse";
  if (format !== "md" && format !== "yaml") return undefined;
  return source === "-o" ? `-o ${format}` : `the output format ${format} (${source})`;
}
