import type { Output } from "../../host/host.ts";
import type { Cell, Chart, Report, Section, TextComparison, Tone, Toned } from "../report-model.ts";
import { textChart } from "../table/charts.ts";
import { cellLines, mdText, safeCell } from "../formats/cell-lines.ts";
import type { LineFormat } from "../formats/cell-lines.ts";
import type { Style } from "../formats/text-formats.ts";
import { wholeScreen } from "../live/redraw-region.ts";
import { columnColor } from "../colors.ts";
import { gridText } from "../table/grid.ts";
import { availableWidth } from "../table/table.ts";
import type { TableStyle, TableField } from "../table/table.ts";
import { textLine, tones } from "../table/text-lines.ts";
import { pad, visible, widthOf, wrap } from "../display-width.ts";
import type { Colors } from "../display-width.ts";

/** Text formats of a report. */
export type ReportForm = "grid" | "wide" | LineFormat;

/** Columns of a span in a pipe. */
const spanWidthInPipe = 40;

/** The text of a report: its sections, separated by empty lines. Only grids have charts. */
export async function reportText(
  report: Report,
  form: ReportForm,
  { style, tableStyle }: { readonly style: Style; readonly tableStyle: TableStyle },
  out: Output,
): Promise<string> {
  if (form === "md" && report.brief)
    return (await import("./brief-report.ts")).briefText(report.brief, style, out);
  const isGrid = form === "grid" || form === "wide";
  const print = isGrid ? gridSection : await sectionPrinter(form, style, out);
  const { sections, screen = sections } = report;
  const texts: string[] = [];
  for (const section of form === "grid" ? screen : sections)
    texts.push(await print(section, tableStyle, out));
  if (isGrid && report.isFrame) return frame(texts, out);
  return texts.join(form === "csv" ? "\r\n" : "\n");
}

/** The sections as one frame of a screen; if they are too high, all but the last one are cut off. */
function frame(texts: readonly string[], { terminal }: Output): string {
  const foot = linesOf(texts.at(-1) ?? "");
  const rows = (terminal?.rows ?? DEFAULT_ROWS) - foot.length;
  return wholeScreen([...linesOf(texts.slice(0, -1).join("\n")).slice(0, rows - 1), "", ...foot]);
}

/** Rows of a terminal of unknown height. */
const DEFAULT_ROWS = 24;

const linesOf = (text: string): string[] => text.replace(/\n$/, "").split("\n");

type PrintSection = (section: Section, style: TableStyle, out: Output) => string | Promise<string>;

async function gridSection(section: Section, style: TableStyle, out: Output): Promise<string> {
  const { title, lines = [], comparison, notes = [] } = section;
  // Charts repeat numbers beside them, which is noise when they are read aloud.
  const { columns, rows } = style.accessible ? withoutCharts(section, isTrend) : section;
  const spanWidth = out.isTTY ? Infinity : spanWidthInPipe;
  const fields = columns.map(({ label, right, minor = false }, index): TableField => {
    const colorOf = columnColor(label);
    const cellOf = (row: unknown) => (row as Section["rows"][number])[index] ?? null; // rows of a section
    return {
      label,
      ...(right !== undefined && { right }),
      minor,
      value: (row) => plainCell(cellOf(row)),
      chart(row) {
        const cell = cellOf(row);
        return isChart(cell) ? textChart(cell, style.unicode, spanWidth) : undefined;
      },
      color(row) {
        const cell = cellOf(row);
        return hasTone(cell) ? tones[cell.tone] : colorOf?.(plainCell(cell));
      },
    };
  });
  const width = availableWidth(out);
  const plainLine = (text: string) => textLine({ parts: [{ text }] }, style, width);
  return [
    title === undefined || !style.headers ? "" : allBold(plainLine(title), style),
    ...lines.map((line) => textLine(line, style, width)),
    comparison ? comparedTexts(comparison, style, width) : "",
    columns.length === 0 ? "" : await gridText(rows, fields, style, out),
    ...notes.map(plainLine),
  ].join("");
}

const allBold = (lines: string, { colors }: TableStyle): string =>
  lines.replace(/.+/g, (line) => colors.bold(line));

/** Prints sections as lines of full cells, without charts. */
async function sectionPrinter(form: LineFormat, style: Style, out: Output): Promise<PrintSection> {
  const lines = await cellLines(form, style, out);
  const texts = textsAround[form];
  return (section, { headers }) => {
    const { title, notes = [] } = section;
    const { columns, rows } = withoutCharts(section);
    const labels = columns.map(({ label }) => label);
    const right = columns.map((heading) => heading.right === true);
    return [
      title === undefined || !headers ? "" : texts.title(oneLine(title, out)),
      headers && labels.length > 0 ? lines.head(labels, right) : "",
      lines.rows(rows.map((cells) => cells.map(plainCell))),
      form === "tsv" && !headers ? "" : texts.notes(notes.map((note) => oneLine(note, out))),
    ].join("");
  };
}

/** Texts before and after the rows; CSV has rows only. */
const textsAround = {
  tsv: {
    title: (text: string) => `# ${text}\n`,
    notes: (texts: readonly string[]) => texts.map((text) => `# ${text}\n`).join(""),
  },
  csv: { title: () => "", notes: () => "" },
  md: {
    title: (text: string) => `### ${mdText(text)}\n\n`,
    notes: (texts: readonly string[]) => texts.map((text) => `\n${mdText(text)}\n`).join(""),
  },
};

const oneLine = (text: string, out: Output): string =>
  safeCell(text, out).replace(/(?<!\s)\s*[\n\r]\s*/g, " ");

function withoutCharts(
  { columns, rows }: Section,
  isOmitted: (cell: Cell) => boolean = isChart,
): Pick<Section, "columns" | "rows"> {
  const charts = new Set(
    [...columns.keys()].filter((index) => rows.some((cells) => isOmitted(cells[index] ?? null))),
  );
  const withoutChart = <T>(values: readonly T[]) => values.filter((_, index) => !charts.has(index));
  return { columns: withoutChart(columns), rows: rows.map(withoutChart) };
}

/** The value of a cell without its color. */
export function plainCell(cell: Cell): Exclude<Cell, Toned | Chart> {
  if (isChart(cell)) return null;
  return isToned(cell) ? cell.text : cell;
}

const isObject = (cell: Cell): cell is Toned | Chart =>
  typeof cell === "object" && cell !== null && !(cell instanceof Date);
const isChart = (cell: Cell): cell is Chart => isObject(cell) && "chart" in cell;
const isTrend = (cell: Cell): boolean => isChart(cell) && cell.chart !== "span";
const isToned = (cell: Cell): cell is Toned => isObject(cell) && "text" in cell;
const hasTone = (cell: Cell): cell is Cell & { readonly tone: Tone } =>
  isObject(cell) && "tone" in cell && cell.tone !== undefined;

/** Columns of a terminal on which two texts fit side by side. */
const MIN_WIDTH = 120;
/** Lines of each text; -o json has the rest. */
const MAX_LINES = 60;

/** A piece of a line, and whether the other text lacks it. */
interface Piece {
  readonly text: string;
  readonly isOwn: boolean;
}

/** What the parts of one text look like. */
interface Side {
  readonly name: "first" | "second";
  readonly marks: readonly [open: string, close: string];
  readonly color: keyof Colors;
}

const sides: readonly [Side, Side] = [
  { name: "first", marks: ["[-", "-]"], color: "red" },
  { name: "second", marks: ["{+", "+}"], color: "green" },
];

/**
 * Two texts in which the words that only one of them has are marked `[-so-]` and `{+so+}`: side by side
 * if the terminal has room, otherwise one below the other.
 */
function comparedTexts(
  { titles, parts }: TextComparison,
  style: TableStyle,
  width: number,
): string {
  const isWide = width >= MIN_WIDTH && width !== Infinity && !style.accessible;
  const bar = style.unicode ? " │ " : " | ";
  const indent = "  ";
  const room = isWide ? Math.floor((width - bar.length) / 2) : width - indent.length;
  const [first, second] = sides.map((side) => sideLines(parts, side, room)) as [
    Piece[][],
    Piece[][],
  ];
  const drawn = (line: readonly Piece[] | undefined, { color }: Side) =>
    (line ?? []).map(({ text, isOwn }) => (isOwn ? style.colors[color](text) : text)).join("");
  if (!isWide)
    return [first, second]
      .flatMap((lines, index) => [
        `${titles[index] ?? ""}:`,
        ...lines.map((line) => indent + drawn(line, sides[index] ?? sides[0])),
      ])
      .map((line) => `${line}\n`)
      .join("");
  const count = Math.max(first.length, second.length);
  const rows = Array.from({ length: count }, (_, at) => {
    const left = drawn(first[at], sides[0]);
    return pad(plainOf(first[at]), room, "left", left) + bar + drawn(second[at], sides[1]);
  });
  const head = pad(titles[0], room, "left", style.colors.bold(titles[0]));
  return [head + bar + style.colors.bold(titles[1]), ...rows].map((row) => `${row}\n`).join("");
}

const plainOf = (line: readonly Piece[] = []): string => line.map(({ text }) => text).join("");

/** The lines of one text, none wider than `room`. */
function sideLines(parts: TextComparison["parts"], { name, marks }: Side, room: number): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const part of parts) {
    if (part.in !== "both" && part.in !== name) continue;
    const isOwn = part.in === name;
    const [open, close] = isOwn ? marks : ["", ""];
    // A mark encloses words, not the line ends between them.
    for (const [index, text] of visible(part.text, { newlines: true }).split("\n").entries()) {
      if (index > 0) lines.push([]);
      const words = text.trimEnd();
      if (words !== "") lines.at(-1)?.push({ text: open + words + close, isOwn });
      if (words !== text) lines.at(-1)?.push({ text: text.slice(words.length), isOwn: false });
    }
    if (lines.length > MAX_LINES) break;
  }
  const wrapped = lines.flatMap((line) => wrapPieces(line, room));
  if (wrapped.length <= MAX_LINES) return wrapped;
  return [...wrapped.slice(0, MAX_LINES), [{ text: "… (-o json shows all)", isOwn: false }]];
}

/** A line of pieces as lines of at most `room` columns. */
function wrapPieces(line: readonly Piece[], room: number): Piece[][] {
  const text = plainOf(line);
  if (widthOf(text, room) <= room) return [[...line]];
  let at = 0;
  return wrap(text, room).map((row) => {
    const from = at;
    at += row.length;
    const pieces = cut(line, from, at);
    if (text[at] === " ") at++; // wrap() drops the blank at which it breaks a line
    return pieces;
  });
}

/** The pieces between two offsets of their line. */
function cut(line: readonly Piece[], from: number, to: number): Piece[] {
  let start = 0;
  return line.flatMap(({ text, isOwn }) => {
    const own = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    start += text.length;
    return own === "" ? [] : [{ text: own, isOwn }];
  });
}
