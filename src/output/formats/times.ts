import type { Style } from "./text-formats.ts";

/** How a date is written in a cell, and the zone that belongs to it where the text does not say. */
export interface Times {
  text(date: Date): string;
  /** `UTC` or `+01:00`, for the header. */
  readonly zone?: string;
}

type Asked = Pick<Style, "times" | "timeZone" | "now">;

/**
 * Dates as people read them (`2026-11-21 14:03`, zone in the header) or, not `forPeople`, as ISO
 * 8601 in UTC with whole seconds. `relative` is the same for both.
 */
export function timesFor(asked: Asked, forPeople: boolean): Times {
  if (asked.times === "relative") {
    const now = asked.now().getTime();
    return { text: write((date) => distance(now - date.getTime())) };
  }
  if (!forPeople) return { text: write(isoSeconds) };
  const day = clock(asked, { dateStyle: "short", timeStyle: "short" });
  const offset = offsets(asked);
  const zone = offset(asked.now());
  // A row from before the clocks were changed says its own offset.
  return {
    zone,
    text: write((date) => {
      const own = offset(date);
      return own === zone ? day(date) : `${day(date)} ${own}`;
    }),
  };
}

/** Time of day of an event: `14:03:22`, or ISO 8601 where not `forPeople`. */
export const clockFor = (asked: Asked, forPeople: boolean): ((date: Date) => string) =>
  write(forPeople ? clock(asked, { timeStyle: "medium" }) : isoSeconds);

/** What is no date is nothing: a server can send any number. */
const write = (text: (date: Date) => string) => (date: Date) =>
  Number.isNaN(date.getTime()) ? "" : text(date);

const isoSeconds = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, "Z");

/** Swedish writes dates and times as ISO 8601 does, with a blank between. */
function clock(asked: Asked, options: Intl.DateTimeFormatOptions): (date: Date) => string {
  const format = new Intl.DateTimeFormat("sv-SE", { ...options, ...zoneOf(asked) });
  return (date) => format.format(date);
}

function offsets(asked: Asked): (date: Date) => string {
  const format = new Intl.DateTimeFormat("en", { timeZoneName: "longOffset", ...zoneOf(asked) });
  return (date) => {
    const name = format.formatToParts(date).find(({ type }) => type === "timeZoneName")?.value;
    const offset = name?.replace("GMT", "") ?? "";
    return offset === "" || offset === "+00:00" ? "UTC" : offset;
  };
}

function zoneOf({ times, timeZone }: Asked): { timeZone?: string } {
  if (times === "utc") return { timeZone: "UTC" };
  if (timeZone === undefined) return {};
  try {
    // TZ may hold more than names (`CET-1CEST`): the system understands those.
    new Intl.DateTimeFormat("en", { timeZone });
    return { timeZone };
  } catch {
    return {};
  }
}

const units = [
  [86_400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
] as const;

/** `3m ago`, `in 2h`, from milliseconds since. */
function distance(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000);
  const [size, unit] = units.find(([least]) => seconds >= least) ?? [1, "s"];
  const amount = `${Math.floor(seconds / size)}${unit}`;
  return ms < 0 && seconds > 0 ? `in ${amount}` : `${amount} ago`;
}
