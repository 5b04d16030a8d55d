import type { Values } from "../../api/request.ts";
import type { BatchFile } from "../../commands/batch/index.ts";
import type { Context } from "../../commands/task/command-spec.ts";
import { usage } from "../../errors.ts";
import { shellQuote } from "../../lib/command-line.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { rowPlace, unreadable, type FileRow } from "../../lib/formats/rows-file.ts";
import { tryParseJson, stringifyJson } from "../../lib/json.ts";
import type { Param, Params } from "../../operations/operation.ts";
import { flagOf, type Command } from "../parse/command.ts";
import { changeProblem, checkedInput, labelOf } from "../parse/input.ts";
import { checkValue, invalidValue, type Sources, type TypedLine } from "../parse/values.ts";
import { isNumeric } from "../../lib/exact-number.ts";

/** A row with checked values and unresolved names. */
export interface CheckedRow {
  readonly row: FileRow;
  readonly input: Values;
}

/** The parameter of a column; `file`: the column has the path of a file with the text. */
interface ColumnTarget {
  readonly name: string;
  readonly param: Param;
  readonly file: boolean;
}

interface RowsToCheck {
  readonly command: Command;
  readonly file: BatchFile;
  readonly typed: Readonly<Record<string, TypedLine>>;
  readonly sources: { readonly line: Sources; readonly cells: Sources };
  readonly extra: Values | undefined;
  /** Columns that are no arguments. */
  readonly isOther?: ((column: string) => boolean) | undefined;
  /** What is told of each row once it is checked. */
  readonly seenBy: readonly { see(input: Values): void }[];
  readonly context: Context;
}

/** Reads the rows with their inputs, which were checked before. */
export type ReadRows = () => AsyncIterable<CheckedRow>;

/**
 * Checks each row: its cells, and the values of the command line for all rows. Words of the command line
 * fill the positionals without a column. Throws usage with row and column, or the
 * missing or unknown column.
 */
export async function checkRows(request: RowsToCheck): Promise<ReadRows> {
  const { command, typed, sources, extra, seenBy, context } = request;
  const { name: file, columns, header, count } = request.file;
  const targets = columnTargets(request);
  /** Parameter → its column; the last one of several. */
  const byParam = new Map([...targets].map(([column, { name }]) => [name, column]));
  const shared = await checkedInput(
    { ...command, params: optional(command.params) },
    sharedTyped(command, typed, byParam),
    sources.line,
  );
  const needed = Object.entries(command.params).filter(
    ([param, spec]) => shared[param] === undefined && isNeeded(command, param, spec),
  );
  const absent = needed.find(([param]) => !byParam.has(param));
  if (absent && (columns.size > 0 || count > 0)) {
    const [param, spec] = absent;
    throw unreadable(
      header === undefined ? file : `${file} line 1`,
      `column ${columnNames(command, param, spec)[0]} not found`,
      `it is the column of ${labelOf(command, param, spec)}; a value on the command line applies to all rows`,
    );
  }
  const checked = async (row: FileRow): Promise<CheckedRow> => {
    const input = await rowInput(row, shared, targets, request);
    for (const [param] of needed) {
      if (input[param] !== undefined) continue;
      throw unreadable(`${file} ${rowPlace(row)}, column ${byParam.get(param)}`, "is empty");
    }
    const problem = changeProblem(command, input, extra);
    if (problem !== undefined) throw unreadable(`${file} ${rowPlace(row)}`, problem);
    return { row, input };
  };
  async function* read() {
    for await (const { rows } of request.file.parts())
      for (const row of rows) yield await checked(row);
  }
  for await (const { input } of read()) {
    if (context.host.signal.aborted) throw context.abortError();
    for (const each of seenBy) each.see(input);
  }
  return read;
}

/** Column → its parameter, in the order of the columns. Throws for an unknown column. */
function columnTargets(request: RowsToCheck): Map<string, ColumnTarget> {
  const { command, file, isOther } = request;
  const known = columnsOf(command);
  const targets = new Map<string, ColumnTarget>();
  for (const [column, place] of file.columns) {
    if (isOther?.(column)) continue;
    const target = known.get(column);
    if (!target) {
      const problem = `unknown column ${JSON.stringify(column)}`;
      throw unreadable(
        `${file.name} ${place}`,
        problem,
        columnHint(column, [...known.keys()], request),
      );
    }
    targets.set(column, target);
  }
  return targets;
}

async function rowInput(
  row: FileRow,
  shared: Values,
  targets: ReadonlyMap<string, ColumnTarget>,
  { command, file, sources }: RowsToCheck,
): Promise<Values> {
  const input: Record<string, unknown> = { ...shared };
  const given = (name: string) => {
    const value = row.values[name] || shared[name];
    return typeof value === "string" ? value : undefined;
  };
  for (const [column, cell] of Object.entries(row.values)) {
    const target = targets.get(column);
    const place = `${file.name} ${rowPlace(row)}, column ${column}`;
    const text = target && typedIn(cell, target, file.header !== undefined, place);
    if (!target || text === undefined) continue;
    if (input[target.name] !== undefined) {
      const label = labelOf(command, target.name, target.param);
      throw unreadable(place, `another column of this row also sets ${label}`);
    }
    input[target.name] = await checkValue(place, target.param, text, { ...sources.cells, given });
  }
  return input;
}

/** The same parameters, none required: columns may have them. */
const optional = (params: Params): Params =>
  Object.fromEntries(
    Object.entries(params).map(([name, param]) => {
      const { required: _, ...rest } = param;
      return [name, rest];
    }),
  );

/** Names of the columns that may fill a parameter; messages use the first. */
function columnNames(command: Command, name: string, param: Param): string[] {
  const positional = command.positionals.find((candidate) => candidate.name === name);
  const words = positional ? [positional.word] : [];
  const nouns = param.noun === undefined ? [] : [param.noun];
  return [...new Set([...words, flagOf(name, param), name, ...nouns])];
}

/** The columns of a command: words of positionals, flags, wire names. */
export function columnsOf(command: Command): Map<string, ColumnTarget> {
  const columns = new Map<string, ColumnTarget>();
  for (const [name, param] of Object.entries(command.params)) {
    if (param.from === "user") continue;
    for (const column of columnNames(command, name, param)) {
      columns.set(column, { name, param, file: false });
      if (param.orFile) columns.set(`${column}-file`, { name, param, file: true });
    }
  }
  return columns;
}

function columnHint(column: string, known: readonly string[], request: RowsToCheck): string {
  if (/^[[{]/.test(column)) return "write JSON as lines, one object per line";
  const near = didYouMean(column, known);
  if (near !== undefined) return `did you mean ${near}?`;
  const { command, file, typed } = request;
  const open = command.positionals.slice(wordsOf(command, typed).length)[0]?.word;
  // `kb doc list Handbook -o name > ids`
  if (open === undefined || file.columns.size !== 1 || file.header === undefined)
    return `valid columns: ${known.join(", ")}`;
  const way =
    file.path === "-"
      ? `| (echo ${open}; cat) |`
      : `(echo ${open}; cat ${shellQuote(file.name)}) > with-header.csv`;
  return `the first line must name the columns; to put ${open} there: ${way}`;
}

/** The words of the command line. */
const wordsOf = (command: Command, typed: RowsToCheck["typed"]): string[] =>
  command.positionals.flatMap(
    ({ name }) => (typed[name] as string | readonly string[] | undefined) ?? [], // positionals are words
  );

/** The values of the command line for all rows; its words fill the positionals without a column. */
function sharedTyped(
  command: Command,
  typed: Readonly<Record<string, TypedLine>>,
  byParam: ReadonlyMap<string, string>,
): Record<string, TypedLine> {
  const words = wordsOf(command, typed);
  const shared: Record<string, TypedLine> = {};
  for (const [name, value] of Object.entries(typed)) {
    const param = command.params[name];
    if (!param || command.positionals.some((positional) => positional.name === name)) continue;
    const column = byParam.get(name);
    if (column !== undefined) {
      throw usage(
        `${labelOf(command, name, param)} conflicts with the column ${column} of the file`,
      );
    }
    shared[name] = value;
  }
  for (const { name, variadic } of command.positionals) {
    if (byParam.has(name) || words.length === 0) continue;
    const many = variadic && command.params[name]?.many;
    shared[name] = many ? words.splice(0) : (words.shift() ?? "");
  }
  if (words.length > 0) {
    throw usage(
      `${words.map((word) => JSON.stringify(word)).join(", ")} on the command line: unexpected argument`,
      "the columns fill all arguments; values on the command line apply to all rows",
    );
  }
  return shared;
}

function isNeeded(command: Command, name: string, param: Param): boolean {
  if (param.from !== undefined || param.shape?.kind === "object") return false;
  const positional = command.positionals.find((candidate) => candidate.name === name);
  return positional ? !positional.optional : param.required === true;
}

/**
 * A cell as a typed value; undefined for an empty CSV cell and for null, which set nothing. A list in
 * CSV is JSON, as in the output of this program.
 */
function typedIn(
  cell: unknown,
  { param, file }: ColumnTarget,
  isCsv: boolean,
  place: string,
): TypedLine | undefined {
  if (cell === null || (isCsv && cell === "")) return undefined;
  const value =
    isCsv && param.many && String(cell).startsWith("[")
      ? (tryParseJson(String(cell)) ?? cell)
      : cell;
  if (param.many && Array.isArray(value)) {
    return value.map((item: unknown) => wordOf(item, param, place));
  }
  const word = wordOf(value, param, place);
  return file ? { file: word } : word;
}

function wordOf(value: unknown, param: Param, place: string): string {
  if (typeof value === "string") return value;
  if (isNumeric(value) || typeof value === "boolean") return String(value);
  if (param.kind === "json") return stringifyJson(value);
  throw invalidValue(place, stringifyJson(value), "is not a string");
}
