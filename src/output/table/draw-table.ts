import { sum } from "../../lib/numbers.ts";
import { pad } from "../display-width.ts";

/** A column of a finished table. */
export interface TableColumn {
  /** Columns of the terminal. */
  readonly width: number;
  readonly align: "left" | "right";
}

/** The text of a cell without colors, by which it is measured, and with them. */
export interface TableCell {
  readonly text: string;
  readonly colored: string;
}

/**
 * Rows that cli-table3 draws. It takes 0.12 ms a row of 100, and 0.3 ms of 3,000, which is 150 to 400 times as
 * long as to join a line, so further rows are lines.
 */
export const MAX_TABLE_ROWS = 100;

/** Columns of a table that no terminal has: hostile texts of that length took a second and more. */
const MAX_TABLE_WIDTH = 1000;

/** Between columns. */
export const columnGap = "  ";

const borders =
  "top top-left top-mid top-right bottom bottom-left bottom-mid bottom-right left left-mid right right-mid mid mid-mid";
const noBorders = Object.fromEntries(borders.split(" ").map((name) => [name, ""]));

/** A row as a line that is not wider than the columns. */
export const rowLine = (cells: readonly TableCell[], columns: readonly TableColumn[]): string =>
  cells
    .map(({ text, colored }, index) => {
      const { width = 0, align } = columns[index] ?? {};
      return pad(text, width, align, colored);
    })
    .join(columnGap)
    .trimEnd();

/**
 * Draws a table with cli-table3 and returns its lines: a head if there is one, a rule below it if there is a
 * character for it, the rows. It measures cells with `widthOf` (scripts/replaced.mjs).
 */
export async function drawTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly TableCell[])[],
  { head = [], rule = "" }: { readonly head?: readonly TableCell[]; readonly rule?: string } = {},
): Promise<string[]> {
  const { default: Table } = await import("cli-table3");
  const widths = columns.map(({ width }) => width);
  const isHuge = sum(widths) > MAX_TABLE_WIDTH;
  const drawn = rows.slice(0, isHuge ? 0 : MAX_TABLE_ROWS);
  const ruleGap = rule === "" ? "" : columnGap;
  // The line below a head without rows is the bottom of the table.
  const ruleChars =
    drawn.length > 0 ? { mid: rule, "mid-mid": ruleGap } : { bottom: rule, "bottom-mid": ruleGap };
  const table = new Table({
    head: head.map(({ colored }) => colored),
    colWidths: widths,
    colAligns: columns.map(({ align }) => align),
    chars: { ...noBorders, middle: columnGap, ...ruleChars },
    style: { "padding-left": 0, "padding-right": 0, head: [], border: [], compact: true },
  });
  table.push(...drawn.map((cells) => cells.map(({ colored }) => colored)));
  const text = table.toString();
  const lines = text === "" ? [] : text.split("\n").map((line) => line.trimEnd());
  return [...lines, ...rows.slice(drawn.length).map((cells) => rowLine(cells, columns))];
}
