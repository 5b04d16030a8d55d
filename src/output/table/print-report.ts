import { csvLines } from "../../lib/csv.ts";
import { CliError } from "../../errors.ts";
import type { Output } from "../../host/host.ts";
import type { Cell, Chart, Report, Section, Tone, Toned } from "../report-model.ts";
import { drawingOf } from "./charts.ts";
import { cellsFor } from "../formats/cells.ts";
import { mdHead, mdLine, sanitize, safeCell, tsvLine } from "../formats/text-formats.ts";
import type { Style } from "../formats/text-formats.ts";
import { gridText } from "./grid.ts";
import type { TableStyle, TableField } from "./table.ts";
import { visible } from "./display-width.ts";
import type { Colors } from "./display-width.ts";
import { timesFor } from "../formats/times.ts";

/** What a report looks like, as text. */
export type ReportForm = "grid" | "tsv" | "csv" | "md" | "svg";

/** Columns of a span where no terminal says how many there are. */
const spanInPipe = 40;

/**
 * The text of a report: its sections one below the other with an empty line between. Charts are
 * drawn in grids only. Throws usage for a picture that it has not.
 */
export async function reportText(
  report: Report,
  form: ReportForm,
  style: Style,
  dress: TableStyle,
  out: Output,
): Promise<string> {
  if (form === "svg") return pictureOf(report, out);
  const text = form === "grid" ? gridSection : await linesOf(form, style);
  const end = form === "csv" ? "\r\n" : "\n";
  return report.sections.map((section) => text(section, dress, out)).join(end);
}

function pictureOf({ svg }: Report, out: Output): string {
  if (svg === undefined) throw new CliError("usage", "this report has no picture");
  const text = svg();
  return `${sanitize(text, out)}${text.endsWith("\n") ? "" : "\n"}`;
}

type Print = (section: Section, dress: TableStyle, out: Output) => string;

const tones: Readonly<Record<Tone, keyof Colors>> = {
  good: "green",
  bad: "red",
  warn: "yellow",
  dim: "dim",
};

function gridSection(section: Section, dress: TableStyle, out: Output): string {
  const { title, columns, rows, notes = [] } = section;
  const whole = out.isTTY ? Infinity : spanInPipe;
  const fields = columns.map(({ label, right }, index): TableField => {
    const cellOf = (row: unknown) => (row as Section["rows"][number])[index] ?? null; // the grid's rows are ours
    return {
      label,
      ...(right !== undefined && { right }),
      value: (row) => plain(cellOf(row)),
      drawing(row) {
        const cell = cellOf(row);
        return isChart(cell) ? drawingOf(cell, dress.unicode, whole) : undefined;
      },
      tone(row) {
        const cell = cellOf(row);
        return hasTone(cell) ? tones[cell.tone] : undefined;
      },
    };
  });
  return [
    title === undefined || !dress.headers ? "" : `${dress.paint.bold(visible(title))}\n`,
    columns.length === 0 ? "" : gridText(rows, fields, dress, out),
    ...notes.map((note) => `${visible(note)}\n`),
  ].join("");
}

/** Sections as lines of full cells, without charts. */
async function linesOf(form: "tsv" | "csv" | "md", style: Style): Promise<Print> {
  const line = { tsv: tsvLine, csv: await csvLines(), md: mdLine }[form];
  const about = around[form];
  const times = timesFor(style, false);
  return (section, { headers }, out) => {
    const { title, notes = [] } = section;
    const { columns, rows } = withoutCharts(section);
    const cell = cellsFor(style, times, out);
    const labels = columns.map(({ label }) => cell(label));
    const right = columns.map((heading) => heading.right === true);
    const head = form === "md" ? mdHead(labels, right) : line(labels);
    return [
      title === undefined || !headers ? "" : about.title(oneLine(title, out)),
      headers && labels.length > 0 ? head : "",
      ...rows.map((cells) => line(cells.map((each) => cell(plain(each))))),
      form === "tsv" && !headers ? "" : about.notes(notes.map((note) => oneLine(note, out))),
    ].join("");
  };
}

/** What stands before and after the rows; CSV knows nothing but rows. */
const around = {
  tsv: {
    title: (text: string) => `# ${text}\n`,
    notes: (texts: readonly string[]) => texts.map((text) => `# ${text}\n`).join(""),
  },
  csv: { title: () => "", notes: () => "" },
  md: {
    title: (text: string) => `### ${text}\n\n`,
    notes: (texts: readonly string[]) => texts.map((text) => `\n${text}\n`).join(""),
  },
};

const oneLine = (text: string, out: Output): string =>
  safeCell(text, out).replace(/(?<!\s)\s*[\n\r]\s*/g, " ");

function withoutCharts({ columns, rows }: Section): Pick<Section, "columns" | "rows"> {
  const charts = new Set(
    [...columns.keys()].filter((index) => rows.some((cells) => isChart(cells[index] ?? null))),
  );
  const kept = <T>(values: readonly T[]) => values.filter((_, index) => !charts.has(index));
  return { columns: kept(columns), rows: rows.map(kept) };
}

const plain = (cell: Cell): Exclude<Cell, Toned | Chart> =>
  isChart(cell) ? null : isToned(cell) ? cell.text : cell;

const isObject = (cell: Cell): cell is Toned | Chart =>
  typeof cell === "object" && cell !== null && !(cell instanceof Date);
const isChart = (cell: Cell): cell is Chart => isObject(cell) && "chart" in cell;
const isToned = (cell: Cell): cell is Toned => isObject(cell) && "text" in cell;
const hasTone = (cell: Cell): cell is Cell & { readonly tone: Tone } =>
  isObject(cell) && "tone" in cell && cell.tone !== undefined;
