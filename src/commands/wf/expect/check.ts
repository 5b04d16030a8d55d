import type { RunTrace } from "../../../runs/trace.ts";

/** What a check found in a run. */
export interface CheckResult {
  readonly passed: boolean;
  /** What was there instead, or what made it pass; one line, server text in quotes. */
  readonly actual: string;
  /** The time that was measured, in seconds. */
  readonly seconds?: number | undefined;
}

/** One expectation about a run, ready to be asked. */
export interface Check {
  /** The sentence that says it. */
  readonly name: string;
  readonly evaluate: (trace: RunTrace) => CheckResult;
  /** The end it speaks of (`run failed`): then that end is no failure of its own. */
  readonly end?: string | undefined;
  /** Where it stands, when it comes from a file. */
  readonly from?: { readonly path: string; readonly line: number } | undefined;
}

const longest = 200;

/** Text of a server in quotes, on one line, its start where it is long. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  const start = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return start.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** `2 runs`, `1 run`. */
export const plural = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `0.046 s`. */
export const inSeconds = (seconds: number): string => `${Number(seconds.toFixed(3))} s`;

/** How a number is bounded. */
export const bounds = ["at least", "at most", "exactly", "less than", "more than"] as const;
export type Threshold = (typeof bounds)[number];

/** A bounded number: `at most 3`. */
export interface Amount {
  readonly bound: Threshold;
  readonly value: number;
}

export const within = ({ bound, value }: Amount, actual: number): boolean =>
  ({
    "at least": actual >= value,
    "at most": actual <= value,
    exactly: actual === value,
    "less than": actual < value,
    "more than": actual > value,
  })[bound];
