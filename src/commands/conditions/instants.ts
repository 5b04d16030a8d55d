/** The seconds of the epoch that a time means: a day, a minute or one second. */
export interface SecondRange {
  readonly first: number;
  readonly last: number;
}

const isoTime = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(:\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * Reads a time, in UTC without a zone; undefined if it is none or not on the calendar.
 *
 *     2026-05-01 → all its seconds    2026-05-01T10:00Z → those of the minute    1777593600 → itself
 */
export function spanOf(text: string): SecondRange | undefined {
  if (/^\d{9,11}$/.test(text)) return { first: Number(text), last: Number(text) };
  const [whole, seconds, zone] = isoTime.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const isDay = whole.length === 10;
  const ms = Date.parse(isDay || zone !== undefined ? whole : `${whole}Z`);
  // `Date.parse` takes 30 February for 2 March.
  const day = new Date(`${whole.slice(0, 10)}T00:00Z`);
  if (Number.isNaN(ms) || day.toISOString().slice(8, 10) !== whole.slice(8, 10)) return undefined;
  const first = Math.floor(ms / 1000);
  const length = isDay ? 86_400 : 60;
  return { first, last: seconds === undefined ? first + length - 1 : first };
}
