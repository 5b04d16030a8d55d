import { own, valueAt } from "../../lib/json.ts";
import type { Colors } from "./display-width.ts";

/** Colors of statuses and results, which their words name as well. */
export type ColorName = Extract<keyof Colors, "green" | "red" | "yellow">;

const statuses: Readonly<Record<string, ColorName>> = {
  succeeded: "green",
  "partial-succeeded": "yellow",
  paused: "yellow",
  failed: "red",
  stopped: "red",
  exception: "red",
  error: "red",
};

/** Actions and their results. */
const results: Readonly<Record<string, ColorName>> = {
  ...statuses,
  completed: "green",
  available: "green",
  ok: "green",
  create: "green",
  created: "green",
  written: "green",
  bind: "green",
  update: "yellow",
  change: "yellow",
  switch: "yellow",
  warning: "yellow",
  left: "yellow",
  skip: "yellow",
  skipped: "yellow",
  unknown: "yellow",
  delete: "red",
  removed: "red",
  unbind: "red",
  problem: "red",
};

/** Color of a status; none for those that are neither good nor bad. */
export const colorOfStatus = (status: string): ColorName | undefined => own(statuses, status);

/** Columns whose words are colored. */
const resultColumns = new Set([
  "action",
  "display_status",
  "indexing_status",
  "result",
  "severity",
  "status",
]);
/** Old and new values of a difference. */
const sides: Readonly<Record<string, ColorName>> = { from: "red", to: "green" };

/** How the column at a path is colored; undefined if it is not. */
export function columnColor(path: string): ((row: unknown) => ColorName | undefined) | undefined {
  const name = path.slice(path.lastIndexOf(".") + 1);
  if (resultColumns.has(name)) return (row) => own(results, String(valueAt(row, path)));
  const side = own(sides, path);
  return side && ((row) => (valueAt(row, path) == null ? undefined : side));
}
