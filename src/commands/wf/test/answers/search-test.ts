import { firstNames } from "../../../../lib/text.ts";
import type { Context } from "../../../task/command-spec.ts";
import { openQuestionSearch } from "../../../kb/eval/index.ts";
import type { SearchedItem, SearchedQuestion } from "../../../kb/eval/index.ts";
import type { SuiteAnswer } from "./ask.ts";
import type { AnswerCheck } from "./check-answer.ts";
import type { Suite, SuiteSearch, SuiteTest } from "../file/index.ts";

/** Searches for the question of a test, once for all its repeats. */
export type Searches = (search: SuiteSearch) => Promise<SearchedQuestion>;

/** Whether what a test expects was found, or why the search failed. */
interface CheckedSearch {
  readonly checks: readonly (AnswerCheck & { readonly turn: number })[];
  readonly error: string | null;
}

/**
 * Prepares the searches of a suite with the knowledge key of the profile. Throws `auth` without one,
 * and `not-found` for an unknown knowledge base.
 */
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

/**
 * Checks for a test whether each document that it expects was found, and whether the reply of a chat
 * cites it. Without a search there are no checks.
 */
export async function checkSearch(
  { search, turns }: SuiteTest,
  answer: SuiteAnswer | undefined,
  searches: Searches,
): Promise<CheckedSearch> {
  if (!search) return { checks: [], error: null };
  const searched = await searches(search);
  if (searched.error !== null)
    return { checks: [], error: `search in ${search.kb}: ${searched.error}` };
  // Only the replies of chats name their sources.
  const cited = answer?.conversation === undefined ? undefined : (answer.trace.citations ?? []);
  const turn = Math.max(1, turns.length);
  const checks = searched.items.map((item) => ({
    turn,
    ...checkItem(item, searched, search.kb, cited),
  }));
  return { checks, error: null };
}

function checkItem(
  { written, document, rank, isFound }: SearchedItem,
  { found }: SearchedQuestion,
  kb: string,
  cited: readonly string[] | undefined,
) {
  const isUsed = document === undefined || cited === undefined || cited.includes(document);
  const mayCite = cited !== undefined && (document !== undefined || !isFound);
  const check = `${JSON.stringify(written)} is found in ${kb}${mayCite ? " and used" : ""}`;
  if (!isFound) return { check, passed: false, actual: `not found; found: ${namesText(found)}` };
  if (!isUsed)
    return { check, passed: false, actual: `found, but not used; cited: ${namesText(cited)}` };
  return { check, passed: true, actual: rank === undefined ? "found" : `found, rank ${rank}` };
}

const namesText = (names: readonly string[]): string =>
  names.length === 0 ? "nothing" : firstNames(names.map((name) => JSON.stringify(name)));
