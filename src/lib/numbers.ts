import { usage } from "../errors.ts";

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

/**
 * The percentile by nearest rank (definition 1 of Hyndman and Fan, "Sample Quantiles in Statistical
 * Packages", 1996; SQL's percentile_disc): the smallest value that at least `percent` of all values do
 * not exceed, so it is always one of them. `percent` is a whole number, so ranks are exact. Null without
 * values.
 */
export const percentile = (sorted: Float64Array, percent: number): number | null =>
  sorted[Math.ceil((percent * sorted.length) / 100) - 1] ?? null;

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
