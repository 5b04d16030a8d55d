import { invalidParam } from "../protocol/errors.ts";

/** Year, month, day, any separator, hour, minute, second, fraction and offset. */
const FORMAT =
  /^(?!\d{6}$)(\d{4})(?:(-?)(\d\d)(?:\2(\d\d)(?:.(\d\d)(?::?(\d\d)(?::?(\d\d)([.,]\d+)?)?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?)?)?$/s;

const NOT_A_NUMBER = "invalid literal for int() with base 10: b'$1'";

/** The server's errors for other texts: the first pattern that matches (server §12). */
const ERRORS: readonly (readonly [pattern: RegExp, message: string])[] = [
  [/^.{0,3}$/s, "ISO string too short"],
  [/^(?!\d{4})(.{4}).*/s, NOT_A_NUMBER],
  [/^\d{6}$/, "Invalid ISO format"],
  [/^\d{4}(-.?|[^-])$/s, "Invalid common month"],
  [/^\d{4}(?:-|(?!-))(?!\d\d)(..).*/s, NOT_A_NUMBER],
  [/^\d{4}-\d\d[^-].*/s, "Invalid separator in ISO string"],
  [/^\d{4}(-\d\d-.?|\d\d.)$/s, "Invalid common day"],
  [/^\d{4}(?:-\d\d-|\d\d)(?!\d\d)(..).*/s, NOT_A_NUMBER],
  [/^\d{4}(-\d\d-|\d\d)\d\d..?$/s, "ISO time too short"],
  [
    /^\d{4}(-\d\d-|\d\d)\d\d.\d[\d:.,]*[-+Zz].*/s,
    "Time zone offset must be 1, 3, 5 or 6 characters",
  ],
  [/^\d{4}(?:-\d\d-|\d\d)\d\d.(?:\d\d(?::|(?!:))){0,2}(?!\d\d)(..?).*/s, NOT_A_NUMBER],
  [/^.*$/s, "Unused components in ISO string"],
];

/**
 * Parses an ISO 8601 time like the server does, to ms since 1970: a date alone, any separator, `Z`,
 * an offset or none (UTC). Throws HttpError with the texts of the server's parser (server §12).
 */
export function isoTime(text: string): number {
  const match = FORMAT.exec(text);
  if (!match) {
    const [pattern, message = ""] = ERRORS.find(([each]) => each.test(text)) ?? [/^/];
    throw invalidParam(text.replace(pattern, message));
  }
  const [year = 0, , month = 1, day = 1, hour = 0, minute = 0, second = 0] = match
    .slice(1, 8)
    .map((digits) => (digits === undefined ? undefined : Number(digits)));
  const ms = Math.trunc(Number(`0.${match[8]?.slice(1) ?? 0}`) * 1000);
  if (month < 1 || month > 12) throw invalidParam("month must be in 1..12");
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) {
    throw invalidParam("day is out of range for month");
  }
  if (hour > 24 || (hour === 24 && minute + second > 0)) {
    throw invalidParam("hour must be in 0..23");
  }
  if (minute > 59) throw invalidParam("minute must be in 0..59");
  if (second > 59) throw invalidParam("second must be in 0..59");
  return Date.UTC(year, month - 1, day, hour, minute, second, ms) - parseOffset(match[9]);
}

/** Converts an offset such as `+02:00` to ms. */
function parseOffset(text = "Z"): number {
  const [, sign, hours, minutes = 0] = /^([+-])(\d\d):?(\d\d)?$/.exec(text) ?? [];
  const offset = (Number(hours ?? 0) * 60 + Number(minutes)) * 60_000;
  return sign === "-" ? -offset : offset;
}
