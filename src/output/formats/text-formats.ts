import type { Output } from "../../host/host.ts";
import type { Format } from "../formats-list.ts";
import type { Screen } from "../live/screen.ts";
import { escaped, visible } from "../table/display-width.ts";

/** How values are to be printed; what a command line says about its output. */
export interface Style {
  /** Absent: a grid on a terminal, tsv in a pipe, a sheet for records, live lines for events. */
  readonly format: Format | undefined;
  /** Paths into the row, or labels of its columns. */
  readonly columns?: readonly string[];
  readonly headers: boolean;
  /** What becomes of the text of a cell that a spreadsheet may read: csv, tsv. */
  readonly spreadsheetCell?: (text: string) => string;
  /** Path or label of the column to sort by. */
  readonly sort?: string;
  readonly reverse: boolean;
  /** Filter in jq's language. */
  readonly jq?: string;
  /** Ends a filter that runs, and what is thrown then. */
  readonly stop?: { readonly signal: AbortSignal; readonly error: () => Error };
  readonly times: "local" | "utc" | "relative";
  /** IANA name; the system's when absent. */
  readonly timeZone?: string;
  readonly color: boolean;
  /** No box drawing, nothing drawn twice. */
  readonly accessible: boolean;
  /** May charts and lines be drawn with more than ASCII? */
  readonly unicode: boolean;
  /** Terminal on which lines may be redrawn; absent where they stay as they are written. */
  readonly screen?: Screen;
  readonly now: () => Date;
}

/** One value: over several lines on a terminal, on one line in a pipe. */
export const prettyJson = (value: unknown, terminal: boolean): string =>
  finished(JSON.stringify(value, null, terminal ? 2 : 0), terminal);

/** JSON on one line. */
export const jsonLine = (value: unknown, terminal: boolean): string =>
  finished(JSON.stringify(value), terminal);

/** JSON text as it came, as a line. */
export const finished = (json: string, terminal: boolean): string =>
  `${terminal ? escaped(json) : json}\n`;

/** One array, piece by piece; in a pipe one row a line. */
export function* jsonArray(rows: readonly unknown[], terminal: boolean): Generator<string> {
  if (rows.length === 0) yield "[]\n";
  const indent = terminal ? "  " : "";
  for (const [index, row] of rows.entries()) {
    // Line ends inside JSON are between its parts, never inside a string.
    const text = JSON.stringify(row, null, indent).replaceAll("\n", `\n${indent}`);
    const end = index === rows.length - 1 ? "\n]\n" : "";
    yield `${index === 0 ? "[" : ","}\n${indent}${terminal ? escaped(text) : text}${end}`;
  }
}

/** YAML in which every string reads back as a string, with readers of YAML 1.1 as well. */
export async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(value, { compat: "yaml-1.1", lineWidth: 0, aliasDuplicateObjects: false });
}

/** Full text in a pipe; on a terminal nothing that acts on it, line ends and tabs being the format's affair. */
export const sanitize = (text: string, { isTTY }: Output): string =>
  isTTY ? text.replace(/[^\n\t]+/g, (part) => visible(part)) : text;

/**
 * The full text of a cell with nothing in it that acts on a terminal, in a pipe as well: people read
 * what comes out of it (`kb list | head`). JSON has everything as it is.
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
export const tsvLine = (cells: readonly string[]): string =>
  `${cells.map((cell) => cell.replace(/[\t\n\r\\]/g, (found) => tsvEscapes[found] ?? found)).join("\t")}\n`;

/** One row of a GitHub table. */
export const mdLine = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replace(/\r?\n|\r/g, "<br>")).join(" | ")} |\n`;

/** First two lines of a GitHub table, which cannot do without them; columns of `right` stand there. */
export const mdHead = (labels: readonly string[], right: readonly boolean[] = []): string =>
  mdLine(labels) + mdLine(labels.map((_, index) => (right[index] ? "---:" : "---")));
