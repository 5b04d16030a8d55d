const MAX_ERROR = 200;

// Parts that differ between runs: UUIDs, long words with digits, times, long and separate numbers.
// Numbers that identify the kind of error stay, as in `Errno 111` and `status code: 429`.
const VARIABLE_PARTS = new RegExp(
  [
    /(?<kind>\b(?:(?:errno|code)\W{0,3}\d{1,5}|(?:status|error|http(?:\/[\d.]+)?)\W{0,3}\d{3})\b)/,
    /(?<id>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-z_]*\d)(?:[0-9a-f]{8,}|\w{16,})\b)/,
    /\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\d{5,}|(?<![\w.-])\d+(?:[.,:]\d+)*/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gi",
);

/**
 * The error on one line, without the parts that differ between runs:
 *
 *     "Timeout after 12.5 s, request 4f6e8c2a9b01"  →  "Timeout after <n> s, request <id>"
 */
export function normalizeError(error: string): string {
  const line = error
    .slice(0, 4 * MAX_ERROR)
    .replace(/\s+/g, " ")
    .trim();
  const text = line.replace(VARIABLE_PARTS, (match: string, kind?: string, id?: string) => {
    if (kind !== undefined) return match;
    return id !== undefined && /[a-z-]/i.test(id) ? "<id>" : "<n>";
  });
  return text.length > MAX_ERROR ? `${[...text].slice(0, MAX_ERROR).join("")}…` : text;
}
