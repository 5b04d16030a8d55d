import { usage } from "../../errors.ts";
import type { Output } from "../../host/host.ts";
import type { Cell, Chart, Report, Section, Tone, Toned } from "../report-model.ts";
import { textChart } from "./charts.ts";
import { cellLines, mdText, safeCell } from "../formats/cell-lines.ts";
import type { LineFormat } from "../formats/cell-lines.ts";
import { sanitize } from "../formats/text-formats.ts";
import type { Style } from "../formats/text-formats.ts";
import { wholeScreen } from "../live/redraw-region.ts";
import { columnColor } from "./colors.ts";
import { comparedTexts } from "./compared-texts.ts";
import { gridText } from "./grid.ts";
import { availableWidth } from "./table.ts";
import type { TableStyle, TableField } from "./table.ts";
import { textLine, tones } from "./text-lines.ts";

/** Text formats of a report. */
export type ReportForm = "grid" | "wide" | LineFormat | "svg";

/** Columns of a span in a pipe. */
const spanWidthInPipe = 40;

/**
 * The text of a report: its sections, separated by empty lines. Only grids have charts. Throws usage
 * if the report has no picture.
 */
export async function reportText(
  report: Report,
  form: ReportForm,
  { style, tableStyle }: { readonly style: Style; readonly tableStyle: TableStyle },
  out: Output,
): Promise<string> {
  if (form === "svg") return pictureOf(report, out);
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

function pictureOf({ svg }: Report, out: Output): string {
  if (svg === undefined) throw usage("this report has no picture");
  const text = svg();
  return `${sanitize(text, out)}${text.endsWith("\n") ? "" : "\n"}`;
}

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
