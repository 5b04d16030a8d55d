import { usage } from "../errors.ts";
import { keyProblem } from "../lib/key-problem.ts";

/** The two kinds of key: for knowledge bases (`dataset-…`) and for one application (`app-…`). */
export type KeyKind = "dataset" | "app";

/** Kind of a key by its prefix; undefined if it has none. */
export function kindOfKey(key: string | undefined): KeyKind | undefined {
  if (key?.startsWith("app-")) return "app";
  return key?.startsWith("dataset-") ? "dataset" : undefined;
}

/** Rejects text that cannot be a key, without quoting it. Throws usage. */
export function checkKey(key: string, what: string): void {
  const problem = keyProblem(key);
  if (problem === undefined) return;
  throw usage(`${what} ${problem}`, "copy only the key again: one line, without quotes");
}
