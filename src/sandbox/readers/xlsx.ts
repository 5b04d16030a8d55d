import { budget } from "./limits.ts";
import { visitMarkup } from "./markup.ts";
import { officeParts } from "./zip.ts";

/** The parts of a spreadsheet with its texts, and the order of its sheets. */
const PARTS =
  /^xl\/(?:workbook\.xml|_rels\/workbook\.xml\.rels|sharedStrings\.xml|worksheets\/[^/]+\.xml)$/;

/**
 * Reads a spreadsheet as servers do: a part for each row below the header of a sheet, `"name":"Ada";"age":"36"`
 * (server §9.2). A date is the number that the file has for it.
 */
export function* readXlsx(bytes: Uint8Array): Generator<string> {
  const spend = budget(1_000_000, "a table in it has more than a million cells");
  const parts = new Map(officeParts(bytes, PARTS).map(({ path, content }) => [path, content]));
  const elements = (path: string, ...names: readonly string[]) =>
    elementsOf(parts.get(path)?.toString() ?? "", names, spend);
  const shared = elements("xl/sharedStrings.xml", "si").map(({ text }) => text);
  const paths = new Map(
    elements("xl/_rels/workbook.xml.rels", "Relationship").map(
      ({ attributes: { Id = "", Target = "" } }) => [Id, Target.replace(/^(?:\/xl\/)?/, "xl/")],
    ),
  );
  for (const { attributes } of elements("xl/workbook.xml", "sheet"))
    yield* textOfSheet(
      rowsOf(elements(paths.get(attributes["r:id"] ?? "") ?? "", "row", "c"), shared),
    );
}

/** An element with the text of its cells. */
interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  text: string;
}

/** The elements of some names in the order of their starts; text below several is that of the last one. */
function elementsOf(
  source: string,
  names: readonly string[],
  spend: (amount: number) => void,
): Element[] {
  const elements: Element[] = [];
  let [innermost, isReading] = ["", false];
  visitMarkup(source, true, {
    open(name, attributes) {
      innermost = name;
      if (name === "rPh") isReading = true; // how a text in Japanese is read
      if (!names.includes(name)) return;
      spend(1);
      elements.push({ name, attributes, text: "" });
    },
    close(name) {
      innermost = "";
      if (name === "rPh") isReading = false;
    },
    text(part) {
      const element = elements.at(-1);
      if (element && !isReading && (innermost === "t" || innermost === "v")) element.text += part;
    },
  });
  return elements;
}

/** A row of a sheet: its cells that are not empty, by their columns. */
interface Row {
  readonly number: number;
  readonly cells: Map<number, string>;
}

function rowsOf(elements: readonly Element[], shared: readonly string[]): Row[] {
  const rows: Row[] = [];
  let column = 0;
  for (const { name, attributes, text } of elements) {
    const { r: place, t: type } = attributes;
    if (name === "row") {
      rows.push({ number: Number(place ?? (rows.at(-1)?.number ?? 0) + 1), cells: new Map() });
      column = 0;
      continue;
    }
    column = place === undefined ? column + 1 : columnOf(place);
    const value = text === "" ? "" : shownValue(type, text, shared);
    if (value !== "") rows.at(-1)?.cells.set(column, value);
  }
  return rows;
}

/** The number of a column, from 1 on: `AB7` → 28. */
const columnOf = (place: string): number =>
  [...place.replace(/\d+$/, "")].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);

function shownValue(type: string | undefined, text: string, shared: readonly string[]): string {
  if (type === "s") return shared[Number(text)] ?? "";
  if (type === "b") return text === "1" ? "True" : "False";
  return text;
}

/** Rows of a sheet among which servers look for its header. */
const HEADER_ROWS = 10;

/** The rows below the header, which is the first row with two cells, or else with any; columns without one are omitted. */
function* textOfSheet(rows: readonly Row[]): Generator<string> {
  const headers = rows
    .filter(({ number }) => number <= HEADER_ROWS)
    .map(({ number, cells }) => ({ number, titles: titlesOf(cells) }))
    .filter(({ titles }) => titles.length > 0);
  const header = headers.find(({ titles }) => titles.length > 1) ?? headers[0];
  if (!header) return;
  const lastColumn = header.titles.at(-1)?.[0] ?? 0;
  for (const { number, cells } of rows) {
    if (number <= header.number || ![...cells.keys()].some((column) => column <= lastColumn))
      continue;
    yield header.titles
      .map(([column, title]) => `"${title}":"${quotable(cells.get(column) ?? "")}"`)
      .join(";");
  }
}

const titlesOf = (cells: Row["cells"]) =>
  [...cells]
    .map(([column, text]) => [column, quotable(text)] as const)
    .filter(([, title]) => title !== "")
    .toSorted(([one], [other]) => one - other);

const quotable = (text: string): string => text.trim().replaceAll('"', '\\"');
