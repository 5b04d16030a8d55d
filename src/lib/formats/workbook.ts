import { budget } from "./unreadable-file.ts";
import { visitMarkup } from "./visit-markup.ts";
import { officeParts } from "./office-parts.ts";

/** The parts of a workbook with its texts, the formats of its cells, and the order of its sheets. */
const PARTS =
  /^xl\/(?:workbook\.xml|_rels\/workbook\.xml\.rels|sharedStrings\.xml|styles\.xml|worksheets\/[^/]+\.xml)$/;

/** The sheets of a workbook (xlsx), in its order. Throws UnreadableFile, or any error of a parser if it is damaged. */
export function readWorkbook(bytes: Uint8Array) {
  const spend = budget(1_000_000, "a table in it has more than a million cells");
  const parts = new Map(officeParts(bytes, PARTS).map(({ path, content }) => [path, content]));
  const elements = (path: string, ...names: readonly string[]) =>
    elementsOf(parts.get(path)?.toString() ?? "", names, spend);
  const shared = elements("xl/sharedStrings.xml", "si").map(({ text }) => text);
  const plain = plainStyles(elements("xl/styles.xml", "numFmt", "cellXfs", "xf"));
  const paths = new Map(
    elements("xl/_rels/workbook.xml.rels", "Relationship").map(
      ({ attributes: { Id = "", Target = "" } }) => [Id, Target.replace(/^(?:\/xl\/)?/, "xl/")],
    ),
  );
  return elements("xl/workbook.xml", "sheet").map(({ attributes }) => {
    const path = paths.get(attributes["r:id"] ?? "") ?? "";
    const rows = () => rowsOf(elements(path, "row", "c"), shared, plain);
    return { name: attributes["name"] ?? "", rows };
  });
}

/** The styles, as cells name them, that show a number by its digits, and not as a date or a percentage. */
function plainStyles(elements: readonly Element[]): ReadonlySet<string | undefined> {
  const isGeneral = ({ attributes }: Element) => /^general$/i.test(attributes["formatCode"] ?? "");
  const general = elements.filter(isGeneral).map(({ attributes }) => attributes["numFmtId"]);
  const formats = new Set(["0", "1", "2", "3", "4", "49", ...general]);
  const styles = elements.slice(elements.findIndex(({ name }) => name === "cellXfs") + 1);
  const isPlain = ({ attributes }: Element) => formats.has(attributes["numFmtId"]);
  return new Set([undefined, ...styles.flatMap((each, at) => (isPlain(each) ? `${at}` : []))]);
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

/** A row of a sheet: its cells that are not empty, by their columns; of a formula, the last result. */
export interface WorkbookRow {
  readonly number: number;
  /** Of a date, an error or a number with a format, the sheet shows another text. */
  readonly cells: Map<number, { readonly text: string; readonly isShown: boolean }>;
}

function rowsOf(
  elements: readonly Element[],
  shared: readonly string[],
  plain: ReadonlySet<string | undefined>,
): WorkbookRow[] {
  const rows: WorkbookRow[] = [];
  let column = 0;
  for (const { name, attributes, text } of elements) {
    const { r: place, t: type = "n", s: style } = attributes;
    if (name === "row") {
      rows.push({ number: Number(place ?? (rows.at(-1)?.number ?? 0) + 1), cells: new Map() });
      column = 0;
      continue;
    }
    column = place === undefined ? column + 1 : columnOf(place);
    const value = text === "" ? "" : shownValue(type, text, shared);
    const isShown = type === "n" ? plain.has(style) : type !== "d" && type !== "e";
    if (value !== "") rows.at(-1)?.cells.set(column, { text: value, isShown });
  }
  return rows;
}

/** The number of a column, from 1 on: `AB7` → 28. */
const columnOf = (place: string): number =>
  [...place.replaceAll(/\d/g, "")].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);

function shownValue(type: string, text: string, shared: readonly string[]): string {
  if (type === "s") return shared[Number(text)] ?? "";
  if (type === "b") return text === "1" ? "True" : "False";
  // Files have all digits of the binary number: 1.1000000000000001.
  return type === "n" && /[.e]/i.test(text) ? String(Number(text)) : text;
}
