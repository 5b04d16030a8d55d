import type { Cell, Report } from "../report-model.ts";
import type { TableField } from "../table/table.ts";

/** The rows of a list as a report. */
export const reportOfList = (rows: readonly unknown[], fields: readonly TableField[]): Report => ({
  data: rows,
  sections:
    rows.length === 0
      ? []
      : [
          {
            columns: fields.map(({ label }) => ({ label })),
            rows: rows.map((row) => fields.map(({ value }) => cellOf(value(row)))),
          },
        ],
});

const cellOf = (value: unknown): Cell => {
  if (value === null || value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean" || value instanceof Date)
    return value;
  return typeof value === "string" ? value : JSON.stringify(value);
};
