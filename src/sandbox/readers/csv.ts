import { parse } from "csv-parse/sync";
import { cellBudget, labelledRows } from "./limits.ts";

/** Reads CSV: a part for each row. */
export function readCsv(bytes: Uint8Array): Iterable<string> {
  const spend = cellBudget();
  const rows = parse(new TextDecoder().decode(bytes), {
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    on_record(cells: string[]) {
      spend(cells.length);
      return cells;
    },
  });
  return labelledRows(rows.map((cells) => new Map(cells.entries())));
}
