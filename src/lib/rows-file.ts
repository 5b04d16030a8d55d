import { CliError, usage } from "../errors.ts";
import { isObject } from "./json.ts";

/** One row of a file. */
export interface FileRow {
  /** From 1, without the header. */
  readonly number: number;
  /** Its first line in the file, from 1. */
  readonly line: number;
  /** Columns and values in the order of the file: strings in CSV, JSON values in JSON Lines. */
  readonly cells: readonly (readonly [column: string, value: unknown])[];
  /** Its text without the line break. */
  readonly raw: string;
}

/** A file of rows. */
export interface RowFile {
  readonly rows: readonly FileRow[];
  /** Columns of the header; undefined for JSON Lines, where each row has its own. */
  readonly columns: readonly string[] | undefined;
  /** The content of a file of the same format with only these rows. */
  readonly withOnly: (rows: readonly { readonly raw: string }[]) => string;
}

/**
 * Reads rows of CSV or JSON Lines. It is CSV if the name ends in `.csv` or the text does not start
 * with `{`. Throws `usage` with the line and column of a mistake.
 */
export async function readRowFile(name: string, bytes: Uint8Array): Promise<RowFile> {
  const text = textIn(name, bytes);
  if (!name.endsWith(".csv") && text.trimStart().startsWith("{")) return jsonLines(name, text);
  return csv(name, text);
}

/** The error for a mistake in a file. */
export const unreadable = (place: string, problem: string, hint?: string) =>
  usage(`${place}: ${problem}`, hint);

/** Throws if a header has a duplicate column. */
export function rejectDuplicates(name: string, columns: readonly string[]): void {
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice !== undefined) throw unreadable(`${name} line 1`, `duplicate column ${twice}`);
}

function textIn(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    const line = validPart(bytes).split("\n");
    throw unreadable(
      `${name} line ${line.length}, column ${[...(line.at(-1) ?? "")].length + 1}`,
      "invalid UTF-8",
      "save the file as UTF-8",
    );
  }
}

/** The text before the first invalid byte. */
function validPart(bytes: Uint8Array): string {
  const valid = (end: number): string | undefined => {
    try {
      // As a stream, so that an incomplete character is not an error.
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
    // Node reports the position of some mistakes only.
    const at = /at position (\d+)/.exec(reason)?.[1];
    const column = at === undefined ? "" : `, column ${Number(at) + 1}`;
    throw unreadable(`${place}${column}`, `invalid JSON: ${reason}`);
  }
  if (!isObject(value)) throw unreadable(place, "expected a JSON object");
  return value;
}

/** A record of csv-parse. */
interface ParsedRecord {
  readonly record: readonly string[];
  readonly raw: string;
}

type Parse = (text: string, upTo?: number) => ParsedRecord[];

async function csv(name: string, text: string): Promise<RowFile> {
  const { parse } = await import("csv-parse/sync");
  const records: Parse = (part, upTo) =>
    // With `raw` it returns records with their text, which its types do not declare.
    parse(part, {
      raw: true,
      record_delimiter: ["\r\n", "\n", "\r"], // by default it expects the first one everywhere
      skip_empty_lines: true,
      ...(upTo !== undefined && { to: upTo }),
    }) as unknown as ParsedRecord[];
  let parsed: ParsedRecord[];
  try {
    parsed = records(text);
  } catch {
    throw csvError(name, text.replaceAll("\r\n", "\n"), records);
  }
  const [header, ...rest] = parsed;
  const columns = (header?.record ?? []).map((column) => column.trim());
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lineOf = lineFinder(text);
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

/** Returns a function that finds the first line of each part of a text, in order. */
function lineFinder(text: string): (part: string) => number {
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

/** The parser's text of a record may include the line break before it, or half of the one after it. */
const withoutLineEnds = (raw: string) => raw.replace(/^[\r\n]+|(?<![\r\n])[\r\n]+$/g, "");

const problems: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "missing closing quote",
  CSV_INVALID_CLOSING_QUOTE: "text after the closing quote",
  INVALID_OPENING_QUOTE: "quote inside an unquoted value",
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: "number of cells differs from the header",
};

/**
 * The error for invalid CSV. The parser counts Windows line breaks inside quotes twice and reports
 * the last line for an open quote, so we count the line: `text` has Unix line breaks, and the
 * records before the invalid one are parsed again.
 */
function csvError(name: string, text: string, records: Parse): CliError {
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
      "quote cells that contain commas, quotes or line breaks, and double the quotes in them",
    );
  }
  return unreadable(name, "invalid CSV");
}
