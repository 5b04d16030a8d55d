import { requireField } from "../../../api/response.ts";
import { CliError, isFatal } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase, SearchRecord } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { waitOnRateLimit } from "../../kb/documents/index.ts";
import type { RateLimitWaiter } from "../../kb/documents/index.ts";
import { changedSettings } from "../../kb/knowledge/index.ts";
import { answerOrError, openApp, openInputs, retrievedChunks } from "../ask/index.ts";
import type { EvalSettings, SearchVariant } from "./settings.ts";
import type { Metrics } from "./metrics.ts";
import { questionOfTest } from "./questions.ts";
import type { Question, SearchingTest } from "./questions.ts";
import { searchedText, rateRecords, resolveExpected } from "./rating.ts";
import type { RatingRules } from "./rating.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** The result of one question. */
export interface QuestionResult extends ReturnType<typeof rateRecords> {
  readonly question: Question;
  /** Time until the response, retries included; null if the search failed, or was one with other settings. */
  readonly seconds: number | null;
  /** Why the search failed; null if it succeeded. */
  readonly error: string | null;
  /** Whether it found what it should: the verdict of every table, page, file and condition. */
  readonly passed: boolean;
}

/** The results of all questions for one variant. */
export interface VariantResult {
  readonly variant: SearchVariant;
  readonly ks: readonly number[];
  readonly answers: readonly QuestionResult[];
  /** Averages over the questions whose search succeeded. */
  readonly figures: Metrics;
  readonly failed: number;
  /** What the searches found, by question, if a page shows it. */
  readonly records: ReadonlyMap<Question, readonly SearchRecord[]>;
}

/** How searches are sent. */
export interface SearchRoute {
  readonly dataset_id: string;
  /** Sends a search, after the rate limit if the user chose to wait. */
  readonly send: RateLimitWaiter;
}

/** What the search for one question returned. */
export interface FoundRecords {
  readonly records: readonly SearchRecord[];
  readonly seconds: number | null;
  readonly error: string | null;
}

/** Searches for one question. A search that is rejected is a result; throws what every question would meet. */
export async function searchRecords(
  { question, filter }: Question,
  settings: EvalSettings,
  { dataset_id, send }: SearchRoute,
  context: Context,
): Promise<FoundRecords> {
  const request = {
    dataset_id,
    query: question,
    retrieval_model: { ...settings, ...(filter && { metadata_filtering_conditions: filter }) },
  };
  try {
    return await send(async () => {
      const start = context.host.elapsed();
      const records = await context.api.call(searchKnowledgeBase, request);
      return { records, seconds: (context.host.elapsed() - start) / 1000, error: null };
    });
  } catch (error) {
    if (context.host.signal.aborted) throw context.abortError();
    if (!(error instanceof CliError) || isFatal(error)) throw error;
    return { records: [], seconds: null, error: error.message };
  }
}

/**
 * Opens an application, which is asked a question as a search: what it found for its answer counts, with the names of
 * documents alone. An answer that fails is a result; throws any failure that every question would have.
 */
export async function openAppSearch(
  name: string,
  common: Context,
): Promise<(question: Question) => Promise<FoundRecords>> {
  const app = await openApp({ app: name }, common.with({ key: "app" }));
  const inputsFor = await openInputs(app);
  return async ({ question: query }) => {
    const { elapsed } = common.host;
    const start = elapsed();
    const inputs = inputsFor({ query, question: query });
    const { answer, error } = await answerOrError(() => app.send({ query, inputs }), common);
    if (!answer) return { records: [], seconds: null, error: error ?? null };
    const seconds = (elapsed() - start) / 1000;
    if (error !== undefined) return { records: [], seconds, error };
    return { records: retrievedChunks(answer).map(recordOf), seconds, error: null };
  };
}

/** A chunk as a search returns it; its document has its name as ID. */
function recordOf(chunk: ReturnType<typeof retrievedChunks>[number]): SearchRecord {
  const id = chunk.document ?? "";
  const segment = { content: chunk.content ?? "", document_id: id, document: { id, name: id } };
  return { segment, score: chunk.score, child_chunks: [] } as unknown as SearchRecord;
}

/** The result of a question from what its search returned. */
export function ratedAnswer(
  question: Question,
  { records, seconds, error }: FoundRecords,
  rules: RatingRules,
): QuestionResult {
  const rated = rateRecords(question, records, rules);
  const { missing, late } = rated;
  const isRight = question.hasAnswer ? missing.length + late.length === 0 : records.length === 0;
  const figures = error === null ? rated.figures : {};
  return { question, ...rated, figures, seconds, error, passed: error === null && isRight };
}

/** Variants whose results are parts of what one search returns. */
export type SearchGroup = ReturnType<typeof searchGroups>[number];

/**
 * One search for all variants that differ in `top_k` alone, or for semantic searches in the threshold, too: less
 * of the same list. Hybrid and reranked searches choose among other candidates with another `top_k`, and where
 * child chunks are counted (server §9.8) a list of parents cannot be cut.
 */
export function searchGroups(
  variants: readonly SearchVariant[],
  { doc_form }: Pick<KnowledgeBase, "doc_form">,
) {
  const keyOf = ({ settings }: SearchVariant) => {
    const { top_k: _, score_threshold, score_threshold_enabled, ...rest } = settings;
    const isOneList =
      doc_form !== "hierarchical_model" &&
      settings["reranking_enable"] !== true &&
      settings["search_method"] !== "hybrid_search";
    if (!isOneList) return stringifyJson(settings);
    const isScored = settings["search_method"] === "semantic_search";
    return stringifyJson([rest, isScored ? [] : [score_threshold, score_threshold_enabled]]);
  };
  return [...groupBy(variants, keyOf).values()].map((group) => {
    const widest = group.reduce((one, other) => (other.topK > one.topK ? other : one));
    const floor = Math.min(...group.map(thresholdOf));
    const settings =
      group.length === 1
        ? widest.settings
        : { ...widest.settings, ...group.find((each) => thresholdOf(each) === floor)?.settings };
    const sent = { ...settings, top_k: widest.topK };
    return { settings: sent, members: group.map((variant) => memberOf(variant, sent)) };
  });
}

/** The least score that is returned. */
const thresholdOf = ({ settings }: Pick<SearchVariant, "settings">): number =>
  settings["score_threshold_enabled"] === true
    ? Number(settings["score_threshold"] ?? 0)
    : -Infinity;

/** A variant, and what a search with its settings would have returned of one that was sent with others. */
function memberOf(variant: SearchVariant, sent: EvalSettings) {
  const least = thresholdOf(variant);
  const isSent = variant.topK === sent["top_k"] && least === thresholdOf({ settings: sent });
  const take = (found: FoundRecords): FoundRecords => ({
    records: found.records.filter(({ score }) => score >= least).slice(0, variant.topK),
    seconds: null,
    error: found.error,
  });
  return { variant, take: isSent ? (found: FoundRecords) => found : take };
}

/** A document or text that a question expects. */
export interface SearchedItem {
  readonly written: string;
  /** Name of the document that was found, and its rank; undefined for a text, and if it was not found. */
  readonly document: string | undefined;
  readonly rank: number | undefined;
  readonly isFound: boolean;
}

/** What a search found. */
export type SearchedQuestion = Awaited<ReturnType<Awaited<ReturnType<typeof openQuestionSearch>>>>;

/**
 * Prepares searches for questions in one knowledge base, with its own settings and `top` chunks, if
 * given. Expected documents that are not in it are reported and count as not found. Throws `refused`
 * for an ambiguous name.
 */
export async function openQuestionSearch(
  tests: readonly SearchingTest[],
  { dataset_id, file }: { readonly dataset_id: string; readonly file: string },
  context: Context,
) {
  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  const stored = { ...requireField(kb.retrieval_model_dict, "retrieval_model_dict") };
  const place = { dataset_id, file, allowMissing: true };
  const expected = await resolveExpected(tests.map(questionOfTest), place, context);
  const send = waitOnRateLimit(false, context);
  return async (test: SearchingTest, top_k: number | undefined) => {
    const question = questionOfTest(test);
    const settings = changedSettings(stored, { top_k });
    const searched = await searchRecords(question, settings, { dataset_id, send }, context);
    const rules = { expected, ks: [], threshold: 1 };
    const { found, missing, error } = ratedAnswer(question, searched, rules);
    const chunks = searched.records.map((record) => ({
      document: record.segment.document?.name ?? null,
      content: searchedText(record),
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
