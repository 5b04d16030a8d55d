/**
 * The rows of a table as the server writes them, with the header of each column: `name: Ada;age: 36`
 * (server §9.2). The first row is the header; cells without text are omitted.
 */
export function* labelledRows(rows: Iterable<readonly string[]>): Generator<string> {
  let header: readonly string[] | undefined;
  for (const row of rows) {
    if (row.every((cell) => cell.trim() === "")) continue;
    if (!header) header = row;
    else yield labelledRow(header, row);
  }
}

const labelledRow = (header: readonly string[], row: readonly string[]): string =>
  row
    .map((cell, column) => [header[column]?.trim() ?? "", cell.trim()] as const)
    .filter(([, cell]) => cell !== "")
    .map(([label, cell]) => (label === "" ? cell : `${label}: ${cell}`))
    .join(";");
