import { requireField } from "../../../api/response.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { changedSettings } from "../knowledge/index.ts";
import { waitOnRateLimit } from "../documents/index.ts";
import { resolveExpected } from "./expected-documents.ts";
import type { Question } from "./questions.ts";
import { ratedAnswer, searchRecords } from "./search.ts";

/** A test with a question to a knowledge base. */
interface SearchingTest extends Pick<Question, "documents" | "texts"> {
  readonly name: string;
  readonly query: string;
  readonly from: { readonly line: number };
}

/** The question of a test; its name identifies it. */
export const questionOfTest = ({
  name,
  query,
  documents,
  texts,
  from,
}: SearchingTest): Question => ({
  key: name,
  id: name,
  question: query,
  documents,
  grades: new Map(),
  texts,
  passages: [],
  hasAnswer: true,
  filter: undefined,
  line: from.line,
});

/** A document or text that a question expects. */
export interface SearchedItem {
  /** As written. */
  readonly written: string;
  /** Name of the document that was found, and its rank; undefined for a text, and if it was not found. */
  readonly document: string | undefined;
  readonly rank: number | undefined;
  readonly isFound: boolean;
}

/** What a search found. */
export interface SearchedQuestion {
  readonly items: readonly SearchedItem[];
  /** Names of all documents that were found, the best first. */
  readonly found: readonly string[];
  /** All chunks that were found, the best first. */
  readonly chunks: readonly { readonly document: string | null; readonly content: string }[];
  /** Why the search failed; null if it succeeded. */
  readonly error: string | null;
}

/**
 * Prepares searches for questions in one knowledge base, with its own settings and `top` chunks, if
 * given. Expected documents that are not in it are reported and count as not found. Throws `refused`
 * for an ambiguous name.
 */
export async function openQuestionSearch(
  tests: readonly SearchingTest[],
  { dataset_id, file }: { readonly dataset_id: string; readonly file: string },
  context: Context,
): Promise<(test: SearchingTest, top: number | undefined) => Promise<SearchedQuestion>> {
  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  const stored = { ...requireField(kb.retrieval_model_dict, "retrieval_model_dict") };
  const place = { dataset_id, file, allowMissing: true };
  const expected = await resolveExpected(tests.map(questionOfTest), place, context);
  const send = waitOnRateLimit(false, context);
  return async (test, top_k) => {
    const question = questionOfTest(test);
    const settings = changedSettings(stored, { top_k });
    const searched = await searchRecords(question, settings, { dataset_id, send }, context);
    const rules = { expected, ks: [], threshold: 1 };
    const { found, missing, error } = ratedAnswer(question, searched, rules);
    const chunks = searched.records.map(({ segment: { document, content, answer } }) => ({
      document: document?.name ?? null,
      content: [content, answer].filter(Boolean).join("\n"),
    }));
    const items = question.documents.map((written): SearchedItem => {
      const { id } = expected(written);
      const hit = found.find((each) =>
        id === undefined ? each.document === written : each.id === id,
      );
      return { written, document: hit?.document, rank: hit?.rank, isFound: hit !== undefined };
    });
    const texts = question.texts.map((written): SearchedItem => {
      return { written, document: undefined, rank: undefined, isFound: !missing.includes(written) };
    });
    const names = found.map(({ document }) => document);
    return { items: [...items, ...texts], found: names, chunks, error };
  };
}
