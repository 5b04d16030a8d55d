import { invalidParam as refuse } from "./errors.ts";

/**
 * An ISO 8601 time as the server's parser reads it, in ms since 1970: date alone, any separator,
 * `Z`, offset or none (UTC). Throws Refused with that parser's words (server §12).
 */
export function isoTime(text: string): number {
  const [year, month, day, at] = dateIn(text);
  const [clock, offset] = at < text.length ? timeIn(text.slice(at + 1)) : [[], 0];
  const [hour = 0, minute = 0, second = 0, fraction = 0] = clock;
  if (month < 1 || month > 12) throw refuse("month must be in 1..12");
  const time = Date.UTC(year, month - 1, day, hour, minute, second, fraction);
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) {
    throw refuse("day is out of range for month");
  }
  if (hour > 24 || (hour === 24 && minute + second > 0)) throw refuse("hour must be in 0..23");
  if (minute > 59) throw refuse("minute must be in 0..59");
  if (second > 59) throw refuse("second must be in 0..59");
  return time - offset * 60_000;
}

type DateParts = [year: number, month: number, day: number, end: number];

function dateIn(text: string): DateParts {
  if (text.length < 4) throw refuse("ISO string too short");
  const dash = text[4] === "-" ? 1 : 0;
  const year = whole(text.slice(0, 4));
  if (text.length === 4) return [year, 1, 1, 4];
  const monthAt = 4 + dash;
  if (text.length < monthAt + 2) throw refuse("Invalid common month");
  const month = whole(text.slice(monthAt, monthAt + 2));
  const monthEnd = monthAt + 2;
  if (text.length <= monthEnd) {
    if (dash === 0) throw refuse("Invalid ISO format");
    return [year, month, 1, monthEnd];
  }
  if (dash === 1 && text[monthEnd] !== "-") throw refuse("Invalid separator in ISO string");
  const dayAt = monthEnd + dash;
  if (text.length < dayAt + 2) throw refuse("Invalid common day");
  return [year, month, whole(text.slice(dayAt, dayAt + 2)), dayAt + 2];
}

/** Hour, minute, second and ms, and the offset in minutes. */
function timeIn(text: string): [clock: number[], offset: number] {
  if (text.length < 2) throw refuse("ISO time too short");
  const clock: number[] = [];
  let at = 0;
  const colons = text[2] === ":";
  while (at < text.length && clock.length < 4) {
    if ("-+Zz".includes(text.charAt(at))) return [clock, offsetIn(text.slice(at))];
    if (clock.length < 3) {
      clock.push(whole(text.slice(at, at + 2)));
      at += 2;
      if (colons && clock.length < 3 && text[at] === ":") at++;
      continue;
    }
    const fraction = /^[.,]([0-9]+)/.exec(text.slice(at));
    if (!fraction) break;
    clock.push(Math.trunc(Number(`0.${fraction[1]}`) * 1000));
    at += fraction[0].length;
  }
  if (at < text.length && "-+Zz".includes(text.charAt(at))) {
    return [clock, offsetIn(text.slice(at))];
  }
  if (at < text.length) throw refuse("Unused components in ISO string");
  return [clock, 0];
}

function offsetIn(text: string): number {
  if (text === "Z" || text === "z") return 0;
  const found = /^([+-])([0-9]{2}):?([0-9]{2})?$/.exec(text);
  if (!found) throw refuse("Time zone offset must be 1, 3, 5 or 6 characters");
  const minutes = Number(found[2]) * 60 + Number(found[3] ?? 0);
  return found[1] === "-" ? -minutes : minutes;
}

function whole(digits: string): number {
  if (/^[0-9]+$/.test(digits)) return Number(digits);
  throw refuse(`invalid literal for int() with base 10: b'${digits}'`);
}
