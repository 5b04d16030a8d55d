import type { Values } from "../api/request.ts";
import { CliError } from "../errors.ts";
import { isObject } from "../json.ts";
import type { Param, Params } from "../operations/operation.ts";
import { flagOf } from "./command.ts";
import type { Command } from "./command.ts";
import { checkedInput, labelOf } from "./input.ts";
import { nearest } from "../nearest.ts";
import type { Typed } from "./program.ts";
import { checked, wrong } from "./values.ts";
import type { Sources } from "./values.ts";

/** One row of a file: what its cells hold and how it stands there. */
export interface Row {
  /** From 1; a header does not count. */
  readonly number: number;
  /** Column and value, in the file's order: texts of CSV, any JSON value of JSON Lines. */
  readonly cells: readonly (readonly [column: string, value: unknown])[];
  /** Its text without line end. */
  readonly raw: string;
}

/** A file of rows. */
export interface Table {
  readonly rows: readonly Row[];
  /** Columns of the header; undefined for JSON Lines, where each row names its own. */
  readonly columns: readonly string[] | undefined;
  /** A file of the same shape that holds only these rows. */
  readonly withOnly: (rows: readonly { readonly raw: string }[]) => string;
}

/**
 * Rows of CSV or JSON Lines. It is CSV when the name ends in `.csv` or the text does not start
 * with `{`. Throws usage with line and column of what cannot be read.
 */
export async function tableOf(name: string, bytes: Uint8Array): Promise<Table> {
  const text = textIn(name, bytes);
  if (!name.endsWith(".csv") && text.trimStart().startsWith("{")) return jsonLines(name, text);
  return csv(name, text);
}

const unreadable = (place: string, problem: string, hint?: string) =>
  new CliError("usage", `${place}: ${problem}`, { changed: "nothing", hint });

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

function jsonLines(name: string, text: string): Table {
  const rows: Row[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    rows.push({
      number: rows.length + 1,
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

async function csv(name: string, text: string): Promise<Table> {
  const { parse } = await import("csv-parse/sync");
  const records: Parse = (part, upTo) =>
    // `raw` makes it give records with their text, which its types do not say.
    parse(part, {
      raw: true,
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
  return {
    columns,
    rows: rest.map(({ record, raw }, index) => ({
      number: index + 1,
      cells: columns.map((column, at) => [column, record[at] ?? ""] as const),
      raw: withoutLineEnds(raw),
    })),
    withOnly: (some) =>
      [withoutLineEnds(header?.raw ?? ""), ...some.map(({ raw }) => raw)]
        .map((line) => `${line}${end}`)
        .join(""),
  };
}

/** The parser's text of a record may hold the line end before or half of the one after it. */
const withoutLineEnds = (raw: string) => raw.replace(/^[\r\n]+|[\r\n]+$/g, "");

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
    const told = error as { code?: string; column?: number | string; records?: number }; // csv-parse's CsvError
    const good = told.records ? records(text, told.records) : [];
    let start = good.reduce((length, { raw }) => length + raw.length, 0);
    while (text[start] === "\n") start++;
    const line = text.slice(0, start).split("\n").length;
    const column = good[0]?.record[Number(told.column)] ?? String(Number(told.column) + 1);
    return unreadable(
      `${name} line ${line}, column ${column.trim()}`,
      problems[told.code ?? ""] ?? (error instanceof Error ? error.message : String(error)),
      "cells that hold commas, quotes or line ends stand in quotes; a quote in them is doubled",
    );
  }
  return unreadable(name, "this is no CSV");
}

/** A row whose values are checked; names are still names. */
export interface CheckedRow {
  readonly row: Row;
  readonly input: Values;
}

/** What a column fills; `file` where it holds the path of a file with the text. */
interface Filled {
  readonly name: string;
  readonly param: Param;
  readonly file: boolean;
}

/**
 * The input of each row: its cells, and what the line says for all of them. Words of the line fill
 * the positionals that no column fills. Throws usage that names row and column, or the column that
 * is missing or unknown.
 */
export async function checkedRows(
  command: Command,
  name: string,
  { rows, columns }: Table,
  typed: Readonly<Record<string, Typed>>,
  sources: Sources,
): Promise<CheckedRow[]> {
  const known = columnsOf(command);
  const filling = new Map<string, Filled>();
  /** Parameter → the column that fills it; of several the last. */
  const byParam = new Map<string, string>();
  const learn = (column: string, place: string) => {
    const filled = known.get(column);
    if (!filled) throw unknownColumn(place, column, [...known.keys()]);
    byParam.set(filled.name, column);
    filling.set(column, filled);
  };
  if (columns) {
    const twice = columns.find((column, index) => columns.indexOf(column) !== index);
    if (twice !== undefined) throw unreadable(`${name} line 1`, `two columns are called ${twice}`);
    for (const column of columns) learn(column, `${name} line 1`);
  } else {
    for (const { number, cells } of rows) {
      for (const [column] of cells) {
        if (!filling.has(column)) learn(column, `${name} row ${number}`);
      }
    }
  }

  const line = onLine(command, typed, byParam);
  const shared = await checkedInput(
    { ...command, params: optional(command.params) },
    line,
    sources,
  );
  const needed = Object.entries(command.params).filter(
    ([param, spec]) => shared[param] === undefined && isNeeded(command, param, spec),
  );
  const absent = needed.find(([param]) => !byParam.has(param));
  if (absent && (columns?.length || rows.length > 0)) {
    const [param, spec] = absent;
    throw unreadable(
      columns ? `${name} line 1` : name,
      `there is no column ${columnNames(command, param, spec)[0]}`,
      `it stands for ${labelOf(command, param, spec)}; what the line gives holds for all rows`,
    );
  }

  const checkedOnes: CheckedRow[] = [];
  for (const row of rows) {
    const input: Record<string, unknown> = { ...shared };
    for (const [column, cell] of row.cells) {
      const filled = filling.get(column);
      const place = `${name} row ${row.number}, column ${column}`;
      const text = filled && typedIn(cell, filled, columns !== undefined, place);
      if (!filled || text === undefined) continue;
      if (input[filled.name] !== undefined) {
        const label = labelOf(command, filled.name, filled.param);
        throw unreadable(place, `another column of this row gives ${label}, too`);
      }
      input[filled.name] = await checked(place, filled.param, text, sources);
    }
    for (const [param] of needed) {
      if (input[param] !== undefined) continue;
      throw unreadable(`${name} row ${row.number}, column ${byParam.get(param)}`, "is empty");
    }
    checkedOnes.push({ row, input });
  }
  return checkedOnes;
}

/** The same parameters, none of them required: the columns may hold them. */
const optional = (params: Params): Params =>
  Object.fromEntries(
    Object.entries(params).map(([name, param]) => {
      const { required: _, ...rest } = param;
      return [name, rest];
    }),
  );

/** Names of the columns that may fill a parameter; the first is the one we speak of. */
function columnNames(command: Command, name: string, param: Param): string[] {
  const positional = command.positionals.find((candidate) => candidate.name === name);
  return [...new Set([...(positional ? [positional.word] : []), flagOf(name, param), name])];
}

/** Every column a command knows: the word of a positional, the flag, the wire name. */
function columnsOf(command: Command): Map<string, Filled> {
  const columns = new Map<string, Filled>();
  for (const [name, param] of Object.entries(command.params)) {
    if (param.from === "user") continue;
    for (const column of columnNames(command, name, param)) {
      columns.set(column, { name, param, file: false });
      if (param.orFile) columns.set(`${column}-file`, { name, param, file: true });
    }
  }
  return columns;
}

function unknownColumn(place: string, column: string, known: readonly string[]): CliError {
  const near = nearest(column, known);
  return unreadable(
    place,
    `there is no column ${JSON.stringify(column)} in this command`,
    /[;\t]/.test(column)
      ? "cells are separated by commas"
      : /^[[{]/.test(column)
        ? "JSON stands in lines, one object on each, not in a list"
        : near === undefined
          ? `it takes ${known.join(", ")}`
          : `did you mean ${near}?`,
  );
}

/** What the line gives for all rows, its words on the positionals that no column fills. */
function onLine(
  command: Command,
  typed: Readonly<Record<string, Typed>>,
  byParam: ReadonlyMap<string, string>,
): Record<string, Typed> {
  const words = command.positionals.flatMap(
    ({ name }) => (typed[name] as string | readonly string[] | undefined) ?? [], // positionals are words
  );
  const line: Record<string, Typed> = {};
  for (const [name, value] of Object.entries(typed)) {
    const param = command.params[name];
    if (!param || command.positionals.some((positional) => positional.name === name)) continue;
    const column = byParam.get(name);
    if (column !== undefined) {
      throw new CliError(
        "usage",
        `${labelOf(command, name, param)} is given and the file has a column ${column}; give one`,
        { changed: "nothing" },
      );
    }
    line[name] = value;
  }
  for (const { name, variadic } of command.positionals) {
    if (byParam.has(name) || words.length === 0) continue;
    const many = variadic && command.params[name]?.many;
    line[name] = many ? words.splice(0) : (words.shift() ?? "");
  }
  if (words.length > 0) {
    throw new CliError(
      "usage",
      `${words.map((word) => JSON.stringify(word)).join(", ")} on the line fills nothing that the columns leave open`,
      { changed: "nothing", hint: "what is given on the line holds for all rows" },
    );
  }
  return line;
}

function isNeeded(command: Command, name: string, param: Param): boolean {
  if (param.from !== undefined || param.shape?.kind === "object") return false;
  const positional = command.positionals.find((candidate) => candidate.name === name);
  return positional ? !positional.optional : param.required === true;
}

/**
 * A cell as if it were typed; undefined for an empty cell of CSV and for null, which mean that
 * nothing is given. A list in CSV is written as JSON, as our own output does.
 */
function typedIn(
  cell: unknown,
  { param, file }: Filled,
  isCsv: boolean,
  place: string,
): Typed | undefined {
  if (cell === null || (isCsv && cell === "")) return undefined;
  const value = isCsv && param.many && String(cell).startsWith("[") ? listIn(cell) : cell;
  if (param.many && Array.isArray(value)) {
    return value.map((item: unknown) => wordOf(item, param, place));
  }
  const word = wordOf(value, param, place);
  return file ? { file: word } : word;
}

function listIn(cell: unknown): unknown {
  try {
    return JSON.parse(String(cell)) as unknown;
  } catch {
    return cell; // a text that only looks like a list
  }
}

function wordOf(value: unknown, param: Param, place: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (param.kind === "json") return JSON.stringify(value);
  throw wrong(place, JSON.stringify(value), "is not a text");
}
