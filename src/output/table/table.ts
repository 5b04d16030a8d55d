import { isNumeric, compareNumbers, typedNumber } from "../../lib/exact-number.ts";
import { isObject, own, valueAt, stringifyJson } from "../../lib/json.ts";
import { formatBytes, formatDuration, groupDigits } from "../../lib/numbers.ts";
import { readColumns } from "../../operations/operation.ts";
import type { Column, ColumnKind, Returns } from "../../operations/operation.ts";
import type { Colors } from "../display-width.ts";
import { columnColor } from "../style.ts";
import type { Times } from "../style.ts";

/** One column of a table. */
export interface TableField {
  readonly label: string;
  value(row: unknown): unknown;
  readonly kind?: ColumnKind | undefined;
  /** Aligned right; by default numbers are. */
  readonly right?: boolean;
  /** Dropped first on a narrow terminal. */
  readonly minor?: boolean;
  /** Only `-o wide` shows it. */
  readonly extra?: boolean;
  /** Drawn in a grid instead of the value. */
  chart?(row: unknown): TextChart | undefined;
  /** Color of the cell in a grid. */
  color?(row: unknown): keyof Colors | undefined;
}

/** A chart that fills a cell of a grid. */
export interface TextChart {
  /** Preferred width, in columns of the terminal. */
  readonly width: number;
  /** One line of at most that many columns. */
  draw(width: number): string;
}

const fieldAt = (path: string): TableField =>
  withColor({ label: path, value: (row) => valueAt(row, path) });

function withColor(field: TableField): TableField {
  const color = columnColor(field.label);
  return color ? { ...field, color: (row) => color(field.value(row)) } : field;
}

const eventColumns: readonly Column[] = [
  "event",
  "data.title",
  "data.status",
  "data.elapsed_time",
  "data.error",
];

function columnsOf(returns: Returns<never>): readonly Column[] {
  if ("columns" in returns) return returns.columns;
  return returns.kind === "events" ? eventColumns : [];
}

/** The declared columns, without `all` only those of the narrow table. Empty if none are declared. */
export function declaredFields(returns: Returns<never>, all: boolean): readonly TableField[] {
  const narrow = new Set(readColumns(columnsOf(returns), false).map(({ label }) => label));
  return readColumns(columnsOf(returns), all).map((column) =>
    withColor({ ...column, extra: !narrow.has(column.label) }),
  );
}

/** A column by its label, by the last step of its path, by a named value, or by the path of a field. */
export const fieldNamed = (returns: Returns<never>, name: string): TableField => {
  const declared = declaredFields(returns, true).find(({ label }) => label === name);
  const value = valueNamed(returns, name);
  if (value) return { label: name, value };
  if (!declared) return { ...fieldAt(pathEndingWith(returns, name) ?? name), label: name };
  return declared.kind === "sparse" ? { ...declared, kind: undefined } : declared;
};

/** Reads the value of that name from the list of named values; undefined where `name` means none. */
function valueNamed(returns: Returns<never>, name: string): TableField["value"] | undefined {
  const path = "values" in returns ? returns.values : undefined;
  // `doc_metadata.team`, and `metadata.team`, which people try first.
  const prefix = [path, path?.replace(/^doc_/, "")].find((each) => name.startsWith(`${each}.`));
  if (path === undefined || (prefix === undefined && isKnownColumn(returns, name)))
    return undefined;
  const own = prefix === undefined ? name : name.slice(prefix.length + 1);
  return (row) => {
    const all = valueAt(row, path);
    const found = Array.isArray(all)
      ? all.find((each) => valueAt(each, "name") === own)
      : undefined;
    const [value, type] = [valueAt(found, "value"), valueAt(found, "type")];
    // Some servers send all values as text (server §9.5).
    const number = type === "string" ? undefined : typedNumber(String(value ?? ""));
    if (type === "time" && typeof number === "number") return new Date(number * 1000);
    return type === "number" ? (number ?? value) : value;
  };
}

/** Is it the name of a value, which only the server knows? */
export const isValueName = (returns: Returns<never>, name: string): boolean =>
  valueNamed(returns, name) !== undefined;

/** Columns of the named values that rows have, without those that the server sets. */
export function valueFields(
  returns: Returns<never>,
  rows: readonly unknown[],
): readonly TableField[] {
  const path = "values" in returns ? returns.values : undefined;
  if (path === undefined) return [];
  const values = rows.flatMap((row) => [valueAt(row, path) ?? []].flat());
  const own = values.filter((each) => isObject(each) && each["id"] !== "built-in");
  return [...new Set(own.map((each) => String(valueAt(each, "name"))))].map((name) => {
    const label = isKnownColumn(returns, name) ? `${path}.${name}` : name;
    return { ...fieldNamed(returns, label), extra: true };
  });
}

/** Columns of values whose operation declares none: the fields of the first value. */
export const fieldsOf = (row: unknown): readonly TableField[] =>
  isObject(row)
    ? Object.keys(row).map((key) => ({
        label: key,
        value: (each) => (isObject(each) ? own(each, key) : undefined),
      }))
    : [{ label: "value", value: (each) => each }];

/** Paths that columns read: `created` reads `created_at`, which is a valid name, too. */
const pathsRead = (returns: Returns<never>): string[] =>
  columnsOf(returns).flatMap((column) =>
    typeof column === "string" || typeof column[1] !== "string" ? [] : [column[1]],
  );

/** The path of a column inside an object: `word_count` → `data.word_count`. */
const pathEndingWith = (returns: Returns<never>, name: string): string | undefined =>
  pathsRead(returns).find((path) => path.endsWith(`.${name}`));

/** Names that `--columns` and `--sort` accept, in the order of the table. */
export const columnNames = (returns: Returns<never>): string[] =>
  declaredFields(returns, true).map(({ label }) => label);

/** The same for people, with what stands for named values. */
export const explainedColumns = (returns: Returns<never>): string[] => [
  ...columnNames(returns),
  ...("values" in returns ? [`${returns.values}.NAME`] : []),
];

/**
 * Whether rows may have a column of that name. Any dotted path may exist, and any name does if no
 * columns are declared, since a server may add fields; as may a named value.
 */
export const isColumn = (returns: Returns<never>, name: string): boolean =>
  isValueName(returns, name) || isKnownColumn(returns, name);

function isKnownColumn(returns: Returns<never>, name: string): boolean {
  if (name.split(".").includes("")) return false;
  if (returns.kind === "events" || name.includes(".")) return true;
  const names = columnNames(returns);
  return (
    names.length === 0 ||
    names.includes(name) ||
    pathEndingWith(returns, name) !== undefined ||
    pathsRead(returns).some((path) => path.split(".", 1)[0] === name)
  );
}

/** Text of a cell in full; nested values are compact JSON. */
export function cellText(value: unknown, times: Times): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (value instanceof Date) return times.text(value);
  return typeof value === "object" ? stringifyJson(value) : String(value);
}

/**
 * Text of a cell as it is displayed: for people, numbers are in groups of digits and have units where
 * their column says so.
 */
export function cellTextOf(
  { kind, value }: TableField,
  row: unknown,
  { times, human }: Pick<TableStyle, "times" | "human">,
): string {
  const each = value(row);
  if (!human || typeof each !== "number") return cellText(each, times);
  switch (kind) {
    case "count":
      return groupDigits(each);
    case "seconds":
      return formatDuration(each * 1000);
    case "bytes":
      return formatBytes(each);
    default:
      return cellText(each, times);
  }
}

/** Times for a column with these values: with seconds if two of them are in the same minute. */
export function humanTimes(values: readonly unknown[], times: Times): Times {
  if (!times.toTheSecond) return times;
  const dates = values.filter((value) => value instanceof Date);
  const seconds = new Set(dates.map((date) => Math.floor(date.getTime() / 1000)));
  const minutes = new Set([...seconds].map((second) => Math.floor(second / 60)));
  return seconds.size > minutes.size ? { ...times, text: times.toTheSecond } : times;
}

/** Rows sorted by one column: numbers and dates by value, texts in natural order, gaps last in both directions. */
export function sortRows(
  rows: readonly unknown[],
  field: TableField,
  isReverse: boolean,
): unknown[] {
  const direction = isReverse ? -1 : 1;
  const texts = new Intl.Collator("en", { numeric: true });
  return rows
    .map((row) => ({ row, key: keyOf(field.value(row)) }))
    .sort(({ key: one }, { key: other }) => {
      if (isNumeric(one) && isNumeric(other)) return direction * compareNumbers(one, other);
      const gaps = Number(one === undefined) - Number(other === undefined);
      const order = texts.compare(cellText(one, anyTimes), cellText(other, anyTimes));
      return gaps || direction * order;
    })
    .map(({ row }) => row);
}

const keyOf = (value: unknown): unknown => {
  if (value instanceof Date) return value.getTime();
  return typeof value === "boolean" ? Number(value) : (value ?? undefined);
};

/** Dates were made numbers. */
const anyTimes: Times = { text: String, full: String };

/** How tables and texts are displayed. */
export interface TableStyle {
  readonly times: Times;
  readonly colors: Colors;
  readonly headers: boolean;
  readonly accessible: boolean;
  readonly unicode: boolean;
  /** Values are written for people; otherwise as they are. */
  readonly human: boolean;
  /** All columns are shown, of those that only `-o wide` has as many as fit. */
  readonly keepsAll: boolean;
  /** Columns of the terminal now; Infinity in a pipe. */
  readonly columns: number;
}
