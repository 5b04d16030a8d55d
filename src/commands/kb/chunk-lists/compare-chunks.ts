import type { KbSettings } from "../documents/index.ts";
import { isCarried, chunkHash } from "./stored-chunk.ts";
import type { StoredChunk, ExistingChunk } from "./stored-chunk.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** What the chunks of a knowledge base can have. */
export interface ChunkRules {
  /** The form of its documents. */
  readonly doc_form: string | null;
  /** Has it a model for summaries? Without one, the server stores none. */
  readonly summaries: boolean;
}

/** The rules of chunks of a form in a knowledge base with these settings. */
export const chunkRules = (
  settings: Pick<KbSettings, "indexing_technique" | "summary_index_setting">,
  doc_form: string | null,
): ChunkRules => ({
  doc_form,
  summaries:
    settings.indexing_technique === "high_quality" && settings.summary_index_setting !== null,
});

/** A request that makes chunks equal to stored ones. */
export type ChunkStep =
  | {
      readonly action: "update" | "keywords" | "summarize" | "disable";
      readonly id: string;
      readonly to: StoredChunk;
    }
  | { readonly action: "append"; readonly to: StoredChunk }
  | { readonly action: "delete"; readonly id: string }
  | {
      readonly action: "update child";
      readonly parent: string;
      readonly id: string;
      readonly content: string;
    }
  | { readonly action: "append child"; readonly parent: string; readonly content: string }
  | { readonly action: "delete child"; readonly parent: string; readonly id: string };

/**
 * The order of steps. Child chunks come after their parents, since a new parent is split into child chunks
 * at once; the list is read again before each phase. Keywords are sent once the content is as stored, and a disabled
 * chunk cannot be changed, so that is last (server §9.7).
 */
const phases = {
  update: 0,
  append: 0,
  delete: 0,
  keywords: 1,
  "update child": 1,
  "append child": 1,
  "delete child": 1,
  summarize: 2,
  disable: 3,
} as const satisfies Record<ChunkStep["action"], number>;

/** The steps of a plan that come first, all of one phase. */
export function firstPhase(steps: readonly ChunkStep[]): readonly ChunkStep[] {
  const first = steps.reduce((least, { action }) => Math.min(least, phases[action]), Infinity);
  return steps.filter(({ action }) => phases[action] === first);
}

/**
 * Plans what makes the chunks of a document equal to stored ones; pure. Chunks can be added only at the end:
 * existing ones are updated in place, in order, missing ones are appended, and those that are too many deleted.
 * A chunk that is as stored needs nothing.
 */
export function planChunks(
  stored: readonly StoredChunk[],
  existing: readonly ExistingChunk[],
  rules: ChunkRules,
): readonly ChunkStep[] {
  return stepsFor(align(stored.filter(isCarried), existing, isSameText), rules);
}

/** Stored chunks with the existing ones that they are for, and those that are missing or too many. */
interface Aligned<S, E> {
  readonly pairs: readonly (readonly [S, E])[];
  readonly missing: readonly S[];
  readonly surplus: readonly E[];
}

/** The steps that make each existing chunk like the stored one that it is for; pure. */
export function stepsFor(
  { pairs, missing, surplus }: Aligned<StoredChunk, ExistingChunk>,
  rules: ChunkRules,
): readonly ChunkStep[] {
  const steps = pairs.map(([to, chunk]) => ({
    to,
    chunk,
    children: rules.doc_form === "hierarchical_model" ? childSteps(to, chunk) : [],
    summary: rules.summaries && Boolean(to.summary) && to.summary !== chunk.summary,
    keywords: to.keywords.length > 0 && !hasSameWords(to.keywords, chunk.keywords), // none removes none
  }));
  const updated = new Set(
    steps
      .filter(({ to, chunk, children, summary, keywords }) => {
        const isOff = !chunk.enabled && (to.enabled || children.length > 0 || summary || keywords);
        const isSame =
          rules.doc_form === "qa_model" ? isSameText(to, chunk) : isSameContent(to, chunk);
        return isOff || !isSame || chunk.status === "error";
      })
      .map(({ chunk }) => chunk.id),
  );
  return [
    ...steps.flatMap(({ to, chunk: { id } }) =>
      updated.has(id) ? [{ action: "update", id, to } as const] : [],
    ),
    ...steps.flatMap(({ to, keywords, chunk: { id } }) =>
      keywords ? [{ action: "keywords", id, to } as const] : [],
    ),
    ...missing.map((to) => ({ action: "append", to }) as const),
    ...surplus.map(({ id }) => ({ action: "delete", id }) as const),
    ...steps.flatMap(({ children }) => children),
    ...steps.flatMap(({ to, summary, chunk: { id } }) =>
      summary ? [{ action: "summarize", id, to } as const] : [],
    ),
    ...steps.flatMap(({ to, chunk: { id, enabled } }) =>
      !to.enabled && (enabled || updated.has(id)) ? [{ action: "disable", id, to } as const] : [],
    ),
  ];
}

/** The steps for the child chunks of one chunk. */
function childSteps(to: StoredChunk, { id: parent, children }: ExistingChunk): ChunkStep[] {
  const { pairs, missing, surplus } = align(to.children, children, isSameContent);
  return [
    ...pairs.flatMap(([{ content }, child]): ChunkStep[] =>
      content === child.content ? [] : [{ action: "update child", parent, id: child.id, content }],
    ),
    ...missing.map(({ content }): ChunkStep => ({ action: "append child", parent, content })),
    ...surplus.map(({ id }): ChunkStep => ({ action: "delete child", parent, id })),
  ];
}

/** Existing items that may be deleted to reach the next one that is as stored, even if others are appended then. */
const MAX_SKIPPED = 20;

/**
 * Pairs stored with existing items in order. Existing ones are surplus if to delete them, and to append as many at
 * the end as are missing then, costs less than to change all that follow.
 */
function align<S, E>(
  stored: readonly S[],
  existing: readonly E[],
  isSame: (stored: S, existing: E) => boolean,
): Aligned<S, E> {
  const pairs: (readonly [S, E])[] = [];
  const surplus: E[] = [];
  let at = 0;
  const isRun = (from: number, length: number) => {
    for (let index = 0; index < length; index++) {
      const [item, other] = [stored[pairs.length + index], existing[from + index]];
      if (item === undefined || other === undefined || !isSame(item, other)) return false;
    }
    return true;
  };
  for (const item of stored) {
    const excess = existing.length - at - (stored.length - pairs.length);
    const most = Math.max(excess, MAX_SKIPPED);
    let skipped = 0;
    while (skipped <= most && !isRun(at + skipped, skipped > excess ? skipped + 1 : 1)) skipped++;
    if (skipped > most) skipped = 0;
    for (const item of existing.slice(at, at + skipped)) surplus.push(item);
    const pair = existing[at + skipped];
    if (pair === undefined) break;
    pairs.push([item, pair]);
    at += skipped + 1;
  }
  return {
    pairs,
    missing: stored.slice(pairs.length),
    surplus: [...surplus, ...existing.slice(at)],
  };
}

const isSameText = (a: StoredChunk, b: StoredChunk): boolean =>
  a.content === b.content && a.answer === b.answer;

/** The names of the parts in which a chunk is to differ: `content, keywords`. */
export const partsThatDiffer = (to: StoredChunk, chunk: StoredChunk): string =>
  (["content", "answer", "keywords", "enabled", "summary"] as const)
    .filter((part) => stringifyJson(to[part]) !== stringifyJson(chunk[part]))
    .join(", ");

type HasContent = Pick<StoredChunk, "content">;
const isSameContent = (a: HasContent, b: HasContent): boolean => a.content === b.content;

/** Are these the same words, in whatever order? */
export const hasSameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && stringifyJson(a.toSorted()) === stringifyJson(b.toSorted());

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
    stringifyJson(one) !== stringifyJson(other) &&
    stringifyJson(one.sort()) === stringifyJson(other.sort())
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
    const next = skips.find((skip) => {
      const [one, other] = [a[at + skip.a], b[bt + skip.b]];
      return one && other && isSameContent(one, other);
    });
    const left = a.slice(at, at + (next?.a ?? a.length));
    const right = b.slice(bt, bt + (next?.b ?? b.length));
    yield* editedPairs(left, right);
    at += left.length;
    bt += right.length;
    if (next) yield [a[at++], b[bt++]];
  }
}

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
  const named = (part: string) => ({ name: part === "content" ? name : `${name} ${part}` });
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
    if (stringifyJson(left) !== stringifyJson(right))
      yield { ...named(part), a: left, b: right, isCarried: carried };
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
