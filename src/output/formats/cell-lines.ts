import { csvLines } from "../../lib/formats/csv.ts";
import type { Output } from "../../host/host.ts";
import { plain, visible } from "../display-width.ts";
import { cellText } from "../table/table.ts";
import type { Style } from "./text-formats.ts";
import { timesFor } from "../style.ts";

/** Formats that print rows as lines of full cells. */
export type LineFormat = "tsv" | "csv" | "md";

/** Formats rows of values as lines, each with its end. */
export interface CellLines {
  /** The line of labels; `right` aligns columns of md right. */
  head(labels: readonly string[], right?: readonly boolean[]): string;
  rows(rows: readonly (readonly unknown[])[]): string;
}

/** Lines of a format; csv and tsv may be opened in a spreadsheet. */
export async function cellLines(form: LineFormat, style: Style, out: Output): Promise<CellLines> {
  const lines = form === "csv" ? await csvLines() : { tsv: tsvLines, md: mdLines }[form];
  const times = timesFor(style, false);
  const guarded = (form !== "md" && style.spreadsheetCell) || ((text: string) => text);
  const cell = (value: unknown) => safeCell(guarded(cellText(value, times)), out);
  return {
    head: (labels, right = []) =>
      form === "md" ? mdHead(labels.map(cell), right) : lines([labels.map(cell)]),
    rows: (rows) => lines(rows.map((values) => values.map(cell))),
  };
}

/**
 * The full text of a cell, safe for a terminal. In a pipe, too: its output is often displayed
 * (`kb list | head`). JSON is not changed.
 */
export function safeCell(text: string, { isTTY }: Output): string {
  if (plain.test(text)) return text;
  return text.replace(isTTY ? /[^\n\t]+/g : /[^\n\t\r]+/g, (part) => visible(part));
}

const tsvEscapes: Readonly<Record<string, string>> = {
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
  "\\": "\\\\",
};

/** Lines of cells between tabs; tabs, line ends and backslashes inside are escaped. */
const tsvLines = (rows: readonly (readonly string[])[]): string =>
  rows.map((cells) => `${cells.map(tsvCell).join("\t")}\n`).join("");

const tsvCell = (cell: string): string =>
  cell.replace(/[\t\n\r\\]/g, (match) => tsvEscapes[match] ?? match);

/** Rows of a GitHub table. */
const mdLines = (rows: readonly (readonly string[])[]): string => rows.map(mdLine).join("");

const mdLine = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => mdText(cell).replace(/\r?\n|\r/g, "<br>")).join(" | ")} |\n`;

/** A text that GitHub's Markdown shows as it is, addresses included: no marks, links, tags or formulas. */
export const mdText = (text: string): string =>
  text.replace(
    /[\\`*[<&~$|]|:(?=\/\/)|(?<=www)\.|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/giu,
    String.raw`\$&`,
  );

/** The first two lines of a GitHub table, which are mandatory; `right` aligns columns right. */
const mdHead = (labels: readonly string[], right: readonly boolean[] = []): string =>
  mdLine(labels) + mdLine(labels.map((_, index) => (right[index] ? "---:" : "---")));
