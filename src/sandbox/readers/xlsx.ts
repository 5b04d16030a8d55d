import { openArchive, textAt } from "./archive.ts";
import { budget } from "./limits.ts";
import { walkXml } from "./markup.ts";
import { linkedParts, mainPath, relationsOf } from "./office.ts";
import { cellBudget, labelledRows, type TableRow } from "./rows.ts";

/** Characters of a sheet: a few bytes of a cell can refer to a long text. */
const MAX_TEXT = 16 * 1024 * 1024;

/** What the cells of all sheets refer to by number. */
interface Workbook {
  readonly texts: readonly string[];
  readonly formats: CellFormats;
}

/** Reads a workbook: a part for each row below the first one of a sheet. */
export function* readXlsx(bytes: Uint8Array): Generator<string> {
  const archive = openArchive(bytes);
  const main = mainPath(archive);
  const relations = relationsOf(archive, main);
  const textOf = (kind: string) =>
    archive.get(relations.find((each) => each.kind === kind)?.path ?? "") ?? "";
  const workbook = {
    texts: sharedTexts(textOf("sharedStrings")),
    formats: cellFormats(textOf("styles")),
  };
  for (const path of linkedParts(archive, main, "sheet")) {
    yield* labelledRows(rowsOf(textAt(archive, path), workbook));
  }
}

/** The texts that cells share; reading aids (`rPh`) do not count. */
function sharedTexts(xml: string): string[] {
  const texts: string[] = [];
  let [inside, aids] = [0, 0];
  walkXml(xml, {
    open(name) {
      if (name === "si") texts.push("");
      else if (name === "t") inside++;
      else if (name === "rPh") aids++;
    },
    text(text) {
      if (inside > 0 && aids === 0) texts.push((texts.pop() ?? "") + text);
    },
    close(name) {
      if (name === "t") inside--;
      else if (name === "rPh") aids--;
    },
  });
  return texts;
}

/** A cell of a sheet as it is written. */
interface Cell {
  readonly column: number;
  readonly type: string | undefined;
  readonly format: number;
  value: string;
}

/** The rows of a sheet with the texts of their cells. */
function rowsOf(xml: string, workbook: Workbook): TableRow[] {
  const rows: Map<number, string>[] = [];
  const spendCell = cellBudget();
  const spendText = budget(MAX_TEXT, "a sheet has more than 16 million characters");
  let cell: Cell | undefined;
  let column = 0; // of a cell that does not name its own
  let inside = false;
  walkXml(xml, {
    open(name, { r: place = "", t: type, s: format = "0" }) {
      if (name === "row") {
        column = 0;
        rows.push(new Map());
        spendCell(1); // a row has a size, too
      } else if (name === "c") {
        column = columnOf(place) ?? column;
        cell = { column: column++, type, format: Number(format), value: "" };
      } else inside = name === "v" || name === "t";
    },
    text(text) {
      if (cell && inside) cell.value += text;
    },
    close(name) {
      if (name === "v" || name === "t") inside = false;
      if (name !== "c" || !cell) return;
      const text = cellText(cell, workbook);
      spendCell(1);
      spendText(text.length);
      rows.at(-1)?.set(cell.column, text);
      cell = undefined;
    },
  });
  return rows;
}

/** The index of the column of a cell: 0 for `A7`, 27 for `AB3`; undefined if it names none. */
function columnOf(place: string): number | undefined {
  const letters = /^[A-Z]{1,3}(?=\d)/.exec(place)?.[0];
  if (letters === undefined) return undefined;
  const number = [...letters].reduce((sum, each) => sum * 26 + each.charCodeAt(0) - 64, 0);
  return number - 1;
}

function cellText({ type, format, value }: Cell, { texts, formats }: Workbook): string {
  switch (type) {
    case "s":
      return texts[Number(value)] ?? "";
    case "b":
      return value === "1" ? "TRUE" : "FALSE";
    case "str":
    case "inlineStr":
    case "e":
    case "d":
      return value;
    default:
      return formats[format] === "date" && value !== "" ? dateText(Number(value)) : value;
  }
}

/** How the cells of each format show their number. */
type CellFormats = readonly ("number" | "date")[];

/** The numbers of the built-in formats that show a date or a time. */
const isBuiltInDate = (id: number) => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);

/** Whether a format such as `yyyy-mm-dd` shows a date: letters in quotes or brackets do not count. */
const isDateFormat = (code: string) =>
  /[dmyhs]/i.test(code.replace(/"[^"]*"?|\[[^\]]*\]?|\\./g, ""));

/** The formats of cells in the styles of a workbook. */
function cellFormats(xml: string): CellFormats {
  const dates = new Set<number>();
  const formats: ("number" | "date")[] = [];
  let inside = false;
  walkXml(xml, {
    open(name, { numFmtId: id, formatCode: code = "" }) {
      if (name === "numFmt" && isDateFormat(code)) dates.add(Number(id));
      if (name === "cellXfs") inside = true;
      if (name !== "xf" || !inside) return;
      const isDate = isBuiltInDate(Number(id)) || dates.has(Number(id));
      formats.push(isDate ? "date" : "number");
    },
    close(name) {
      if (name === "cellXfs") inside = false;
    },
  });
  return formats;
}

/** Day 0 of workbooks; ms since 1970. */
const EPOCH = Date.UTC(1899, 11, 30);
const DAY = 86_400_000;

/** Writes a number of days: 46082 is `2026-03-01`, 46082.5 is `2026-03-01 12:00:00`, 0.5 `12:00:00`. */
function dateText(days: number): string {
  const date = new Date(EPOCH + Math.round(days * 86_400) * 1000);
  if (Number.isNaN(date.getTime())) return String(days);
  const [day = "", time = ""] = date.toISOString().slice(0, -".000Z".length).split("T");
  if (days >= 0 && days < 1) return time;
  return date.getTime() % DAY === 0 ? day : `${day} ${time}`;
}
