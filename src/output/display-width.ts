import { groupBy } from "../lib/collect.ts";
import { controls, plain, visible } from "../lib/text.ts";
import { graphemeWidth, graphemesOf, widthOf } from "./text-width.ts";

export { plain, visible, widthOf };

const escaped = new RegExp(String.raw`(?!\n)[${controls}]`, "g");

/** JSON text in which control and bidi characters are written as `\u` escapes; line ends stay. */
export const escapeControls = (json: string): string =>
  json.replace(escaped, (match) => `\\u${match.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Characters of a text that are enough to fill the columns: only few have no width. */
const charactersOf = (columns: number): number => 4 * Math.max(0, columns) + 64;

/** The longest start of a text that fits into `width` columns. */
export function startOf(text: string, width: number): string {
  if (plain.test(text)) return text.slice(0, Math.max(0, width));
  let start = "";
  let used = 0;
  for (const grapheme of graphemesOf(text)) {
    used += graphemeWidth(grapheme);
    if (used > width) break;
    start += grapheme;
  }
  return start;
}

/** The longest end of a text that fits into `width` columns. */
export function endOf(text: string, width: number): string {
  if (plain.test(text)) return width > 0 ? text.slice(-width) : "";
  let end = "";
  let used = 0;
  for (const grapheme of [...graphemesOf(text.slice(-charactersOf(width)))].reverse()) {
    used += graphemeWidth(grapheme);
    if (used > width) break;
    end = grapheme + end;
  }
  return end;
}

/** The text if it fits into `width` columns, otherwise its start and the mark. */
export function shorten(text: string, width: number, mark = "…"): string {
  if (widthOf(text, width) <= width) return text;
  return width < mark.length ? startOf(text, width) : startOf(text, width - mark.length) + mark;
}

/**
 * A line as lines of at most `columns` columns, broken at blanks where it has any. Fewer than one count
 * as one: what is left of a narrow terminal beside an indent.
 */
export function wrap(line: string, columns: number): string[] {
  const width = Math.max(1, columns);
  const lines: string[] = [];
  let rest = line;
  for (;;) {
    const next = rest.slice(0, charactersOf(width));
    if (next.length === rest.length && widthOf(rest, width) <= width) return [...lines, rest];
    const start = startOf(next, width) || (graphemesOf(next).next().value ?? "");
    // A blank right after the start ends a word, too.
    const blank = rest[start.length] === " " ? start.length : start.lastIndexOf(" ");
    const end = blank > 0 && start.slice(0, blank).trim() !== "" ? blank : start.length;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end === blank ? end + 1 : end);
  }
}

/** Before the further lines of what is broken. */
export const indent = "    ";

/** A command in backticks or a word, with the blanks before it. */
const messageWord = /\s*(?:`[^`]*`|[^\s`]|`)+/gu;

/**
 * A message on lines of at most `width` columns that end at blanks. Commands and words are never
 * broken, since they are copied: one that is wider than a line is left to the terminal.
 */
export function wrapMessage(text: string, width: number): string {
  const message = text.trimEnd();
  const rows = [""];
  let used = 0;
  for (const [word] of message.matchAll(messageWord)) {
    const columns = widthOf(word);
    const start = word.trimStart();
    const whole = indent.length + widthOf(start);
    if (used > 0 && used + columns > width && whole <= width) {
      rows.push(indent + start);
      used = whole;
      continue;
    }
    rows.push(rows.pop() + word);
    used += columns;
    if (used > width) used %= width;
  }
  return rows.join("\n") + text.slice(message.length);
}

/** A text on lines of at most `width` columns after its lead, by which the further ones are indented. */
export function hang(lead: string, text: string, width: number): string[] {
  const indent = " ".repeat(widthOf(lead));
  return wrap(text, width - indent.length).map((row, at) => (at === 0 ? lead : indent) + row);
}

/** Text padded with spaces to `width` columns. `colored` is the text with colors, which have no width. */
export function pad(
  text: string,
  width: number,
  align: "left" | "right" = "left",
  colored = text,
): string {
  const padding = " ".repeat(Math.max(0, width - widthOf(text)));
  return align === "left" ? colored + padding : padding + colored;
}

/** Functions that color a text, or return it unchanged. Color is never the only sign of a meaning. */
export interface Colors {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
}

const same = (text: string): string => text;

/** The 16 base colors, or none. */
export async function colorsFor(color: boolean): Promise<Colors> {
  if (!color) return { bold: same, dim: same, red: same, green: same, yellow: same };
  const { Chalk } = await import("chalk");
  // The default instance would detect color support from the process.
  return new Chalk({ level: 1 });
}

/** What stands for the part of a text that was cut out: one column, or three in ASCII. */
export const ellipsis = (unicode: boolean): string => (unicode ? "…" : "...");

/** A directory and the name after it: a text with a slash that has no blanks, or ends in an extension. */
const pathPattern = /^(?=\S+$|.*\.\w{1,5}$)(.*)([/\\])([^/\\]+)$/su;

const MAX_PATH = 1024;

/** The text if it fits into `width` columns; otherwise a path without its middle, or another text's start. */
export function cut(text: string, width: number, mark = "…"): string {
  if (widthOf(text, width) <= width) return text;
  const [, directory = "", slash = "", name] =
    (text.length < MAX_PATH && pathPattern.exec(text)) || [];
  return name === undefined
    ? shorten(text, width, mark)
    : cutPath({ directory, slash, name }, width, mark);
}

/** `policies/human-resources/parental-leave-1.md` in 24 columns: `policie…/parental-…-1.md`. */
function cutPath(
  { directory, slash, name }: { directory: string; slash: string; name: string },
  width: number,
  mark: string,
): string {
  const left = width - mark.length - slash.length;
  const room = left - widthOf(name, left);
  if (room >= 0) return `${startOf(directory, room)}${mark}${slash}${name}`;
  const start = `${startOf(directory, Math.floor(width / 4) - mark.length)}${mark}${slash}`;
  return width < 16
    ? cutMiddle(name, width, mark)
    : start + cutMiddle(name, width - widthOf(start), mark);
}

function cutMiddle(text: string, width: number, mark: string): string {
  if (widthOf(text, width) <= width) return text;
  const left = width - mark.length;
  if (left < 2) return shorten(text, width, mark);
  const end = endOf(text, Math.ceil(left * 0.4));
  return `${startOf(text, left - widthOf(end))}${mark}${end}`;
}

/** Texts cut to a width so that different texts stay different if the width allows it. */
export function cutDistinct(texts: readonly string[], width: number, mark = "…"): string[] {
  const cuts = new Map(texts.map((text) => [text, cut(text, width, mark)]));
  separate(cuts, width, mark);
  return texts.map((text) => cuts.get(text) ?? text);
}

/** Cuts texts that look alike so that they show where they differ. */
function separate(cuts: Map<string, string>, width: number, mark: string): void {
  for (const alike of groupBy(cuts.keys(), (text) => cuts.get(text)).values()) {
    if (alike.length === 1) continue;
    const shared = commonStart(alike);
    const cutFrom = (from: number) =>
      new Map(alike.map((text) => [text, cutAround(text, from, width, mark)]));
    const lastWord = new RegExp(String.raw`(?<![\p{L}\p{N}])[\p{L}\p{N}]{1,8}$`, "u");
    // A word or number that is near its beginning is shown whole: `2025` instead of `5`.
    const begun = lastWord.exec(alike[0]?.slice(0, shared) ?? "");
    let group = cutFrom(begun?.index ?? shared);
    if (new Set(group.values()).size === 1) group = cutFrom(shared);
    if (new Set(group.values()).size > 1) separate(group, width, mark);
    for (const [text, short] of group) cuts.set(text, short);
  }
}

/** A text cut so that the part from the index `from` on is visible, and its start if there is room. */
function cutAround(text: string, from: number, width: number, mark: string): string {
  const rest = text.slice(from);
  const room = width - mark.length;
  if (room < 2) return startOf(rest, width);
  const free = Math.max(Math.floor(room / 4), room - widthOf(rest, room));
  const start = startOf(text.slice(0, from), free);
  return start + mark + cutMiddle(rest, room - widthOf(start), mark);
}

/** Characters that all texts start with; not half of a surrogate pair. */
function commonStart(texts: readonly string[]): number {
  const [first = "", ...others] = texts;
  let length = first.length;
  for (const other of others) {
    let same = 0;
    while (same < length && first[same] === other[same]) same++;
    length = same;
  }
  return /[\uD800-\uDBFF]/.test(first[length - 1] ?? "") ? length - 1 : length;
}

/** Characters that a short ID has at least. */
const SHORT_ID = 8;

/** Length of the starts that tell IDs apart: at least 8. */
export function shortIdLength(ids: readonly string[]): number {
  const sorted = [...new Set(ids)].sort();
  let length = SHORT_ID;
  for (const [index, id] of sorted.entries()) {
    length = Math.max(length, commonStart([id, sorted[index + 1] ?? ""]) + 1);
  }
  return length;
}
