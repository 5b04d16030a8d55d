import { usage } from "../errors.ts";

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

/** Longer text is not a key but probably another file. */
const MAX_KEY_LENGTH = 4096;

/** Why a text cannot be a key, without quoting it: `is too long for a key (…)`; undefined if it can. */
export function keyProblem(key: string): string | undefined {
  if (key.length > MAX_KEY_LENGTH) return `is too long for a key (${key.length} characters)`;
  if (/[^\x21-\x7e]/.test(key)) return "contains spaces, line breaks or characters no key has";
  return undefined;
}
