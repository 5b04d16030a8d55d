import { usage } from "../../errors.ts";
import type { Output } from "../../host/host.ts";
import { collect } from "../../lib/collect.ts";
import { valueAt } from "../../lib/json.ts";
import { inBatches, oneByOne } from "../../lib/rows.ts";
import { isList } from "../../operations/operation.ts";
import type { Returns, TerminalForm } from "../../operations/operation.ts";
import type { Report, ReportStep } from "../report-model.ts";
import { reportsIn, rowsIn } from "./report-steps.ts";
import { cellLines } from "../formats/cell-lines.ts";
import type { LineFormat } from "../formats/cell-lines.ts";
import type { Format } from "../formats-list.ts";
import { yamlText } from "../../lib/formats/yaml-text.ts";
import { jsonArray, jsonLine, prettyJson } from "../formats/text-formats.ts";
import type { Style } from "../formats/text-formats.ts";
import { printGrid } from "../table/grid.ts";
import { sheetText } from "../table/sheet.ts";
import { checkFilter, applyFilter } from "../formats/jq.ts";
import type { Reappearing } from "../live/open-rows.ts";
import type { EventPrinter } from "../live/event-printer.ts";
import type { ServerEvent } from "../../lib/server-event.ts";
import type { ViewStyle } from "../live/node-lines.ts";
import type { ReportForm } from "./print-report.ts";
import {
  cellText,
  columnNames,
  declaredFields,
  fieldNamed,
  fieldsOf,
  isColumn,
  sortRows,
} from "../table/table.ts";
import type { TableStyle, TableField } from "../table/table.ts";
import { colorsFor, escapeControls, visible } from "../display-width.ts";
import { clockFor, timesFor } from "../times.ts";

export type { PageInfo, Style } from "../formats/text-formats.ts";
export { columnNames, visible };

/**
 * Rejects a style that cannot be applied, before anything is sent: an unknown column or sort field, an
 * invalid jq filter. Throws CliError usage.
 */
export async function checkStyle(returns: Returns<never>, style: Style): Promise<void> {
  if (returns.kind === "report") rejectColumns(style);
  for (const name of [
    ...(style.columns ?? []),
    ...(style.sort === undefined ? [] : [style.sort]),
  ]) {
    if (isColumn(returns, name)) continue;
    const columns = columnNames(returns);
    throw usage(
      `column ${JSON.stringify(name)} not found`,
      `columns are ${columns.join(", ")}; use a path such as a.b for nested fields, or --jq`,
      { details: { columns } },
    );
  }
  if (style.jq !== undefined) await checkFilter(style.jq, style);
}

/** Each table of a report has its own columns, so flags cannot select them. */
function rejectColumns({ columns, sort, reverse }: Style): void {
  const flags = {
    "--columns": columns !== undefined,
    "--sort": sort !== undefined,
    "--reverse": reverse,
  };
  const flag = Object.entries(flags).find(([, isSet]) => isSet)?.[0];
  if (flag === undefined) return;
  throw usage(
    `${flag} requires a list, and this command prints a report`,
    "use --jq to select data; `--jq keys` lists the names",
  );
}

/**
 * Prints the values of a command: rows, one value of a record, events, bytes. Resolves to the number
 * of values; stops when the reader of the output closes it. Throws what the values throw.
 */
export async function render(
  returns: Returns<never>,
  values: AsyncIterable<unknown>,
  style: Style,
  out: Output,
): Promise<number> {
  if (returns.kind === "file") return printBytes(values as AsyncIterable<Uint8Array>, out); // the type of a file
  if (returns.kind === "nothing") return each(inBatches(values), out, () => "");
  if (returns.kind === "text") return printText(values, out);
  const printing: Printing = { returns, style, out };
  if (style.format === "html" && style.jq === undefined) return printAsPage(values, printing);
  if (returns.kind === "report") return printReports(values as AsyncIterable<ReportStep>, printing); // the type of a report
  const form = formOf(printing);
  if (returns.kind === "events") {
    const events = values as AsyncIterable<readonly ServerEvent[]>; // the type of events
    if (isDefaultForm(style)) return printLive(events, printing);
    if (form === "name") return printRunId(events, out);
    if (form === "jsonl" && style.columns === undefined) {
      const escape = out.isTTY ? escapeControls : (json: string) => json;
      const linesOf = (batch: readonly ServerEvent[]) => batch.map(({ raw }) => escape(raw));
      return eachBatch(events, out, (batch) => linesOf(batch).concat("").join("\n"));
    }
    return printers[form](
      mapped(events, (batch) => batch.map(({ data }) => data)),
      printing,
    );
  }
  const batches = inBatches(values);
  const rows =
    returns.kind === "json" && tables.has(form)
      ? mapped(batches, (batch) => batch.flat())
      : batches;
  return printers[form](isList(returns) ? ordered(rows, printing) : rows, printing);
}

/** Rows, in the batches in which they arrive. */
type RowBatches = AsyncIterable<readonly unknown[]>;

/** How values are printed: in the requested format, or in the default form of their kind. */
type Form = Exclude<Format, "html"> | "jq" | "sheet" | "values" | TerminalForm["form"];

function formOf({ returns, style, out }: Printing): Form {
  const { format, jq, columns } = style;
  if (jq !== undefined) return "jq";
  const form = out.isTTY && columns === undefined && terminalFormOf(returns)?.form;
  if (form === "results" && format === undefined) return wantsAllRows(style) ? "grid" : form;
  if (form && (format === undefined || (form === "hits" && format === "wide"))) return form;
  if (returns.kind === "json" && isDefaultForm(style)) return "values";
  if (returns.kind === "record" && (format === "grid" || format === "wide")) return "sheet";
  if (returns.kind === "record" && format === undefined) return out.isTTY ? "sheet" : "tsv";
  // A page is printed before.
  if (format !== undefined && format !== "html") return format;
  return out.isTTY ? "grid" : "tsv";
}

/** Whether values are printed in the default form of their kind. */
const isDefaultForm = ({ format, jq, columns }: Style): boolean =>
  jq === undefined &&
  columns === undefined &&
  (format === undefined || format === "grid" || format === "wide");

/** Does a flag request all rows of a bulk command? */
const wantsAllRows = ({ allRows, sort, reverse }: Style): boolean =>
  allRows === true || sort !== undefined || reverse;

const terminalFormOf = (returns: Returns<never>): TerminalForm | undefined =>
  "terminalForm" in returns ? returns.terminalForm : undefined;

interface Printing {
  readonly returns: Returns<never>;
  readonly style: Style;
  readonly out: Output;
}

/** Forms in which the items of a JSON list are rows. */
const tables: ReadonlySet<Form> = new Set(["grid", "wide", "tsv", "csv", "md", "name"]);

async function* mapped<T, U>(
  values: AsyncIterable<T>,
  to: (value: T) => U | Promise<U>,
): AsyncGenerator<U> {
  for await (const value of values) yield to(value);
}

/** Rows in the requested order; only a requested order collects all rows first. */
const ordered = (rows: RowBatches, { returns, style }: Printing): RowBatches =>
  style.sort === undefined && !style.reverse ? rows : sortedRows(rows, returns, style);

async function* sortedRows(
  rows: RowBatches,
  returns: Returns<never>,
  { sort, reverse }: Style,
): AsyncGenerator<readonly unknown[]> {
  const all = await allOf(rows);
  const inOrder = sort === undefined ? all : sortRows(all, fieldNamed(returns, sort));
  yield reverse ? inOrder.reverse() : inOrder;
}

const allOf = async (batches: RowBatches): Promise<unknown[]> => (await collect(batches)).flat();

/** Values whose text is one write: more than a page has. */
const MAX_VALUES = 1000;

/**
 * Writes the texts of the values as they arrive, after `head` (even without values). Resolves to the
 * number of values; stops when the reader closes the output.
 */
async function eachBatch<T>(
  batches: AsyncIterable<readonly T[]>,
  out: Output,
  textOf: (values: readonly T[]) => string,
  head: (first?: T) => string = () => "",
): Promise<number> {
  let count = 0;
  for await (const batch of batches) {
    for (let at = 0; at < batch.length; at += MAX_VALUES) {
      const values = batch.slice(at, at + MAX_VALUES);
      const text = (count === 0 ? head(values[0]) : "") + textOf(values);
      count += values.length;
      if (text !== "") await out.write(text);
      if (out.closed) return count;
    }
  }
  if (count === 0 && head() !== "") await out.write(head());
  return count;
}

/** The same with the text of each value. */
const each = <T>(
  batches: AsyncIterable<readonly T[]>,
  out: Output,
  textOf: (value: T) => string,
): Promise<number> => eachBatch(batches, out, (values) => values.map(textOf).join(""));

type Print = (rows: RowBatches, printing: Printing) => Promise<number>;

const printers: Readonly<Record<Form, Print>> = {
  grid: printTable,
  wide: printTable,
  sheet: printSheets,
  checks: printChecks,
  hits: printHits,
  results: printBulkResults,
  values: (rows, { out }) =>
    each(rows, out, (value) =>
      typeof value === "string"
        ? `${out.isTTY ? visible(value, { newlines: true }) : value}${value.endsWith("\n") ? "" : "\n"}`
        : prettyJson(value, out.isTTY),
    ),
  tsv: (rows, printing) =>
    printing.returns.kind === "record"
      ? printPairs(rows, printing)
      : printLines(rows, printing, "tsv"),
  csv: (rows, printing) => printLines(rows, printing, "csv"),
  md: async (rows, printing) => printLines(iterated([await allOf(rows)]), printing, "md"),
  json: async (rows, printing) => {
    const { out, returns } = printing;
    // An object is printed as it arrives: the command may keep running (a server).
    if (returns.kind === "record") {
      const pick = columnPicker(printing);
      return each(rows, out, (row) => prettyJson(pick(row), out.isTTY));
    }
    const all = (await allOf(rows)).map(columnPicker(printing));
    if (isOneValue(all, printing)) {
      for (const value of all) await out.write(prettyJson(value, out.isTTY));
    } else {
      for (const piece of jsonArray(all, out.isTTY)) {
        await out.write(piece);
        if (out.closed) break;
      }
    }
    return all.length;
  },
  jsonl: (rows, printing) => {
    const pick = columnPicker(printing);
    return each(rows, printing.out, (row) => jsonLine(pick(row), printing.out.isTTY));
  },
  yaml: async (rows, printing) => {
    const { out } = printing;
    const all = (await allOf(rows)).map(columnPicker(printing));
    const single = isOneValue(all, printing);
    if (single && all.length === 0) return 0;
    const text = await yamlText(single ? all[0] : all);
    await out.write(out.isTTY ? visible(text, { newlines: true }) : text);
    return all.length;
  },
  name: (rows, { returns, out }) => {
    const path = "namePath" in returns && returns.namePath !== undefined ? returns.namePath : "id";
    return each(rows, out, (row) => {
      const text = cellText(valueAt(row, path), timesFor(utc, false));
      return text === "" ? "" : `${out.isTTY ? visible(text) : text}\n`;
    });
  },
  jq: async (rows, printing) => {
    const { style, out, returns } = printing;
    const pick = columnPicker(printing);
    const filter = style.jq ?? ".";
    // A list is one value, read to its end; other values are filtered as they arrive.
    const all = isList(returns) ? (await allOf(rows)).map(pick) : undefined;
    let count = 0;
    for await (const value of all ? [all] : oneByOne(rows)) {
      const text = await applyFilter(all ? value : pick(value), filter, out.isTTY, style);
      if (text !== "") await out.write(text);
      count += 1;
      if (out.closed) break;
    }
    return all?.length ?? count;
  },
};

const utc = { times: "utc", now: () => new Date(0) } as const;

async function* iterated<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

/** Whether the value is written as it is: lists, events, and several values are written as an array. */
const isOneValue = (all: readonly unknown[], { returns }: Printing): boolean =>
  !isList(returns) && returns.kind !== "events" && all.length < 2;

/** Selects what is written as JSON: the whole row, or the requested columns. */
function columnPicker({ returns, style }: Printing): (row: unknown) => unknown {
  if (style.columns === undefined) return (row) => row;
  const fields = style.columns.map((name) => fieldNamed(returns, name));
  return (row) =>
    Object.fromEntries(fields.map((field) => [field.label, field.value(row) ?? null]));
}

/** Columns of a table: requested, declared, or else the fields of the first row. */
function fieldsFor({ returns, style }: Printing, first: unknown): readonly TableField[] {
  if (style.columns !== undefined) return style.columns.map((name) => fieldNamed(returns, name));
  const declared = declaredFields(returns, style.format === "wide");
  return declared.length > 0 || first === undefined ? declared : fieldsOf(first);
}

async function tableStyle({ style, out }: Printing): Promise<TableStyle> {
  return {
    times: timesFor(style, out.isTTY),
    colors: await colorsFor(style.color),
    headers: style.headers,
    accessible: style.accessible,
    unicode: style.unicode,
    human: out.isTTY,
    keepsAll: style.format === "wide" || style.columns !== undefined,
  };
}

/** Prints reports as text, or their data. */
async function printReports(steps: AsyncIterable<ReportStep>, printing: Printing): Promise<number> {
  const { style, out } = printing;
  const { format, jq } = style;
  const asJson: Printing = { ...printing, returns: { kind: "json" } };
  if (format === "jsonl" && jq === undefined)
    return printers.jsonl(inBatches(rowsIn(steps)), asJson);
  const data = mapped(reportsIn(steps), (report) => [report.data]);
  if (jq !== undefined) return printers.jq(data, asJson);
  if (format === "json" || format === "yaml") return printers[format](data, asJson);
  const { reportText } = await import("./print-report.ts");
  const styles = { style, tableStyle: { ...(await tableStyle(printing)), keepsAll: false } };
  const form = reportFormOf(format, out);
  const reports = await shownReports(steps, printing);
  const texts = mapped(reports, async (report) => [await reportText(report, form, styles, out)]);
  return each(texts, out, (text) => text);
}

/** Prints a report, or the rows of a list, as one HTML file. It has the verdict, so it waits for the end. */
async function printAsPage(values: AsyncIterable<unknown>, printing: Printing): Promise<number> {
  const { returns, style, out } = printing;
  const { pageText, reportOfList } = await import("../html/page.ts");
  if (returns.kind === "report") {
    const reports = await collect(reportsIn(values as AsyncIterable<ReportStep>)); // the type of a report
    for (const report of reports) await out.write(pageText(report, style));
    return reports.length;
  }
  const batches = inBatches(values);
  const rows = await allOf(isList(returns) ? ordered(batches, printing) : batches);
  await out.write(pageText(reportOfList(rows, fieldsFor(printing, undefined)), style));
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
  // Assigned, so that the width stays that of the terminal at each moment.
  const itemsStyle = Object.assign(await viewStyleOf(printing), await tableStyle(printing));
  return withLiveItems(steps, style.terminal, itemsStyle);
}

function reportFormOf(format: Style["format"], { isTTY }: Output): ReportForm {
  if (format === "tsv" || format === "csv" || format === "md") return format;
  if (format === undefined && !isTTY) return "tsv";
  return format === "wide" ? "wide" : "grid";
}

async function printTable(rows: RowBatches, printing: Printing): Promise<number> {
  const { returns, style, out } = printing;
  const fields = fieldsFor(printing, undefined);
  const reappearing = style.terminal && isDefaultForm(style) ? reappearingOf(returns) : undefined;
  if (!reappearing || !style.terminal)
    return printGrid(rows, fields, await tableStyle(printing), out);
  const { printReappearing } = await import("../live/open-rows.ts");
  return printReappearing(
    rows,
    { ...reappearing, fields },
    await tableStyle(printing),
    style.terminal,
  );
}

function reappearingOf(returns: Returns<never>): Reappearing | undefined {
  const { reappears, namePath = "id" } = "columns" in returns ? returns : {};
  return reappears && { idPath: namePath, isOpen: reappears as Reappearing["isOpen"] }; // rows of this type
}

async function printSheets(rows: RowBatches, printing: Printing): Promise<number> {
  const style = await tableStyle(printing);
  let between = "";
  return each(rows, printing.out, (row) => {
    const isFilled = (field: TableField) =>
      field.kind !== "sparse" || cellText(field.value(row), style.times) !== "";
    const fields = fieldsFor(printing, row).filter(isFilled);
    const text = between + sheetText(row, fields, style, printing.out);
    between = "\n";
    return text;
  });
}

async function printChecks(rows: RowBatches, printing: Printing): Promise<number> {
  const { returns, out } = printing;
  const columns = terminalFormOf(returns);
  if (columns?.form !== "checks") return 0;
  const style = await tableStyle(printing);
  const { checkText } = await import("../table/check-list.ts");
  const fieldOf = (label: string) => fieldNamed(returns, label);
  return each(rows, out, (row) => checkText(row, columns, fieldOf, { style, out }));
}

async function printHits(rows: RowBatches, printing: Printing): Promise<number> {
  const { returns, out } = printing;
  const form = terminalFormOf(returns);
  if (form?.form !== "hits") return 0;
  const style = await tableStyle(printing);
  const { hitText } = await import("../table/search-hits.ts");
  let rank = 0;
  return each(rows, out, (row) => {
    rank += 1;
    return `${rank === 1 ? "" : "\n"}${hitText(row, rank, form.query, { style, out })}`;
  });
}

async function printBulkResults(rows: RowBatches, printing: Printing): Promise<number> {
  const { returns, out } = printing;
  const form = terminalFormOf(returns);
  if (form?.form !== "results") return 0;
  const { printResults } = await import("../table/results.ts");
  const fieldOf = (label: string) => fieldNamed(returns, label);
  return printResults(oneByOne(rows), form, fieldOf, { style: await tableStyle(printing), out });
}

/** Prints objects as lines of name, tab and value. */
async function printPairs(rows: RowBatches, printing: Printing): Promise<number> {
  const { style, out } = printing;
  const lines = await cellLines("tsv", style, out);
  let between = "";
  return each(rows, out, (row) => {
    const pairs = fieldsFor(printing, row).map((field) => {
      const value = field.value(row);
      return style.headers ? [field.label, value] : [value];
    });
    const block = between + lines.rows(pairs);
    between = "\n";
    return block;
  });
}

/** Prints rows as lines of full cells, below a line of labels unless tsv is only the default. */
async function printLines(rows: RowBatches, printing: Printing, form: LineFormat): Promise<number> {
  const { style, out } = printing;
  const lines = await cellLines(form, style, out);
  const hasHead = style.headers && style.format !== undefined;
  let fields: readonly TableField[] | undefined;
  return eachBatch(
    rows,
    out,
    (batch) => {
      const columns = (fields ??= fieldsFor(printing, batch[0]));
      return lines.rows(batch.map((row) => columns.map((field) => field.value(row))));
    },
    (first) => {
      const labels = fieldsFor(printing, first).map(({ label }) => label);
      return hasHead && labels.length > 0 ? lines.head(labels) : "";
    },
  );
}

async function printLive(
  events: AsyncIterable<readonly ServerEvent[]>,
  { returns, style, out }: Printing,
): Promise<number> {
  const { isRun, linePrinter, redrawingPrinter } = await import("../live/event-printer.ts");
  const viewStyle = await viewStyleOf({ returns, style, out });
  const terminal = "some" in returns ? undefined : style.terminal;
  let printer: EventPrinter | undefined;
  let count = 0;
  try {
    for await (const batch of events) {
      printer ??=
        terminal && isRun(batch)
          ? redrawingPrinter(terminal, viewStyle, batch[0]?.run !== undefined)
          : linePrinter(viewStyle, out);
      await printer.show(batch);
      count += 1;
      if (out.closed) break;
    }
  } finally {
    await printer?.end();
  }
  return count;
}

const viewStyleOf = async ({ returns, style, out }: Printing): Promise<ViewStyle> => ({
  colors: await colorsFor(style.color),
  clock: clockFor(style, out.isTTY),
  times: timesFor(style, out.isTTY),
  now: style.now,
  get columns() {
    return out.isTTY ? out.columns : Infinity;
  },
  unicode: style.unicode,
  past: "past" in returns,
});

/** Prints the ID of the run once, when an event names it; reads the events to their end. */
function printRunId(events: AsyncIterable<readonly ServerEvent[]>, out: Output): Promise<number> {
  let isPrinted = false;
  return each(events, out, ({ fields: { workflow_run_id: id } }) => {
    if (isPrinted || id === undefined) return "";
    isPrinted = true;
    return `${out.isTTY ? visible(id) : id}\n`;
  });
}

/** Prints a text as it grows, and a line end after it. */
async function printText(pieces: AsyncIterable<unknown>, out: Output): Promise<number> {
  let last = "";
  const count = await each(inBatches(pieces), out, (piece) => {
    last = String(piece);
    return out.isTTY ? visible(last, { newlines: true }) : last;
  });
  if (count > 0 && !last.endsWith("\n")) await out.write("\n");
  return count;
}

async function printBytes(chunks: AsyncIterable<Uint8Array>, out: Output): Promise<number> {
  if (out.isTTY) {
    throw usage(
      "refusing to write binary output to a terminal",
      "use --output-file PATH, or redirect the output",
    );
  }
  let count = 0;
  for await (const chunk of chunks) {
    await out.write(chunk);
    count += 1;
    if (out.closed) break;
  }
  return count;
}
