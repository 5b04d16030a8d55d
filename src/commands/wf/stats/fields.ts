import type { FieldKind } from "../../conditions/index.ts";

/** Figures about runs and their kinds, in display order. */
export const figureKinds = {
  runs: "number",
  running: "number",
  paused: "number",
  ended: "number",
  succeeded: "share",
  partial: "share",
  failed: "share",
  stopped: "share",
  failed_runs: "number",
  p50: "seconds",
  p95: "seconds",
  p99: "seconds",
  max: "seconds",
  tokens: "number",
  tokens_p50: "number",
  tokens_p95: "number",
  steps: "number",
} as const satisfies Readonly<Record<string, FieldKind>>;

export type FigureName = keyof typeof figureKinds;

export const figureNames = Object.keys(figureKinds) as FigureName[]; // the keys of a constant

/** Fields by which runs can be grouped. */
export const groupings = ["version", "user"] as const;

export type Grouping = (typeof groupings)[number];

/** Calendar periods by which runs can be grouped. */
export const units = ["hour", "day", "month"] as const;

export type Unit = (typeof units)[number];
