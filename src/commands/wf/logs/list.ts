import { newCounter } from "../../../api/pages.ts";
import { usage } from "../../../errors.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { Input } from "../../../operations/operation.ts";
import { checkFollow, followLogs } from "./follow.ts";
import { logQuery, warnIfKeywordTruncated, noticeTimes } from "./query.ts";
import type { LogQuery } from "./query.ts";
import { warnIfUnlogged } from "../app/index.ts";
import { noticeRowCount } from "../../task/row-count-notice.ts";
import type { Context } from "../../task/command-spec.ts";
import type { logsParams } from "./command.ts";

/** Lists runs of the workflow, newest first; with `follow` oldest first, then new ones. */
export async function* run(
  input: Input<typeof logsParams>,
  context: Context,
): AsyncGenerator<WorkflowLog> {
  const query = logQuery(input, { changing: input.follow ?? false });
  if (input.follow) checkFollow(query, context);
  await noticeTimes(query, context);
  await warnIfKeywordTruncated(query, context);
  if (input.follow) yield* followLogs(query, context);
  else if (query.keeps) yield* matching(query, query.keeps, context);
  else {
    const counter = newCounter();
    yield* context.api.rows(listWorkflowLogs, query.sent, { ...context.options.rows, counter });
    if (counter.shown === 0) await warnIfUnlogged(context);
    await noticeRowCount(counter, context);
  }
}

/** Filters rows by conditions that the server does not support, up to the row limit. */
async function* matching(
  { sent }: LogQuery,
  keeps: (log: WorkflowLog) => boolean,
  { options, api, notice, host }: Context,
): AsyncGenerator<WorkflowLog> {
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
  for await (const log of api.rows(listWorkflowLogs, sent, { counter })) {
    read++;
    if (!keeps(log)) continue;
    shown++;
    yield log;
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
