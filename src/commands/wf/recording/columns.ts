import type { Cell, Heading, Section } from "../../../output/report-model.ts";

/** A column of a table of rows; a `rare` one is hidden if it has no value in any row. */
export interface SectionColumn<Row> extends Heading {
  readonly rare?: true;
  readonly cell: (row: Row) => Cell;
}

/** The columns and rows of a section. */
export function tableOf<Row>(
  columns: readonly SectionColumn<Row>[],
  rows: readonly Row[],
): Pick<Section, "columns" | "rows"> {
  const shown = columns.filter(({ rare, cell }) => !rare || rows.some((row) => cell(row) !== null));
  return {
    columns: shown.map(({ label, right, minor, ticks }) => ({
      label,
      ...(right && { right }),
      ...(minor && { minor }),
      ...(ticks && { ticks }),
    })),
    rows: rows.map((row) => shown.map(({ cell }) => cell(row))),
  };
}
