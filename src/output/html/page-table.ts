import type { Times } from "../times.ts";
import { isChart } from "../report-model.ts";
import type { Cell, Detail, Section } from "../report-model.ts";
import { cellContent, pageColumns, readCell } from "./cells.ts";
import type { PageColumn } from "./cells.ts";
import { escapeLine, hiddenText } from "./markup.ts";
import { chartLabels } from "./page-charts.ts";
import { durationUnits } from "../../lib/duration.ts";

/** What a table is called, and how its rows unfold. */
interface TableOptions {
  readonly caption: string;
  readonly times: Times;
  /** The details of the row of this name, unless the table has none. */
  readonly unfold?: (details: readonly Detail[], name: string) => string;
}

/** A table in a region that scrolls if it is wider than the page. */
export function tableHtml(
  { columns, rows, details }: Pick<Section, "columns" | "rows" | "details">,
  { caption, times, unfold }: TableOptions,
): string {
  const shown = pageColumns(columns, rows, times);
  const named = nameColumn(shown, rows);
  const lines = rows.map((cells, row) => {
    const line = rowHtml(cells, shown, named);
    if (details === undefined || unfold === undefined) return line;
    const blocks = details(row);
    if (blocks.length === 0) return `<tbody>${line}</tbody>`;
    const more = unfold(blocks, nameOf(cells[named] ?? null, times));
    return `<tbody>${line}<tr class="more"><td colspan="${columns.length}">${more}</td></tr></tbody>`;
  });
  const classes = [
    ...(rows.length > 1 ? ["sortable"] : []),
    ...(details ? ["unfolds"] : []),
    ...(shown.some(({ chart }) => chart === "span") ? ["wide"] : []),
  ];
  return [
    `<section class="scroll" tabindex="0" aria-label="${escapeLine(`Table: ${caption}`)}">`,
    `<table${classesOf(classes)}>`,
    `<caption>${hiddenText(caption)}</caption>`,
    `<thead><tr>${shown.map(headHtml).join("")}</tr></thead>`,
    details && rows.length > 0 ? lines.join("\n") : `<tbody>${lines.join("\n")}</tbody>`,
    "</table></section>",
  ].join("\n");
}

/** The column whose cells name the rows: the first one of texts without a tone. */
function nameColumn(columns: readonly PageColumn[], rows: Section["rows"]): number {
  const named = columns.find(({ index, right, chart, hasDates }) => {
    if (right || chart !== undefined || hasDates) return false;
    return rows.every((row) => typeof row[index] === "string" && row[index] !== "");
  });
  return named?.index ?? 0;
}

function headHtml({ heading, chart, hasDates, right, times }: PageColumn): string {
  const zone = hasDates && times.zone !== undefined ? ` (${times.zone})` : "";
  const label = `${heading.label}${zone}`;
  const { ticks = [] } = heading;
  const scale =
    ticks.length === 0
      ? ""
      : `<span class="ticks" aria-hidden="true">${ticks.map((tick) => `<span>${escapeLine(tick)}</span>`).join("")}</span>`;
  const empty = chart === undefined ? "Item" : chartLabels[chart];
  const text = label === "" ? hiddenText(empty) + scale : escapeLine(label);
  const classes = [...(right ? ["number"] : []), ...(chart === undefined ? [] : [`of-${chart}`])];
  const sorted = chart === undefined ? ' data-sort="1"' : "";
  return `<th scope="col"${classesOf(classes)}${sorted}>${text}</th>`;
}

function rowHtml(cells: readonly Cell[], columns: readonly PageColumn[], named: number): string {
  const line = columns.map((column) => {
    const cell = cells[column.index] ?? null;
    const value = column.right || column.hasDates ? sortValue(cell) : undefined;
    const attributes =
      classesOf(column.right ? ["number"] : []) +
      (value === undefined || isChart(cell) ? "" : ` data-value="${value}"`);
    const content = cellContent(cell, column);
    return column.index === named && content !== ""
      ? `<th scope="row"${attributes}>${content}</th>`
      : `<td${attributes}>${content}</td>`;
  });
  return `<tr>${line.join("")}</tr>`;
}

const classesOf = (names: readonly string[]): string =>
  names.length === 0 ? "" : ` class="${names.join(" ")}"`;

const nameOf = (cell: Cell, times: Times): string =>
  isChart(cell) ? "" : readCell(cell, "", times).text;

/** Units of cells, in the smallest of their kind. */
const units: Readonly<Record<string, number>> = {
  ...durationUnits,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
};

const amounts = /(\d[\d,]*(?:\.\d+)?)\s*(ms|KiB|MiB|[smhdB](?![a-z]))?/g;

/**
 * The number by which a cell is sorted: `2m 05s` → 125000, `3/4` → 0.75, `77–97 %` → 77, `-0.5` → -0.5.
 * Undefined for a cell without one.
 */
export function sortValue(cell: Cell): number | undefined {
  if (typeof cell === "number") return cell;
  if (cell instanceof Date) return cell.getTime();
  if (typeof cell === "object" && cell !== null)
    return "text" in cell ? sortValue(cell.text) : undefined;
  if (typeof cell !== "string" || !/^[+×-]?\d/.test(cell)) return undefined;
  const fraction = /^(\d+)\/(\d+)$/.exec(cell);
  if (fraction) return Number(fraction[1]) / Number(fraction[2]);
  const sign = cell.startsWith("-") ? -1 : 1;
  const parts = [...cell.matchAll(amounts)].map(([, number = "", unit]) => ({
    value: Number(number.replaceAll(",", "")) * (unit === undefined ? 1 : (units[unit] ?? 1)),
    unit,
  }));
  // Only the parts of a duration add up.
  const added = parts.every(({ unit }) => unit !== undefined) ? parts : parts.slice(0, 1);
  return sign * added.reduce((total, { value }) => total + value, 0);
}
