import { firstNames, unicodeForm } from "../../../../lib/text.ts";
import { segmentsOf, sentencesIn } from "../../../../lib/word-diff.ts";
import type { CitedChunk } from "../../../../runs/trace.ts";
import type {
  SuiteContext,
  SuiteSupport,
  Suite,
  SuiteSearch,
  SuiteTest,
} from "../../suite-file/index.ts";
import { factsIn, hasFacts, isAgreed } from "./facts.ts";
import { own } from "../../../../lib/json.ts";
import { openQuestionSearch } from "../../eval/index.ts";
import type { SearchedItem, SearchedQuestion } from "../../eval/index.ts";
import type { Context } from "../../../task/command-spec.ts";
import type { SuiteAnswer } from "../../ask/index.ts";
import type { FoundChunks, TurnCheck } from "./stored-run.ts";

/** A share as checks show it: `at least 1 of` would mean one. */
export const atLeastOf = (share: number): string =>
  `at least ${Number((share * 100).toFixed(6))} % of`;

const checks = {
  recall: (share: string) => `chunks are of ${share} the expected documents`,
  precision: (share: string) => `${share} the chunks are of expected documents`,
} as const;

/** Compares the documents of chunks with expected ones, by their names. Without chunks both shares are 0. */
export function checkContext(
  { measure, atLeast, documents }: SuiteContext,
  chunks: readonly CitedChunk[],
  nameOf: (written: string) => string,
) {
  const expected = [...new Set(documents.map(nameOf))];
  const names = chunks.map(({ document }) => document ?? "a document without a name");
  const [all, others] =
    measure === "recall"
      ? [expected, expected.filter((name) => !names.includes(name))]
      : [names, names.filter((name) => !expected.includes(name))];
  const met = all.length - others.length;
  const score = all.length === 0 ? 0 : met / all.length;
  const kind = measure === "recall" ? "missing" : "others";
  const listed = firstNames([...new Set(others)].map((name) => JSON.stringify(name)));
  return {
    kind: "context" as const,
    check: checks[measure](atLeastOf(atLeast)),
    passed: score >= atLeast,
    score,
    actual: `${met} of ${all.length}${others.length > 0 ? `; ${kind}: ${listed}` : ""}`,
  };
}

/**
 * Which sentences of an answer are in its chunks. One is, if a chunk has the share of its words, and all of its
 * figures and names, and the most similar sentence of the chunk negates as often and says nothing contrary.
 */
export function supportedSentences(
  answer: string,
  chunks: readonly string[],
  { share }: Pick<SuiteSupport, "share">,
) {
  const sources = chunks.map((text) => ({
    facts: factsIn(text),
    words: contentWords(text),
    closest: closestAmong(sentencesOf(text)),
  }));
  const isSupported = (sentence: string) => {
    const words = [...contentWords(sentence)];
    const facts = factsIn(sentence);
    return sources.some((source) => {
      const known = words.filter((word) => source.words.has(word));
      if (known.length < share * words.length - 1e-9) return false;
      if (!hasFacts(source.facts, facts)) return false;
      const closest = source.closest(known);
      return closest === undefined || isAgreed(facts, factsIn(closest));
    });
  };
  const all = sentencesOf(answer);
  return { all, open: all.filter((sentence) => !isSupported(sentence)) };
}

/** Sentences that are compared with one: those with its rarest word. */
const MAX_SIMILAR = 100;

/** Finds the sentence that has the most of some words; in a long text, among those with the rarest of them. */
function closestAmong(sentences: readonly string[]) {
  const different = [...new Set(sentences)].map((text) => ({ text, words: contentWords(text) }));
  const byWord = new Map<string, (typeof different)[number][]>();
  for (const each of different)
    for (const word of each.words) {
      const list = byWord.get(word) ?? [];
      if (list.length === 0) byWord.set(word, list);
      list.push(each);
    }
  return (words: readonly string[]): string | undefined => {
    const lists = words.map((word) => byWord.get(word) ?? []);
    const [rarest = []] = lists.toSorted((a, b) => a.length - b.length);
    const count = (each: (typeof different)[number]) =>
      words.filter((word) => each.words.has(word)).length;
    return (
      rarest
        .slice(0, MAX_SIMILAR)
        .map((each) => ({ text: each.text, shared: count(each) }))
        .reduce((most, each) => (each.shared > most.shared ? each : most), { text: "", shared: 0 })
        .text || undefined
    );
  };
}

const sentencesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .flatMap((line) => [...sentencesIn(line)].map((sentence) => sentence.trim()))
    .filter((sentence) => /\d/.test(sentence) || contentWords(sentence).size > 0);

/** Words of four letters and more, or of two in a script without capital letters. */
function contentWords(text: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const { segment, isWordLike } of segmentsOf(unicodeForm(text).toLowerCase())) {
    const least = segment.toUpperCase() === segment ? 2 : 4;
    if (isWordLike && segment.length >= least && !/\d/.test(segment)) words.add(segment);
  }
  return words;
}

/** Searches for the question of a test, once for all its repeats. */
export type Searches = (search: SuiteSearch) => Promise<SearchedQuestion>;

/** Prepares the searches of a suite. Throws `auth` without a knowledge key, `not-found` for an unknown base. */
export async function openSearches(suite: Suite, common: Context): Promise<Searches> {
  const all = suite.tests.flatMap(({ search }) => (search ? [search] : []));
  const context = all.length > 0 ? common.with({ key: "dataset" }) : common;
  const byKb = new Map<string, Awaited<ReturnType<typeof openQuestionSearch>>>();
  for (const kb of new Set(all.map((search) => search.kb))) {
    const dataset_id = await context.resolveId("kb", kb);
    const here = all.filter((search) => search.kb === kb);
    const place = { dataset_id, file: suite.path };
    byKb.set(kb, await openQuestionSearch(here, place, context));
  }
  const done = new Map<SuiteSearch, Promise<SearchedQuestion>>();
  return async (search) => {
    const found = done.get(search) ?? byKb.get(search.kb)?.(search, search.top);
    if (!found) throw new Error(`no search in ${search.kb} was prepared`);
    done.set(search, found);
    return found;
  };
}

/** The search of a test. */
type TestSearch = Awaited<ReturnType<typeof searchFor>>;

/** The search of a test, which is sent once: nothing is found if there is none, or it failed. */
export async function searchFor({ search }: SuiteTest, searches: Searches) {
  const none = { searched: undefined, found: null, nameOf: (written: string) => written };
  if (!search) return { ...none, error: null };
  const searched = await searches(search);
  const { error, items, found: documents, chunks } = searched;
  if (error !== null) return { ...none, error: `search in ${search.kb}: ${error}` };
  const { query, top = null } = search;
  const expected = items.map(({ written }) => written);
  const names = Object.fromEntries(items.map((item) => [item.written, item.document ?? null]));
  const found: FoundChunks = { query, top, expected, names, documents, chunks };
  return { searched, found, error, nameOf: nameIn(names) };
}

/** The names of expected documents that a search has found; of others, what is written. */
export const nameIn =
  (names: Readonly<Record<string, unknown>>) =>
  (written: string): string => {
    const name = own(names, written);
    return typeof name === "string" ? name : written;
  };

/** Checks whether expected documents were found and cited; if the test only searches, the documents of the chunks. */
export function checkSearch(
  { search, turns, context }: SuiteTest,
  answer: SuiteAnswer | undefined,
  { searched, nameOf }: TestSearch,
): TurnCheck[] {
  if (!search || !searched) return [];
  // Only the replies of chats name their sources.
  const cited = answer?.conversation === undefined ? undefined : (answer.trace.citations ?? []);
  const turn = Math.max(1, turns.length);
  return [
    ...searched.items.map((item) => ({
      kind: "search" as const,
      ...checkItem(item, searched, search.kb, cited),
    })),
    ...context.map((each) => checkContext(each, searched.chunks, nameOf)),
  ].map((check) => ({ turn, ...check }));
}

function checkItem(
  { written, document, rank, isFound }: SearchedItem,
  { found }: SearchedQuestion,
  kb: string,
  cited: readonly string[] | undefined,
) {
  const isUsed = document === undefined || cited === undefined || cited.includes(document);
  const mayCite = cited !== undefined && (document !== undefined || !isFound);
  const check = itemChecks(written, kb)[mayCite ? 1 : 0];
  if (!isFound) return { check, passed: false, actual: `not found; found: ${namesText(found)}` };
  if (!isUsed)
    return { check, passed: false, actual: `found, but not used; cited: ${namesText(cited)}` };
  return { check, passed: true, actual: rank === undefined ? "found" : `found, rank ${rank}` };
}

/** The checks of a document or text: that it is found, and that it is also used. */
export function itemChecks(written: string, kb: string): readonly [found: string, used: string] {
  const found = `${JSON.stringify(written)} is found in ${kb}`;
  return [found, `${found} and used`];
}

const namesText = (names: readonly string[]): string =>
  names.length === 0 ? "nothing" : firstNames(names.map((name) => JSON.stringify(name)));
