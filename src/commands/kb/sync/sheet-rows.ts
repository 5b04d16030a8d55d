import { basename } from "node:path";
import { CliError, reasonOf, usage } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { toUtf8 } from "../../../lib/formats/encoding.ts";
import { readRowFile, rowPlace } from "../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../lib/formats/rows-file.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { asText } from "../../../operations/operation.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { readInput } from "../../task/files.ts";
import { isAddress } from "../documents/index.ts";
import type { statusParams } from "./command.ts";
import { documentPath, parsePrefix } from "./local-files.ts";
import { readSourceFile } from "./sync.ts";
import type { SyncInput } from "./sync.ts";

/** A row of a sheet, which is one chunk. */
export interface KeyedRow {
  /** From 1, without the header. */
  readonly number: number;
  readonly place: string;
  /** Tells it from the others: its ID, in a sheet without IDs its content. */
  readonly key: string;
  readonly content: string;
  readonly answer: string | null;
  /** Undefined if the sheet has no such column. */
  readonly keywords: readonly string[] | undefined;
}

/** A sheet whose rows are the chunks of the document of its name. */
export interface KeyedSheet {
  readonly name: string;
  readonly doc_form: "qa_model" | "text_model";
  readonly hasIds: boolean;
  readonly rows: readonly KeyedRow[];
}

type SheetFlags = Input<typeof statusParams> & Pick<SyncInput, "options">;

/** Flags about files, which mean nothing for rows; --include selects the sheet of a source. */
const fileFlags =
  /^(allow_private|exclude|match|max_size|metadata|metadata_from|no_wait|rewrite|shard|show|watch)$/;

/** Reads a sheet. Throws usage with the places of all rows that cannot be chunks. */
export async function readKeyedSheet(flags: SheetFlags, context: Context): Promise<KeyedSheet> {
  const other = Object.entries(flags).find(([name, value]) => value && fileFlags.test(name));
  if (other)
    throw usage(`--${other[0].replaceAll("_", "-")} is about files and cannot be used with --rows`);
  const { directory, encoding, include: [show, ...more] = [], options = {} } = flags;
  if (more.length > 0 || (show === undefined && isAddress(directory)))
    throw usage("--rows needs --include with the path of one sheet in the source");
  const { path, bytes } =
    show === undefined
      ? { path: directory, bytes: await readInput(directory, context.host) }
      : await readSourceFile({ ...flags, show }, options, context);
  const file = await sheetRows({ path, bytes, encoding }, context);
  // Spreadsheets save rows of empty cells.
  const used = file.rows.filter(({ values }) => Object.values(values).some(textOf));
  if (used.length === 0) throw usage(`${path} has no rows`);
  const head = file.columns ?? [...new Set(used.flatMap(({ values }) => Object.keys(values)))];
  const columns = columnsOf(head, flags, path);
  const rows = used.map((row) => keyedRow(row, columns));
  const byKey = groupBy(rows, ({ key }) => key);
  const mistakes = rows.flatMap((row, at) => {
    const problem = problemOf(row, columns, byKey.get(row.key)?.[0], used[at]?.values);
    return problem === undefined ? [] : [`${row.place}: ${problem}`];
  });
  if (mistakes.length > 0)
    throw usage(
      `${path}: ${counted(mistakes.length, "row")} cannot be synced: ${firstNames(mistakes, 10)}`,
      "correct the sheet; nothing was sent",
      { details: { mistakes } },
    );
  const doc_form = columns.answer === undefined ? "text_model" : "qa_model";
  const name = documentPath(basename(path), parsePrefix(flags.prefix));
  return { name, doc_form, hasIds: columns.id !== undefined, rows };
}

interface SheetBytes {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly encoding: string | undefined;
}

/** The rows of CSV, JSON Lines or a workbook, in which a value that is shown as another text is an Error. Throws usage. */
async function sheetRows({ path, bytes, encoding }: SheetBytes, { notice }: Context) {
  if (/\.(xls|ods|numbers)$/i.test(path))
    throw usage(`${path} is a workbook that is not read`, "save it as xlsx, or as CSV (UTF-8)");
  if (!/\.xlsx$/i.test(path)) return readRowFile(path, await toUtf8(bytes, encoding, `${path}: `));
  const { readWorkbook } = await import("../../../lib/formats/workbook.ts");
  try {
    const [sheet, ...others] = readWorkbook(bytes);
    const [header, ...rows] = (sheet?.rows() ?? []).filter(({ cells }) => cells.size > 0);
    if (others.length > 0) await notice(`${path}: only its first sheet is read: ${sheet?.name}`);
    const columns = [...(header?.cells ?? [])].map(([at, { text }]) => [at, text.trim()] as const);
    const names = columns.map(([, name]) => name);
    if (new Set(names).size < names.length) throw usage(`${path} has two columns of a name`);
    const read = rows.map(({ number: line, cells }, index) => {
      const values = columns.map(([at, name]) => {
        const { text, isShown } = cells.get(at) ?? { text: "", isShown: true };
        return [name, isShown ? text.replaceAll("_x000D_", "\r") : new Error(text)];
      });
      return { number: index + 1, line, values: Object.fromEntries(values), raw: "" };
    });
    return { rows: read, columns: names };
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw usage(`${path} cannot be read: ${reasonOf(error)}`, "save it as CSV (UTF-8)");
  }
}

/** The names of columns that `--map question=Frage,answer=Antwort` gives. Throws usage. */
function parseMap(texts: readonly string[] = []): ReadonlyMap<string, string> {
  const pairs = texts.flatMap((text) => text.split(/,(?=\s*\w+=)/));
  return new Map(
    pairs.map((pair) => {
      const [, role = "", column] =
        /^\s*(question|answer|content|keywords)=\s*(.*\S)\s*$/s.exec(pair) ?? [];
      if (column !== undefined) return [role, column];
      throw usage(
        `invalid --map ${JSON.stringify(pair)}: expected question, answer, content or keywords, = and a column`,
        "for example --map question=Frage,answer=Antwort",
      );
    }),
  );
}

/** The columns of a sheet; `content` is the question where there is an answer. */
interface SheetColumns {
  readonly content: string;
  readonly answer?: string | undefined;
  readonly keywords?: string | undefined;
  readonly id?: string | undefined;
}

/** Finds the columns by the flags, or by their names. Throws usage if it is not clear what a row is. */
function columnsOf(
  head: readonly string[],
  { map, id_column }: SheetFlags,
  path: string,
): SheetColumns {
  const given = parseMap(map);
  const named = (column: string) =>
    head.find((each) => each.toLowerCase() === column.toLowerCase());
  const columnOf = (role: string) => named(given.get(role) ?? role);
  const wanted = [...given.values(), id_column];
  const missing = wanted.find((name) => name !== undefined && named(name) === undefined);
  const its = `its columns: ${head.join(", ")}`;
  if (missing !== undefined) throw usage(`${path} has no column ${JSON.stringify(missing)}`, its);
  const [question, answer, content] = ["question", "answer", "content"].map(columnOf);
  const beside = { keywords: columnOf("keywords"), id: id_column && named(id_column) };
  if (question !== undefined && answer !== undefined && !given.has("content"))
    return { content: question, answer, ...beside };
  if (content !== undefined) return { content, ...beside };
  throw usage(
    `${path} has neither columns question and answer nor a column content`,
    `name them, for example --map question=Frage,answer=Antwort or --map content=Text; ${its}`,
  );
}

/** The text of a cell, with the line ends of Unix and without white space around it. */
const textOf = (cell: unknown): string => asText(cell).replaceAll("\r\n", "\n").trim();

function keyedRow(row: FileRow, columns: SheetColumns): KeyedRow {
  const cell = (column: string | undefined) =>
    column === undefined ? undefined : textOf(row.values[column]);
  const content = cell(columns.content) ?? "";
  const words = cell(columns.keywords)
    ?.split(/[\n,;，；、]/)
    .map((word) => word.trim());
  return {
    number: row.number,
    place: rowPlace(row),
    key: cell(columns.id) ?? content,
    content,
    answer: cell(columns.answer) ?? null,
    keywords: words && [...new Set(words.filter((word) => word !== ""))],
  };
}

/** Characters that a cell of a spreadsheet holds; a longer one has swallowed others. */
const MAX_CELL = 32_767;

/** Why a row cannot be a chunk, or has the key of the first row with it. */
function problemOf(
  row: KeyedRow,
  { content, answer, id, keywords }: SheetColumns,
  first: KeyedRow | undefined,
  values: FileRow["values"] = {},
): string | undefined {
  for (const column of [content, answer, keywords, id]) {
    const value = column === undefined ? undefined : values[column];
    if (value instanceof Error)
      return `${column} is a date, an error or a number with a format: ${value.message}`;
  }
  const cells = [
    [content, row.content],
    [answer, row.answer],
    [id, row.key],
  ] as const;
  for (const [column, text] of cells) {
    if (column === undefined || text === null) continue;
    if (text === "") return `${column} is empty`;
    if (text.includes("\0")) return `${column} has a NUL character`;
    if (text.length > MAX_CELL)
      return `${column} is longer than ${MAX_CELL} characters; is a quote missing?`;
  }
  return first === row ? undefined : `the same ${id ?? content} as ${first?.place}`;
}
