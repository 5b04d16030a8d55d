import type { ConcurrencyLimiter } from "../../../api/concurrency-limit.ts";
import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { requireField } from "../../../api/response-fields.ts";
import { ApiError, CliError } from "../../../errors.ts";
import { searchKnowledgeBase } from "../../../operations/knowledge.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { ExpectedDocument } from "./expected-documents.ts";
import { metricsOf, firstRank } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import type { Question } from "./questions.ts";
import type { Variant } from "./matrix.ts";
import type { Context } from "../../command-spec.ts";

/** A document that a search found, at the place of its first chunk. */
interface FoundDocument {
  readonly rank: number;
  readonly document: string;
  readonly id: string;
  readonly score: number;
  readonly relevant: boolean;
}

/** What became of one question. */
export interface QuestionResult {
  readonly question: Question;
  /** Of the first relevant document, from 1. */
  readonly rank: number | null;
  readonly found: readonly FoundDocument[];
  /** Documents and texts that were expected and not found. */
  readonly missing: readonly string[];
  readonly figures: Metrics;
  /** As the client waited, repeats included; null where there is no answer. */
  readonly seconds: number | null;
  /** Why there is no answer; null where there is one. */
  readonly error: string | null;
}

/** What became of all questions with one way to search. */
export interface Result {
  readonly variant: Variant;
  readonly ks: readonly number[];
  readonly answers: readonly QuestionResult[];
  /** Over the questions that were answered. */
  readonly figures: Metrics;
  /** Questions without an answer. */
  readonly failed: number;
}

/** What holds for all questions of one way to search. */
export interface SearchOptions {
  readonly dataset_id: string;
  readonly questions: readonly Question[];
  readonly expected: (written: string) => ExpectedDocument;
  readonly variant: Variant;
  readonly ks: readonly number[];
  readonly lanes: ConcurrencyLimiter;
  readonly waitForLimit: boolean;
}

/**
 * Asks every question and gives what became of each, in their order. A question that the server
 * fails to answer is no end; throws what every further question would meet.
 */
export async function* searchQuestions(
  asking: SearchOptions,
  context: Context,
): AsyncGenerator<QuestionResult> {
  const ask = asker(asking, context);
  yield* mapConcurrent(asking.questions, asking.lanes, ask);
}

function asker(asking: SearchOptions, context: Context) {
  const { dataset_id, variant, ks, expected } = asking;
  /** One wait for all requests that are on their way. */
  let waiting: Promise<void> | undefined;
  const search = async ({ question, filter }: Question) => {
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
        if (!asking.waitForLimit || !isRateLimit(error)) throw error;
        waiting ??= aMinute(context).finally(() => (waiting = undefined));
      }
    }
  };
  return async (question: Question): Promise<QuestionResult> => {
    try {
      const { records, seconds } = await search(question);
      // One document may be written in several ways: by name, path and id.
      const named = question.documents.map(expected);
      const keys = named.map(({ id, written }) => id ?? written);
      const documents = named.filter((_, index) => keys.indexOf(keys[index] ?? "") === index);
      return { question, ...judged(question, documents, records, ks), seconds, error: null };
    } catch (error) {
      if (context.signal.aborted) throw context.abortError();
      if (!(error instanceof CliError) || meetsAll(error)) throw error;
      const missing = [...question.documents, ...question.texts];
      const nothing = { rank: null, found: [], missing, figures: {}, seconds: null };
      return { question, ...nothing, error: error.message };
    }
  };
}

/** The one refusal that passes by itself: so many requests in a minute (server §4). */
const isRateLimit = (error: unknown): boolean =>
  error instanceof ApiError &&
  error.kind === "limited" &&
  error.response.status === 403 &&
  error.info.retryable === true;

/** Waits until the server counts anew, in pieces, so that it is seen. */
async function aMinute(context: Context): Promise<void> {
  await context.notice("the rate limit of the knowledge base is reached: waiting a minute");
  for (let left = 60; left > 0; left -= 10) {
    await context.host.sleep(10_000, context.signal).catch(() => {
      throw context.abortError();
    });
  }
}

/** Would every further question meet the same? Only what the server says about one question would not. */
const meetsAll = ({ kind }: CliError): boolean => kind !== "failure" && kind !== "refused";

/** What a search found, compared with what it was to find. */
function judged(
  { texts }: Question,
  documents: readonly ExpectedDocument[],
  records: readonly SearchRecord[],
  ks: readonly number[],
): Pick<QuestionResult, "rank" | "found" | "missing" | "figures"> {
  const places = new Map<string, { name: string; score: number; chunks: string[] }>();
  for (const record of records) {
    const { document, document_id } = record.segment;
    const id = requireField(document?.id ?? document_id, "segment.document_id");
    const place = places.get(id) ?? { name: document?.name ?? id, score: record.score, chunks: [] };
    if (texts.length > 0) place.chunks.push(textOf(record));
    places.set(id, place);
  }
  const placeOf = ({ id, written }: ExpectedDocument): string | undefined =>
    id === undefined
      ? [...places].find(([, { name }]) => name === written)?.[0]
      : places.has(id)
        ? id
        : undefined;
  const relevant = new Set<string>();
  const missing: string[] = [];
  for (const document of documents) {
    const place = placeOf(document);
    if (place === undefined) missing.push(document.written);
    else relevant.add(place);
  }
  // A text stands for one document: an expected one that holds it, else the first that does.
  for (const text of texts) {
    const holding = [...places]
      .filter(([, { chunks }]) => chunks.some((chunk) => chunk.includes(even(text))))
      .map(([id]) => id);
    const stands = holding.find((id) => relevant.has(id)) ?? holding[0];
    if (stands === undefined) missing.push(text);
    else relevant.add(stands);
  }
  const found = [...places].map(([id, { name, score }], index) => ({
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

/** All words of a chunk that a reader of the answer would see. */
const textOf = ({ segment, child_chunks }: SearchRecord): string =>
  even(
    [segment.content, segment.answer ?? "", ...child_chunks.map(({ content }) => content)].join(
      "\n",
    ),
  );

/** Indexing changes white space, and one character may be written in two ways. */
const even = (text: string): string => text.normalize("NFC").replace(/\s+/g, " ");
