import type { CsvError, parse } from "csv-parse/sync";
import { usage } from "../../errors.ts";
import type { CliError } from "../../errors.ts";
import { collect } from "../collect.ts";
import { isObject, parseJson } from "../json.ts";
import type { Line, Lines } from "./lines.ts";

/** One row of a file. */
export interface FileRow {
  /** From 1, without the header. */
  readonly number: number;
  /** Its first line in the file, from 1. */
  readonly line: number;
  /** Values by column: strings in CSV, JSON values in JSON Lines. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Its text up to the line feed: lines of Windows keep their carriage return. */
  readonly raw: string;
}

/** Where a row is: `row 3 (line 4)`. */
export const rowPlace = ({ number, line }: Pick<FileRow, "number" | "line">): string =>
  `row ${number} (line ${line})`;

/** A mistake in a file of rows. */
export interface Mistake {
  readonly line: number;
  /** Its name, or its number if the header has none for it. */
  readonly column?: string | undefined;
  readonly problem: string;
  /** Why, in the words of the JSON parser. */
  readonly reason?: string;
}

/** Consecutive rows. `columns` is the header of a CSV file; JSON Lines have none. */
export interface FileRows {
  readonly rows: readonly FileRow[];
  readonly columns: readonly string[] | undefined;
  /** Text of the header, as that of rows. */
  readonly header: string | undefined;
  /** What separates the cells of a CSV file. */
  readonly delimiter?: string;
}

/** A file of rows that was read completely. */
export interface RowFile extends Omit<FileRows, "header"> {
  /** The content of a file of the same format with only these rows. */
  readonly withOnly: (rows: readonly FileRow[]) => string;
}

/**
 * Reads the rows of CSV with a header or of JSON Lines. It is JSON if the name says so, or, unless it
 * ends in `.csv`, if the text starts like JSON. Calls `onMistake` for a damaged row, and continues behind it.
 */
export async function* readFileRows(
  name: string,
  parts: AsyncIterable<Lines> | Iterable<Lines>,
  onMistake: (mistake: Mistake) => void,
): AsyncGenerator<FileRows> {
  let reader: RowReader | undefined;
  for await (const { lines, last } of parts) {
    const first = lines.find(({ text }) => text.trim() !== "");
    if (!reader && !first) continue;
    reader ??= isJson(name, first?.text ?? "")
      ? jsonReader(onMistake)
      : new CsvReader((await import("csv-parse/sync")).parse, onMistake);
    const rows = reader.read(lines, last);
    const { columns, header, delimiter = "," } = reader;
    yield { rows, columns, header, delimiter };
  }
}

/**
 * The same for bytes as they arrive. Throws `usage` with the line and column of a mistake, or calls
 * `onError` with it.
 */
export async function* readRows(
  name: string,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onError: (error: CliError) => void = (error) => {
    throw error;
  },
): AsyncGenerator<FileRows> {
  const onMistake = ({ line, column, problem, reason }: Mistake) => {
    const place = `${name} line ${line}${column === undefined ? "" : `, column ${column}`}`;
    onError(
      reason === undefined
        ? unreadable(place, problem, quoteHint)
        : unreadable(place, `${problem}: ${reason}`),
    );
  };
  for await (const part of readFileRows(name, rowLines(name, bytes), onMistake)) {
    const { columns } = part;
    const twice = columns?.find((column, index) => columns.indexOf(column) !== index);
    if (twice !== undefined) throw unreadable(`${name} line 1`, `duplicate column ${twice}`);
    yield part;
  }
}

/** Reads a complete file of rows. Throws `usage` with the lines and columns of all mistakes. */
export async function readRowFile(name: string, bytes: Uint8Array): Promise<RowFile> {
  const errors: CliError[] = [];
  const parts = await collect(readRows(name, [bytes], (error) => void errors.push(error)));
  const [first] = errors;
  const mistakes = errors.map(({ message }) => message);
  if (first) throw mistakes.length > 1 ? first.with({ details: { mistakes } }) : first;
  const { columns, header, delimiter = "," } = parts.at(-1) ?? {};
  const head = header === undefined ? [] : [header];
  return {
    rows: parts.flatMap(({ rows }) => rows),
    columns,
    delimiter,
    withOnly: (some) => [...head, ...some.map(({ raw }) => raw)].map((row) => `${row}\n`).join(""),
  };
}

/** The error for a mistake in a file. */
export const unreadable = (place: string, problem: string, hint?: string) =>
  usage(`${place}: ${problem}`, hint);

const quoteHint =
  "quote cells that contain separators, quotes or line breaks, and double the quotes in them";

const numbered = (text: string, index: number): Line => ({ number: index + 1, text });

/** Bytes of one row, or of a line without an end. */
const MAX_ROW = 2 ** 23;

/**
 * Lines of a file of rows as they arrive; they end with carriage returns if the first has no other end.
 * Throws `usage` for other bytes than UTF-8, and for a line that is longer than a row may be.
 */
async function* rowLines(
  name: string,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Lines> {
  let [end, count] = ["\n", 0];
  /** Pieces of the incomplete line. */
  let open: Uint8Array[] = [];
  let size = 0;
  const linesIn = (part: Uint8Array, last: boolean): Lines => {
    const texts = textIn(name, part, count).split(end);
    const lines = texts.map((text, index) => numbered(text, count + index));
    count += lines.length;
    return { lines, last };
  };
  for await (const piece of bytes) {
    open.push(piece);
    size += piece.length;
    if (size <= MAX_ROW && !piece.includes(end.charCodeAt(0))) continue;
    const part = Buffer.concat(open);
    if (count === 0 && !part.includes("\n")) end = "\r";
    const at = part.lastIndexOf(end);
    if (at < 0)
      throw unreadable(`${name} line ${count + 1}`, `row longer than ${MAX_ROW / 2 ** 20} MiB`);
    yield linesIn(part.subarray(0, at), false);
    open = [part.subarray(at + 1)];
    size = part.length - at - 1;
  }
  const rest = Buffer.concat(open);
  if (count === 0 && !rest.includes("\n")) end = "\r";
  yield linesIn(rest, true);
}

/** Decodes lines, which `before` others precede. */
function textIn(name: string, bytes: Uint8Array, before = 0): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: before > 0 }).decode(bytes);
  } catch {
    const [valid = ""] = new TextDecoder().decode(bytes).split("\uFFFD", 1);
    const lines = valid.split("\n");
    throw unreadable(
      `${name} line ${before + lines.length}, column ${[...(lines.at(-1) ?? "")].length + 1}`,
      "invalid UTF-8",
      "save the file as UTF-8; kb sync --rows takes --encoding",
    );
  }
}

const isJson = (name: string, start: string): boolean =>
  /\.(jsonl|ndjson)$/i.test(name) || (!name.endsWith(".csv") && /^\s*[{[]/.test(start));

/** Reads lines of a file as rows. */
interface RowReader extends Omit<FileRows, "rows"> {
  read(lines: readonly Line[], last: boolean): FileRow[];
}

function jsonReader(onMistake: (mistake: Mistake) => void): RowReader {
  let count = 0;
  const read = (lines: readonly Line[]) =>
    lines.flatMap(({ number: line, text }) => {
      const raw = withoutEnd(text);
      const value = raw.trim() === "" ? undefined : parsedObject(raw);
      if (value === undefined) return [];
      if ("values" in value) return [{ number: ++count, line, ...value, raw }];
      onMistake({ line, ...value });
      return [];
    });
  return { columns: undefined, header: undefined, read };
}

/** The values of a line of JSON Lines, or its mistake. */
function parsedObject(text: string): Pick<FileRow, "values"> | Omit<Mistake, "line"> {
  const problem = "expected one JSON object per line";
  if (text.trimStart().startsWith("[")) return { problem: `${problem}, not an array` };
  try {
    const values: unknown = parseJson(text);
    return isObject(values) ? { values } : { problem };
  } catch (error) {
    // Node reports the position of some mistakes only.
    const { message } = error as SyntaxError; // it throws nothing else
    const at = /at position (\d+)/.exec(message)?.[1];
    const column = at === undefined ? undefined : String(Number(at) + 1);
    return { column, problem: "invalid JSON", reason: message };
  }
}

/** Maximum number of lines of one row; a quote that stays open for longer is a stray one. */
const MAX_ROW_LINES = 1000;

class CsvReader {
  columns: readonly string[] | undefined;
  header: string | undefined;
  delimiter = ",";
  private readonly parse: typeof parse;
  private readonly onMistake: (mistake: Mistake) => void;
  private count = 0;
  private open: readonly Line[] = [];

  constructor(parser: typeof parse, onMistake: (mistake: Mistake) => void) {
    this.parse = parser;
    this.onMistake = onMistake;
  }

  read(lines: readonly Line[], last: boolean): FileRow[] {
    const rows: FileRow[] = [];
    this.open = this.readInto(rows, [...this.open, ...lines], last);
    return rows;
  }

  /** Adds the rows of complete lines. Returns the lines of an incomplete row. */
  private readInto(into: FileRow[], lines: readonly Line[], last: boolean): readonly Line[] {
    const { groups, rest } = groupLines(lines);
    const raws = groups.map(textOf);
    const [header] = raws;
    if (header !== undefined && this.columns === undefined)
      this.setDelimiter(header, groups[0]?.[0]?.number ?? 1);
    const all = this.cellsOf(raws);
    for (const [index, group] of groups.entries()) {
      const raw = raws[index] ?? "";
      const line = group[0]?.number ?? 0;
      const cells = Array.isArray(all) ? all[index] : this.validCells(raw, line);
      if (cells) this.add(into, { line, cells, raw });
      else this.readInto(into, group.slice(1), true);
    }
    if (rest.length === 0 || (!last && isOneRow(rest))) return rest;
    this.validCells(textOf(rest), rest[0]?.number ?? 0);
    return this.readInto(into, rest.slice(1), last);
  }

  /** Spreadsheets of other languages write semicolons. Names may have the separators that make fewer cells. */
  private setDelimiter(header: string, line: number): void {
    const unquoted = header.replaceAll(/"[^"]*"/g, "");
    const cells = [",", ";", "\t"].map((each) => [each, unquoted.split(each).length] as const);
    const most = Math.max(...cells.map(([, count]) => count));
    const [delimiter = ",", other] = cells.flatMap(([each, count]) => (count === most ? each : []));
    this.delimiter = delimiter;
    if (most > 1 && other !== undefined)
      this.mistake(
        line,
        0,
        "the header has several separators: use commas, semicolons or tabs, and quote names with another one",
      );
  }

  private add(
    into: FileRow[],
    { line, cells, raw }: { line: number; cells: readonly string[]; raw: string },
  ): void {
    const { columns } = this;
    if (columns === undefined) {
      this.columns = cells.map((cell) => cell.trim());
      this.header = raw;
    } else if (cells.length === columns.length) {
      const values = Object.fromEntries(columns.map((column, at) => [column, cells[at]]));
      into.push({ number: ++this.count, line, values, raw });
    } else {
      const problem = `number of cells differs from the header: expected ${columns.length}, found ${cells.length}`;
      this.mistake(line, Math.min(cells.length, columns.length), problem);
    }
  }

  private validCells(raw: string, line: number): readonly string[] | undefined {
    const cells = this.cellsOf([raw]);
    if (Array.isArray(cells)) return cells[0];
    const { code, column, message } = cells;
    this.mistake(line, Number(column), problems[code] ?? message);
    return undefined;
  }

  private mistake(line: number, at: number, problem: string): void {
    this.onMistake({ line, column: this.columns?.[at] ?? String(at + 1), problem });
  }

  private cellsOf(raws: readonly string[]): string[][] | CsvError {
    try {
      return this.parse(raws.map(withoutEnd).join("\n"), {
        relax_column_count: true,
        delimiter: this.delimiter,
        record_delimiter: "\n",
      });
    } catch (error) {
      return error as CsvError; // it throws nothing else
    }
  }
}

const problems: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "missing closing quote",
  CSV_INVALID_CLOSING_QUOTE: "text after the closing quote",
  INVALID_OPENING_QUOTE: "quote inside an unquoted value",
};

const isOneRow = (lines: readonly Line[]): boolean =>
  lines.length <= MAX_ROW_LINES &&
  lines.reduce((length, { text }) => length + text.length, 0) <= MAX_ROW;

/** Groups lines to rows, because quoted cells may span lines; `rest` is an incomplete row. */
function groupLines(lines: readonly Line[]): { groups: Line[][]; rest: Line[] } {
  const groups: Line[][] = [];
  let rest: Line[] = [];
  let quoted = false;
  for (const line of lines) {
    if (!quoted && withoutEnd(line.text) === "") continue;
    rest.push(line);
    if (line.text.split('"').length % 2 === 0) quoted = !quoted;
    if (quoted) continue;
    groups.push(rest);
    rest = [];
  }
  return { groups, rest };
}

const textOf = (lines: readonly Line[]): string => lines.map(({ text }) => text).join("\n");

/** Lines are split at `\n`, so those of Windows end with half a line break. */
const withoutEnd = (text: string): string => (text.endsWith("\r") ? text.slice(0, -1) : text);
