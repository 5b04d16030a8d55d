import type { InputOf } from "../../operations/operation.ts";
import type { listWorkflowLogs } from "../../operations/workflows.ts";
import { invalidParam, internalServerError } from "../http/errors.ts";
import type { Call, Reply } from "../http/handler.ts";
import { isoTime } from "../http/iso-time.ts";
import { numberParam } from "../http/page-params.ts";
import { isUuidText, toSeconds, toSecondsOrNull } from "../storage/ids.ts";
import type { StoredRun } from "../storage/runs-store.ts";
import type { SqlValue } from "../storage/sqlite.ts";
import { type AppContext, requireApp } from "./context.ts";

/** The only account of the sandbox; it started no runs. */
const ACCOUNT = "admin@example.com";
/** When the only version of each workflow was published. */
const WORKFLOW_VERSION = "2026-11-21 00:02:02.696187";

type LogRow = Omit<StoredRun, "log_id" | "inputs" | "outputs" | "progress"> & {
  readonly log_id: string;
};

/** Lists the runs that match the filters of the query. */
export function listLogs(
  { records }: AppContext,
  input: InputOf<typeof listWorkflowLogs>,
  call: Call,
): Reply {
  const app = requireApp(call);
  const page = numberParam(call.query, "WorkflowLogQuery", "page", 1, [1, 99_999]);
  const limit = numberParam(call.query, "WorkflowLogQuery", "limit", 20, [1, 100]);
  const filter = new Filter("app = ? AND log_id IS NOT NULL", app.name);
  filterRuns(filter, input, call.query);
  const rows = records.store.all<LogRow>(
    `SELECT log_id, id, status, error, elapsed_time, total_steps, exceptions_count, created_at,
       finished_at, end_user_id, session_id FROM runs WHERE ${filter.where}`,
    ...filter.values,
  );
  const sorted = sortBySecond(rows, records.random);
  return {
    json: {
      page,
      limit,
      total: rows.length,
      has_more: rows.length > page * limit,
      data: sorted.slice((page - 1) * limit, page * limit).map(logResponse),
    },
  };
}

/** A WHERE clause that grows, with its values. */
class Filter {
  where: string;
  readonly values: SqlValue[];

  constructor(where: string, ...values: SqlValue[]) {
    this.where = where;
    this.values = values;
  }

  add(condition: string, ...values: SqlValue[]): void {
    this.where += ` AND ${condition}`;
    this.values.push(...values);
  }
}

function filterRuns(
  filter: Filter,
  input: InputOf<typeof listWorkflowLogs>,
  query: URLSearchParams,
): void {
  const { keyword, status, created_by_account, created_by_end_user_session_id: session } = input;
  const after = query.get("created_at__after");
  const before = query.get("created_at__before");
  // Rows have whole seconds, and both bounds are inclusive.
  if (after) filter.add("created_at >= ?", Math.ceil(isoTime(after) / 1000) * 1000);
  if (before) filter.add("created_at < ?", (toSeconds(isoTime(before)) + 1) * 1000);
  if (created_by_account !== undefined) {
    if (created_by_account !== ACCOUNT) {
      throw invalidParam(`Account not found: ${created_by_account}`);
    }
    filter.add("0");
  }
  // The server joins one table twice and fails (server §12).
  if (keyword && session) throw internalServerError();
  if (session) filter.add("session_id = ?", session);
  if (status !== undefined) filter.add("status = ?", status);
  if (!keyword) return;
  if (isUuidText(keyword)) return filter.add("id = ?", keyword.toLowerCase());
  const pattern = `%${keyword.slice(0, 30).replace(/[\\%_]/g, "\\$&")}%`;
  const columns = ["inputs", "outputs", "session_id"];
  const condition = columns.map((column) => `${column} LIKE ? ESCAPE '\\'`).join(" OR ");
  filter.add(`(${condition})`, ...columns.map(() => pattern));
}

/**
 * Newest second first. Rows of the same second come in random order, as on the recorded server, so
 * pages can skip and repeat rows (server §12).
 */
function sortBySecond(rows: readonly LogRow[], random: () => number): LogRow[] {
  return rows
    .map((row) => ({ row, second: toSeconds(row.created_at), chance: random() }))
    .sort((a, b) => b.second - a.second || a.chance - b.chance)
    .map(({ row }) => row);
}

const logResponse = (row: LogRow) => ({
  id: row.log_id,
  workflow_run: {
    id: row.id,
    version: WORKFLOW_VERSION,
    status: row.status,
    triggered_from: "app-run",
    error: row.error,
    elapsed_time: row.elapsed_time,
    total_tokens: 0,
    total_steps: row.total_steps,
    created_at: toSeconds(row.created_at),
    finished_at: toSecondsOrNull(row.finished_at),
    exceptions_count: row.exceptions_count,
  },
  details: null,
  created_from: "service-api",
  created_by_role: "end_user",
  created_by_account: null,
  created_by_end_user: {
    id: row.end_user_id,
    type: "service-api",
    is_anonymous: false,
    session_id: row.session_id,
  },
  created_at: toSeconds(row.created_at),
});
