import { openArchive, textsAt } from "./packed-documents.ts";
import { budget, cellBudget, labelledRows, type TableRow } from "./limits.ts";
import { OFFICE, walk } from "./markup.ts";

/** Characters of a sheet: a few bytes of a cell can refer to a long text. */
const MAX_TEXT = 16 * 1024 * 1024;

/** Reads a workbook: a part for each row below the first one of a sheet; numbers as they are stored. */
export function* readXlsx(bytes: Uint8Array): Generator<string> {
  const archive = openArchive(bytes);
  const texts = sharedTexts(archive.get("xl/sharedStrings.xml") ?? "");
  for (const sheet of textsAt(archive, /^xl\/worksheets\/[^/]+\.xml$/)) {
    yield* labelledRows(rowsOf(sheet, texts));
  }
}

/** The texts that cells share: they refer to them by number. */
function sharedTexts(xml: string): string[] {
  const texts: string[] = [];
  walk(xml, OFFICE, {
    open(name) {
      if (name === "si") texts.push("");
    },
    text: (text) => texts.push((texts.pop() ?? "") + text),
  });
  return texts;
}

/** The rows of a sheet with the texts of their cells. */
function rowsOf(xml: string, texts: readonly string[]): TableRow[] {
  const rows: Map<number, string>[] = [];
  const spendCell = cellBudget();
  const spendText = budget(MAX_TEXT, "a sheet has more than 16 million characters");
  let [column, isShared, value] = [-1, false, ""];
  walk(xml, OFFICE, {
    open(name, { r: place = "", t: type }) {
      if (name === "row") {
        column = -1;
        rows.push(new Map());
        spendCell(1); // a row has a size, too
      } else if (name === "c") {
        column = columnOf(place) ?? column + 1;
        isShared = type === "s";
        value = "";
      }
    },
    text: (text) => (value += text),
    close(name) {
      if (name !== "c") return;
      const text = isShared ? (texts[Number(value)] ?? "") : value;
      spendCell(1);
      spendText(text.length);
      rows.at(-1)?.set(column, text);
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
