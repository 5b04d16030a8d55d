import type { Output } from "../../host/host.ts";
import { valueAt } from "../../lib/json.ts";
import { cut, ellipsis } from "../cut.ts";
import { visible, widthOf, wrap } from "../display-width.ts";
import { availableWidth } from "./table.ts";
import type { TableStyle } from "./table.ts";

/** Lines shown of a chunk. */
const SHOWN_LINES = 3;
const indent = "   ";

/** A search result: rank, score, document and chunk, below them the lines around the best match. */
export function hitText(
  record: unknown,
  rank: number,
  query: string,
  { style, out }: { readonly style: TableStyle; readonly out: Output },
): string {
  const { colors, keepsAll } = style;
  const width = availableWidth(out);
  const words = queryWords(query);
  const lines = textOf(record)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .flatMap((line) => wrap(line.trim(), Math.max(1, width - indent.length)));
  const shown = keepsAll ? lines : bestLines(lines, words);
  const head = headOf(record, rank, width, style);
  return [head, ...shown.map((line) => indent + marked(line, words, colors.bold))]
    .map((line) => `${line}\n`)
    .join("");
}

function headOf(record: unknown, rank: number, width: number, style: TableStyle): string {
  const { colors, unicode } = style;
  const score = valueAt(record, "score");
  // Keyword search has no scores: the server sends 0.
  const shownScore = typeof score === "number" && score !== 0 ? score.toFixed(2) : "";
  const start = [String(rank), shownScore].filter((part) => part !== "").join("  ");
  const position = valueAt(record, "segment.position");
  const total = valueAt(record, "segment.document.segment_count");
  const of = typeof total === "number" ? `/${total}` : "";
  const chunk = typeof position === "number" ? `chunk ${position}${of}` : "";
  const name = visible(String(valueAt(record, "segment.document.name") ?? ""));
  const room = width - widthOf(start) - widthOf(chunk) - 4;
  const shownName = cut(name, Math.max(1, room), ellipsis(unicode));
  return [start, colors.bold(shownName), chunk].filter((part) => part !== "").join("  ");
}

/** Text of a chunk without front matter, with its answer in a question-and-answer document. */
function textOf(record: unknown): string {
  const text = (path: string) => {
    const value = valueAt(record, path);
    return typeof value === "string" ? visible(value, { newlines: true }) : "";
  };
  const content = text("segment.content").replace(/^---\n.*?\n(?:---|\.\.\.)\n/s, "");
  return `${content}\n${text("segment.answer")}`;
}

/** Words of a query in lower case, longest first. */
function queryWords(query: string): readonly string[] {
  const segments = new Intl.Segmenter(undefined, { granularity: "word" }).segment(query);
  const words = [...segments].filter(({ isWordLike }) => isWordLike);
  const texts = new Set(words.map(({ segment }) => visible(segment)));
  return [...texts].sort((one, other) => other.length - one.length);
}

/** The lines with the most different words of the query, around the one with the most of them. */
function bestLines(lines: readonly string[], words: readonly string[]): readonly string[] {
  if (lines.length <= SHOWN_LINES) return lines;
  const found = lines.map((line) => new Set(matchesOf(line, words)));
  let best = { start: 0, inAll: 0, inMiddle: 0 };
  for (let start = 0; start + SHOWN_LINES <= lines.length; start++) {
    const shown = found.slice(start, start + SHOWN_LINES);
    const inAll = new Set(shown.flatMap((each) => [...each])).size;
    const inMiddle = shown[1]?.size ?? 0;
    const isBetter = inAll > best.inAll || (inAll === best.inAll && inMiddle > best.inMiddle);
    if (isBetter) best = { start, inAll, inMiddle };
  }
  return lines.slice(best.start, best.start + SHOWN_LINES);
}

const matchesOf = (line: string, words: readonly string[]): string[] => {
  const pattern = wordPattern(words);
  return pattern ? [...line.matchAll(pattern)].map(([word]) => word.toLowerCase()) : [];
};

const marked = (line: string, words: readonly string[], bold: (text: string) => string): string => {
  const pattern = wordPattern(words);
  return pattern ? line.replace(pattern, (word) => bold(word)) : line;
};

/** Matches the words where words begin, or anywhere in scripts without blanks; undefined without words. */
function wordPattern(words: readonly string[]): RegExp | undefined {
  if (words.length === 0) return undefined;
  const alternatives = words.map((word) => {
    const escaped = word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    return /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]/u.test(word)
      ? `(?<![\\p{L}\\p{N}])${escaped}`
      : escaped;
  });
  return new RegExp(alternatives.join("|"), "giu");
}
