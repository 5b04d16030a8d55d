/** The characters that servers strip and split words at: white space as Python knows it. */
// oxlint-disable-next-line no-control-regex -- Python strips these, too
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

export const isSpace = (text: string, at: number): boolean => SPACE.test(text.charAt(at));

/** Where the characters of a class end, from a position on. */
export function endOfCharacters(text: string, from: number, characters: RegExp): number {
  let end = from;
  while (end < text.length && characters.test(text.charAt(end))) end++;
  return end;
}

/** A text without white space at its ends. */
export function strip(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text, end - 1)) end--;
  return text.slice(endOfCharacters(text.slice(0, end), 0, SPACE), end);
}
