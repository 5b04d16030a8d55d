import { listWorkflowLogs } from "../../operations/workflows.ts";
import type { SqlValue } from "../storage/sqlite.ts";
import { type Handler, on } from "../http/handler.ts";
import { isoTime } from "../http/iso-time.ts";
import { numberParam } from "../http/page-params.ts";
import { invalidParam, internalServerError } from "../http/errors.ts";
import { requireApp } from "./runs.ts";
import { isUuidText, toSeconds } from "../storage/ids.ts";
import { type RunStore, type StoredRunStatus } from "../storage/runs-store.ts";

/** The only account of the sandbox: it ran nothing. */
const account = "admin@example.com";
/** When the one version of each workflow was published. */
const version = "2026-11-21 00:02:02.696187";

interface LogRow {
  readonly log_id: string;
  readonly id: string;
  readonly status: StoredRunStatus;
  readonly error: string | null;
  readonly elapsed_time: number;
  readonly total_steps: number;
  readonly exceptions_count: number;
  readonly created_at: number;
  readonly finished_at: number | null;
  readonly end_user_id: string;
  readonly session_id: string;
}

/** The list of runs with its filters. */
export const logHandlers = (records: RunStore): readonly Handler[] => [
  on(listWorkflowLogs, (input, call) => {
    const app = requireApp(call);
    const page = numberParam(call.query, "WorkflowLogQuery", "page", 1, [1, 99_999]);
    const limit = numberParam(call.query, "WorkflowLogQuery", "limit", 20, [1, 100]);
    const { keyword, status, created_by_account, created_by_end_user_session_id } = input;

    const where = ["app = ?", "log_id IS NOT NULL"];
    const values: SqlValue[] = [app.name];
    const filter = (condition: string, ...given: SqlValue[]) => {
      where.push(condition);
      values.push(...given);
    };
    const after = call.query.get("created_at__after");
    const before = call.query.get("created_at__before");
    // Rows carry whole seconds, and both bounds are inclusive.
    if (after) filter("created_at >= ?", Math.ceil(isoTime(after) / 1000) * 1000);
    if (before) filter("created_at < ?", (toSeconds(isoTime(before)) + 1) * 1000);
    if (created_by_account !== undefined) {
      if (created_by_account !== account) {
        throw invalidParam(`Account not found: ${created_by_account}`);
      }
      filter("0");
    }
    // The server joins one table twice and fails (server §12).
    if (keyword && created_by_end_user_session_id) throw internalServerError();
    if (created_by_end_user_session_id) filter("session_id = ?", created_by_end_user_session_id);
    if (status !== undefined) filter("status = ?", status);
    if (keyword && isUuidText(keyword)) filter("id = ?", keyword.toLowerCase());
    else if (keyword) {
      const part = `%${keyword.slice(0, 30).replace(/[\\%_]/g, "\\$&")}%`;
      const contains = (column: string) => `${column} LIKE ? ESCAPE '\\'`;
      filter(
        `(${["inputs", "outputs", "session_id"].map(contains).join(" OR ")})`,
        part,
        part,
        part,
      );
    }

    const rows = records.store.all<LogRow>(
      `SELECT log_id, id, status, error, elapsed_time, total_steps, exceptions_count, created_at,
       finished_at, end_user_id, session_id FROM runs WHERE ${where.join(" AND ")}`,
      ...values,
    );
    const sorted = inOrderOfSeconds(rows, records.random);
    return {
      json: {
        page,
        limit,
        total: rows.length,
        has_more: rows.length > page * limit,
        data: sorted.slice((page - 1) * limit, page * limit).map(logOf),
      },
    };
  }),
];

/**
 * Newest second first. Rows of one second stand in an order that changes from query to query, as
 * on the recorded server: pages can miss rows and repeat others (server §12).
 */
function inOrderOfSeconds(rows: readonly LogRow[], random: () => number): LogRow[] {
  return rows
    .map((row) => ({ row, chance: random() }))
    .sort(
      (a, b) => toSeconds(b.row.created_at) - toSeconds(a.row.created_at) || a.chance - b.chance,
    )
    .map(({ row }) => row);
}

const logOf = (row: LogRow) => ({
  id: row.log_id,
  workflow_run: {
    id: row.id,
    version,
    status: row.status,
    triggered_from: "app-run",
    error: row.error,
    elapsed_time: row.elapsed_time,
    total_tokens: 0,
    total_steps: row.total_steps,
    created_at: toSeconds(row.created_at),
    finished_at: row.finished_at === null ? null : toSeconds(row.finished_at),
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
