/** Output formats, as `--output` takes them. */
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
