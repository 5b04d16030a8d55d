import type { TextComparison } from "../report-model.ts";
import { pad, visible, widthOf, wrap } from "../display-width.ts";
import type { Colors } from "../display-width.ts";
import type { TableStyle } from "./table.ts";

/** Columns of a terminal on which two texts fit side by side. */
const MIN_WIDTH = 120;
/** Lines of each text; -o json has the rest. */
const MAX_LINES = 60;

/** A piece of a line, and whether the other text lacks it. */
interface Piece {
  readonly text: string;
  readonly isOwn: boolean;
}

/** What the parts of one text look like. */
interface Side {
  readonly name: "first" | "second";
  readonly marks: readonly [open: string, close: string];
  readonly color: keyof Colors;
}

const sides: readonly [Side, Side] = [
  { name: "first", marks: ["[-", "-]"], color: "red" },
  { name: "second", marks: ["{+", "+}"], color: "green" },
];

/**
 * Two texts in which the words that only one of them has are marked `[-so-]` and `{+so+}`: side by side
 * if the terminal has room, otherwise one below the other.
 */
export function comparedTexts(
  { titles, parts }: TextComparison,
  style: TableStyle,
  width: number,
): string {
  const isWide = width >= MIN_WIDTH && width !== Infinity && !style.accessible;
  const bar = style.unicode ? " │ " : " | ";
  const indent = "  ";
  const room = isWide ? Math.floor((width - bar.length) / 2) : width - indent.length;
  const [first, second] = sides.map((side) => sideLines(parts, side, room)) as [
    Piece[][],
    Piece[][],
  ];
  const drawn = (line: readonly Piece[] | undefined, { color }: Side) =>
    (line ?? []).map(({ text, isOwn }) => (isOwn ? style.colors[color](text) : text)).join("");
  if (!isWide)
    return [first, second]
      .flatMap((lines, index) => [
        `${titles[index] ?? ""}:`,
        ...lines.map((line) => indent + drawn(line, sides[index] ?? sides[0])),
      ])
      .map((line) => `${line}\n`)
      .join("");
  const count = Math.max(first.length, second.length);
  const rows = Array.from({ length: count }, (_, at) => {
    const left = drawn(first[at], sides[0]);
    return pad(plainOf(first[at]), room, "left", left) + bar + drawn(second[at], sides[1]);
  });
  const head = pad(titles[0], room, "left", style.colors.bold(titles[0]));
  return [head + bar + style.colors.bold(titles[1]), ...rows].map((row) => `${row}\n`).join("");
}

const plainOf = (line: readonly Piece[] = []): string => line.map(({ text }) => text).join("");

/** The lines of one text, none wider than `room`. */
function sideLines(parts: TextComparison["parts"], { name, marks }: Side, room: number): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const part of parts) {
    if (part.in !== "both" && part.in !== name) continue;
    const isOwn = part.in === name;
    const [open, close] = isOwn ? marks : ["", ""];
    // A mark encloses words, not the line ends between them.
    for (const [index, text] of visible(part.text, { newlines: true }).split("\n").entries()) {
      if (index > 0) lines.push([]);
      const words = text.trimEnd();
      if (words !== "") lines.at(-1)?.push({ text: open + words + close, isOwn });
      if (words !== text) lines.at(-1)?.push({ text: text.slice(words.length), isOwn: false });
    }
    if (lines.length > MAX_LINES) break;
  }
  const wrapped = lines.flatMap((line) => wrapPieces(line, room));
  if (wrapped.length <= MAX_LINES) return wrapped;
  return [...wrapped.slice(0, MAX_LINES), [{ text: "… (-o json shows all)", isOwn: false }]];
}

/** A line of pieces as lines of at most `room` columns. */
function wrapPieces(line: readonly Piece[], room: number): Piece[][] {
  const text = plainOf(line);
  if (widthOf(text, room) <= room) return [[...line]];
  let at = 0;
  return wrap(text, room).map((row) => {
    const from = at;
    at += row.length;
    const pieces = cut(line, from, at);
    if (text[at] === " ") at++; // wrap() drops the blank at which it breaks a line
    return pieces;
  });
}

/** The pieces between two offsets of their line. */
function cut(line: readonly Piece[], from: number, to: number): Piece[] {
  let start = 0;
  return line.flatMap(({ text, isOwn }) => {
    const own = text.slice(Math.max(0, from - start), Math.max(0, to - start));
    start += text.length;
    return own === "" ? [] : [{ text: own, isOwn }];
  });
}
