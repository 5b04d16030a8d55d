import { own, valueAt } from "../../lib/json.ts";
import type { Colors } from "./display-width.ts";

/** Colour that repeats what a word says already. */
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

/** What is done to a thing, and what was found of it. */
const verdicts: Readonly<Record<string, ColorName>> = {
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

/** Colour of a status; none for those that tell neither good nor bad. */
export const toneOfStatus = (status: string): ColorName | undefined => own(statuses, status);

/** Columns whose words are coloured. */
const verdictColumns = new Set([
  "action",
  "display_status",
  "indexing_status",
  "result",
  "severity",
  "status",
]);
/** What was and what will be, as differences are shown everywhere. */
const sides: Readonly<Record<string, ColorName>> = { from: "red", to: "green" };

/** How the column at a path is coloured; undefined for those that are not. */
export function columnTone(path: string): ((row: unknown) => ColorName | undefined) | undefined {
  const name = path.slice(path.lastIndexOf(".") + 1);
  if (verdictColumns.has(name)) return (row) => own(verdicts, String(valueAt(row, path)));
  const side = own(sides, path);
  return side && ((row) => (valueAt(row, path) == null ? undefined : side));
}
