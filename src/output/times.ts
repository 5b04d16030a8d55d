/** Formats dates in cells. */
export interface Times {
  text(date: Date): string;
  /** The text with seconds, for rows of the same minute; undefined if the text has what there is. */
  readonly toTheSecond?: (date: Date) => string;
  /** `UTC` or `+01:00` for the header, unless the text contains it. */
  readonly zone?: string;
}

/** How dates are displayed. */
export interface TimeStyle {
  readonly times: "local" | "utc" | "relative";
  /** IANA name (default: the system's). */
  readonly timeZone?: string;
  readonly now: () => Date;
}

/**
 * Formats dates for humans (`2026-11-21 14:03`, zone in the header) or as ISO 8601 in UTC with whole
 * seconds. `relative` is the same for both.
 */
export function timesFor(style: TimeStyle, forHumans: boolean): Times {
  if (style.times === "relative") {
    const now = style.now().getTime();
    return { text: write((date) => distance(now - date.getTime())) };
  }
  if (!forHumans) return { text: write(isoSeconds) };
  const offset = offsets(style);
  const zone = offset(style.now());
  const textTo = (timeStyle: "short" | "medium") => {
    const day = clock(style, { dateStyle: "short", timeStyle });
    // A date from the other side of a clock change has its own offset.
    return write((date) => {
      const own = offset(date);
      return own === zone ? day(date) : `${day(date)} ${own}`;
    });
  };
  return { zone, text: textTo("short"), toTheSecond: textTo("medium") };
}

/** Formats the time of day of an event: `14:03:22`, or ISO 8601 if not `forHumans`. */
export const clockFor = (style: TimeStyle, forHumans: boolean): ((date: Date) => string) =>
  write(forHumans ? clock(style, { timeStyle: "medium" }) : isoSeconds);

/** An invalid date is empty text: a server may send any number. */
const write = (text: (date: Date) => string) => (date: Date) =>
  Number.isNaN(date.getTime()) ? "" : text(date);

const isoSeconds = (date: Date): string => `${date.toISOString().slice(0, -".000Z".length)}Z`;

/** Swedish dates and times are those of ISO 8601, separated by a space. */
function clock(style: TimeStyle, options: Intl.DateTimeFormatOptions): (date: Date) => string {
  const format = new Intl.DateTimeFormat("sv-SE", { ...options, ...zoneOf(style) });
  return (date) => format.format(date);
}

function offsets(style: TimeStyle): (date: Date) => string {
  const format = new Intl.DateTimeFormat("en", { timeZoneName: "longOffset", ...zoneOf(style) });
  return (date) => {
    const name = format.formatToParts(date).find(({ type }) => type === "timeZoneName")?.value;
    const offset = name?.replace("GMT", "") ?? "";
    return offset === "" || offset === "+00:00" ? "UTC" : offset;
  };
}

function zoneOf({ times, timeZone }: TimeStyle): { timeZone?: string } {
  if (times === "utc") return { timeZone: "UTC" };
  if (timeZone === undefined) return {};
  try {
    // TZ may be other than a name (`CET-1CEST`), which only the system supports.
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
  const [size, unit] = units.find(([min]) => seconds >= min) ?? [1, "s"];
  const amount = `${Math.floor(seconds / size)}${unit}`;
  return ms < 0 && seconds > 0 ? `in ${amount}` : `${amount} ago`;
}
