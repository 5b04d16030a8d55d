import { isUuid } from "../../lib/text.ts";
import type { InputOf } from "../../operations/operation.ts";
import type { listWorkflowLogs } from "../../operations/workflows.ts";
import { internalServerError } from "../protocol/errors.ts";
import type { Reply } from "../protocol/handler.ts";
import { numberParam } from "../protocol/page-params.ts";
import { toSeconds } from "../protocol/ids.ts";
import type { StoredRun } from "./records/runs-store.ts";
import type { SqlValue } from "../storage/sqlite.ts";
import { type AppContext, requireApp, type AppCall } from "./context.ts";
import { fillShape, appError } from "./records/shapes.ts";

/** The only account of the sandbox; it started no runs. */
const ACCOUNT = "admin@example.com";

type LogRow = Omit<StoredRun, "inputs" | "outputs" | "progress">;

/** Lists the runs that match the filters of the query. */
export function listLogs(
  { records }: AppContext,
  input: InputOf<typeof listWorkflowLogs>,
  call: AppCall,
): Reply {
  const app = requireApp(call);
  const page = numberParam(call.query, "WorkflowLogQuery", "page", [1, 99_999]);
  const limit = numberParam(call.query, "WorkflowLogQuery", "limit", [1, 100]);
  const conditions: Condition[] = [
    ["app = ? AND log_id IS NOT NULL", app.name],
    ...logConditions(input, call.query),
  ];
  // Without the columns of JSON, which may be large.
  const rows = records.store.all<LogRow>(
    `SELECT log_id, id, status, error, elapsed_time, total_steps, total_tokens, exceptions_count,
       created_at, finished_at, end_user_id, session_id FROM runs
     WHERE ${conditions.map(([sql]) => sql).join(" AND ")}`,
    ...conditions.flatMap(([, ...values]) => values),
  );
  const data = sortBySecond(rows, records.random)
    .slice((page - 1) * limit, page * limit)
    .map((row) => fillShape("log", { ...row }));
  const has_more = rows.length > page * limit;
  return { json: { page, limit, total: rows.length, has_more, data } };
}

/** A condition of a WHERE clause, and its values. */
type Condition = readonly [sql: string, ...values: SqlValue[]];

function* logConditions(
  input: InputOf<typeof listWorkflowLogs>,
  query: URLSearchParams,
): Generator<Condition> {
  const { keyword, status, created_by_account, created_by_end_user_session_id: session } = input;
  const after = query.get("created_at__after");
  const before = query.get("created_at__before");
  // Rows have whole seconds, and both bounds are inclusive.
  if (after) yield ["created_at >= ?", Math.ceil(isoTime(after) / 1000) * 1000];
  if (before) yield ["created_at < ?", (toSeconds(isoTime(before)) + 1) * 1000];
  if (created_by_account !== undefined) {
    if (created_by_account !== ACCOUNT) {
      throw appError("account missing", { account: created_by_account });
    }
    yield ["0"];
  }
  // The server joins one table twice and fails (server §12).
  if (keyword && session) throw internalServerError();
  if (session) yield ["session_id = ?", session];
  if (status !== undefined) yield ["status = ?", status];
  if (!keyword) return;
  if (isUuid(keyword)) return void (yield ["id = ?", keyword.toLowerCase()]);
  const pattern = `%${keyword.slice(0, 30).replace(/[\\%_]/g, "\\$&")}%`;
  const columns = ["inputs", "outputs", "session_id"];
  const condition = columns.map((column) => `${column} LIKE ? ESCAPE '\\'`).join(" OR ");
  yield [`(${condition})`, ...columns.map(() => pattern)];
}

/**
 * Newest second first. Rows of the same second come in random order, as on the recorded server, so
 * pages can skip and repeat rows (server §12).
 */
const sortBySecond = (rows: readonly LogRow[], random: () => number): LogRow[] =>
  rows
    .map((row) => ({ row, second: toSeconds(row.created_at), chance: random() }))
    .sort((a, b) => b.second - a.second || a.chance - b.chance)
    .map(({ row }) => row);

const FORMAT = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Parses an ISO 8601 time to ms since 1970: a date alone, or with a time, and `Z`, an offset or none
 * (UTC). Throws HttpError with the texts of the server's parser for other texts (server §12).
 */
export function isoTime(text: string): number {
  const [, date = "", time = "00:00", zone = "Z"] = FORMAT.exec(text) ?? [];
  const day = new Date(`${date}T00:00Z`);
  const ms = Date.parse(`${date}T${time}${zone}`);
  // Date.parse takes the 30th of February for the 2nd of March.
  if (!Number.isNaN(ms) && day.toISOString().startsWith(date)) return ms;
  if (!/^\d{4}/.test(text)) throw appError("time without year", { start: text.slice(0, 4) });
  throw appError(/^\d+$/.test(text) ? "time too short" : "time with more parts");
}
