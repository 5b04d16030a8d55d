import type { RunTrace } from "../../../runs/trace.ts";

/** The result of a check. */
export interface CheckResult {
  readonly passed: boolean;
  /** The actual state of the run, on one line with server text in quotes. */
  readonly actual: string;
  /** The measured duration. */
  readonly seconds?: number | undefined;
}

/** A parsed expectation about a run. */
export interface Check {
  /** The sentence of the expectation. */
  readonly name: string;
  readonly evaluate: (trace: RunTrace) => CheckResult;
  /** The expected end of the run (`run failed`), which is then not an error by itself. */
  readonly end?: string | undefined;
  /** Its position in a file. */
  readonly from?: { readonly path: string; readonly line: number } | undefined;
}

const MAX_QUOTED = 200;

/** Server text in quotes on one line, truncated if long. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  const start = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return start.replace(
    /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (match) => `\\u${match.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** `2 runs`, `1 run`. */
export const plural = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `0.046 s`. */
export const inSeconds = (seconds: number): string => `${Number(seconds.toFixed(3))} s`;

/** The comparisons of a number with a limit. */
export const bounds = ["at least", "at most", "exactly", "less than", "more than"] as const;
export type Threshold = (typeof bounds)[number];

/** A number with its comparison: `at most 3`. */
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
