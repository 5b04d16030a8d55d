import { newCounter } from "../../../api/pages.ts";
import { listWorkflowLogs } from "../../../operations/workflows.ts";
import type { WorkflowLog } from "../../../operations/workflows.ts";
import type { Input } from "../../../operations/operation.ts";
import { checkFollow, followLogs } from "./follow.ts";
import { logQuery, warnIfKeywordTruncated, noticeTimes } from "./query.ts";
import { warnIfUnlogged } from "../app/index.ts";
import { matchingRows, noticeRowCount } from "../../task/row-counts.ts";
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
  else if (query.keeps) yield* matchingRows(listWorkflowLogs, query.sent, query.keeps, context);
  else {
    const counter = newCounter();
    yield* context.api.rows(listWorkflowLogs, query.sent, { ...context.options.rows, counter });
    if (counter.shown === 0) await warnIfUnlogged(context);
    await noticeRowCount(counter, context);
  }
}
