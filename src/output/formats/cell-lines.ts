import { csvLines } from "../../lib/formats/csv.ts";
import type { Output } from "../../host/host.ts";
import { plain, visible } from "../display-width.ts";
import { cellText } from "../table/table.ts";
import type { Style } from "./text-formats.ts";
import { timesFor } from "../style.ts";
import { counted, patternOf, shortened } from "../../lib/text.ts";
import { plainCell } from "../report-model.ts";
import type { Cell, Section } from "../report-model.ts";

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

const tsvLines = (rows: readonly (readonly string[])[]): string =>
  rows.map((cells) => `${cells.map(tsvCell).join("\t")}\n`).join("");

const tsvCell = (cell: string): string =>
  cell.replace(/[\t\n\r\\]/g, (match) => tsvEscapes[match] ?? match);

const mdLines = (rows: readonly (readonly string[])[]): string => rows.map(mdLine).join("");

const mdLine = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => mdText(cell).replace(/\r?\n|\r/g, "<br>")).join(" | ")} |\n`;

const marks = patternOf(
  String.raw`[\\\x60*[<&~$|]|:(?=\/\/)|(?<=www)\.|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])`,
  "giu",
);

/** A text that GitHub's Markdown shows as it is, addresses included: no marks, links, tags or formulas. */
export const mdText = (text: string): string => text.replace(marks(), String.raw`\$&`);

/** The first two lines of a GitHub table, which are mandatory; `right` aligns columns right. */
const mdHead = (labels: readonly string[], right: readonly boolean[] = []): string =>
  mdLine(labels) + mdLine(labels.map((_, index) => (right[index] ? "---:" : "---")));

/** Characters of a comment on GitHub; GitLab takes more. */
const MAX_COMMENT = 65_536;
/** For what follows the rows of all sections: titles, notes, and the number of rows that have no room. */
const RESERVED = 4000;
/** Characters of a cell. */
const MAX_CELL = 400;

/**
 * Sections as Markdown that fits into a comment: texts from outside are code, in which nothing has a
 * meaning, and long ones are cut; rows for which there is no room are counted.
 */
export async function briefText(
  sections: readonly Section[],
  style: Style,
  out: Output,
): Promise<string> {
  const lines = await cellLines("md", style, out);
  let room = MAX_COMMENT - RESERVED;
  const texts: string[] = [];
  for (const section of sections) {
    const text = briefSection(section, room, lines, out);
    room -= text.length;
    texts.push(text);
  }
  return texts.join("\n");
}

function briefSection(section: Section, room: number, lines: CellLines, out: Output): string {
  const { title = "", columns, rows, notes = [], folded = false } = section;
  const labels = columns.map(({ label }) => label);
  const right = columns.map((heading) => heading.right === true);
  let table = labels.length > 0 ? lines.head(labels, right) : "";
  let shown = 0;
  for (const cells of rows) {
    const texts = cells.map((cell, index) => mdCell(cell, columns[index]?.literal === true, out));
    const row = `| ${texts.join(" | ")} |\n`;
    if (table.length + row.length > room) break;
    table += row;
    shown++;
  }
  const rest = rows.length - shown;
  const all = rest > 0 ? [...notes, `${counted(rest, "more row")} not shown`] : notes;
  const below = all.map((note) => `\n${mdText(oneLine(note, out))}\n`).join("");
  const head = oneLine(title, out);
  return folded
    ? `<details>\n<summary>${head}</summary>\n\n${table}${below}\n</details>\n`
    : `### ${mdText(head)}\n\n${table}${below}`;
}

function mdCell(cell: Cell, isLiteral: boolean, out: Output): string {
  const text = oneLine(String(plainCell(cell) ?? ""), out);
  const shown = shortened(text, MAX_CELL);
  return isLiteral ? code(shown) : mdText(shown);
}

/**
 * Code in a cell, between more backticks than it has in a row. A backslash before a bar would end the
 * cell, so a blank follows it.
 */
function code(text: string): string {
  if (text === "") return "";
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  const gap = longest > 0 || /^\s|\s$/.test(text) ? " " : "";
  const bars = text.replace(/\\(?=\|)/g, "\\ ").replaceAll("|", "\\|");
  return `${fence}${gap}${bars}${gap}${fence}`;
}

const oneLine = (text: string, out: Output): string =>
  safeCell(text, out).replace(/\s+/g, " ").trim();
