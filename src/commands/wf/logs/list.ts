import { newCounter } from "../../../api/pages.ts";
import { CliError } from "../../../errors.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { LogFilters } from "../log-filters.ts";
import { checkFollow, followLogs } from "./follow.ts";
import { logQuery, tellKeyword, tellTimes } from "./query.ts";
import type { LogQuery } from "./query.ts";
import { warnIfUnlogged } from "../application.ts";
import { noticeRowCount } from "../../row-count-notice.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `wf logs`. */
export type LogsInput = LogFilters & { readonly follow?: boolean | undefined };

/** Runs of the workflow, newest first, or with `follow` oldest first and new ones as they come. */
export async function* run(input: LogsInput, context: Context): AsyncGenerator<WorkflowLog> {
  const query = logQuery(input, { changing: input.follow ?? false });
  if (input.follow) checkFollow(query, context);
  await tellTimes(query, context);
  await tellKeyword(query, context);
  if (input.follow) yield* followLogs(query, context);
  else if (query.keeps) yield* matching(query, query.keeps, context);
  else {
    const progress = newCounter();
    yield* context.rows(listWorkflowLogs, query.sent, context.options.rows, progress);
    if (progress.shown === 0) await warnIfUnlogged(context);
    await noticeRowCount(progress, context);
  }
}

/** As many rows as wanted of those that meet what the server cannot be asked for. */
async function* matching(
  { sent }: LogQuery,
  keeps: (log: WorkflowLog) => boolean,
  { options: asked, rows, notice, host }: Context,
): AsyncGenerator<WorkflowLog> {
  const { limit, page, byDefault } = asked.rows;
  if (page !== undefined) {
    throw new CliError("usage", "--page counts the server's rows, --where is asked here", {
      sideEffect: "none",
      hint: "give --limit or --all instead of --page",
    });
  }
  const progress = newCounter();
  let shown = 0;
  for await (const log of rows(listWorkflowLogs, sent, { limit: Infinity }, progress)) {
    if (!keeps(log)) continue;
    shown++;
    yield log;
    if (shown === limit) break;
  }
  if (host.stdout.closed) return;
  const here = "filtered here, not by the server";
  const { total = progress.shown } = progress;
  await notice(
    progress.complete || progress.shown === total
      ? `${shown} of ${total} rows match; ${here}`
      : `${shown} shown, from the newest ${progress.shown} of ${total} rows; ${here}${byDefault ? "; --all for the rest" : ""}`,
  );
}
