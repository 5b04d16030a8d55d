import type { LoggedRun } from "../logs/index.ts";

/** Runs that failed with the same error. */
export interface ErrorGroup {
  /** The error with `<id>` and `<n>` for the parts that differ between runs. */
  readonly error: string;
  runs: number;
  /** Unix second and ID of the latest run. */
  lastSeen: number | undefined;
  example: string | undefined;
}

/** The groups that a list omits. */
export interface OmittedGroups {
  readonly groups: number;
  readonly runs: number;
}

/** Bounds the memory for a log in which every error is different. */
const MAX_GROUPS = 10_000;
const MAX_ERROR = 200;

/** Groups runs by their errors. */
export class ErrorGroups {
  private readonly groups = new Map<string, ErrorGroup>();
  /** Runs with a new error after `MAX_GROUPS` was reached. */
  private ungrouped = 0;

  add({ error: text, run, at }: LoggedRun): void {
    if (text === undefined) return;
    const error = normalizeError(text);
    let group = this.groups.get(error);
    if (group === undefined) {
      if (this.groups.size === MAX_GROUPS) {
        this.ungrouped++;
        return;
      }
      group = { error, runs: 0, lastSeen: undefined, example: undefined };
      this.groups.set(error, group);
    }
    group.runs++;
    if (group.example === undefined || (at ?? 0) > (group.lastSeen ?? 0)) {
      group.lastSeen = at;
      group.example = run;
    }
  }

  /** The largest groups, and counts of the others. */
  top(limit: number): { readonly groups: readonly ErrorGroup[]; readonly others: OmittedGroups } {
    const sorted = [...this.groups.values()].sort(
      (a, b) => b.runs - a.runs || (a.error < b.error ? -1 : 1),
    );
    const rest = sorted.slice(limit);
    const runs = rest.reduce((sum, each) => sum + each.runs, this.ungrouped);
    return {
      groups: sorted.slice(0, limit),
      others: { groups: rest.length + (this.ungrouped > 0 ? 1 : 0), runs },
    };
  }
}

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
function normalizeError(error: string): string {
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
