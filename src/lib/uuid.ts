/** Is the text a UUID, of any version and case? */
export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** Characters of a UUID that are enough to look it up. */
const MIN_PREFIX = 8;

/** Is the text the beginning of a UUID, long enough to stand for it? */
export const isIdPrefix = (text: string): boolean =>
  text.length >= MIN_PREFIX &&
  isUuid(`${text}${"00000000-0000-0000-0000-000000000000".slice(text.length)}`);
