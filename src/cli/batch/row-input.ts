import type { Values } from "../../api/request.ts";
import { CliError } from "../../errors.ts";
import type { Param, Params } from "../../operations/operation.ts";
import { flagOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { changeMissing, checkedInput, labelOf } from "../parse/input.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import type { TypedLine } from "../parse/typed-values.ts";
import { checkValue, invalidValue } from "../parse/values.ts";
import type { Sources } from "../parse/values.ts";
import { rejectDuplicates, unreadable } from "../../lib/rows-file.ts";
import type { FileRow, RowFile } from "../../lib/rows-file.ts";

/** A row whose values are checked; names are still names. */
export interface CheckedRow {
  readonly row: FileRow;
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
  { rows, columns }: RowFile,
  typed: Readonly<Record<string, TypedLine>>,
  sources: Sources,
  extra?: Values,
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
    rejectDuplicates(name, columns);
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
      input[filled.name] = await checkValue(place, filled.param, text, sources);
    }
    for (const [param] of needed) {
      if (input[param] !== undefined) continue;
      throw unreadable(`${name} row ${row.number}, column ${byParam.get(param)}`, "is empty");
    }
    const problem = changeMissing(command, input, extra);
    if (problem !== undefined) throw unreadable(`${name} row ${row.number}`, problem);
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
  const near = didYouMean(column, known);
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
  typed: Readonly<Record<string, TypedLine>>,
  byParam: ReadonlyMap<string, string>,
): Record<string, TypedLine> {
  const words = command.positionals.flatMap(
    ({ name }) => (typed[name] as string | readonly string[] | undefined) ?? [], // positionals are words
  );
  const line: Record<string, TypedLine> = {};
  for (const [name, value] of Object.entries(typed)) {
    const param = command.params[name];
    if (!param || command.positionals.some((positional) => positional.name === name)) continue;
    const column = byParam.get(name);
    if (column !== undefined) {
      throw new CliError(
        "usage",
        `${labelOf(command, name, param)} is given and the file has a column ${column}; give one`,
        { sideEffect: "none" },
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
      { sideEffect: "none", hint: "what is given on the line holds for all rows" },
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
): TypedLine | undefined {
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
  throw invalidValue(place, JSON.stringify(value), "is not a text");
}
