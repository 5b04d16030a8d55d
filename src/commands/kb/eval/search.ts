import type { ConcurrencyLimiter } from "../../../api/concurrent-map.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { requireField } from "../../../api/response-fields.ts";
import { ApiError, CliError } from "../../../errors.ts";
import { searchKnowledgeBase } from "../../../operations/knowledge.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { ExpectedDocument } from "./expected-documents.ts";
import { metricsOf, firstRank } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import type { Question } from "./questions.ts";
import type { SearchVariant } from "./matrix.ts";
import type { Context } from "../../command-spec.ts";

/** A document that a search found, ranked by its first chunk. */
interface FoundDocument {
  readonly rank: number;
  readonly document: string;
  readonly id: string;
  readonly score: number;
  readonly relevant: boolean;
}

/** The result of one question. */
export interface QuestionResult {
  readonly question: Question;
  /** Rank of the first relevant document, from 1. */
  readonly rank: number | null;
  readonly found: readonly FoundDocument[];
  /** Expected documents and texts that were not found. */
  readonly missing: readonly string[];
  readonly figures: Metrics;
  /** Time until the response, retries included; null if the search failed. */
  readonly seconds: number | null;
  /** Why the search failed; null if it succeeded. */
  readonly error: string | null;
}

/** The results of all questions for one variant. */
export interface VariantResult {
  readonly variant: SearchVariant;
  readonly ks: readonly number[];
  readonly answers: readonly QuestionResult[];
  /** Averages over the questions whose search succeeded. */
  readonly figures: Metrics;
  /** Number of failed searches. */
  readonly failed: number;
}

/** The questions and settings of one variant. */
export interface EvalSearch {
  readonly dataset_id: string;
  readonly questions: readonly Question[];
  readonly expected: (written: string) => ExpectedDocument;
  readonly variant: SearchVariant;
  readonly ks: readonly number[];
  readonly limiter: ConcurrencyLimiter;
  readonly waitForLimit: boolean;
}

/**
 * Searches for every question and yields the results in order. A question that the server fails or
 * rejects is a result; throws any failure that every question would have.
 */
export async function* searchQuestions(
  search: EvalSearch,
  context: Context,
): AsyncGenerator<QuestionResult> {
  const send = rateLimitedSearch(search, context);
  yield* mapConcurrent(search.questions, search.limiter, (question) =>
    evaluateQuestion(question, send, search, context),
  );
}

interface SearchResponse {
  readonly records: readonly SearchRecord[];
  readonly seconds: number;
}

/** Returns a search that waits for the rate limit, with one wait for all concurrent searches. */
function rateLimitedSearch({ dataset_id, variant, waitForLimit }: EvalSearch, context: Context) {
  let waiting: Promise<void> | undefined;
  return async ({ question, filter }: Question): Promise<SearchResponse> => {
    const retrieval_model = {
      ...variant.settings,
      ...(filter && { metadata_filtering_conditions: filter }),
    };
    for (;;) {
      await waiting;
      const start = context.host.elapsed();
      try {
        const request = { dataset_id, query: question, retrieval_model };
        const records = await context.call(searchKnowledgeBase, request);
        return { records, seconds: (context.host.elapsed() - start) / 1000 };
      } catch (error) {
        if (!waitForLimit || !isRateLimit(error)) throw error;
        waiting ??= waitOneMinute(context).finally(() => (waiting = undefined));
      }
    }
  };
}

async function evaluateQuestion(
  question: Question,
  send: (question: Question) => Promise<SearchResponse>,
  { ks, expected }: EvalSearch,
  context: Context,
): Promise<QuestionResult> {
  try {
    const { records, seconds } = await send(question);
    // The same document can be expected by name, path and ID.
    const named = question.documents.map(expected);
    const keys = named.map(({ id, written }) => id ?? written);
    const documents = named.filter((_, index) => keys.indexOf(keys[index] ?? "") === index);
    return { question, ...rateRecords(question, documents, records, ks), seconds, error: null };
  } catch (error) {
    if (context.signal.aborted) throw context.abortError();
    if (!(error instanceof CliError) || isFatal(error)) throw error;
    const missing = [...question.documents, ...question.texts];
    const nothing = { rank: null, found: [], missing, figures: {}, seconds: null };
    return { question, ...nothing, error: error.message };
  }
}

/** The limit of requests per minute (server §4), the only one that ends on its own. */
const isRateLimit = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.kind === "limited" &&
  error.response.status === 403 &&
  error.info.retryable === true;

/** Waits until the server's limit is reset, in steps so that progress is shown. */
async function waitOneMinute(context: Context): Promise<void> {
  await context.notice("knowledge base rate limit reached; waiting 60s");
  for (let seconds = 60; seconds > 0; seconds -= 10) {
    await context.pause(10_000);
  }
}

/** Would every further question fail the same way? */
const isFatal = ({ kind }: CliError): boolean => kind !== "failure" && kind !== "refused";

interface RankedDocument {
  readonly name: string;
  readonly score: number;
  /** Texts of its chunks, if the question expects texts. */
  readonly chunks: string[];
}

/** Compares the records of a search with the expected documents and texts. */
function rateRecords(
  { texts }: Question,
  documents: readonly ExpectedDocument[],
  records: readonly SearchRecord[],
  ks: readonly number[],
): Pick<QuestionResult, "rank" | "found" | "missing" | "figures"> {
  const ranked = rankDocuments(records, texts.length > 0);
  const relevant = new Set<string>();
  const missing: string[] = [];
  for (const document of documents) {
    const id = rankedId(document, ranked);
    if (id === undefined) missing.push(document.written);
    else relevant.add(id);
  }
  // A text counts for one document: an expected one that contains it, or else the first that does.
  for (const text of texts) {
    const containing = [...ranked]
      .filter(([, { chunks }]) => chunks.some((chunk) => chunk.includes(normalized(text))))
      .map(([id]) => id);
    const id = containing.find((each) => relevant.has(each)) ?? containing[0];
    if (id === undefined) missing.push(text);
    else relevant.add(id);
  }
  const found = [...ranked].map(([id, { name, score }], index) => ({
    rank: index + 1,
    document: name,
    id,
    score,
    relevant: relevant.has(id),
  }));
  const ranking = {
    relevant: found.map((each) => each.relevant),
    expected: relevant.size + missing.length,
  };
  return { rank: firstRank(ranking), found, missing, figures: metricsOf(ranking, ks) };
}

/** Documents by ID, in the order of their first chunks. */
function rankDocuments(
  records: readonly SearchRecord[],
  withTexts: boolean,
): ReadonlyMap<string, RankedDocument> {
  const ranked = new Map<string, RankedDocument>();
  for (const record of records) {
    const { document, document_id } = record.segment;
    const id = requireField(document?.id ?? document_id, "segment.document_id");
    const first = { name: document?.name ?? id, score: record.score, chunks: [] };
    const entry: RankedDocument = ranked.get(id) ?? first;
    if (withTexts) entry.chunks.push(chunkText(record));
    ranked.set(id, entry);
  }
  return ranked;
}

/** The ID under which an expected document was found. */
function rankedId(
  { id, written }: ExpectedDocument,
  ranked: ReadonlyMap<string, RankedDocument>,
): string | undefined {
  if (id === undefined) return [...ranked].find(([, { name }]) => name === written)?.[0];
  return ranked.has(id) ? id : undefined;
}

/** All text of a chunk that readers of the result see. */
const chunkText = ({ segment, child_chunks }: SearchRecord): string =>
  normalized(
    [segment.content, segment.answer ?? "", ...child_chunks.map(({ content }) => content)].join(
      "\n",
    ),
  );

/** Ignores differences of white space, which indexing changes, and of Unicode form. */
const normalized = (text: string): string => text.normalize("NFC").replace(/\s+/g, " ");
