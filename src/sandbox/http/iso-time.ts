import { invalidParam } from "./errors.ts";

/**
 * Parses an ISO 8601 time like the server does, to ms since 1970: a date alone, any separator, `Z`,
 * an offset or none (UTC). Throws HttpError with the texts of the server's parser (server §12).
 */
export function isoTime(text: string): number {
  const [year, month, day, end] = parseDate(text);
  const [clock, offset] = end < text.length ? parseTime(text.slice(end + 1)) : [[], 0];
  const [hour = 0, minute = 0, second = 0, fraction = 0] = clock;
  if (month < 1 || month > 12) throw invalidParam("month must be in 1..12");
  const time = Date.UTC(year, month - 1, day, hour, minute, second, fraction);
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) {
    throw invalidParam("day is out of range for month");
  }
  if (hour > 24 || (hour === 24 && minute + second > 0))
    throw invalidParam("hour must be in 0..23");
  if (minute > 59) throw invalidParam("minute must be in 0..59");
  if (second > 59) throw invalidParam("second must be in 0..59");
  return time - offset * 60_000;
}

type DateParts = [year: number, month: number, day: number, end: number];

function parseDate(text: string): DateParts {
  if (text.length < 4) throw invalidParam("ISO string too short");
  const dash = text[4] === "-" ? 1 : 0;
  const year = parseDigits(text.slice(0, 4));
  if (text.length === 4) return [year, 1, 1, 4];
  const monthAt = 4 + dash;
  if (text.length < monthAt + 2) throw invalidParam("Invalid common month");
  const month = parseDigits(text.slice(monthAt, monthAt + 2));
  const monthEnd = monthAt + 2;
  if (text.length <= monthEnd) {
    if (dash === 0) throw invalidParam("Invalid ISO format");
    return [year, month, 1, monthEnd];
  }
  if (dash === 1 && text[monthEnd] !== "-") throw invalidParam("Invalid separator in ISO string");
  const dayAt = monthEnd + dash;
  if (text.length < dayAt + 2) throw invalidParam("Invalid common day");
  return [year, month, parseDigits(text.slice(dayAt, dayAt + 2)), dayAt + 2];
}

/** Returns hour, minute, second and ms, and the offset in minutes. */
function parseTime(text: string): [clock: number[], offset: number] {
  if (text.length < 2) throw invalidParam("ISO time too short");
  const clock: number[] = [];
  let index = 0;
  const hasColons = text[2] === ":";
  while (index < text.length && clock.length < 4) {
    if ("-+Zz".includes(text.charAt(index))) return [clock, parseOffset(text.slice(index))];
    if (clock.length < 3) {
      clock.push(parseDigits(text.slice(index, index + 2)));
      index += 2;
      if (hasColons && clock.length < 3 && text[index] === ":") index++;
      continue;
    }
    const fraction = /^[.,]([0-9]+)/.exec(text.slice(index));
    if (!fraction) break;
    clock.push(Math.trunc(Number(`0.${fraction[1]}`) * 1000));
    index += fraction[0].length;
  }
  if (index < text.length && "-+Zz".includes(text.charAt(index))) {
    return [clock, parseOffset(text.slice(index))];
  }
  if (index < text.length) throw invalidParam("Unused components in ISO string");
  return [clock, 0];
}

function parseOffset(text: string): number {
  if (text === "Z" || text === "z") return 0;
  const match = /^([+-])([0-9]{2}):?([0-9]{2})?$/.exec(text);
  if (!match) throw invalidParam("Time zone offset must be 1, 3, 5 or 6 characters");
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0);
  return match[1] === "-" ? -minutes : minutes;
}

function parseDigits(digits: string): number {
  if (/^[0-9]+$/.test(digits)) return Number(digits);
  throw invalidParam(`invalid literal for int() with base 10: b'${digits}'`);
}
