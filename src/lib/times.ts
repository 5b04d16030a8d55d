/** The seconds of the epoch that a time means: a month, a day, a minute or one second. */
export interface SecondRange {
  readonly first: number;
  readonly last: number;
}

const isoTime =
  /^(\d{4}-\d{2})(?:-(\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)? ?(Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?)?$/i;

/**
 * Reads a time, in UTC without a zone; undefined if it is none or not on the calendar.
 *
 *     2026-05-01 → all its seconds    2026-05-01T10:00Z → those of the minute    1777593600 → itself
 */
export function spanOf(text: string): SecondRange | undefined {
  if (/^\d{9,11}$/.test(text)) return { first: Number(text), last: Number(text) };
  const [, month, day, minute, seconds, zone = "Z"] = isoTime.exec(text) ?? [];
  if (month === undefined) return undefined;
  const date = `${month}-${day ?? "01"}`;
  const midnight = new Date(`${date}T00:00Z`);
  const ms = Date.parse(
    `${date}T${minute ?? "00:00"}${seconds ?? ""}${zone.replace(/[a-z]+/i, "Z")}`,
  );
  // `Date` takes 30 February for 2 March.
  if (Number.isNaN(ms) || midnight.getUTCDate() !== Number(day ?? 1)) return undefined;
  const first = Math.floor(ms / 1000);
  if (day === undefined)
    return { first, last: midnight.setUTCMonth(midnight.getUTCMonth() + 1) / 1000 - 1 };
  const length = minute === undefined ? 86_400 : 60;
  return { first, last: seconds === undefined ? first + length - 1 : first };
}

/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799;

/** The seconds of a time in milliseconds or smaller units, as many programs give it; undefined for others. */
export function secondsMeant(value: unknown): number | undefined {
  let time = Number(String(value).trim() || Number.NaN);
  if (!(Math.abs(time) > LAST_SECOND && Number.isFinite(time))) return undefined;
  while (Math.abs(time) > LAST_SECOND) time /= 1000;
  return Math.floor(time);
}
