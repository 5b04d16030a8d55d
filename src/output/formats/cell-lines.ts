import { csvLines } from "../../lib/formats/csv.ts";
import type { Output } from "../../host/host.ts";
import { visible } from "../table/display-width.ts";
import { cellText } from "../table/table.ts";
import type { Style } from "./text-formats.ts";
import { timesFor } from "./times.ts";

/** Formats that print rows as lines of full cells. */
export type LineFormat = "tsv" | "csv" | "md";

/** Formats rows of values as lines, each with its end. */
export interface CellLines {
  /** The line of labels; `right` aligns columns of md right. */
  head(labels: readonly string[], right?: readonly boolean[]): string;
  row(values: readonly unknown[]): string;
}

/** Lines of a format; csv and tsv may be opened in a spreadsheet. */
export async function cellLines(form: LineFormat, style: Style, out: Output): Promise<CellLines> {
  const line = form === "csv" ? await csvLines() : { tsv: tsvLine, md: mdLine }[form];
  const times = timesFor(style, false);
  const guarded = (form !== "md" && style.spreadsheetCell) || ((text: string) => text);
  const cell = (value: unknown) => safeCell(guarded(cellText(value, times)), out);
  return {
    head: (labels, right = []) =>
      form === "md" ? mdHead(labels.map(cell), right) : line(labels.map(cell)),
    row: (values) => line(values.map(cell)),
  };
}

/**
 * The full text of a cell, safe for a terminal. In a pipe, too: its output is often displayed
 * (`kb list | head`). JSON is not changed.
 */
export const safeCell = (text: string, { isTTY }: Output): string =>
  text.replace(isTTY ? /[^\n\t]+/g : /[^\n\t\r]+/g, (part) => visible(part));

const tsvEscapes: Readonly<Record<string, string>> = {
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
  "\\": "\\\\",
};

/** One line of cells between tabs; tabs, line ends and backslashes inside are escaped. */
const tsvLine = (cells: readonly string[]): string =>
  `${cells.map((cell) => cell.replace(/[\t\n\r\\]/g, (match) => tsvEscapes[match] ?? match)).join("\t")}\n`;

/** One row of a GitHub table. */
const mdLine = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replace(/\r?\n|\r/g, "<br>")).join(" | ")} |\n`;

/** The first two lines of a GitHub table, which are mandatory; `right` aligns columns right. */
const mdHead = (labels: readonly string[], right: readonly boolean[] = []): string =>
  mdLine(labels) + mdLine(labels.map((_, index) => (right[index] ? "---:" : "---")));
