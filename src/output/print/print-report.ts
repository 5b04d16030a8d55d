import type { Output } from "../../host/host.ts";
import { collect, inBatches } from "../../lib/collect.ts";
import { isList } from "../../operations/operation.ts";
import { cut, ellipsis, visible, widthOf } from "../display-width.ts";
import { columnColor, isTextFormat } from "../style.ts";
import { briefText, cellLines, mdText, safeCell } from "../formats/cell-lines.ts";
import type { LineFormat } from "../formats/cell-lines.ts";
import type { Style } from "../formats/text-formats.ts";
import { UNKNOWN_HEIGHT, wholeScreen } from "../live/terminal-writer.ts";
import { isChart, plainCell } from "../report-model.ts";
import type { Cell, Report, ReportStep, Section, Tone } from "../report-model.ts";
import { textChart, textLine, tones, comparedTexts } from "../table/text-lines.ts";
import { gridText } from "../table/grid.ts";
import type { TableField, TableStyle } from "../table/table.ts";
import { printFiltered, printJson, printJsonLines, printYaml } from "./print-data.ts";
import {
  allOf,
  each,
  fieldsFor,
  isDefaultForm,
  mapped,
  ordered,
  tableStyle,
  viewStyle,
} from "./print-rows.ts";
import type { Printing } from "./print-rows.ts";

/** Prints reports as text, or their data. */
export async function printReports(
  values: AsyncIterable<unknown>,
  printing: Printing,
): Promise<number> {
  const { style, out } = printing;
  const { format, jq } = style;
  const steps = values as AsyncIterable<ReportStep>; // the type of a report
  const asJson: Printing = { ...printing, returns: { kind: "json" } };
  if (format === "jsonl" && jq === undefined)
    return printJsonLines(inBatches(rowsIn(steps)), asJson);
  const data = mapped(reportsIn(steps), (report) => [report.data]);
  if (jq !== undefined) return printFiltered(data, asJson);
  if (format === "json") return printJson(data, asJson);
  if (format === "yaml") return printYaml(data, asJson);
  const styles = { style, tableStyle: await tableStyle(printing, false) };
  if (isTextFormat(format)) {
    const texts = mapped(reportsIn(steps), async (report) => [
      (await report.texts?.[format]?.()) ?? "",
    ]);
    return each(texts, out, (text) => text);
  }
  const form = reportFormOf(format, out);
  const reports = await shownReports(steps, printing);
  const texts = mapped(reports, async (report) => [await reportText(report, form, styles, out)]);
  return each(texts, out, (text) => text);
}

/** Prints a report, or the rows of a list, as one HTML file. It has the verdict, so it waits for the end. */
export async function printPage(
  values: AsyncIterable<unknown>,
  printing: Printing,
): Promise<number> {
  const { returns, style, out } = printing;
  const { pageText, reportOfList } = await import("../html/page.ts");
  if (returns.kind === "report") {
    const reports = await collect(reportsIn(values as AsyncIterable<ReportStep>)); // the type of a report
    for (const report of reports) await out.write(await pageText(report, style));
    return reports.length;
  }
  const batches = inBatches(values);
  const rows = await allOf(isList(returns) ? ordered(batches, printing) : batches);
  await out.write(await pageText(reportOfList(rows, fieldsFor(printing, undefined)), style));
  return rows.length;
}

/** The reports, and on a terminal that may be redrawn the items before them. */
async function shownReports(
  steps: AsyncIterable<ReportStep>,
  printing: Printing,
): Promise<AsyncIterable<Report>> {
  const { style } = printing;
  if (!style.terminal || !isDefaultForm(style)) return reportsIn(steps);
  const { withLiveItems } = await import("../live/items-view.ts");
  return withLiveItems(steps, style.terminal, await viewStyle(printing));
}

function reportFormOf(format: Style["format"], { isTTY }: Output): ReportForm {
  if (format === "tsv" || format === "csv" || format === "md") return format;
  if (format === undefined && !isTTY) return "tsv";
  return format === "wide" ? "wide" : "grid";
}

/** The reports among the steps. */
async function* reportsIn(steps: AsyncIterable<ReportStep>): AsyncGenerator<Report> {
  for await (const step of steps) if ("sections" in step) yield step;
}

/** The results among the steps; those of the report itself if there are none. */
async function* rowsIn(steps: AsyncIterable<ReportStep>): AsyncGenerator<unknown> {
  let hasRows = false;
  for await (const step of steps) {
    if ("row" in step) {
      hasRows = true;
      yield step.row;
    } else if ("sections" in step && !hasRows) yield* [step.data].flat();
  }
}

type ReportForm = "grid" | "wide" | LineFormat;

/** Columns of a span in a pipe. */
const spanWidthInPipe = 40;

/** The text of a report: its sections, separated by empty lines. Only grids have charts. */
async function reportText(
  report: Report,
  form: ReportForm,
  { style, tableStyle }: { readonly style: Style; readonly tableStyle: TableStyle },
  out: Output,
): Promise<string> {
  if (form === "md" && report.brief) return briefText(report.brief, style, out);
  const isGrid = form === "grid" || form === "wide";
  const print = isGrid
    ? (section: Section) => gridSection(section, tableStyle, form === "grid")
    : await sectionPrinter(form, style, out);
  const { sections, screen = sections } = report;
  const texts: string[] = [];
  for (const section of form === "grid" ? screen : sections) texts.push(await print(section));
  if (isGrid && report.isFrame) return frame(texts, out);
  return texts.join(form === "csv" ? "\r\n" : "\n");
}

/** The sections as one frame of a screen; if they are too high, all but the last one are cut off. */
function frame(texts: readonly string[], { terminal }: Output): string {
  const foot = linesOf(texts.at(-1) ?? "");
  const rows = (terminal?.rows ?? UNKNOWN_HEIGHT) - foot.length;
  return wholeScreen([...linesOf(texts.slice(0, -1).join("\n")).slice(0, rows - 1), "", ...foot]);
}

const linesOf = (text: string): string[] => text.replace(/\n$/, "").split("\n");

async function gridSection(section: Section, style: TableStyle, isShort: boolean): Promise<string> {
  const { title, lines = [], comparison, notes = [], footnotes = [] } = section;
  // Charts repeat numbers beside them, which is noise when they are read aloud.
  const { columns, rows } = style.accessible ? withoutCharts(section, isTrend) : section;
  const spanWidth = style.human ? Infinity : spanWidthInPipe;
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
  const plainLine = (text: string) => textLine({ parts: [{ text }] }, style);
  return [
    title === undefined || !style.headers ? "" : allBold(plainLine(title), style),
    ...lines.map((line) => textLine(line, style)),
    comparison ? comparedTexts(comparison, style) : "",
    columns.length === 0 ? "" : await gridText(rows, fields, style),
    ...notes.map(plainLine),
    ...(isShort && style.human ? firstOf(footnotes, style) : footnotes.map(plainLine)),
  ].join("");
}

/** The first note in one line, with the format that shows it whole and the others. */
function firstOf(
  [first, ...others]: readonly string[],
  { columns, unicode }: TableStyle,
): string[] {
  if (first === undefined) return [];
  const text = visible(first);
  if (others.length === 0 && widthOf(text) <= columns) return [`${text}\n`];
  const more = `${ellipsis(unicode)} (-o wide)`;
  return [`${cut(text, Math.max(1, columns - widthOf(more)), "").trimEnd()}${more}\n`];
}

const allBold = (lines: string, { colors }: TableStyle): string =>
  lines.replace(/.+/g, (line) => colors.bold(line));

/** Prints sections as lines of full cells, without charts. */
async function sectionPrinter(form: LineFormat, style: Style, out: Output) {
  const { headers } = style;
  const lines = await cellLines(form, style, out);
  const texts = textsAround[form];
  return (section: Section): string => {
    const { title, notes = [], footnotes = [] } = section;
    const { columns, rows } = withoutCharts(section);
    const below = [...notes, ...footnotes].map((note) => texts.note(oneLine(note, out)));
    const labels = columns.map(({ label }) => label);
    const right = columns.map((heading) => heading.right === true);
    return [
      title === undefined || !headers ? "" : texts.title(oneLine(title, out)),
      headers && labels.length > 0 ? lines.head(labels, right) : "",
      lines.rows(rows.map((cells) => cells.map(plainCell))),
      ...(form === "tsv" && !headers ? [] : below),
    ].join("");
  };
}

/** Texts before and after the rows; CSV has rows only. */
const textsAround = {
  tsv: { title: (text: string) => `# ${text}\n`, note: (text: string) => `# ${text}\n` },
  csv: { title: () => "", note: () => "" },
  md: {
    title: (text: string) => `### ${mdText(text)}\n\n`,
    note: (text: string) => `\n${mdText(text)}\n`,
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

const isTrend = (cell: Cell): boolean => isChart(cell) && cell.chart !== "span";
const hasTone = (cell: Cell): cell is Cell & { readonly tone: Tone } =>
  typeof cell === "object" && cell !== null && "tone" in cell && cell.tone !== undefined;
