import { usage } from "../../errors.ts";
import type { Output } from "../../host/host.ts";
import { inBatches, Rows } from "../../lib/collect.ts";
import type { ServerEvent } from "../../lib/server-event.ts";
import { isList } from "../../operations/operation.ts";
import type { Returns, TerminalForm, TextFormat } from "../../operations/operation.ts";
import { escapeControls, visible } from "../display-width.ts";
import type { Style } from "../formats/text-formats.ts";
import type { EventPrinter } from "../live/event-printer.ts";
import { explainedColumns, fieldNamed, isColumn, isValueName } from "../table/table.ts";
import { isTextFormat } from "../style.ts";
import type { Format } from "../style.ts";
import {
  printFiltered,
  printJson,
  printJsonLines,
  printNames,
  printValues,
  printYaml,
} from "./print-data.ts";
import {
  allOf,
  each,
  eachBatch,
  isDefaultForm,
  mapped,
  ordered,
  printLines,
  printPairs,
  printSheets,
  printTable,
  printTerminalForm,
  terminalFormOf,
  viewStyle,
} from "./print-rows.ts";
import type { Printing, RowBatches } from "./print-rows.ts";

export type { PageInfo, Style } from "../formats/text-formats.ts";
export { explainedColumns, visible };

/**
 * Rejects a style that cannot be applied, before anything is sent: an unknown column or sort field, an
 * invalid jq filter. Returns the columns that are named values, which the command checks. Throws CliError
 * usage.
 */
export async function checkStyle(
  returns: Returns<never>,
  style: Style,
): Promise<readonly string[]> {
  if (returns.kind === "report") rejectColumns(style);
  const { sort = "" } = style;
  // As other programs have it: `-name`, `name:desc`.
  const column = sort.replace(/^-(?=.)|(?<=.):(?:asc|desc)$/i, "");
  if (column !== sort)
    throw usage(
      `--sort ${JSON.stringify(sort)} is not a column`,
      `up: --sort ${column}, down: --sort ${column} --reverse`,
    );
  const named = [...(style.columns ?? []), ...(style.sort === undefined ? [] : [style.sort])];
  for (const name of named) {
    if (isColumn(returns, name)) continue;
    const columns = explainedColumns(returns);
    throw usage(
      `column ${JSON.stringify(name)} not found`,
      `columns are ${columns.join(", ")}; use a path such as a.b for nested fields, or --jq`,
      { details: { columns } },
    );
  }
  if (style.jq !== undefined) await (await import("../formats/jq.ts")).checkFilter(style.jq, style);
  return named.filter((name) => isValueName(returns, name));
}

/** The values, and which of the columns that are paths no value had when they ended. */
export function watchPaths(
  values: AsyncIterable<unknown>,
  { returns, style: { columns = [] } }: Pick<Printing, "returns" | "style">,
): { readonly values: AsyncIterable<unknown>; readonly unseen: () => readonly string[] } {
  const paths = new Set(columns.filter((name) => name.includes(".")));
  if (returns.kind === "events") paths.clear(); // each kind of event has fields of its own
  let isEmpty = true;
  const seen = mapped(values, (value) => {
    for (const row of value instanceof Rows ? value.all : [value]) {
      isEmpty = false;
      for (const name of paths)
        if ((fieldNamed(returns, name).value(row) ?? null) !== null) paths.delete(name);
    }
    return value;
  });
  return { values: seen, unseen: () => (isEmpty ? [] : [...paths]) };
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
  if (returns.kind === "file") {
    const bytes = values as AsyncIterable<Uint8Array | string>; // the type of a file
    return out.isTTY ? printTextBytes(bytes, returns.text, out) : printBytes(bytes, out);
  }
  if (returns.kind === "nothing") return each(inBatches(values), out, () => "");
  if (returns.kind === "text") return printText(values, out);
  const printing: Printing = { returns, style, out };
  const isPage = style.format === "html" && style.jq === undefined;
  if (isPage || returns.kind === "report") {
    const { printPage, printReports } = await import("./print-report.ts");
    return isPage ? printPage(values, printing) : printReports(values, printing);
  }
  const form = formOf(printing);
  if (returns.kind === "events") {
    const events = values as AsyncIterable<readonly ServerEvent[]>; // the type of events
    return (
      (await printEvents(events, form, printing)) ??
      printers[form](
        mapped(events, (batch) => batch.map(({ data }) => data)),
        printing,
      )
    );
  }
  const batches = inBatches(values);
  const rows =
    returns.kind === "json" && tables.has(form)
      ? mapped(batches, (batch) => batch.flat())
      : batches;
  return printers[form](isList(returns) ? ordered(rows, printing) : rows, printing);
}

/** How values are printed: in the requested format, or in the default form of their kind. */
type Form = Exclude<Format, "html" | TextFormat> | "jq" | "sheet" | "values" | TerminalForm["form"];

function formOf({ returns, style, out }: Printing): Form {
  const { format, jq, columns } = style;
  if (jq !== undefined) return "jq";
  const form = out.isTTY && columns === undefined && terminalFormOf(returns)?.form;
  if (form === "results" && format === undefined) return wantsAllRows(style) ? "grid" : form;
  if (form && (format === undefined || (form === "hits" && format === "wide"))) return form;
  if (returns.kind === "json" && isDefaultForm(style)) return "values";
  if (returns.kind === "record" && (format === "grid" || format === "wide")) return "sheet";
  // Pages and texts of reports are printed before; beside the text of another program, the default.
  if (format !== undefined && format !== "html" && !isTextFormat(format)) return format;
  if (returns.kind === "record") return out.isTTY ? "sheet" : "tsv";
  return out.isTTY ? "grid" : "tsv";
}

/** Does a flag request all rows of a bulk command? */
const wantsAllRows = ({ allRows, sort, reverse }: Style): boolean =>
  allRows === true || sort !== undefined || reverse;

/** Forms in which the items of a JSON list are rows. */
const tables: ReadonlySet<Form> = new Set(["grid", "wide", "tsv", "csv", "md", "name"]);

type Print = (rows: RowBatches, printing: Printing) => Promise<number>;

const printers: Readonly<Record<Form, Print>> = {
  grid: printTable,
  wide: printTable,
  sheet: printSheets,
  checks: printTerminalForm,
  hits: printTerminalForm,
  chunks: printTerminalForm,
  results: printTerminalForm,
  values: printValues,
  tsv: (rows, printing) =>
    printing.returns.kind === "record"
      ? printPairs(rows, printing)
      : printLines(rows, printing, "tsv"),
  csv: (rows, printing) => printLines(rows, printing, "csv"),
  md: (rows, printing) => printLines(together(rows), printing, "md"),
  json: printJson,
  jsonl: printJsonLines,
  yaml: printYaml,
  name: printNames,
  jq: printFiltered,
};

async function* together(rows: RowBatches): AsyncGenerator<readonly unknown[]> {
  yield await allOf(rows);
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

async function printBytes(
  chunks: AsyncIterable<Uint8Array | string>,
  out: Output,
): Promise<number> {
  let count = 0;
  for await (const chunk of chunks) {
    await out.write(chunk);
    count += 1;
    if (out.closed) break;
  }
  return count;
}

/** Shows bytes on a terminal if they may be text and are. Throws usage for others. */
async function printTextBytes(
  chunks: AsyncIterable<Uint8Array | string>,
  hint: string | undefined,
  out: Output,
): Promise<number> {
  const redirect = "use --output-file PATH, or redirect the output";
  const refused = usage(
    "refusing to write binary output to a terminal",
    hint === undefined ? redirect : `${hint}, or ${redirect}`,
  );
  if (hint === undefined) throw refused;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decoded = (chunk: Uint8Array | string): string => {
    try {
      const text = typeof chunk === "string" ? chunk : decoder.decode(chunk);
      if (!text.includes("\0")) return text;
    } catch {} // not UTF-8
    throw refused;
  };
  return printText(mapped(chunks, decoded), out);
}

type Events = AsyncIterable<readonly ServerEvent[]>;

/**
 * Prints events as they are followed: live, as lines of JSON, or the ID of their run. Undefined for another
 * form, in which their data are printed like rows.
 */
async function printEvents(
  events: Events,
  form: string,
  printing: Printing,
): Promise<number | undefined> {
  const { style, out } = printing;
  if (isDefaultForm(style)) return printLive(events, printing);
  if (form === "name") return printRunId(events, out);
  if (form !== "jsonl" || style.columns !== undefined) return undefined;
  const escape = out.isTTY ? escapeControls : (json: string) => json;
  return eachBatch(events, out, (batch) => batch.map(({ raw }) => `${escape(raw)}\n`).join(""));
}

async function printLive(events: Events, printing: Printing): Promise<number> {
  const { returns, style, out } = printing;
  const { isOneRun, linePrinter, redrawingPrinter } = await import("../live/event-printer.ts");
  const drawn = await viewStyle(printing);
  const terminal = "some" in returns ? undefined : style.terminal;
  let printer: EventPrinter | undefined;
  let count = 0;
  try {
    for await (const batch of events) {
      printer ??=
        terminal && isOneRun(batch) ? redrawingPrinter(terminal, drawn) : linePrinter(drawn, out);
      await printer.show(batch);
      count += 1;
      if (out.closed) break;
    }
  } finally {
    await printer?.end();
  }
  return count;
}

/** Prints the ID of the run once, when an event names it; reads the events to their end. */
function printRunId(events: Events, out: Output): Promise<number> {
  let isPrinted = false;
  return each(events, out, ({ fields: { workflow_run_id: id } }) => {
    if (isPrinted || id === undefined) return "";
    isPrinted = true;
    return `${out.isTTY ? visible(id) : id}\n`;
  });
}
