import { isObject } from "../../../../lib/json.ts";
import { isNumber } from "../../../../lib/server-event.ts";
import { RunTrace } from "../../../../runs/trace.ts";
import type { CitedChunk } from "../../../../runs/trace.ts";
import type { SuiteAnswer } from "../../ask/index.ts";

/** How an answer ended, as results store it. */
export interface StoredEnd {
  readonly status: string;
  readonly error: string | null;
  /** By the server, or from the first event to the last; null if unknown. */
  readonly seconds: number | null;
  readonly tokens: number | null;
  readonly steps: number | null;
  readonly gaps: number;
  /** Null if there are none. */
  readonly outputs: unknown;
}

/** An answer in results. */
export interface StoredAnswer {
  /** Null if there is none. */
  readonly answer: string | null;
  /** What it was made of. */
  readonly chunks: readonly CitedChunk[];
  /** How it ended; null without an answer. */
  readonly end: StoredEnd | null;
}

const textOr = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Chunks in results, which may have anything there. */
export const storedChunks = (value: unknown): CitedChunk[] =>
  (Array.isArray(value) ? value.filter(isObject) : []).map(({ document, content }) => ({
    document: textOr(document),
    content: textOr(content),
  }));

/**
 * The answer as conditions and judges see it, without the events of its run: what is about them is
 * undecided. Undefined if results do not have it; a file may have anything in these fields.
 */
export function storedAnswer({ answer, chunks, end }: StoredAnswer): SuiteAnswer | undefined {
  if (!isObject(end) || typeof end["status"] !== "string") return undefined;
  const numberIn = (value: unknown) => (isNumber(value) ? value : undefined);
  const trace = Object.assign(new RunTrace(), {
    status: end["status"],
    error: typeof end["error"] === "string" ? end["error"] : undefined,
    elapsed: numberIn(end["seconds"]),
    tokens: numberIn(end["tokens"]),
    steps: numberIn(end["steps"]),
    gaps: numberIn(end["gaps"]) ?? 0,
    outputs: end["outputs"] ?? undefined,
    sources: storedChunks(chunks),
    storedText: typeof answer === "string" ? answer : undefined,
    unwatched: true,
  });
  return { trace, conversation: undefined };
}
