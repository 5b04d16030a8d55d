import { durationUnits } from "../../lib/duration.ts";
import type { Cell } from "../report-model.ts";

/** Units of cells, in the smallest of their kind. */
const units: Readonly<Record<string, number>> = {
  ...durationUnits,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
};

const amounts = /(\d[\d,]*(?:\.\d+)?)\s*(ms|KiB|MiB|[smhdB](?![a-z]))?/g;

/**
 * The number by which a cell is sorted: `2m 05s` → 125000, `3/4` → 0.75, `77–97 %` → 77, `-0.5` → -0.5.
 * Undefined for a cell without one.
 */
export function sortValue(cell: Cell): number | undefined {
  if (typeof cell === "number") return cell;
  if (cell instanceof Date) return cell.getTime();
  if (typeof cell === "object" && cell !== null)
    return "text" in cell ? sortValue(cell.text) : undefined;
  if (typeof cell !== "string" || !/^[+×-]?\d/.test(cell)) return undefined;
  const fraction = /^(\d+)\/(\d+)$/.exec(cell);
  if (fraction) return Number(fraction[1]) / Number(fraction[2]);
  const sign = cell.startsWith("-") ? -1 : 1;
  const parts = [...cell.matchAll(amounts)].map(([, number = "", unit]) => ({
    value: Number(number.replaceAll(",", "")) * (unit === undefined ? 1 : (units[unit] ?? 1)),
    unit,
  }));
  // Only the parts of a duration add up.
  const added = parts.every(({ unit }) => unit !== undefined) ? parts : parts.slice(0, 1);
  return sign * added.reduce((total, { value }) => total + value, 0);
}
