import { usage } from "../errors.ts";

const units: Readonly<Record<string, number>> = {
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
  const factor = units[unit.toUpperCase()];
  if (number !== undefined && factor !== undefined) return Math.floor(Number(number) * factor);
  throw usage(`${option}: invalid size ${JSON.stringify(text)}`, "examples: 10MB, 4MiB, 500000");
}

/** Formats a size: `812 B`, `16.0 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 2 ** 10) return `${bytes} B`;
  const [unit, size] = bytes < 2 ** 20 ? ["KiB", 2 ** 10] : ["MiB", 2 ** 20];
  return `${(bytes / Number(size)).toFixed(1)} ${unit}`;
}
