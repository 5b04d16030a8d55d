import { usage } from "../errors.ts";
import { counted } from "./text.ts";

/** The sum of numbers; 0 for none. */
export function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const each of numbers) total += each;
  return total;
}

/** A number with its digits in groups: `480,574`; one with other characters as it is. */
export function groupDigits(number: number): string {
  const [, sign = "", digits] = /^(-?)(\d+)$/.exec(String(number)) ?? [];
  if (digits === undefined) return String(number);
  const first = digits.length % 3;
  const groups = digits.slice(first).match(/\d{3}/g) ?? [];
  return sign + [digits.slice(0, first), ...groups].filter(Boolean).join(",");
}

const byteUnits: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

/** Parses a size in bytes: `10MB`, `4MiB` or a bare number. Throws `usage`. */
export function parseBytes(option: string, text: string): number {
  const [, number, unit = "B"] = /^(\d+(?:\.\d+)?)\s*([KMG]?i?B)?$/i.exec(text.trim()) ?? [];
  const factor = byteUnits[unit.toUpperCase()];
  if (number !== undefined && factor !== undefined) return Math.floor(Number(number) * factor);
  throw usage(`${option}: invalid size ${JSON.stringify(text)}`, "examples: 10MB, 4MiB, 500000");
}

/** Formats a size: `812 B`, `16.0 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 2 ** 10) return `${bytes} B`;
  const [unit, size] = bytes < 2 ** 20 ? ["KiB", 2 ** 10] : ["MiB", 2 ** 20];
  return `${(bytes / Number(size)).toFixed(1)} ${unit}`;
}

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
  if (minutes < 60) return `${minutes}m ${twoDigits(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h ${twoDigits(minutes % 60)}m`;
}

/** Formats seconds briefly: `16 ms`, `2.3 s`, `2m 05s`. */
export const formatSeconds = (seconds: number): string =>
  seconds >= 0.9995 && seconds < 59.95 ? `${seconds.toFixed(1)} s` : formatDuration(seconds * 1000);

/** Formats seconds as clocks count: `0:42`, `12:05`, `1:02:10`. */
export function clockTime(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return `${hours > 0 ? `${hours}:${twoDigits(minutes)}` : minutes}:${twoDigits(whole % 60)}`;
}

const twoDigits = (number: number): string => String(number).padStart(2, "0");

/** Formats dates like ISO 8601, with a blank between date and time; an invalid one is empty text. */
export function isoClock(options: Intl.DateTimeFormatOptions): (date: Date) => string {
  const format = new Intl.DateTimeFormat("sv-SE", options); // the Swedish format is that of ISO 8601
  return (date) => (Number.isNaN(date.getTime()) ? "" : format.format(date));
}

/** Formats Unix seconds as `2026-11-21 14:03` in a time zone; an invalid time is empty text. */
export function localClock(timeZone: string): (second: number) => string {
  const clock = isoClock({ dateStyle: "short", timeStyle: "short", timeZone });
  return (second) => clock(new Date(second * 1000));
}

/** Returns a generator of numbers from 0 to 1 that a seed determines (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `7 days`, `24 hours`, `90 minutes` from seconds, to within a hundredth. */
export function spanText(seconds: number): string {
  const units = [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
  ] as const;
  const fits = ([, size]: (typeof units)[number]) =>
    seconds >= 2 * size && Math.abs(Math.round(seconds / size) * size - seconds) < seconds / 100;
  const [unit, size] = units.find(fits) ?? (["second", 1] as const);
  return counted(Math.round(seconds / size), unit);
}
