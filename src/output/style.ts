import { usage } from "../errors.ts";
import type { Host, Output } from "../host/host.ts";
import { isOn, wantsUnicode } from "../lib/environment.ts";
import { own } from "../lib/json.ts";
import { isoClock } from "../lib/numbers.ts";
import { textFormats } from "../operations/operation.ts";
import type { Returns, TextFormat } from "../operations/operation.ts";
import type { Colors } from "./display-width.ts";

interface ColorFlag {
  readonly color?: string | undefined;
}

/** Whether to use color on a stream: by flag, NO_COLOR, FORCE_COLOR, TERM, then the terminal. */
export function wantsColor(
  flags: ColorFlag,
  host: Host,
  stream: { readonly isTTY: boolean },
): boolean {
  if (flags.color === "always") return true;
  if (flags.color === "never") return false;
  if (flags.color !== undefined && flags.color !== "auto") {
    throw usage(`--color ${JSON.stringify(flags.color)} is not one of always, never, auto`);
  }
  if (host.env["NO_COLOR"]) return false;
  if (isOn(host.env["FORCE_COLOR"]) || isOn(host.env["CLICOLOR_FORCE"])) return true;
  if (host.env["TERM"] === "dumb") return false;
  return stream.isTTY;
}

/** Whether lines may be redrawn: not for screen readers, in logs, and in pipes. */
export const wantsRedraw = ({ env }: Host, { terminal }: Output): boolean =>
  terminal !== undefined &&
  !isOn(env["KB_ACCESSIBLE"]) &&
  !isOn(env["CI"]) &&
  env["TERM"] !== "dumb";

/** How progress is displayed. */
export interface ProgressStyle {
  readonly enabled: boolean;
  /** Text before the first step; undefined if the command only waits, like a server. */
  readonly start: string | undefined;
  /** Whether lines may be redrawn. */
  readonly redraws: boolean;
  readonly color: boolean;
  /** Whether signs may be other than ASCII. */
  readonly unicode: boolean;
}

/** How to display progress on stderr. */
export const progressStyle = (
  flags: ColorFlag,
  host: Host,
  shown: Pick<ProgressStyle, "enabled" | "start">,
): ProgressStyle => ({
  ...shown,
  redraws: wantsRedraw(host, host.stderr),
  color: wantsColor(flags, host, host.stderr),
  unicode: wantsUnicode(host.env),
});

/** The output with another way to write to it; all else is that of the output at each moment. */
export const withWrite = (output: Output, write: Output["write"]): Output =>
  Object.create(output, { write: { value: write } }) as Output;

/** An output that is not shown. */
export const nowhere: Output = {
  write: () => Promise.resolve(),
  isTTY: false,
  columns: Infinity,
  terminal: undefined,
  closed: false,
};

/** Values of `--output` for rows, objects and events. */
export const formats = [
  "grid",
  "wide",
  "tsv",
  "csv",
  "md",
  "json",
  "jsonl",
  "yaml",
  "name",
] as const;

export type Format = (typeof formats)[number] | "html" | TextFormat;

/** Formats of reports, which have no IDs; `wide` shows all tables. */
const reportFormats = formats.filter((format) => format !== "name");

/** Output formats of a result; all formats if the result is unknown. */
export function formatsOf(returns: Returns<never> | undefined): readonly Format[] {
  if (returns === undefined) return [...formats, "html"];
  const texts = "texts" in returns ? (returns.texts ?? []) : [];
  if (returns.kind === "list" && returns.html) return [...formats, "html", ...texts];
  if (returns.kind !== "report") return [...formats, ...texts];
  return returns.repeats ? reportFormats : [...reportFormats, "html", ...texts];
}

/** Is it a format of another program? */
export const isTextFormat = (format: Format | undefined): format is TextFormat =>
  textFormats.some((each) => each === format);

/** Colors of words, whose meaning the words have without them as well. */
export type ColorName = Extract<keyof Colors, "green" | "red" | "yellow">;

/** Statuses, results and actions, in every list, sheet and view. Other words have no color. */
const words: Readonly<Record<ColorName, string>> = {
  green: "succeeded passed completed available active ok yes create created written bind",
  yellow: "partial-succeeded paused warning update change switch left skip skipped unknown no",
  red: "failed stopped exception error delete removed unbind problem",
};

const colors = new Map(
  Object.entries(words).flatMap(([color, some]) =>
    some.split(" ").map((word) => [word, color as ColorName] as const),
  ),
);

/** Color of a word; none for those that are neither good nor bad. */
export const colorOfStatus = (word: string): ColorName | undefined => colors.get(word);

const wordColumns = new Set([
  "action",
  "display_status",
  "indexing_status",
  "job_status",
  "result",
  "severity",
  "status",
]);
const sides: Readonly<Record<string, ColorName>> = { from: "red", to: "green" };

/** How the values of a column are colored; undefined if they are not. */
export function columnColor(
  label: string,
): ((value: unknown) => ColorName | undefined) | undefined {
  const name = label.slice(label.lastIndexOf(".") + 1);
  if (wordColumns.has(name)) return (value) => colorOfStatus(String(value));
  const side = own(sides, label);
  return side && ((value) => (value == null ? undefined : side));
}

/** Formats dates in cells. */
export interface Times {
  text(date: Date): string;
  /** The text with seconds, for rows of the same minute; undefined if the text has what there is. */
  readonly toTheSecond?: (date: Date) => string;
  /** `UTC` or `+01:00` for the header, unless the text contains it. */
  readonly zone?: string;
  /** The text with its zone, for a time outside a table. */
  full(date: Date): string;
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
    const text = write((date) => distance(now - date.getTime()));
    return { text, full: text };
  }
  if (!forHumans) return { text: write(isoSeconds), full: write(isoSeconds) };
  const offset = offsets(style);
  const zone = offset(style.now());
  const textTo = (timeStyle: "short" | "medium") => {
    const day = isoClock({ dateStyle: "short", timeStyle, ...zoneOf(style) });
    // A date from the other side of a clock change has its own offset.
    return write((date) => {
      const own = offset(date);
      return own === zone ? day(date) : `${day(date)} ${own}`;
    });
  };
  const day = isoClock({ dateStyle: "short", timeStyle: "short", ...zoneOf(style) });
  const full = write((date) => `${day(date)} ${offset(date)}`);
  return { zone, text: textTo("short"), toTheSecond: textTo("medium"), full };
}

/** Formats the time of day of an event: `14:03:22`, or ISO 8601 if not `forHumans`. */
export const clockFor = (style: TimeStyle, forHumans: boolean): ((date: Date) => string) =>
  write(forHumans ? isoClock({ timeStyle: "medium", ...zoneOf(style) }) : isoSeconds);

/** An invalid date is empty text: a server may send any number. */
const write = (text: (date: Date) => string) => (date: Date) =>
  Number.isNaN(date.getTime()) ? "" : text(date);

const isoSeconds = (date: Date): string => `${date.toISOString().slice(0, -".000Z".length)}Z`;

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
