import type { Returns } from "../operations/operation.ts";

/** Values of `--output` for rows, objects and events. */
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

export type Format = (typeof formats)[number] | "html";

/** Formats of reports, which have no IDs; `wide` shows all tables. */
const reportFormats = ["grid", "wide", "tsv", "csv", "md", "json", "jsonl", "yaml"] as const;

/** Output formats of a result; all formats if the result is unknown. */
export function formatsOf(returns: Returns<never> | undefined): readonly Format[] {
  if (returns === undefined) return [...formats, "html"];
  if (returns.kind === "list" && returns.html) return [...formats, "html"];
  if (returns.kind !== "report") return formats;
  return returns.repeats ? reportFormats : [...reportFormats, "html"];
}

/** A format under its own name, which `table` is not. */
export const formatNamed = (name: string): string => (name === "table" ? "grid" : name);

/** Formats of other programs, with the format to use instead. */
export const formatsElsewhere: Readonly<Record<string, Format>> = { text: "tsv", plain: "tsv" };
