import { own } from "../lib/json.ts";
import type { Colors } from "./display-width.ts";

/** Colors of words, whose meaning the words have without them as well. */
export type ColorName = Extract<keyof Colors, "green" | "red" | "yellow">;

/** Statuses, results and actions, in every list, sheet and view. Other words have no color. */
const words: Readonly<Record<string, ColorName>> = {
  succeeded: "green",
  passed: "green",
  completed: "green",
  available: "green",
  active: "green",
  ok: "green",
  yes: "green",
  create: "green",
  created: "green",
  written: "green",
  bind: "green",
  "partial-succeeded": "yellow",
  paused: "yellow",
  warning: "yellow",
  update: "yellow",
  change: "yellow",
  switch: "yellow",
  left: "yellow",
  skip: "yellow",
  skipped: "yellow",
  unknown: "yellow",
  failed: "red",
  stopped: "red",
  exception: "red",
  error: "red",
  delete: "red",
  removed: "red",
  no: "yellow",
  unbind: "red",
  problem: "red",
};

/** Color of a word; none for those that are neither good nor bad. */
export const colorOfStatus = (word: string): ColorName | undefined => own(words, word);

/** Columns whose words are colored. */
const wordColumns = new Set([
  "action",
  "display_status",
  "indexing_status",
  "job_status",
  "result",
  "severity",
  "status",
]);
/** Old and new values of a difference. */
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
