import { spanOf } from "../../lib/times.ts";
import { parseDuration } from "../../lib/numbers.ts";

/** Whether a text is a time in a form of ISO 8601 that servers read. */
export const isServerTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d([T ][\d:.]+(Z|[+-][\d:]+)?)?$/.test(text) && spanOf(text) !== undefined;

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** ms of a unit by its first letter, as in `2 days ago`. */
const units: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: HOUR,
  d: DAY,
  w: 7 * DAY,
};
const agoForm =
  /^(\d{1,6}|an?) ?(s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?) ago$/;

const weekdays = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/**
 * The instant that a text names before `now`: `now`, ISO 8601, epoch seconds, `2h` or `-2h`, `2 days ago`, and
 * days of `timeZone` at 00:00 or the given time: `today`, `yesterday`, `monday` (the last one, today
 * included), `last monday` (before today), `last week` (its Monday), `yesterday 14:30`. Dots, hyphens
 * and capitals do not matter, so that `2.days.ago` needs no quotes. Undefined for other texts.
 */
export function timeInWords(text: string, now: Date, timeZone: string): Date | undefined {
  const words = text
    .toLowerCase()
    .replace(/^-(?=\d)/, "")
    .replace(/[\s._-]+/g, " ")
    .trim();
  const second = spanOf(text)?.first;
  const ms = second === undefined ? instantOf(words, now.getTime(), timeZone) : second * 1000;
  // Dates end 270,000 years ago.
  return ms === undefined || Number.isNaN(new Date(ms).getTime()) ? undefined : new Date(ms);
}

function instantOf(words: string, now: number, timeZone: string): number | undefined {
  if (words === "now") return now;
  if (/^(\d+[smhd])+$/.test(words)) return now - (parseDuration(words) ?? 0);
  const [, count, unit = ""] = agoForm.exec(words) ?? [];
  if (count !== undefined)
    return now - (/^an?$/.test(count) ? 1 : Number(count)) * (units[unit.slice(0, 1)] ?? 0);
  return instantOfDay(words, now, wallClock(timeZone));
}

/** The start of a day, or the time of day after its name. */
function instantOfDay(words: string, now: number, wall: WallClock): number | undefined {
  const [, name = "", hours = "0", minutes = "0"] =
    /^(.*?)(?: (?:at )?([01]?\d|2[0-3]):([0-5]\d))?$/.exec(words) ?? [];
  const today = Math.floor(wall(now) / DAY);
  const back = daysBack(name, weekdayOf(today));
  if (back === undefined) return undefined;
  return instantAt((today - back) * DAY + Number(hours) * HOUR + Number(minutes) * 60_000, wall);
}

/** Day of the week from 0 for Monday; the epoch began on a Thursday. */
const weekdayOf = (day: number): number => (day + 3) % 7;

function daysBack(name: string, weekday: number): number | undefined {
  if (name === "today") return 0;
  if (name === "yesterday") return 1;
  if (name === "last week") return weekday + 7;
  const isBeforeToday = name.startsWith("last ");
  const index = weekdays.indexOf(isBeforeToday ? name.slice(5) : name);
  if (index === -1) return undefined;
  const back = (weekday - index + 7) % 7;
  return back === 0 && isBeforeToday ? 7 : back;
}

/** The date and time that clocks of a zone show at an instant, as ms as if they were UTC. */
type WallClock = (ms: number) => number;

function wallClock(timeZone: string): WallClock {
  // The Swedish format is that of ISO 8601 with a blank between date and time.
  const format = new Intl.DateTimeFormat("sv-SE", {
    dateStyle: "short",
    timeStyle: "medium",
    timeZone,
  });
  return (ms) => Date.parse(`${format.format(ms).replace(" ", "T")}Z`);
}

/**
 * When clocks show a time: the first instant if they show it twice. One that they skip, because they
 * are set forward, counts from the time before the change, as in `Date`.
 */
function instantAt(shown: number, wall: WallClock): number {
  const [before = shown, after = shown] = [shown - DAY, shown + DAY].map(
    (ms) => shown - (wall(ms) - ms),
  );
  return wall(after) === shown && wall(before) !== shown ? after : before;
}
