import { localClock } from "../../../lib/numbers.ts";
import { mergeCounts } from "./figures.ts";
import type { StatsCounts } from "./figures.ts";
import type { TimeSpan } from "./sources.ts";
import type { Unit } from "./fields.ts";

/** The offset of every time zone is a multiple of this, so it divides all hours and days. */
export const BUCKET_SECONDS = 900;

/** A calendar hour, day or month with the runs that started in it. */
export interface Period {
  /** Unix second. */
  readonly start: number;
  /** `2026-11-21 14`, `2026-11-21` or `2026-11`, in the time zone. */
  readonly label: string;
  readonly counts: StatsCounts;
}

const DAY_SECONDS = 86_400;
/** Length of a label, as a prefix of `2026-11-21 14:00`. */
const LABEL_LENGTHS: Readonly<Record<Unit, number>> = { hour: 13, day: 10, month: 7 };

/** Hours up to three days, days up to a quarter of a year, then months. */
function unitFor(seconds: number): Unit {
  if (seconds <= 3 * DAY_SECONDS) return "hour";
  return seconds <= 92 * DAY_SECONDS ? "day" : "month";
}

/**
 * All calendar periods from the first to the last second, including empty ones. `buckets` are counts
 * by Unix second divided by `BUCKET_SECONDS`.
 */
export function periodsOf(
  buckets: ReadonlyMap<number, StatsCounts>,
  { since, until }: TimeSpan,
  timeZone: string,
  unit = unitFor(until - since),
): { readonly unit: Unit; readonly periods: readonly Period[] } {
  const clock = localClock(timeZone);
  const periodOf = (at: number) => {
    const text = clock(at * BUCKET_SECONDS);
    const label = text.slice(0, LABEL_LENGTHS[unit]);
    // When clocks are set back, two hours have the same label but different starts.
    const start = at * BUCKET_SECONDS - Number(text.slice(14, 16)) * 60;
    return { label, key: unit === "hour" ? start : label };
  };

  let at = Math.floor(since / BUCKET_SECONDS);
  const { key } = periodOf(at);
  while (periodOf(at - 1).key === key) at--;
  const periods: { start: number; label: string; key: unknown; parts: StatsCounts[] }[] = [];
  for (; at <= Math.floor(until / BUCKET_SECONDS); at++) {
    const period = periodOf(at);
    if (periods.at(-1)?.key !== period.key) {
      periods.push({ ...period, start: at * BUCKET_SECONDS, parts: [] });
    }
    const part = buckets.get(at);
    if (part) periods.at(-1)?.parts.push(part);
  }
  return {
    unit,
    periods: periods.map(({ start, label, parts }) => ({
      start,
      label,
      counts: mergeCounts(parts),
    })),
  };
}
