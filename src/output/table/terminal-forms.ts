import type { Output } from "../../host/host.ts";
import { valueAt } from "../../lib/json.ts";
import { groupBy } from "../../lib/collect.ts";
import { groupDigits, sum } from "../../lib/numbers.ts";
import { countCharacters } from "../../lib/text.ts";
import { asText } from "../../operations/operation.ts";
import type { TerminalForm } from "../../operations/operation.ts";
import { cut, ellipsis, hang, pad, visible, widthOf, wrap } from "../display-width.ts";
import type { Colors } from "../display-width.ts";
import { colorOfStatus } from "../style.ts";
import { columnGap } from "./draw-table.ts";
import { textLine } from "./text-lines.ts";
import { cellText } from "./table.ts";
import type { TableField, TableStyle } from "./table.ts";

/**
 * Names of a group that are listed: all of a small one, or else the first ones. A failure can be seen
 * again, but not a deletion, which has no reason, so more of those are listed.
 */
const SMALL_GROUP = 10;
const LARGE_GROUP = 100;
const FIRST_NAMES = 5;

const listedNames = (reason: string): number => (reason === "" ? LARGE_GROUP : SMALL_GROUP);

/** Narrowest text beside the outcome. */
const MIN_TEXT_WIDTH = 20;

type ResultLabels = Extract<TerminalForm, { readonly form: "results" }>;

interface ResultGroup {
  readonly outcome: string;
  readonly reason: string;
  readonly kind: string;
  readonly advice: string;
  readonly color: keyof Colors | undefined;
  /** The first names. */
  readonly names: string[];
  count: number;
}

/**
 * Prints the results of a bulk command on a terminal, and resolves to their number: those that are not
 * routine, with whole names, grouped by outcome and reason. Unless they are live, they are printed at the
 * end, also if the rows end with an error.
 *
 *     failed  60 × not valid UTF-8 text: a.md, b.md, c.md, d.md, e.md, … (all: -o tsv)
 *     delete  it/page-003.md
 */
export async function printResults(
  rows: AsyncIterable<unknown>,
  labels: ResultLabels,
  fieldOf: (label: string) => TableField,
  { style, out }: { readonly style: TableStyle; readonly out: Output },
): Promise<number> {
  const groups = new Map<string, ResultGroup>();
  const write = async () => {
    const text = resultsText(mergedKinds([...groups.values()]), style);
    groups.clear();
    if (text !== "") await out.write(text);
  };
  let count = 0;
  try {
    for await (const row of rows) {
      count++;
      addResult(groups, row, labels, fieldOf);
      if (labels.live) await write();
    }
  } finally {
    await write();
  }
  return count;
}

function addResult(
  groups: Map<string, ResultGroup>,
  row: unknown,
  labels: ResultLabels,
  fieldOf: (label: string) => TableField,
): void {
  const text = (label: string | undefined) => {
    const value = label === undefined ? undefined : fieldOf(label).value(row);
    return value === null || value === undefined ? "" : visible(asText(value));
  };
  const outcome = text(labels.outcome);
  const [reason, kind, advice] = [text(labels.reason), text(labels.kind), text(labels.advice)];
  if (reason === "" && labels.routine.includes(outcome)) return;
  const key = JSON.stringify([outcome, reason, kind, advice]);
  const group = groups.get(key) ?? {
    outcome,
    reason,
    kind,
    advice,
    color: fieldOf(labels.outcome).color?.(row),
    names: [],
    count: 0,
  };
  groups.set(key, group);
  group.count++;
  if (group.names.length < listedNames(reason)) group.names.push(text(labels.name));
}

/** The groups, those of one kind as one where there are many: `cut-sentences (3 chunks will end …, and so on)`. */
function mergedKinds(groups: readonly ResultGroup[]): readonly ResultGroup[] {
  const kindOf = ({ outcome, kind }: ResultGroup) => JSON.stringify([outcome, kind]);
  const kinds = groupBy(groups, kindOf);
  return groups.flatMap((group) => {
    const { kind, reason } = group;
    const same = kinds.get(kindOf(group)) ?? [];
    if (kind === "" || same.length <= SMALL_GROUP) return group;
    if (group !== same[0]) return [];
    const names = same.flatMap((each) => each.names).slice(0, SMALL_GROUP);
    const count = sum(same.map((each) => each.count));
    return { ...group, reason: `${kind} (${reason}, …)`, names, count };
  });
}

function resultsText(groups: readonly ResultGroup[], style: TableStyle): string {
  const width = groups.reduce((most, { outcome }) => Math.max(most, widthOf(outcome)), 0);
  const indent = " ".repeat(width + columnGap.length);
  const available = Math.max(MIN_TEXT_WIDTH, style.columns - indent.length);
  const { colors, unicode } = style;
  return groups
    .map((group) => {
      const { outcome, color, advice } = group;
      const head = pad(outcome, width, "left", color && colors[color](outcome));
      const next = advice === "" ? [] : [`${unicode ? "→" : "->"} ${advice}`];
      // The terminal breaks a command without a line end, so that it can be copied.
      const isCommand = /^(kb|wf) /.test(advice);
      const lines = [
        ...wrap(groupText(group, unicode), available),
        ...(isCommand ? next : next.flatMap((text) => wrap(text, available))),
      ];
      return lines.map((line, at) => `${at === 0 ? head + columnGap : indent}${line}\n`).join("");
    })
    .join("");
}

function groupText({ reason, names, count }: ResultGroup, unicode: boolean): string {
  const [first = ""] = names;
  if (count === 1) return reason === "" ? first : `${first}: ${reason}`;
  const isSmall = count <= listedNames(reason);
  const more = `${ellipsis(unicode)} (all: -o tsv)`;
  const shown = isSmall ? names : [...names.slice(0, FIRST_NAMES), more];
  // A sentence of a server, before names.
  const why = reason.replace(/(?<=[^.])\.$/, "");
  const all = why === "" ? "" : ` ${unicode ? "×" : "x"} ${why}`;
  return `${groupDigits(count)}${all}: ${shown.join(", ")}`;
}

type CheckColumns = Extract<TerminalForm, { form: "checks" }>;

/** Signs of results; in ASCII the words themselves. */
const signs: Readonly<Record<string, string>> = {
  ok: "✓",
  yes: "✓",
  warning: "!",
  unknown: "?",
  problem: "✗",
  no: "✗",
};

/**
 * The result of a check as lines that are not wider than the terminal: sign, name and text, below them
 * what to do next.
 */
export function checkText(
  row: unknown,
  { result, name, text, next }: CheckColumns,
  fieldOf: (label: string) => TableField,
  style: TableStyle,
): string {
  const at = (label: string) => visible(cellText(fieldOf(label).value(row), style.times));
  const { unicode, colors, columns: width } = style;
  const word = at(result);
  const sign = (unicode ? signs[word] : undefined) ?? word;
  const color = colorOfStatus(word);
  const colored = color ? colors[color](sign) : sign;
  const [first = "", ...others] = hang(`${sign} `, `${at(name)}: ${at(text)}`, width);
  const step = next === undefined ? "" : at(next);
  const steps = step === "" ? [] : hang(`  ${unicode ? "→" : "->"} `, step, width);
  return [colored + first.slice(sign.length), ...others, ...steps]
    .map((line) => `${line}\n`)
    .join("");
}

/** Lines shown of a chunk. */
const SHOWN_LINES = 3;
const indent = "   ";

/** A search result: rank, score, its knowledge base among several, document and chunk, below them the lines around the best match. */
export function hitText(record: unknown, rank: number, query: string, style: TableStyle): string {
  const { colors, keepsAll, columns: width } = style;
  const words = queryWords(query);
  const lines = textOf(record)
    .split("\n")
    .filter((line) => line.trim() !== "")
    .flatMap((line) => wrap(line.trim(), Math.max(1, width - indent.length)));
  const shown = keepsAll ? lines : bestLines(lines, words);
  const head = headOf(record, rank, style);
  const gap = rank === 1 ? [] : [""];
  return [...gap, head, ...shown.map((line) => indent + marked(line, words, colors.bold))]
    .map((line) => `${line}\n`)
    .join("");
}

function headOf(record: unknown, rank: number, style: TableStyle): string {
  const { colors, unicode, columns: width } = style;
  const score = valueAt(record, "score");
  // Keyword search has no scores: the server sends 0.
  const shownScore = typeof score === "number" && score !== 0 ? score.toFixed(2) : "";
  const start = [String(rank), shownScore].filter((part) => part !== "").join("  ");
  const position = valueAt(record, "segment.position");
  const total = valueAt(record, "segment.document.segment_count");
  const of = typeof total === "number" ? `/${total}` : "";
  const chunk = typeof position === "number" ? `chunk ${position}${of}` : "";
  const names = [valueAt(record, "kb"), valueAt(record, "segment.document.name")];
  const name = visible(names.flatMap((each) => each ?? []).join(": "));
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
  const separated = String.raw`^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]`;
  const alternatives = words.map((word) => {
    const escaped = word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    return new RegExp(separated, "u").test(word) ? `(?<![\\p{L}\\p{N}])${escaped}` : escaped;
  });
  return new RegExp(alternatives.join("|"), "giu");
}

interface ShownChunk {
  readonly file: string;
  readonly position: number;
  readonly overlap: number;
  readonly content: string;
  readonly children?: readonly string[];
  readonly child_overlaps?: readonly number[];
}

/** A chunk, and indented its child chunks. A sign and its color mark the lines that repeat the one before. */
export function chunkText(row: unknown, style: TableStyle): string {
  const {
    file,
    position,
    overlap,
    content,
    children = [],
    child_overlaps = [],
  } = row as ShownChunk;
  const lines = (lead: string, text: string, tone?: "dim") =>
    (text === "" ? [] : visible(text, { newlines: true }).split("\n"))
      .map((line) => textLine({ lead, parts: [{ text: line, tone }] }, style))
      .join("");
  const shown = (lead: string, name: string, text: string, repeats: number) => {
    const start = Array.from(text.slice(0, 2 * repeats))
      .slice(0, repeats)
      .join("");
    const note = repeats > 0 ? `, ${repeats} of them repeated` : "";
    const head = lines(lead, `${name}: ${countCharacters(text)} characters${note}`);
    return (
      head.replace(/.+/g, (line) => style.colors.bold(line)) +
      lines(`${lead}${style.unicode ? "↑" : "^"} `, start.trimEnd(), "dim") +
      lines(`${lead}  `, text.slice(start.length).replace(/^\n+/, ""))
    );
  };
  const name = `${file} ${position}`;
  const inside = children.map((child, index) =>
    shown("    ", `${name}.${index + 1}`, child, child_overlaps[index] ?? 0),
  );
  return `${shown("", name, content, overlap)}${inside.join("")}\n`;
}
