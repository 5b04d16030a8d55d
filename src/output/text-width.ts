// Imports nothing: a package gets it in the place of another (scripts/replaced.mjs).

// Made on first use: as literals, they would take each start 2 ms, even unused (`patternOf` in lib/text.ts).
let emoji: RegExp | undefined;
let withoutWidth: RegExp | undefined;

function hasEmoji(text: string): boolean {
  emoji ??= new RegExp(String.raw`\p{Emoji_Presentation}|(?<=\p{Emoji})\ufe0f`, "u");
  return emoji.test(text);
}

// Ranges of East Asian Width W and F in Unicode, which regular expressions have no property for. A
// test compares them with string-width, which is 10 times slower and takes 30 ms to load.
const wide =
  /[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\u3247\u3250-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/gu;

/** Columns of a text without emoji. */
function columnsOf(text: string): number {
  withoutWidth ??= new RegExp(String.raw`[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11ff]`, "gu");
  return text
    .replace(withoutWidth, "")
    .replace(wide, "xx")
    .replace(/[\u{10000}-\u{10ffff}]/gu, "x").length;
}

/** Width of a grapheme. An emoji takes two columns, of however many characters it consists. */
export const graphemeWidth = (grapheme: string): number =>
  hasEmoji(grapheme) ? 2 : columnsOf(grapheme);

/** Columns of a line of text on a terminal; may stop counting above `limit`. */
export function widthOf(text: string, limit = Infinity): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  // Only emoji are narrower than their characters, and splitting into graphemes is slow.
  if (!hasEmoji(text)) return columnsOf(text);
  let width = 0;
  for (const grapheme of graphemesOf(text)) {
    width += graphemeWidth(grapheme);
    if (width > limit) break;
  }
  return width;
}

// Created on demand: it takes 10 ms, and ASCII does not need it.
let segmenter: Intl.Segmenter | undefined;

/** The characters of a text as a reader sees them. */
export function* graphemesOf(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}
