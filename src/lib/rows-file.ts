import { CliError } from "../errors.ts";
import { isObject } from "./json.ts";

/** One row of a file: what its cells hold and how it stands there. */
export interface FileRow {
  /** From 1; a header does not count. */
  readonly number: number;
  /** Line of the file on which it begins, from 1. */
  readonly line: number;
  /** Column and value, in the file's order: texts of CSV, any JSON value of JSON Lines. */
  readonly cells: readonly (readonly [column: string, value: unknown])[];
  /** Its text without line end. */
  readonly raw: string;
}

/** A file of rows. */
export interface RowFile {
  readonly rows: readonly FileRow[];
  /** Columns of the header; undefined for JSON Lines, where each row names its own. */
  readonly columns: readonly string[] | undefined;
  /** A file of the same shape that holds only these rows. */
  readonly withOnly: (rows: readonly { readonly raw: string }[]) => string;
}

/**
 * Rows of CSV or JSON Lines. It is CSV when the name ends in `.csv` or the text does not start
 * with `{`. Throws usage with line and column of what cannot be read.
 */
export async function readRowFile(name: string, bytes: Uint8Array): Promise<RowFile> {
  const text = textIn(name, bytes);
  if (!name.endsWith(".csv") && text.trimStart().startsWith("{")) return jsonLines(name, text);
  return csv(name, text);
}

/** Refusal of a place in a file. */
export const unreadable = (place: string, problem: string, hint?: string) =>
  new CliError("usage", `${place}: ${problem}`, { sideEffect: "none", hint });

/** Refuses a header that names a column twice: a row would have two values for one thing. */
export function refuseDuplicates(name: string, columns: readonly string[]): void {
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice !== undefined) throw unreadable(`${name} line 1`, `two columns are called ${twice}`);
}

function textIn(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const before = validPart(bytes);
    const line = before.split("\n");
    throw unreadable(
      `${name} line ${line.length}, column ${[...(line.at(-1) ?? "")].length + 1}`,
      "this is not UTF-8",
      "save the file as UTF-8",
    );
  }
}

/** The text before the first byte that is no UTF-8. */
function validPart(bytes: Uint8Array): string {
  const valid = (end: number): string | undefined => {
    try {
      // As a stream, so that a character cut in two is no mistake.
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, end), {
        stream: true,
      });
    } catch {
      return undefined;
    }
  };
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (valid(middle) === undefined) bad = middle;
    else good = middle;
  }
  return valid(good) ?? "";
}

function jsonLines(name: string, text: string): RowFile {
  const rows: FileRow[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    rows.push({
      number: rows.length + 1,
      line: index + 1,
      cells: Object.entries(objectIn(`${name} line ${index + 1}`, line)),
      raw: line,
    });
  }
  return {
    rows,
    columns: undefined,
    withOnly: (some) => some.map(({ raw }) => `${raw}\n`).join(""),
  };
}

function objectIn(place: string, line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    // The engine names the position for some mistakes only; for the others it quotes the place.
    const at = /at position (\d+)/.exec(reason)?.[1];
    const column = at === undefined ? "" : `, column ${Number(at) + 1}`;
    throw unreadable(`${place}${column}`, `this is not JSON: ${reason}`);
  }
  if (!isObject(value)) throw unreadable(place, "this is no JSON object");
  return value;
}

/** A record as csv-parse gives it. */
interface Parsed {
  readonly record: readonly string[];
  readonly raw: string;
}

type Parse = (text: string, upTo?: number) => Parsed[];

async function csv(name: string, text: string): Promise<RowFile> {
  const { parse } = await import("csv-parse/sync");
  const records: Parse = (part, upTo) =>
    // `raw` makes it give records with their text, which its types do not say.
    parse(part, {
      raw: true,
      record_delimiter: ["\r\n", "\n", "\r"], // by itself it takes the first one it finds for all
      skip_empty_lines: true,
      ...(upTo !== undefined && { to: upTo }),
    }) as unknown as Parsed[];
  let parsed: Parsed[];
  try {
    parsed = records(text);
  } catch {
    throw brokenAt(name, text.replaceAll("\r\n", "\n"), records);
  }
  const [header, ...rest] = parsed;
  const columns = (header?.record ?? []).map((column) => column.trim());
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lineOf = linesIn(text);
  lineOf(withoutLineEnds(header?.raw ?? ""));
  return {
    columns,
    rows: rest.map(({ record, raw }, index) => ({
      number: index + 1,
      line: lineOf(withoutLineEnds(raw)),
      cells: columns.map((column, at) => [column, record[at] ?? ""] as const),
      raw: withoutLineEnds(raw),
    })),
    withOnly: (some) =>
      [withoutLineEnds(header?.raw ?? ""), ...some.map(({ raw }) => raw)]
        .map((line) => `${line}${end}`)
        .join(""),
  };
}

/** Tells on which line each of the parts of a text begins; they are asked for in their order. */
function linesIn(text: string): (part: string) => number {
  let [at, line] = [0, 1];
  return (part) => {
    const start = text.indexOf(part, at);
    line += lineEnds(text.slice(at, start));
    const found = line;
    line += lineEnds(part);
    at = start + part.length;
    return found;
  };
}

const lineEnds = (text: string) => text.split("\n").length - 1;

/** The parser's text of a record may hold the line end before or half of the one after it. */
const withoutLineEnds = (raw: string) => raw.replace(/^[\r\n]+|(?<![\r\n])[\r\n]+$/g, "");

const problems: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "the quote is not closed",
  CSV_INVALID_CLOSING_QUOTE: "text stands after the closing quote",
  INVALID_OPENING_QUOTE: "a quote stands inside a value that is not quoted",
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: "there are not as many cells as in the header",
};

/**
 * The error for CSV that cannot be read. The parser counts the line ends of Windows twice inside
 * quotes and names the last line for an open quote, so the line is counted here: `text` has Unix
 * line ends, and what stands before the bad record is read once more.
 */
function brokenAt(name: string, text: string, records: Parse): CliError {
  try {
    records(text);
  } catch (error) {
    const info = error as { code?: string; column?: number | string; records?: number }; // csv-parse's CsvError
    const good = info.records ? records(text, info.records) : [];
    let start = good.reduce((length, { raw }) => length + raw.length, 0);
    while (text[start] === "\n") start++;
    const line = text.slice(0, start).split("\n").length;
    const column = good[0]?.record[Number(info.column)] ?? String(Number(info.column) + 1);
    return unreadable(
      `${name} line ${line}, column ${column.trim()}`,
      problems[info.code ?? ""] ?? (error instanceof Error ? error.message : String(error)),
      "cells that hold commas, quotes or line ends stand in quotes; a quote in them is doubled",
    );
  }
  return unreadable(name, "this is no CSV");
}
