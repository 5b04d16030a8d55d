import { parse } from "csv-parse/sync";
import { secondsIn } from "../../../api/time-windows.ts";
import type { RunStatus, WorkflowLog } from "../../../operations/workflows.ts";
import { isBlank, notLog } from "./read-file.ts";
import type { FiledLog, LogReader, OnDamaged } from "./read-file.ts";
import type { Line } from "../../lines.ts";

/** Maximum number of lines of one row; a quote that stays open for longer is a stray one. */
const MAX_ROW_LINES = 1000;

/** Reads CSV with a header of `wf logs` columns. */
export function csvReader(name: string, damaged: OnDamaged): LogReader {
  let columns: readonly string[] | undefined;
  let open: readonly Line[] = [];

  const logIn = (line: number, cells: readonly string[]): FiledLog | undefined => {
    if (columns === undefined) {
      columns = cells.map((cell) => cell.trim());
      if (!columns.includes("status")) throw notLog(name, "missing column status", line);
      return undefined;
    }
    if (cells.length !== columns.length) {
      damaged(line, `expected ${columns.length} cells as in the header, found ${cells.length}`);
      return undefined;
    }
    return logOf(new Map(columns.map((column, at) => [column, cells[at] ?? ""])));
  };

  /** Adds the rows of complete lines to `into`. Returns the lines of an incomplete row. */
  const read = (lines: readonly Line[], last: boolean, into: FiledLog[]): readonly Line[] => {
    const { rows, rest } = rowsIn(lines);
    const all = cellsOf(rows.map(textOf));
    for (const [index, row] of rows.entries()) {
      const line = row[0]?.number ?? 0;
      const [cells] = all?.[index] ? [all[index]] : (cellsOf([textOf(row)]) ?? []);
      const log = cells && logIn(line, cells);
      if (log) into.push(log);
      if (cells) continue;
      damaged(line, "invalid CSV quotes");
      read(row.slice(1), true, into);
    }
    if (rest.length === 0 || (!last && rest.length <= MAX_ROW_LINES)) return rest;
    damaged(rest[0]?.number ?? 0, "missing closing quote");
    return read(rest.slice(1), last, into);
  };

  return (lines, last) => {
    const logs: FiledLog[] = [];
    open = read([...open, ...lines], last, logs);
    return logs;
  };
}

/** Groups lines to rows, because quoted cells may span lines; `rest` is an incomplete row. */
function rowsIn(lines: readonly Line[]): { rows: Line[][]; rest: Line[] } {
  const rows: Line[][] = [];
  let rest: Line[] = [];
  let quoted = false;
  for (const line of lines) {
    if (!quoted && isBlank(line)) continue;
    rest.push(line);
    if (line.text.split('"').length % 2 === 0) quoted = !quoted;
    if (quoted) continue;
    rows.push(rest);
    rest = [];
  }
  return { rows, rest };
}

const textOf = (row: readonly Line[]): string =>
  row.map(({ text }) => text.replace(/\r$/, "")).join("\n");

/** The cells of each row; undefined if one of them is not valid CSV. */
function cellsOf(rows: readonly string[]): readonly (readonly string[])[] | undefined {
  try {
    const all = parse(rows.join("\n"), { relax_column_count: true, record_delimiter: "\n" });
    return all.length === rows.length ? all : undefined;
  } catch {
    return undefined;
  }
}

/** The log row with these columns. An empty cell can be null or an empty text. */
function logOf(cells: ReadonlyMap<string, string>): FiledLog {
  const text = (column: string) => cells.get(column) || null;
  const number = (column: string) => {
    const value = Number(text(column) ?? Number.NaN);
    return Number.isFinite(value) ? value : null;
  };
  const time = (column: string) => secondsIn(text(column), Math.floor) ?? null;
  const [run, status, user, at] = [text("run"), text("status"), text("by"), time("started")];
  const id = text("log") ?? run;
  return {
    ...(id !== null && { id }),
    ...(at !== null && { created_at: at }),
    workflow_run:
      run === null && status === null
        ? null
        : {
            id: run ?? "",
            version: text("version"),
            status: status as RunStatus | null, // as the server wrote it
            triggered_from: text("triggered_from"),
            error: text("error"),
            elapsed_time: number("elapsed"),
            total_tokens: number("tokens"),
            total_steps: number("steps"),
            created_at: at,
            finished_at: time("finished"),
            exceptions_count: number("exceptions"),
          },
    created_from: text("created_from") ?? "",
    created_by_end_user: user === null ? null : endUser(user),
  };
}

/** The column may also be an account; filters by account compare this text. */
const endUser = (session_id: string): WorkflowLog["created_by_end_user"] => ({
  id: "",
  type: "",
  is_anonymous: false,
  session_id,
});
