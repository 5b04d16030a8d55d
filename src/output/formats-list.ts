import type { Returns } from "../operations/operation.ts";

/** Output formats of rows, objects and events, as `--output` takes them. */
export const formats = [
  "grid",
  "wide",
  "tsv",
  "csv",
  "md",
  "json",
  "jsonl",
  "yaml",
  "name",
] as const;

export type Format = (typeof formats)[number] | "svg";

/** A report has no further columns and no ids. */
const ofReports = ["grid", "tsv", "csv", "md", "json", "jsonl", "yaml"] as const;

/** Output formats that such an answer can be printed in; without one, those of any. */
export function formatsOf(returns: Returns<never> | undefined): readonly Format[] {
  if (returns === undefined) return [...formats, "svg"];
  if (returns.kind !== "report") return formats;
  return returns.picture ? [...ofReports, "svg"] : ofReports;
}
