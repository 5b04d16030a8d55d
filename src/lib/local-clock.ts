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
