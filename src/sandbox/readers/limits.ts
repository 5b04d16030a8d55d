/** Why the text of a file cannot be read, as the end of a sentence. */
export class UnreadableFile extends Error {}

/** Adds up amounts; throws UnreadableFile with the reason as soon as they exceed `max`. */
export function budget(max: number, reason: string): (amount: number) => void {
  let left = max;
  return (amount) => {
    left -= amount;
    if (left < 0) throw new UnreadableFile(reason);
  };
}

/** The texts of a row by column, from 0. */
export type TableRow = ReadonlyMap<number, string>;

/** Counts the cells of a table; throws UnreadableFile at the first one too many. */
export const cellBudget = () => budget(1_000_000, "a table in it has more than a million cells");

/**
 * The rows of a table as the server writes them, with the header of each column: `name: Ada;age: 36`
 * (server §9.2). The first row is the header; cells and rows without text are omitted.
 */
export function* labelledRows(rows: Iterable<TableRow>): Generator<string> {
  let header: TableRow | undefined;
  for (const row of rows) {
    const cells = [...row].filter(([, text]) => text.trim() !== "");
    if (cells.length === 0) continue;
    if (header) yield cells.map((cell) => labelled(header, cell)).join(";");
    header ??= row;
  }
}

function labelled(header: TableRow | undefined, [column, text]: readonly [number, string]): string {
  const label = header?.get(column)?.trim() ?? "";
  return label === "" ? text.trim() : `${label}: ${text.trim()}`;
}
