// U+2028 and U+2029 end lines too; half of a surrogate pair is no character.
const unsafe = /\r\n|[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Text from a server made safe to show: control and bidi characters become visible ones, a line end
 * becomes ⏎. With `newlines` line ends stay and tabs become blanks.
 */
export function visible(
  text: string,
  { newlines = false }: { readonly newlines?: boolean } = {},
): string {
  return text.replace(unsafe, (found) => {
    if (found === "\n" || found === "\r\n") return newlines ? "\n" : "⏎";
    if (found === "\t" && newlines) return "    ";
    const code = found.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code); // ␀ … ␟, pictures of the controls
    if (code === 0x7f) return "␡";
    return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

/** JSON text in which control and bidi characters are written as `\u` escapes; line ends stay. */
export const escaped = (json: string): string =>
  json.replace(
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const plain = /^[ -~]*$/;
const emoji = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11ff]$/u;
// East Asian Width W and F of Unicode, as ranges: regular expressions know no such property.
const wide =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]$/u;

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

function graphemeWidth(grapheme: string): number {
  if (emoji.test(grapheme)) return 2; // one picture, however many characters are joined in it
  let width = 0;
  for (const character of grapheme) {
    width += zeroWidth.test(character) ? 0 : wide.test(character) ? 2 : 1;
  }
  return width;
}

/** Columns that a line of text takes on a terminal; counting ends above `limit`. */
export function widthOf(text: string, limit = Infinity): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += graphemeWidth(segment);
    if (width > limit) break;
  }
  return width;
}

/** The text if it fits into `width` columns, otherwise its start and an ellipsis. */
export function shorten(text: string, width: number): string {
  if (widthOf(text, width) <= width) return text;
  if (width < 1) return "";
  let taken = 0;
  let end = 0;
  for (const { segment, index } of segmenter.segment(text)) {
    taken += graphemeWidth(segment);
    end = index;
    if (taken > width - 1) break;
  }
  return `${text.slice(0, end)}…`;
}

/** Text filled with blanks to `width` columns. */
export function pad(text: string, width: number, side: "left" | "right"): string {
  const blanks = " ".repeat(Math.max(0, width - widthOf(text)));
  return side === "left" ? blanks + text : text + blanks;
}

/** Colours; without colour the text as it is. Never the only sign of anything. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

const same = (text: string): string => text;

/** The 16 base colours, or none. */
export async function paintFor(color: boolean): Promise<Paint> {
  if (!color) return { bold: same, dim: same, red: same, green: same, yellow: same };
  const { Chalk } = await import("chalk");
  // An instance of our own: the default one looks at the process by itself.
  return new Chalk({ level: 1 });
}
