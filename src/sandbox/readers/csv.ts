import { parse } from "csv-parse/sync";
import { budget } from "../../lib/formats/unreadable-file.ts";

/**
 * Reads CSV as the server does: a part for each row below the first, with the headers of its columns,
 * `name: Ada;age: 36` (server §9.2). Cells and rows without text are omitted.
 */
export function* readCsv(bytes: Uint8Array): Generator<string> {
  const spend = budget(1_000_000, "a table in it has more than a million cells");
  const [header = [], ...rows] = parse(new TextDecoder().decode(bytes), {
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_records_with_empty_values: true,
    on_record(cells: string[]) {
      spend(cells.length);
      return cells;
    },
  });
  for (const cells of rows) {
    const labelled = cells.flatMap((cell, column) => {
      const [label = "", text] = [header[column]?.trim(), cell.trim()];
      if (text === "") return [];
      return label === "" ? text : `${label}: ${text}`;
    });
    yield labelled.join(";");
  }
}
