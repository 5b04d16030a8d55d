import { mergeCounts } from "./figures.ts";
import type { StatsCounts } from "./figures.ts";

/** Seconds; the offset of every time zone is a multiple of it, so hours and days are made of these. */
export const BUCKET_SECONDS = 900;

export type Unit = "hour" | "day" | "month";

/** An hour, day or month of the calendar, with the runs that began in it. */
export interface Period {
  /** Unix second. */
  readonly start: number;
  /** `2026-11-21 14`, `2026-11-21` or `2026-11`, in the time zone. */
  readonly label: string;
  readonly tally: StatsCounts;
}

const day = 86_400;
const characters: Readonly<Record<Unit, number>> = { hour: 13, day: 10, month: 7 };

/** Hours up to three days, days up to a quarter of a year, then months. */
const unitFor = (seconds: number): Unit =>
  seconds <= 3 * day ? "hour" : seconds <= 92 * day ? "day" : "month";

/**
 * Every period of the calendar that touches the time from the first to the last second, the empty
 * ones too. `quarters` are tallies by Unix second divided by `quarter`.
 */
export function periodsOf(
  quarters: ReadonlyMap<number, StatsCounts>,
  first: number,
  last: number,
  timeZone: string,
): { readonly unit: Unit; readonly periods: readonly Period[] } {
  const unit = unitFor(last - first);
  // Swedish writes dates and times as ISO 8601 does, with a blank between.
  const clock = new Intl.DateTimeFormat("sv-SE", {
    dateStyle: "short",
    timeStyle: "short",
    timeZone,
  });
  const periodOf = (at: number) => {
    const text = clock.format(at * BUCKET_SECONDS * 1000);
    const label = text.slice(0, characters[unit]);
    // When clocks are put back an hour comes twice: both have the same label, not the same start.
    const start = at * BUCKET_SECONDS - Number(text.slice(14, 16)) * 60;
    return { label, key: unit === "hour" ? start : label };
  };

  let at = Math.floor(first / BUCKET_SECONDS);
  const { key } = periodOf(at);
  while (periodOf(at - 1).key === key) at--;
  const found: { start: number; label: string; key: unknown; parts: StatsCounts[] }[] = [];
  for (; at <= Math.floor(last / BUCKET_SECONDS); at++) {
    const period = periodOf(at);
    if (found.at(-1)?.key !== period.key) {
      found.push({ ...period, start: at * BUCKET_SECONDS, parts: [] });
    }
    const part = quarters.get(at);
    if (part) found.at(-1)?.parts.push(part);
  }
  const periods = found.map(({ start, label, parts }) => ({
    start,
    label,
    tally: mergeCounts(parts),
  }));
  return { unit, periods };
}
