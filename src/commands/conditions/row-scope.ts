import { stringifyJson } from "../../lib/json.ts";
import type { ColumnKind, ReadColumn } from "../../operations/operation.ts";
import type { FieldKind, Reading } from "./claims.ts";
import type { ConditionField, Scope } from "./parser.ts";

const columnKinds: Readonly<Partial<Record<ColumnKind, FieldKind>>> = {
  time: "time",
  count: "number",
  bytes: "number",
};

/**
 * What conditions can be about: the columns of rows, also by the names in their JSON, and further named values.
 * `missing` is what a row without the value means: differs, it meets `!=`; otherwise a comparison is undecided.
 */
export function rowScope<T>(
  columns: readonly ReadColumn[],
  values: readonly (readonly [name: string, kind: FieldKind, read: (row: T) => unknown])[],
  missing: Reading["missing"],
): Scope<T> {
  const field = (kind: FieldKind, read: (row: T) => unknown): ConditionField<T> => ({
    kind,
    read: (row) => {
      const value = read(row);
      const known = value instanceof Date ? value.getTime() / 1000 : value;
      const actual = typeof known === "string" ? stringifyJson(known) : "";
      return { value: known ?? undefined, missing, actual };
    },
  });
  const read = columns.map(({ label, path = label, kind, value }) => {
    return { label, path, field: field((kind && columnKinds[kind]) ?? "text", value) };
  });
  const labels = Object.fromEntries(read.map(({ label, field }) => [label, field] as const));
  const paths = Object.fromEntries(read.map(({ path, field }) => [path, field] as const));
  const own = values.map(([name, kind, value]) => [name, field(kind, value)] as const);
  // Labels are proposed first, and decide over a path of the same name.
  return { fields: { ...labels, ...paths, ...labels, ...Object.fromEntries(own) } };
}
