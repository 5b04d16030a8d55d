import { own, valueAt } from "../json.ts";
import type { Paint } from "./text.ts";

/** Colour that repeats what a word says already. */
export type Tone = Extract<keyof Paint, "green" | "red" | "yellow">;

const statuses: Readonly<Record<string, Tone>> = {
  succeeded: "green",
  "partial-succeeded": "yellow",
  paused: "yellow",
  failed: "red",
  stopped: "red",
  exception: "red",
  error: "red",
};

/** What is done to a thing, and what was found of it. */
const verdicts: Readonly<Record<string, Tone>> = {
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
export const toneOf = (status: string): Tone | undefined => own(statuses, status);

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
const sides: Readonly<Record<string, Tone>> = { from: "red", to: "green" };

/** How the column at a path is coloured; undefined for those that are not. */
export function columnTone(path: string): ((row: unknown) => Tone | undefined) | undefined {
  const name = path.slice(path.lastIndexOf(".") + 1);
  if (verdictColumns.has(name)) return (row) => own(verdicts, String(valueAt(row, path)));
  const side = own(sides, path);
  return side && ((row) => (valueAt(row, path) == null ? undefined : side));
}
