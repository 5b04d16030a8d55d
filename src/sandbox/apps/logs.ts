import { isUuid } from "../../lib/text.ts";
import type { InputOf } from "../../operations/operation.ts";
import type { listWorkflowLogs } from "../../operations/workflows.ts";
import { internalServerError, invalidParam } from "../protocol/errors.ts";
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

/** Year, month, day, any separator, hour, minute, second, fraction and offset. */
const FORMAT =
  /^(?!\d{6}$)(\d{4})(?:(-?)(\d\d)(?:\2(\d\d)(?:.(\d\d)(?::?(\d\d)(?::?(\d\d)([.,]\d+)?)?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?)?)?$/s;

const NOT_A_NUMBER = "invalid literal for int() with base 10: b'$1'";

/** The server's errors for other texts: the first pattern that matches (server §12). */
const ERRORS: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/^.{0,3}$/s, "ISO string too short"],
  [/^(?!\d{4})(.{4}).*/s, NOT_A_NUMBER],
  [/^\d{6}$/, "Invalid ISO format"],
  [/^\d{4}(-.?|[^-])$/s, "Invalid common month"],
  [/^\d{4}(?:-|(?!-))(?!\d\d)(..).*/s, NOT_A_NUMBER],
  [/^\d{4}-\d\d[^-].*/s, "Invalid separator in ISO string"],
  [/^\d{4}(-\d\d-.?|\d\d.)$/s, "Invalid common day"],
  [/^\d{4}(?:-\d\d-|\d\d)(?!\d\d)(..).*/s, NOT_A_NUMBER],
  [/^\d{4}(-\d\d-|\d\d)\d\d..?$/s, "ISO time too short"],
  [
    /^\d{4}(-\d\d-|\d\d)\d\d.\d[\d:.,]*[-+Zz].*/s,
    "Time zone offset must be 1, 3, 5 or 6 characters",
  ],
  [/^\d{4}(?:-\d\d-|\d\d)\d\d.(?:\d\d(?::|(?!:))){0,2}(?!\d\d)(..?).*/s, NOT_A_NUMBER],
  [/^.*$/s, "Unused components in ISO string"],
];

/**
 * Parses an ISO 8601 time like the server does, to ms since 1970: a date alone, any separator, `Z`,
 * an offset or none (UTC). Throws HttpError with the texts of the server's parser (server §12).
 */
export function isoTime(text: string): number {
  const match = FORMAT.exec(text);
  if (!match) {
    const [pattern, message = ""] = ERRORS.find(([each]) => each.test(text)) ?? [/^/];
    throw invalidParam(text.replace(pattern, message));
  }
  const [year = 0, , month = 1, day = 1, hour = 0, minute = 0, second = 0] = match
    .slice(1, 8)
    .map((digits) => (digits === undefined ? undefined : Number(digits)));
  const ms = Math.trunc(Number(`0.${match[8]?.slice(1) ?? 0}`) * 1000);
  if (month < 1 || month > 12) throw invalidParam("month must be in 1..12");
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) {
    throw invalidParam("day is out of range for month");
  }
  if (hour > 24 || (hour === 24 && minute + second > 0)) {
    throw invalidParam("hour must be in 0..23");
  }
  if (minute > 59) throw invalidParam("minute must be in 0..59");
  if (second > 59) throw invalidParam("second must be in 0..59");
  return Date.UTC(year, month - 1, day, hour, minute, second, ms) - parseOffset(match[9]);
}

/** Converts an offset such as `+02:00` to ms. */
function parseOffset(text = "Z"): number {
  const [, sign, hours, minutes = 0] = /^([+-])(\d\d):?(\d\d)?$/.exec(text) ?? [];
  const offset = (Number(hours ?? 0) * 60 + Number(minutes)) * 60_000;
  return sign === "-" ? -offset : offset;
}
