import { sum } from "../../lib/numbers.ts";
import { columnGap } from "./draw-table.ts";

/** A column before the width is shared. */
export interface MeasuredColumn {
  /** Columns with which every cell can still be read. */
  readonly min: number;
  /** Columns with which nothing is cut; Infinity for a picture that takes the remaining width. */
  readonly full: number;
  /** How soon it is dropped, see `dropOrder`. */
  readonly role: "name" | "id" | "picture" | "value" | "text" | "minor" | "chart";
}

/** Part of the line that the name may take before other texts are cut. */
const nameShare = 0.5;

/** Minimum of a name and of another text on a line of that many columns. */
export const minNameWidth = (available: number): number =>
  Math.min(40, Math.max(12, Math.floor(available * 0.35)));
export const minTextWidth = (available: number): number =>
  Math.min(30, Math.max(10, Math.floor(available * 0.2)));

/** Minimum of a sparse column, which is there for what its few texts say, such as why runs failed. */
export const minSparseWidth = (available: number): number =>
  Math.min(40, Math.max(10, Math.floor(available * 0.4)));

/** Columns that a line with these columns takes. */
export const lineWidth = (widths: readonly number[]): number =>
  sum(widths) + columnGap.length * Math.max(0, widths.length - 1);

/** Indexes of the columns that fit with their minimum widths, in order; the least important are dropped. */
export function fittingColumns(
  columns: readonly MeasuredColumn[],
  available: number,
): readonly number[] {
  let kept = [...columns.keys()];
  const minWidth = () => lineWidth(kept.map((index) => columns[index]?.min ?? 0));
  for (const index of dropOrder(columns)) {
    if (minWidth() <= available) break;
    kept = kept.filter((each) => each !== index);
  }
  return kept;
}

/** Charts repeat numbers of other columns. The name is never dropped. */
const dropOrder = (columns: readonly MeasuredColumn[]): number[] =>
  [["chart"], ["minor"], ["value", "text"], ["picture"], ["id"]].flatMap((roles) =>
    [...columns.keys()].reverse().filter((index) => roles.includes(columns[index]?.role ?? "")),
  );

/** Widths of columns on a line: first the minimums, then half of it for the name, then texts, then the rest. */
export function sharedWidths(
  columns: readonly MeasuredColumn[],
  available: number,
): readonly number[] {
  const free = available - columnGap.length * Math.max(0, columns.length - 1);
  const claims: readonly ((column: MeasuredColumn) => number)[] = [
    ({ min }) => min,
    ({ full, role }) => (role === "name" ? Math.min(full, Math.floor(free * nameShare)) : 0),
    ({ full, role }) => (role === "chart" || role === "picture" ? 0 : full),
    ({ full }) => full,
  ];
  let widths: readonly number[] = columns.map(() => 0);
  for (const claim of claims) {
    const missing = columns.map((column, index) =>
      Math.max(0, claim(column) - (widths[index] ?? 0)),
    );
    const shares = shareOut(missing, free - sum(widths));
    widths = widths.map((width, index) => width + (shares[index] ?? 0));
  }
  return widths;
}

/** Shares out a width: [2, 9, 9] of 12 is [2, 5, 5]. The largest requests are reduced first. */
function shareOut(requests: readonly number[], available: number): readonly number[] {
  const shares = requests.map(() => 0);
  let left = Math.max(0, available);
  const bySize = [...requests.entries()].sort(([, one], [, other]) => one - other);
  for (const [place, [index, request]] of bySize.entries()) {
    const share = Math.min(request, Math.floor(left / (bySize.length - place)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
