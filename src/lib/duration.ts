/** Units of durations, in ms. */
export const durationUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Parses `30s`, `1h30m` or `250ms` to ms; undefined for any other text, a bare number included. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/gy)) {
    total += Number(amount) * (durationUnits[unit ?? ""] ?? 0);
  }
  return total;
}

/** Formats ms: `62 ms`, `1.23 s`, `2m 05s`, `1h 02m`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const padded = (number: number) => String(number).padStart(2, "0");
  if (minutes < 60) return `${minutes}m ${padded(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h ${padded(minutes % 60)}m`;
}

/** Formats seconds briefly: `16 ms`, `2.3 s`, `2m 05s`. */
export const formatSeconds = (seconds: number): string =>
  seconds >= 0.9995 && seconds < 59.95 ? `${seconds.toFixed(1)} s` : formatDuration(seconds * 1000);

/** Formats seconds as clocks count: `0:42`, `12:05`, `1:02:10`. */
export function clockTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const two = (number: number) => String(number).padStart(2, "0");
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
}

/** Formats Unix seconds as `2026-11-21 14:03` in a time zone; an invalid time is empty text. */
export function localClock(timeZone: string): (second: number) => string {
  // The Swedish format is that of ISO 8601 with a blank between date and time.
  const format = new Intl.DateTimeFormat("sv-SE", {
    dateStyle: "short",
    timeStyle: "short",
    timeZone,
  });
  return (second) => {
    const date = new Date(second * 1000);
    return Number.isNaN(date.getTime()) ? "" : format.format(date);
  };
}
