import { usage } from "../errors.ts";

/** The two kinds of operations by what their key opens: knowledge bases, or one application. */
export type KeyKind = "dataset" | "app";

/** What a key opens, by its prefix: an access token opens chosen knowledge bases and applications (server §2.2). */
const prefixes: Readonly<Record<string, readonly KeyKind[]>> = {
  "app-": ["app"],
  "dataset-": ["dataset"],
  "sk-": ["dataset", "app"],
};

/** The prefix of a key, such as `app-`; undefined if it has none of those that servers issue. */
export const prefixOfKey = (key: string): string | undefined =>
  Object.keys(prefixes).find((prefix) => key.startsWith(prefix));

/** May a key open this kind of operations, by its prefix? One without a known prefix may open either. */
export const mayOpen = (key: string, kind: KeyKind): boolean =>
  prefixes[prefixOfKey(key) ?? ""]?.includes(kind) ?? true;

/** Is it a key of the newest kind, for several applications and knowledge bases (server §2.2)? */
export const isAccessToken = (key: string): boolean => prefixOfKey(key) === "sk-";

/** Does a text look like a key where something else is expected? */
export const looksLikeKey = (text: string): boolean =>
  prefixOfKey(text) !== undefined && /^[a-z]+-[\w-]{16,}$/.test(text);

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
