import type { Output } from "../../host/host.ts";
import { safeCell } from "./text-formats.ts";
import type { Style } from "./text-formats.ts";
import { cellText } from "../table/table.ts";
import type { Times } from "./times.ts";

/** Formats values in csv, tsv and md; the first two may be opened in a spreadsheet. */
export function cellsFor(
  { format, spreadsheetCell }: Style,
  times: Times,
  out: Output,
): (value: unknown) => string {
  const guarded = (format !== "md" && spreadsheetCell) || ((text: string) => text);
  return (value) => safeCell(guarded(cellText(value, times)), out);
}
