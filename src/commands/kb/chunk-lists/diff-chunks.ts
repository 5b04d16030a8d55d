import { hasSameWords } from "./plan-chunks.ts";
import { chunkHash, isCarried } from "./stored-chunk.ts";
import type { StoredChunk } from "./stored-chunk.ts";

/** A difference of two lists of chunks; null if a side lacks the value. */
export interface ChunkDifference {
  /** `chunk 3`, `chunk 3 answer`, `order of chunks`. */
  readonly name: string;
  readonly a: unknown;
  readonly b: unknown;
  /** Can an import as is make the second list like the first in this? */
  readonly isCarried: boolean;
}

/** How far two lists that differ are searched for the next chunk that both have. */
const MAX_AHEAD = 20;

/** Numbers of chunks to skip on both sides, the fewest first, and as many on each if possible. */
const skips = Array.from({ length: (MAX_AHEAD + 1) ** 2 }, (_, at) => ({
  a: at % (MAX_AHEAD + 1),
  b: Math.floor(at / (MAX_AHEAD + 1)),
})).sort((x, y) => x.a + x.b - (y.a + y.b) || Math.abs(x.a - x.b) - Math.abs(y.a - y.b));

/** A chunk of each list, or of one. */
type Pair = readonly [StoredChunk | undefined, StoredChunk | undefined];

/**
 * The differences between two lists of chunks: the changes that would make the second like the first. Chunks
 * are compared in order, edited ones with those between the same neighbors. `summaries`: do both sides have a
 * model for summaries?
 */
export function* diffChunks(
  a: readonly StoredChunk[],
  b: readonly StoredChunk[],
  { summaries }: { readonly summaries: boolean },
): Generator<ChunkDifference> {
  if (isReordered(a, b))
    yield { name: "order of chunks", a: positions(a), b: positions(b), isCarried: true };
  else for (const pair of pairsOf(a, b)) yield* diffPair(pair, summaries);
}

/** Do two lists have the same chunks in another order? */
function isReordered(a: readonly StoredChunk[], b: readonly StoredChunk[]): boolean {
  const [one, other] = [a.map(chunkHash), b.map(chunkHash)];
  return (
    JSON.stringify(one) !== JSON.stringify(other) &&
    JSON.stringify(one.sort()) === JSON.stringify(other.sort())
  );
}

/** The beginnings of chunks in their order. */
const positions = (chunks: readonly StoredChunk[]): string =>
  chunks
    .slice(0, MAX_AHEAD)
    .map(({ content }) => content.slice(0, 20))
    .join(" | ");

function* pairsOf(a: readonly StoredChunk[], b: readonly StoredChunk[]): Generator<Pair> {
  let [at, bt] = [0, 0];
  while (at < a.length || bt < b.length) {
    const next = skips.find((skip) => isSame(a[at + skip.a], b[bt + skip.b]));
    const [left, right] = [
      a.slice(at, at + (next?.a ?? a.length)),
      b.slice(bt, bt + (next?.b ?? b.length)),
    ];
    yield* editedPairs(left, right);
    at += left.length;
    bt += right.length;
    if (next) yield [a[at++], b[bt++]];
  }
}

const isSame = (a: StoredChunk | undefined, b: StoredChunk | undefined): boolean =>
  a !== undefined && b !== undefined && a.content === b.content;

/** Pairs chunks without an equal one by their order; those that cannot be imported are alone. */
function* editedPairs(a: readonly StoredChunk[], b: readonly StoredChunk[]): Generator<Pair> {
  const [left, right] = [a.filter(isCarried), b.filter(isCarried)];
  for (const chunk of a) if (!isCarried(chunk)) yield [chunk, undefined];
  for (const chunk of b) if (!isCarried(chunk)) yield [undefined, chunk];
  for (let at = 0; at < Math.max(left.length, right.length); at++) yield [left[at], right[at]];
}

function* diffPair([a, b]: Pair, summaries: boolean): Generator<ChunkDifference> {
  const name = `chunk ${(a ?? b)?.position}`;
  if (!a || !b) {
    const only = a ?? b;
    if (!only) return;
    const values = { a: a?.content ?? null, b: b?.content ?? null };
    return yield { name, ...values, isCarried: isCarried(only) };
  }
  const parts: readonly (readonly [part: string, a: unknown, b: unknown, isCarried: boolean])[] = [
    ["content", a.content, b.content, true],
    ["answer", a.answer, b.answer, true],
    ["keywords", ...wordsOf(a, b), a.keywords.length > 0],
    ["enabled", a.enabled, b.enabled, a.status !== "error" && b.status !== "error"],
    ["child chunks", contents(a), contents(b), true],
    ["summary", a.summary, b.summary, summaries && Boolean(a.summary)],
    // Exports before version 2 have neither.
    ["status", ...known(a.status, b.status), false],
    ["kinds of child chunks", ...kindsOf(a, b), false],
    ["attachments", a.attachments, b.attachments, false],
  ];
  for (const [part, left, right, carried] of parts)
    if (JSON.stringify(left) !== JSON.stringify(right))
      yield {
        name: part === "content" ? name : `${name} ${part}`,
        a: left,
        b: right,
        isCarried: carried,
      };
}

/** The keywords of two chunks; the same ones if only their order differs. */
const wordsOf = (a: StoredChunk, b: StoredChunk) =>
  hasSameWords(a.keywords, b.keywords)
    ? ([null, null] as const)
    : ([a.keywords.join(", "), b.keywords.join(", ")] as const);

const contents = ({ children }: StoredChunk) => children.map(({ content }) => content);

/** Two values, of which neither is unknown; else twice the same. */
const known = <T>(a: T | null, b: T | null) =>
  a === null || b === null ? ([null, null] as const) : ([a, b] as const);

/** The kinds of the child chunks of two chunks with the same ones. */
const kindsOf = (a: StoredChunk, b: StoredChunk) => {
  const [left, right] = [a, b].map(({ children }) => children.map(({ type }) => type));
  const isKnown =
    left?.length === right?.length && ![...(left ?? []), ...(right ?? [])].includes(null);
  return isKnown ? ([left, right] as const) : ([null, null] as const);
};
