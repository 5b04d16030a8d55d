import { sum } from "../../lib/numbers.ts";

/** A column before the width is shared: the widths of its head and its widest cell. */
interface Measured {
  readonly headWidth: number;
  /** Infinity for a column that takes the remaining width. */
  readonly cellWidth: number;
  /** Shortened only if necessary. */
  readonly whole: boolean;
}

/** Narrowest column with readable text. */
const readable = 8;
/** Minimum width; columns that do not fit even so are omitted. */
export const narrowest = 3;
/** Width of a text beyond which the heads of other columns are more important than its end. */
const comfortable = 40;

/** What each column gets while there is width left, in this order. */
const claims: readonly ((column: Measured) => number)[] = [
  () => narrowest,
  ({ whole, cellWidth }) => (whole ? 0 : Math.min(cellWidth, readable)),
  ({ whole, cellWidth }) => (whole ? cellWidth : 0),
  ({ cellWidth }) => (cellWidth === Infinity ? 0 : Math.min(cellWidth, comfortable)),
  ({ headWidth }) => headWidth,
  ({ cellWidth }) => cellWidth,
];

/**
 * Widths that sum to at most `available`: very long texts are shortened first, then heads, then texts,
 * then values that are useless when shortened.
 */
export function fittedWidths(columns: readonly Measured[], available: number): readonly number[] {
  let widths = columns.map(() => 0);
  for (const claim of claims) {
    const missing = columns.map((column, index) => {
      const preferred = Math.max(column.headWidth, column.cellWidth);
      return Math.max(0, Math.min(claim(column), preferred) - (widths[index] ?? 0));
    });
    const shares = shareOut(missing, available - sum(widths));
    widths = widths.map((width, index) => width + (shares[index] ?? 0));
  }
  return widths;
}

/** Shares out a width: [2, 9, 9] of 12 is [2, 5, 5]. The largest requests are reduced first. */
function shareOut(requests: readonly number[], available: number): readonly number[] {
  const shares = requests.map(() => 0);
  let left = available;
  const bySize = [...requests.entries()].sort(([, one], [, other]) => one - other);
  for (const [place, [index, request]] of bySize.entries()) {
    const share = Math.min(request, Math.floor(left / (bySize.length - place)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}
