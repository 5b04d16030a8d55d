import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { didYouMean, missingPathHint } from "../../../lib/did-you-mean.ts";
import { readRowFile, rowPlace, unreadable } from "../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../lib/formats/rows-file.ts";
import { isObject, own, tryParseJson } from "../../../lib/json.ts";
import { readEach, valueReader } from "../../wf/expect/index.ts";
import { keysAt, nestedLevel } from "./keys.ts";
import type { SuiteKeyType } from "./keys.ts";
import { keysHint, readValues } from "./values.ts";
import type { SuiteValues } from "./values.ts";

/** A column: a key of a test, or as in `judge.criteria` a key of the mapping there. */
type Column = ReturnType<typeof columnOf>;

/** Reads tests of CSV or JSON Lines, named by their query or number. Throws `usage` with all mistakes. */
export async function rowSuite(path: string, files: Files) {
  const { rows, columns, bytes } = await rowsInFile(path, files);
  readEach(columns ?? [], (name) => [columnOf(name, `${path} line 1`)]);
  const nodesOf = await valueReader();
  const read = { path, isCsv: columns !== undefined, nodesOf };
  const tests = readEach(rows, (row) => [rowTest(row, read)]);
  const values: SuiteValues = { from: { path, line: 1 }, tests };
  return { values, text: new TextDecoder().decode(bytes) };
}

/** The rows of CSV or JSON Lines. Throws `usage` for a file that cannot be read. */
export async function rowsInFile(path: string, files: Files) {
  const stat = await files.stat(path);
  if (stat === null) throw usage(`${path}: file not found`, await missingPathHint(path, files));
  if (stat.isDirectory) throw usage(`${path}: is a directory`);
  const bytes = await files.read(path);
  return { ...(await readRowFile(path, bytes)), bytes };
}

/** How the rows of a file are read. */
interface RowReading {
  readonly path: string;
  readonly isCsv: boolean;
  readonly nodesOf: Awaited<ReturnType<typeof valueReader>>;
}

function rowTest(row: FileRow, { path, isCsv, nodesOf }: RowReading): SuiteValues {
  const from = { path, line: row.line };
  const place = `${path} ${rowPlace(row)}`;
  const cells = readEach(Object.entries(row.values), ([name, cell]): SuiteValues[] => {
    const column = columnOf(name, place);
    if (cell === null || (isCsv && cell === "")) return [];
    // The form of the application gives the text its type.
    if (isCsv && column.key === "inputs" && column.nested !== undefined)
      return [{ from, assigned: { [column.nested]: String(cell) } }];
    const at = { path, place: () => `${place}, column ${name}`, hint: keysHint() };
    const { nodes, root } = nodesOf(valueOf(cell, column, isCsv), row.line, at);
    return [readValues("test", nodes, root)];
  });
  const test = cells.reduce(merged, { from });
  const { name = test.query?.replace(/\s+/g, " ").trim() } = test;
  return { ...test, name: name || `row ${row.number}` };
}

/** The column of a name. Throws `usage` if no key has it. */
function columnOf(name: string, place: string) {
  const [key = "", nested] = name.split(/\.(.*)/s, 2);
  const type = keysAt("test").find((each) => each.name === key)?.type;
  const level = type && nestedLevel(type);
  if (type && nested === undefined) return { key, nested, type };
  if (type === "inputs") return { key, nested, type: "text" as const };
  const known = level && keysAt(level).find((each) => each.name === nested);
  if (known) return { key, nested, type: known.type };
  throw unknownColumn(place, name);
}

/** Columns of other programs, with ours for the same. */
const columnsElsewhere = { question: "query", input: "query", expected: "answer" };

function unknownColumn(place: string, name: string): CliError {
  const names = keysAt("test").flatMap(({ name: key, type }) => {
    const level = nestedLevel(type);
    return [key, ...(level ? keysAt(level).map((each) => `${key}.${each.name}`) : [])];
  });
  const near = own(columnsElsewhere, name) ?? didYouMean(name, names);
  return unreadable(
    place,
    `unknown column ${JSON.stringify(name)}`,
    near === undefined
      ? `valid columns: ${names.join(", ")}, and inputs.NAME for an input`
      : `did you mean ${near}?`,
  );
}

/** Cells of CSV that are JSON; any other is text. */
const jsonCells: Readonly<Partial<Record<SuiteKeyType, RegExp>>> = {
  flag: /./,
  number: /./,
  integer: /./,
  inputs: /./,
  turns: /./,
  texts: /^\s*\[/,
  expect: /^\s*[[{]/,
  pass: /^\s*[{\d.]/,
  judge: /^\s*\{/,
  search: /./,
  quarantine: /^\s*\{/,
  supported: /./,
  context: /./,
  schema: /^\s*\{/,
  check: /./,
  weights: /./,
};

/** A cell as the mapping of a test with this key alone. */
function valueOf(cell: unknown, { key, nested, type }: Column, isCsv: boolean): unknown {
  const isJson = isCsv && jsonCells[type]?.test(String(cell)) === true;
  const value = isJson ? (tryParseJson(String(cell)) ?? cell) : cell;
  return { [key]: nested === undefined ? value : { [nested]: value } };
}

/** The values of two columns; mappings have the keys of both. */
const merged = (one: SuiteValues, other: SuiteValues): SuiteValues =>
  Object.assign(
    {},
    one,
    ...Object.entries(other).map(([key, value]) => {
      const before: unknown = (one as Readonly<Record<string, unknown>>)[key];
      return { [key]: isObject(before) && isObject(value) ? { ...before, ...value } : value };
    }),
  ) as SuiteValues;
