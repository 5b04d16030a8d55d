import type { Output } from "../host.ts";
import { safeCell } from "./formats.ts";
import type { Style } from "./formats.ts";
import { cellText } from "./table.ts";
import type { Times } from "./times.ts";

/** Makes the text of a value in csv, tsv and md. The first two may be opened in a spreadsheet. */
export function cellsFor(
  { format, spreadsheetCell }: Style,
  times: Times,
  out: Output,
): (value: unknown) => string {
  const guarded = (format !== "md" && spreadsheetCell) || ((text: string) => text);
  return (value) => safeCell(guarded(cellText(value, times)), out);
}
