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
    /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const plain = /^[ -~]*$/;
const emoji = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11ff]$/u;
// East Asian Width W and F of Unicode, as ranges: regular expressions know no such property.
const wide =
  /^[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\u3247\u3250-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]$/u;

const characterWidth = (character: string): number =>
  zeroWidth.test(character) ? 0 : wide.test(character) ? 2 : 1;

/** Width of what stands as one sign on the screen. A picture is one however many characters make it. */
function graphemeWidth(grapheme: string): number {
  if (emoji.test(grapheme)) return 2;
  let width = 0;
  for (const character of grapheme) width += characterWidth(character);
  return width;
}

/** Columns that a line of text takes on a terminal; counting ends above `limit`. */
export function widthOf(text: string, limit = Infinity): number {
  if (plain.test(text)) return text.length;
  // Only pictures are narrower than their characters, and finding graphemes is slow.
  if (!emoji.test(text)) return summed(text, characterWidth, limit);
  return summed(graphemesOf(text), graphemeWidth, limit);
}

function summed(parts: Iterable<string>, width: (part: string) => number, limit: number): number {
  let sum = 0;
  for (const part of parts) {
    sum += width(part);
    if (sum > limit) break;
  }
  return sum;
}

// Made when it is first needed: it takes 10 ms, and plain text does without.
let segmenter: Intl.Segmenter | undefined;

function* graphemesOf(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

/** The text if it fits into `width` columns, otherwise its start and an ellipsis. */
export function shorten(text: string, width: number): string {
  if (widthOf(text, width) <= width) return text;
  if (width < 1) return "";
  let start = "";
  let taken = 0;
  for (const grapheme of graphemesOf(text)) {
    taken += graphemeWidth(grapheme);
    if (taken > width - 1) break;
    start += grapheme;
  }
  return `${start}…`;
}

/** A line as lines of at most `width` columns, broken where the room ends. */
export function wrapped(line: string, width: number): string[] {
  if (widthOf(line, width) <= width) return [line];
  const lines: string[] = [];
  let [start, taken] = ["", 0];
  for (const grapheme of graphemesOf(line)) {
    const more = graphemeWidth(grapheme);
    if (taken + more > width) {
      lines.push(start);
      [start, taken] = ["", 0];
    }
    start += grapheme;
    taken += more;
  }
  return [...lines, start];
}

/**
 * Text filled with blanks to `width` columns, behind it or, aligned right, before it. `painted` is
 * the same text with colours, which take no room.
 */
export function pad(
  text: string,
  width: number,
  align: "left" | "right" = "left",
  painted = text,
): string {
  const blanks = " ".repeat(Math.max(0, width - widthOf(text)));
  return align === "left" ? painted + blanks : blanks + painted;
}

/** Colours; without colour the text as it is. Never the only sign of anything. */
export interface Colors {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

const same = (text: string): string => text;

/** The 16 base colours, or none. */
export async function colorsFor(color: boolean): Promise<Colors> {
  if (!color) return { bold: same, dim: same, red: same, green: same, yellow: same };
  const { Chalk } = await import("chalk");
  // An instance of our own: the default one looks at the process by itself.
  return new Chalk({ level: 1 });
}
