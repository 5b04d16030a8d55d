/** Longer text is not a key but probably another file. */
const MAX_KEY_LENGTH = 4096;

/** Why a text cannot be a key, without quoting it: `is too long for a key (…)`; undefined if it can. */
export function keyProblem(key: string): string | undefined {
  if (key.length > MAX_KEY_LENGTH) return `is too long for a key (${key.length} characters)`;
  if (/[^\x21-\x7e]/.test(key)) return "contains spaces, line breaks or characters no key has";
  return undefined;
}
