import { groupBy } from "../lib/collect.ts";
import { endOf, startOf, widthOf } from "./display-width.ts";

/** What stands for the part of a text that was cut out: one column, or three in ASCII. */
export const ellipsis = (unicode: boolean): string => (unicode ? "…" : "...");

/** A directory and the name after it: a text with a slash that has no blanks, or ends in an extension. */
const pathPattern = /^(?=\S+$|.*\.\w{1,5}$)(.*)([/\\])([^/\\]+)$/su;

/** Longer texts are not paths. */
const MAX_PATH = 1024;

/** The text if it fits into `width` columns; otherwise a path without its middle, or another text's start. */
export function cut(text: string, width: number, mark = "…"): string {
  if (widthOf(text, width) <= width) return text;
  const [, directory = "", slash = "", name] =
    (text.length < MAX_PATH && pathPattern.exec(text)) || [];
  return name === undefined
    ? startAndMark(text, width, mark)
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
  if (left < 2) return startAndMark(text, width, mark);
  const end = endOf(text, Math.ceil(left * 0.4));
  return `${startOf(text, left - widthOf(end))}${mark}${end}`;
}

const startAndMark = (text: string, width: number, mark: string): string =>
  width < mark.length ? startOf(text, width) : startOf(text, width - mark.length) + mark;

/** Texts cut to a width so that different texts stay different if the width allows it. */
export function cutDistinct(texts: readonly string[], width: number, mark = "…"): string[] {
  const cuts = new Map<string, string>();
  for (const text of texts) if (!cuts.has(text)) cuts.set(text, cut(text, width, mark));
  for (const alike of alikeTexts(cuts)) separate(alike, cuts, width, mark);
  return texts.map((text) => cuts.get(text) ?? text);
}

/** Groups of different texts that have the same cut. */
const alikeTexts = (cuts: ReadonlyMap<string, string>): string[][] =>
  [...groupBy(cuts.keys(), (text) => cuts.get(text)).values()].filter(({ length }) => length > 1);

/** Cuts texts that look alike so that they show where they differ. */
function separate(
  texts: readonly string[],
  cuts: Map<string, string>,
  width: number,
  mark: string,
): void {
  const shared = commonStart(texts);
  const cutFrom = (from: number) =>
    new Map(texts.map((text) => [text, cutAround(text, from, width, mark)]));
  let group = cutFrom(wordStart(texts[0] ?? "", shared));
  if (new Set(group.values()).size === 1) group = cutFrom(shared);
  for (const [text, short] of group) cuts.set(text, short);
  for (const alike of alikeTexts(group)) {
    if (alike.length < texts.length) separate(alike, cuts, width, mark);
  }
}

/** Characters of a word that may be repeated before a difference: `2025` instead of `5`. */
const MAX_REPEATED = 8;

/** Index of the word or number around an index, if it is near. */
function wordStart(text: string, index: number): number {
  const near = text.slice(Math.max(0, index - MAX_REPEATED - 1), index);
  const word = near.split(/[^\p{L}\p{N}]/u).at(-1) ?? "";
  return word.length > MAX_REPEATED ? index : index - word.length;
}

/** A text cut so that the part from the index `from` on is visible, and its start if there is room. */
function cutAround(text: string, from: number, width: number, mark: string): string {
  const rest = text.slice(from);
  const room = width - mark.length;
  if (room < 2) return startOf(rest, width);
  const before = widthOf(text.slice(0, from), room);
  // The difference is near the start: its surroundings and the end fit.
  if (before <= room / 2) {
    const end = endOf(text, Math.floor(room / 4));
    return startOf(text, room - widthOf(end)) + mark + end;
  }
  const restWidth = widthOf(rest, room);
  if (restWidth <= room) return startOf(text, room - restWidth) + mark + rest;
  const start = startOf(text, Math.floor(room / 4));
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
