/** A column before the room is shared: widths of its head and its widest cell. */
interface Measured {
  readonly headWidth: number;
  /** Infinity for what takes the room that is left. */
  readonly cellWidth: number;
  /** Better not shortened. */
  readonly whole: boolean;
}

/** Narrowest column that still says something. */
const readable = 8;
/** Narrowest column at all; what finds no room even so is left out. */
export const narrowest = 3;
/** Columns of a text beyond which the heads of other columns are worth more than its end. */
const comfortable = 40;

/** What columns get while there is room, one after the other. */
const claims: readonly ((column: Measured) => number)[] = [
  () => narrowest,
  ({ whole, cellWidth }) => (whole ? 0 : Math.min(cellWidth, readable)),
  ({ whole, cellWidth }) => (whole ? cellWidth : 0),
  ({ cellWidth }) => (cellWidth === Infinity ? 0 : Math.min(cellWidth, comfortable)),
  ({ headWidth }) => headWidth,
  ({ cellWidth }) => cellWidth,
];

/**
 * Widths that need no more than `room` in all: very long texts give way first, then heads, then
 * texts, then what is of no use in part.
 */
export function fittedWidths(columns: readonly Measured[], room: number): readonly number[] {
  let widths = columns.map(() => 0);
  for (const claim of claims) {
    const missing = columns.map((column, index) => {
      const wanted = Math.max(column.headWidth, column.cellWidth);
      return Math.max(0, Math.min(claim(column), wanted) - (widths[index] ?? 0));
    });
    const given = shared(missing, room - sum(widths));
    widths = widths.map((width, index) => width + (given[index] ?? 0));
  }
  return widths;
}

/** Room dealt out so that nobody gets more than wanted and those who want most give way first. */
function shared(wanted: readonly number[], room: number): readonly number[] {
  const given = wanted.map(() => 0);
  let left = room;
  const bySize = wanted
    .map((_, index) => index)
    .sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  for (const [place, index] of bySize.entries()) {
    const share = Math.floor(left / (bySize.length - place));
    const gets = Math.min(wanted[index] ?? 0, share);
    given[index] = gets;
    left -= gets;
  }
  return given;
}

export const sum = (numbers: readonly number[]): number =>
  numbers.reduce((all, each) => all + each, 0);
