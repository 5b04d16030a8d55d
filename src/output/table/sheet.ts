import { isObject } from "../../lib/json.ts";
import { asText } from "../../operations/operation.ts";
import type { Times } from "../style.ts";
import { hang, pad, visible, widthOf } from "../display-width.ts";
import { columnGap } from "./draw-table.ts";
import { cellTextOf, humanTimes } from "./table.ts";
import type { TableField, TableStyle } from "./table.ts";

/** Columns that values have beside their labels at least; otherwise they are below them. */
const minValueWidth = 16;
const indent = "  ";

/** One object as lines of a label and a value. On a terminal no line is wider than it. */
export function sheetText(row: unknown, fields: readonly TableField[], style: TableStyle): string {
  const values = fields.map((field) => field.value(row));
  const times = humanTimes(values, style.times);
  const labels = fields.map(({ label }, index) => {
    const hasZone = values[index] instanceof Date && times.zone !== undefined;
    return visible(hasZone ? `${label} (${times.zone})` : label);
  });
  const available = style.columns;
  const labelWidth = style.headers ? Math.max(1, ...labels.map((label) => widthOf(label))) : 0;
  const beside = style.headers ? labelWidth + columnGap.length : 0;
  const isBeside = available - beside >= minValueWidth;
  const lines = fields.flatMap((field, index) => {
    const value = valueLines(field, row, { ...style, times }).flatMap((line) =>
      wrapped(line, available - (isBeside ? beside : indent.length)),
    );
    const color = field.color?.(row);
    const colored = color ? value.map((line) => style.colors[color](line)) : value;
    const label = labels[index] ?? "";
    if (!style.headers) return colored;
    if (!isBeside) return [style.colors.bold(label), ...colored.map((line) => indent + line)];
    return (colored.length > 0 ? colored : [""]).map((line, place) =>
      place === 0
        ? pad(label, labelWidth, "left", style.colors.bold(label)) + columnGap + line
        : " ".repeat(beside) + line,
    );
  });
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

/** The value as lines of any width; an object on a terminal as lines of its pairs. */
function valueLines(field: TableField, row: unknown, style: TableStyle): string[] {
  const value = field.value(row);
  const isNested = style.human && typeof value === "object" && !(value instanceof Date);
  const lines = isNested
    ? nestedLines(withTimes(value, style.times))
    : [cellTextOf(field, row, style)];
  return lines.flatMap((line) => visible(line, { newlines: true }).split("\n"));
}

/** Metadata with its times, which are Unix seconds, as texts. */
function withTimes(value: unknown, { full }: Times): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) => {
    if (!isNamedValue(item) || item.type !== "time") return item;
    const date = new Date(Number(item.value || NaN) * 1000);
    const time = full(date);
    return time === "" ? item : { ...item, value: time };
  });
}

function nestedLines(value: unknown): string[] {
  if (Array.isArray(value)) return listLines(value);
  if (!isObject(value)) return [asText(value)];
  const entries = Object.entries(value);
  return entries.length === 0 ? ["{}"] : entries.flatMap(([name, each]) => pairLines(name, each));
}

function listLines(list: readonly unknown[]): string[] {
  if (list.length === 0) return ["[]"];
  if (list.every(isNamedValue)) {
    return list.flatMap(({ name, value }) => pairLines(name, value));
  }
  if (!list.some((each) => typeof each === "object" && each !== null)) {
    return [list.map(asText).join(", ")];
  }
  return list.flatMap((each) =>
    nestedLines(each).map((line, index) => `${index ? " " : "-"} ${line}`),
  );
}

const isNamedValue = (item: unknown): item is { name: string; value: unknown; type?: unknown } =>
  isObject(item) && typeof item["name"] === "string" && "value" in item;

function pairLines(name: string, value: unknown): string[] {
  const lines = nestedLines(value);
  const isNested = typeof value === "object" && value !== null && lines.length > 1;
  return isNested
    ? [`${name}:`, ...lines.map((line) => indent + line)]
    : [`${name}: ${lines.join("\n")}`];
}

/** A line at most `width` columns wide, indented as it is. An address stays whole, so that it can be copied. */
function wrapped(line: string, width: number): string[] {
  if (/^https?:\/\/\S+$/.test(line)) return [line];
  const start = /^[ -]*/.exec(line)?.[0] ?? "";
  return hang(start, line.slice(start.length), width);
}
