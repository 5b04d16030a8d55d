import { escapeControls } from "../display-width.ts";
import type { TerminalWriter } from "../live/terminal-writer.ts";
import type { Tone } from "../report-model.ts";
import type { Format, TimeStyle } from "../style.ts";
import { stringifyJson } from "../../lib/json.ts";

/** How values are printed, from the output flags of a command line. */
export interface Style extends TimeStyle {
  /** Default: a grid on a terminal, tsv in a pipe, a sheet for records, live lines for events. */
  readonly format: Format | undefined;
  /** Paths into the row, or labels of its columns. */
  readonly columns?: readonly string[];
  /** They come after the default ones. */
  readonly addsColumns?: boolean;
  readonly headers: boolean;
  /** Escapes the text of a cell that a spreadsheet may read: csv, tsv. */
  readonly spreadsheetCell?: (text: string) => string;
  /** Path or label of the column to sort by. */
  readonly sort?: string;
  readonly reverse: boolean;
  /** The places of the rows that are printed in that order, from 0 (default: all). */
  readonly places?: { readonly from: number; readonly to: number };
  /** Filter in jq's language. */
  readonly jq?: string;
  /** Stops a running filter, which then throws the error. */
  readonly stop?: { readonly signal: AbortSignal; readonly error: () => Error };
  /** Prints all rows of a bulk command on a terminal, too. */
  readonly allRows?: boolean;
  readonly color: boolean;
  /** No rules, nothing redrawn. */
  readonly accessible: boolean;
  /** Whether charts and rules may be other than ASCII. */
  readonly unicode: boolean;
  /** Terminal on which lines may be redrawn. */
  readonly terminal?: TerminalWriter;
  /** What a page says about the command, for `-o html`. */
  readonly page?: PageInfo;
}

/** The head of a page. */
export interface PageInfo {
  /** Words of the command: `wf timeline`. */
  readonly command: string;
  /** What it does, as a title: `Check files in handbook`. */
  readonly action: string;
  /** What came out of it, once all values have been printed; undefined if that is not said. */
  readonly verdict: () => { readonly text: string; readonly tone?: Tone } | undefined;
}

/** One value: over several lines on a terminal, on one line in a pipe. */
export const prettyJson = (value: unknown, terminal: boolean): string =>
  asLine(stringifyJson(value, terminal ? 2 : 0), terminal);

/** JSON on one line. */
export const jsonLine = (value: unknown, terminal: boolean): string =>
  asLine(stringifyJson(value), terminal);

const asLine = (json: string, terminal: boolean): string =>
  `${terminal ? escapeControls(json) : json}\n`;

/** One array in pieces; in a pipe one row per line. */
export function* jsonArray(rows: readonly unknown[], terminal: boolean): Generator<string> {
  if (rows.length === 0) yield "[]\n";
  const indent = terminal ? "  " : "";
  for (const [index, row] of rows.entries()) {
    // Line ends in JSON are between its parts, never inside a string.
    const text = stringifyJson(row, indent).replaceAll("\n", `\n${indent}`);
    const end = index === rows.length - 1 ? "\n]\n" : "";
    yield `${index === 0 ? "[" : ","}\n${indent}${terminal ? escapeControls(text) : text}${end}`;
  }
}
