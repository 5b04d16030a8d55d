import { readWorkbook } from "../../lib/formats/workbook.ts";
import type { WorkbookRow } from "../../lib/formats/workbook.ts";

/**
 * Reads a spreadsheet as servers do: a part for each row below the header of a sheet, `"name":"Ada";"age":"36"`
 * (server §9.2). A date is the number that the file has for it.
 */
export function* readXlsx(bytes: Uint8Array): Generator<string> {
  for (const { rows } of readWorkbook(bytes)) yield* textOfSheet(rows());
}

/** Rows of a sheet among which servers look for its header. */
const HEADER_ROWS = 10;

/** The rows below the header, which is the first row with two cells, or else with any; columns without one are omitted. */
function* textOfSheet(rows: readonly WorkbookRow[]): Generator<string> {
  const headers = rows
    .filter(({ number }) => number <= HEADER_ROWS)
    .map(({ number, cells }) => ({ number, titles: titlesOf(cells) }))
    .filter(({ titles }) => titles.length > 0);
  const header = headers.find(({ titles }) => titles.length > 1) ?? headers[0];
  if (!header) return;
  const lastColumn = header.titles.at(-1)?.[0] ?? 0;
  for (const { number, cells } of rows) {
    if (number <= header.number || ![...cells.keys()].some((column) => column <= lastColumn))
      continue;
    yield header.titles
      .map(([column, title]) => `"${title}":"${quotable(cells.get(column)?.text ?? "")}"`)
      .join(";");
  }
}

const titlesOf = (cells: WorkbookRow["cells"]) =>
  [...cells]
    .map(([column, { text }]) => [column, quotable(text)] as const)
    .filter(([, title]) => title !== "")
    .toSorted(([one], [other]) => one - other);

const quotable = (text: string): string => text.trim().replaceAll('"', '\\"');
