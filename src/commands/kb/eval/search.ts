import type { AdaptiveLimit } from "../../../api/adaptive-limit.ts";
import { requireField } from "../../../api/response.ts";
import { CliError, isFatal } from "../../../errors.ts";
import { searchKnowledgeBase } from "../../../operations/knowledge.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { RateLimitWaiter } from "../documents/index.ts";
import type { ExpectedDocument } from "./expected-documents.ts";
import { metricsOf, firstRank } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import type { Question } from "./questions.ts";
import type { SearchVariant } from "./matrix.ts";
import type { Context } from "../../task/command-spec.ts";

/** The result of one question. */
export interface QuestionResult extends ReturnType<typeof rateRecords> {
  readonly question: Question;
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
  /** What the searches found, by question, if a page shows it. */
  readonly records: ReadonlyMap<Question, readonly SearchRecord[]>;
}

/** The questions and settings of one variant. */
export interface EvalSearch {
  readonly dataset_id: string;
  readonly questions: readonly Question[];
  readonly expected: (written: string) => ExpectedDocument;
  readonly variant: SearchVariant;
  readonly ks: readonly number[];
  readonly limiter: AdaptiveLimit;
  /** Sends a search, after the rate limit if the user chose to wait. */
  readonly send: RateLimitWaiter;
}

/**
 * Searches for one question and compares the records with what it expects. A question that the server fails
 * or rejects is a result; throws any failure that every question would have.
 */
export async function evaluateQuestion(
  question: Question,
  {
    dataset_id,
    variant,
    ks,
    expected,
    send,
    keep,
  }: Pick<EvalSearch, "dataset_id" | "ks" | "expected" | "send"> & {
    readonly variant: Pick<SearchVariant, "settings">;
    /** Takes what the search found. */
    readonly keep?: (records: readonly SearchRecord[]) => void;
  },
  context: Context,
): Promise<QuestionResult> {
  const { filter } = question;
  const request = {
    dataset_id,
    query: question.question,
    retrieval_model: {
      ...variant.settings,
      ...(filter && { metadata_filtering_conditions: filter }),
    },
  };
  try {
    const { records, seconds } = await send(async () => {
      const start = context.host.elapsed();
      const found = await context.api.call(searchKnowledgeBase, request);
      keep?.(found);
      return { records: found, seconds: (context.host.elapsed() - start) / 1000 };
    });
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
) {
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
  return {
    /** Rank of the first relevant document, from 1. */
    rank: firstRank(ranking),
    /** Documents, ranked by their first chunks. */
    found,
    /** Expected documents and texts that were not found. */
    missing,
    figures: metricsOf(ranking, ks),
  };
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
