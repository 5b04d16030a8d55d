import { valueAt } from "../../lib/json.ts";
import { yamlText } from "../../lib/formats/yaml.ts";
import { oneByOne } from "../../lib/collect.ts";
import { isList } from "../../operations/operation.ts";
import { visible } from "../display-width.ts";
import { jsonArray, jsonLine, prettyJson } from "../formats/text-formats.ts";
import { cellText } from "../table/table.ts";
import type { TableField } from "../table/table.ts";
import { timesFor } from "../style.ts";
import { allOf, each, fieldsFor } from "./print-rows.ts";
import type { Printing, RowBatches } from "./print-rows.ts";

/** Prints texts as they are, and other values as JSON. */
export const printValues = (rows: RowBatches, { out }: Printing): Promise<number> =>
  each(rows, out, (value) =>
    typeof value === "string"
      ? `${out.isTTY ? visible(value, { newlines: true }) : value}${value.endsWith("\n") ? "" : "\n"}`
      : prettyJson(value, out.isTTY),
  );

/** Prints one JSON value; an array of rows, of events and of several values. */
export async function printJson(rows: RowBatches, printing: Printing): Promise<number> {
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
}

/** Prints each value as a line of JSON. */
export function printJsonLines(rows: RowBatches, printing: Printing): Promise<number> {
  const pick = columnPicker(printing);
  return each(rows, printing.out, (row) => jsonLine(pick(row), printing.out.isTTY));
}

/** Prints the values as one YAML document. */
export async function printYaml(rows: RowBatches, printing: Printing): Promise<number> {
  const { out } = printing;
  const all = (await allOf(rows)).map(columnPicker(printing));
  const single = isOneValue(all, printing);
  if (single && all.length === 0) return 0;
  const text = await yamlText(single ? all[0] : all);
  await out.write(out.isTTY ? visible(text, { newlines: true }) : text);
  return all.length;
}

/** Prints the names or IDs of rows, one per line. */
export function printNames(rows: RowBatches, { returns, out }: Printing): Promise<number> {
  const path = "namePath" in returns && returns.namePath !== undefined ? returns.namePath : "id";
  const times = timesFor({ times: "utc", now: () => new Date(0) }, false);
  return each(rows, out, (row) => {
    const text = cellText(valueAt(row, path), times);
    return text === "" ? "" : `${out.isTTY ? visible(text) : text}\n`;
  });
}

/** Prints what the jq filter makes of the values. */
export async function printFiltered(rows: RowBatches, printing: Printing): Promise<number> {
  const { style, out, returns } = printing;
  const pick = columnPicker(printing);
  const filter = style.jq ?? ".";
  const { applyFilter } = await import("../formats/jq.ts");
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
}

/** Whether the value is written as it is: lists, events, and several values are written as an array. */
const isOneValue = (all: readonly unknown[], { returns }: Printing): boolean =>
  !isList(returns) && returns.kind !== "events" && all.length < 2;

/** Selects what is written as JSON: the whole row, or the requested columns. */
function columnPicker(printing: Printing): (row: unknown) => unknown {
  if (printing.style.columns === undefined) return (row) => row;
  let fields: readonly TableField[] | undefined;
  return (row) => {
    fields ??= fieldsFor(printing, row);
    return Object.fromEntries(fields.map((field) => [field.label, field.value(row) ?? null]));
  };
}
