/** A word for a POSIX shell, quoted only where it must be: `it's` → `'it'\''s'`. */
export const shellQuote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
