import { parse } from "csv-parse/sync";
import { isBlank, noLog } from "./log-file.ts";
import type { Damaged, Line, Reader } from "./log-file.ts";
import { loggedRun } from "./logged-run.ts";
import type { LoggedRun } from "./logged-run.ts";

/** Lines that one row may have; a quote that is open for longer is a stray one. */
const mostLines = 1000;

/** Reads CSV whose first row names the columns of `wf logs`. */
export function csvReader(name: string, damaged: Damaged): Reader {
  let columns: readonly string[] | undefined;
  let open: readonly Line[] = [];

  const runOf = (line: number, cells: readonly string[]): LoggedRun | undefined => {
    if (columns === undefined) {
      columns = cells.map((cell) => cell.trim());
      if (!columns.includes("status")) throw noLog(name, "there is no column status", line);
      return undefined;
    }
    if (cells.length !== columns.length) {
      damaged(line, `it has ${cells.length} cells, the header ${columns.length}`);
      return undefined;
    }
    return loggedRun(Object.fromEntries(columns.map((column, at) => [column, cells[at]])));
  };

  /** Gives the lines of a row that has not ended. */
  const read = (lines: readonly Line[], last: boolean, into: LoggedRun[]): readonly Line[] => {
    const { rows, rest } = rowsIn(lines);
    const all = cellsOf(rows.map(textOf));
    for (const [index, row] of rows.entries()) {
      const line = row[0]?.number ?? 0;
      const [cells] = all?.[index] ? [all[index]] : (cellsOf([textOf(row)]) ?? []);
      const run = cells && runOf(line, cells);
      if (run) into.push(run);
      if (cells) continue;
      damaged(line, "its quotes are not those of CSV");
      read(row.slice(1), true, into);
    }
    if (rest.length === 0 || (!last && rest.length <= mostLines)) return rest;
    damaged(rest[0]?.number ?? 0, "a quote is not closed");
    return read(rest.slice(1), last, into);
  };

  return (lines, last) => {
    const runs: LoggedRun[] = [];
    open = read([...open, ...lines], last, runs);
    return runs;
  };
}

/** Lines that belong together, because a quoted cell goes over their ends; those of the last may be missing. */
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

/** Cells of each row; undefined when one of them is no CSV. */
function cellsOf(rows: readonly string[]): readonly (readonly string[])[] | undefined {
  try {
    const all = parse(rows.join("\n"), { relax_column_count: true, record_delimiter: "\n" });
    return all.length === rows.length ? all : undefined;
  } catch {
    return undefined;
  }
}
