import { parse } from "csv-parse/sync";
import { decodeBytes } from "./decode.ts";
import { labelledRows } from "./rows.ts";

/** Reads CSV: a part for each row. */
export function readCsv(bytes: Uint8Array): Iterable<string> {
  const options = { bom: true, relax_column_count: true, relax_quotes: true };
  return labelledRows(parse(decodeBytes(bytes), options));
}
