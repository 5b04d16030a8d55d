import type { LoggedRun } from "../logs/index.ts";

/** Runs that failed with the same words. */
export interface ErrorGroup {
  /** The error with `<id>` and `<n>` in place of what differs from run to run. */
  readonly error: string;
  runs: number;
  /** Unix second of the latest of them, and its id. */
  lastSeen: number | undefined;
  example: string | undefined;
}

/** What a list of groups leaves out. */
export interface Others {
  readonly groups: number;
  readonly runs: number;
}

/** Groups of errors that grow with every run. */
export interface ErrorGroups {
  see(run: LoggedRun): void;
  /** Largest first; what does not fit is only counted. */
  top(wanted: number): {
    readonly groups: readonly ErrorGroup[];
    readonly others: Others;
  };
}

/** A log in which every error is its own must not fill the memory. */
const mostGroups = 10_000;
const longest = 200;

export function errorGroups(): ErrorGroups {
  const groups = new Map<string, ErrorGroup>();
  /** Runs whose group came when there were too many. */
  let ungrouped = 0;
  return {
    see({ error: text, run, at }) {
      if (text === undefined) return;
      const error = shape(text);
      let group = groups.get(error);
      if (group === undefined) {
        if (groups.size === mostGroups) {
          ungrouped++;
          return;
        }
        group = { error, runs: 0, lastSeen: undefined, example: undefined };
        groups.set(error, group);
      }
      group.runs++;
      if (group.example === undefined || (at ?? 0) > (group.lastSeen ?? 0)) {
        group.lastSeen = at;
        group.example = run;
      }
    },
    top(wanted) {
      const sorted = [...groups.values()].sort(
        (a, b) => b.runs - a.runs || (a.error < b.error ? -1 : 1),
      );
      const rest = sorted.slice(wanted);
      const runs = rest.reduce((sum, each) => sum + each.runs, ungrouped);
      return {
        groups: sorted.slice(0, wanted),
        others: { groups: rest.length + (ungrouped > 0 ? 1 : 0), runs },
      };
    },
  };
}

// What differs: UUIDs, long words with digits, times, long numbers, and numbers that stand alone.
// Not the number that says what kind of error it is, as in `Errno 111` and `status code: 429`.
const varying = new RegExp(
  [
    /(?<kind>\b(?:(?:errno|code)\W{0,3}\d{1,5}|(?:status|error|http(?:\/[\d.]+)?)\W{0,3}\d{3})\b)/,
    /(?<id>\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-z_]*\d)(?:[0-9a-f]{8,}|\w{16,})\b)/,
    /\d{4}-\d\d-\d\d[T ][\d:.]+Z?|\d{5,}|(?<![\w.-])\d+(?:[.,:]\d+)*/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gi",
);

/** The error without what differs from run to run, on one line. */
function shape(error: string): string {
  const line = error
    .slice(0, 4 * longest)
    .replace(/\s+/g, " ")
    .trim();
  const same = line.replace(varying, (found: string, kind?: string, id?: string) => {
    if (kind !== undefined) return found;
    return id !== undefined && /[a-z-]/i.test(id) ? "<id>" : "<n>";
  });
  return same.length > longest ? `${[...same].slice(0, longest).join("")}…` : same;
}
