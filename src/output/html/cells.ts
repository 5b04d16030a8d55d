import { groupDigits } from "../../lib/numbers.ts";
import { isChart } from "../report-model.ts";
import type { Cell, Chart, Heading, Tone } from "../report-model.ts";
import type { Times } from "../times.ts";
import { columnColor } from "../colors.ts";
import { cellText, humanTimes } from "../table/table.ts";
import { escapeHtml } from "./markup.ts";
import { chartHtml } from "./page-charts.ts";

/** A column of a table on a page, with what its cells have in common. */
export interface PageColumn {
  readonly heading: Heading;
  readonly index: number;
  /** The kind of its charts, if it has any. */
  readonly chart: Chart["chart"] | undefined;
  readonly hasDates: boolean;
  /** Aligned right. */
  readonly right: boolean;
  readonly times: Times;
}

/** The columns of a table. */
export const pageColumns = (
  columns: readonly Heading[],
  rows: readonly (readonly Cell[])[],
  times: Times,
): readonly PageColumn[] =>
  columns.map((heading, index) => {
    const cells = rows.map((row) => row[index] ?? null);
    const isNumeric = cells.some((cell) => typeof cell === "number");
    const others = cells.some((cell) => cell !== null && typeof cell !== "number");
    return {
      heading,
      index,
      chart: cells.find(isChart)?.chart,
      hasDates: cells.some((cell) => cell instanceof Date),
      right: heading.right ?? (isNumeric && !others),
      times: humanTimes(cells, times),
    };
  });

/** The content of a cell. */
export function cellContent(cell: Cell, { heading, times }: PageColumn): string {
  if (isChart(cell)) return chartHtml(cell);
  const { text, tone } = readCell(cell, heading.label, times);
  if (text === "") return "";
  return tone === undefined ? escapeHtml(text) : tonedText(text, tone);
}

/** A text with its tone. */
export const tonedText = (text: string, tone: Tone): string =>
  `<span class="tone ${tone}">${escapeHtml(text)}</span>`;

/** The text of a cell without markup, and its tone. */
export function readCell(
  cell: Exclude<Cell, Chart>,
  label: string,
  times: Times,
): { readonly text: string; readonly tone: Tone | undefined } {
  if (typeof cell === "object" && cell !== null && "text" in cell) return cell;
  const text = typeof cell === "number" ? groupDigits(cell) : cellText(cell, times);
  const color = columnColor(label)?.(cell);
  return { text, tone: color && tonesOfColors[color] };
}

/** What the colors of words in tables mean. */
const tonesOfColors = { green: "good", red: "bad", yellow: "warn" } as const;
