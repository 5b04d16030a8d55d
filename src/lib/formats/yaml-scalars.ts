/** Characters that do not show what they are: controls, line separators, half pairs, bidi controls. */
const unsafe = /(?!\n)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff\ufffe\uffff]/u;

/**
 * Whether a text needs double quotes: for characters to escape, because it is blank lines alone, or as
 * YAML 1.1 gives it a meaning that the library does not know.
 */
export const needsQuotes = (text: string): boolean =>
  unsafe.test(text) || text === "=" || text === "<<" || (text.includes("\n") && text.trim() === "");

/** YAML in which such characters are escaped; they must be between double quotes. */
export const escapeUnsafe = (yaml: string): string =>
  yaml.replace(
    new RegExp(unsafe, "gu"),
    (match) => `\\u${match.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
