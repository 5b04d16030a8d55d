import { invalidParam } from "../../http/errors.ts";
import { catalogOf } from "../../models/catalog.ts";
import { similarity } from "../../models/embedding.ts";
import { ModelError } from "../../models/model-error.ts";
import { rerank } from "../../models/rerank.ts";
import { matchAll, matchAny, tokenize } from "../../models/words.ts";
import type { DatasetRow, KnowledgeContext, SegmentRow } from "../../storage/knowledge-store.ts";
import { embedFor, isHighQuality, storedDimensions, vectorOf } from "../indexing/embedding.ts";
import { knowledgeError } from "../responses.ts";
import type { SearchSettings } from "./search-settings.ts";

/** A chunk that a search found. */
export interface RankedChunk {
  readonly id: string;
  readonly document_id: string;
  readonly content: string;
  /** From 0 to 1; 0 for keyword searches, which the server does not score (server §6.1). */
  readonly score: number;
}

/**
 * The chunks of a knowledge base for a query, best first, down to the threshold of the settings. Those
 * of economy are always found by their words, whatever the method. Throws ModelError.
 */
export function rankSegments(
  context: KnowledgeContext,
  dataset: DatasetRow,
  query: string,
  settings: SearchSettings,
): RankedChunk[] {
  const isKeywordSearch = settings.search_method === "keyword_search";
  const minScore =
    settings.score_threshold_enabled && !isKeywordSearch ? (settings.score_threshold ?? 0) : 0;
  const embeds = isHighQuality(dataset);
  if (embeds && settings.top_k < 1) throw invalidParam("top_k must be a positive integer");
  // Economy has no vectors; a server without models searches its words for any method.
  if (context.model && !isKeywordSearch) requireVectors(context, dataset, settings.search_method);
  const found = embeds
    ? rerankHits(findByMethod(context, dataset, query, settings), query, settings)
    : findByWords(context, dataset, query);
  return found
    .filter(({ score }) => score >= minScore)
    .map((hit) => (isKeywordSearch ? { ...hit, score: 0 } : hit));
}

/** Throws 400 with the text of the database if no document was embedded yet (server §8). */
function requireVectors(context: KnowledgeContext, dataset: DatasetRow, method: string): void {
  if (storedDimensions(context, dataset) !== undefined) return;
  const table = dataset.id.replaceAll("-", "_");
  throw method === "full_text_search"
    ? knowledgeError("no table of words", { table, cut: table.slice(0, 12) })
    : knowledgeError("no vectors", { table });
}

/** Full-text scores of a database are about this much lower than our shares of words (server §6.1). */
const RANK_SCALE = 0.2;

function findByMethod(
  context: KnowledgeContext,
  dataset: DatasetRow,
  query: string,
  settings: SearchSettings,
): RankedChunk[] {
  switch (settings.search_method) {
    case "keyword_search":
      return []; // no keywords are stored (server §6.1)
    case "full_text_search":
      return scaled(findByWords(context, dataset, query, matchAll), RANK_SCALE);
    case "hybrid_search":
      return findByBoth(context, dataset, query, settings);
    default:
      return findByMeaning(context, dataset, query);
  }
}

const scaled = (hits: readonly RankedChunk[], by: number): RankedChunk[] =>
  hits.map((hit) => ({ ...hit, score: hit.score * by }));

const bestFirst = (hits: readonly RankedChunk[]): RankedChunk[] =>
  hits.toSorted((a, b) => b.score - a.score);

/** Without weights, the scores are those of the vectors. */
function findByBoth(
  context: KnowledgeContext,
  dataset: DatasetRow,
  query: string,
  { weights }: SearchSettings,
): RankedChunk[] {
  const byMeaning = findByMeaning(context, dataset, query);
  if (!weights) return byMeaning;
  const words = new Map(findByWords(context, dataset, query).map(({ id, score }) => [id, score]));
  const forMeaning = weights.vector_setting?.vector_weight ?? 0;
  const forWords = weights.keyword_setting?.keyword_weight ?? 0;
  return bestFirst(
    byMeaning.map((hit) => ({
      ...hit,
      score: forMeaning * hit.score + forWords * (words.get(hit.id) ?? 0),
    })),
  );
}

/** The chunks that a search may find. */
const SEARCHABLE = `segments.dataset_id = ?1 AND segments.enabled AND segments.status = 'completed'
  AND documents.enabled AND NOT documents.archived AND documents.indexing_status = 'completed'`;

/** Ranks all chunks by the similarity of their vectors to that of the query. */
function findByMeaning(
  context: KnowledgeContext,
  dataset: DatasetRow,
  query: string,
): RankedChunk[] {
  const asked = embedFor(dataset, query);
  const ours = asked.length;
  const stored = storedDimensions(context, dataset) ?? ours;
  if (stored !== ours) throw knowledgeError("vectors of other dimensions", { ours, stored });
  const rows = context.store.all<Pick<SegmentRow, "id" | "document_id" | "content" | "vector">>(
    `SELECT segments.id, segments.document_id, segments.content, segments.vector FROM segments
     JOIN documents ON documents.id = segments.document_id
     WHERE ${SEARCHABLE} AND segments.vector IS NOT NULL
     ORDER BY documents.rowid, segments.position`,
    dataset.id,
  );
  const hits = rows.flatMap(({ vector, ...hit }) =>
    vector ? [{ ...hit, score: similarity(asked, vectorOf(vector)) }] : [],
  );
  return bestFirst(hits);
}

/**
 * Finds chunks with any or all of the words, best first; words are weighted by all stored chunks. The score
 * of the best one is the share of the words it contains, those of others are in proportion.
 */
function findByWords(
  { store }: KnowledgeContext,
  dataset: DatasetRow,
  text: string,
  match = matchAny,
): RankedChunk[] {
  const words = tokenize(text);
  const query = match(words);
  if (query === undefined) return [];
  const hits = store.all<RankedChunk & { readonly rank: number; readonly words: string }>(
    `SELECT segments.id, segments.document_id, segments.content,
       bm25(segment_words) AS rank, segment_words.words
     FROM segment_words JOIN segments ON segments.rowid = segment_words.rowid
     JOIN documents ON documents.id = segments.document_id
     WHERE segment_words MATCH ?2 AND ${SEARCHABLE}
     ORDER BY rank, documents.rowid, segments.position LIMIT 200`,
    dataset.id,
    query,
  );
  const [best] = hits; // bm25 is negative, lowest for the best match
  if (!best) return [];
  const bestWords = new Set(best.words.split(" "));
  const unique = [...new Set(words)];
  const top = unique.filter((word) => bestWords.has(word)).length / unique.length;
  return hits.map(({ id, document_id, content, rank }) => {
    return { id, document_id, content, score: (top * rank) / best.rank };
  });
}

/** Reranks the hits if the settings name a model for it; without one, the server reranks nothing. */
function rerankHits(
  hits: readonly RankedChunk[],
  query: string,
  settings: SearchSettings,
): readonly RankedChunk[] {
  const name = settings.reranking_model?.reranking_model_name;
  if (!settings.reranking_enable || !name) return hits;
  // Recorded: the provider rejects a model that it does not know as a bad request.
  if (!catalogOf("rerank").some(({ model }) => model === name)) throw new ModelError("bad");
  const candidates = hits.slice(0, settings.top_k);
  const scores = rerank(
    query,
    candidates.map(({ content }) => content),
  );
  return bestFirst(candidates.map((hit, index) => ({ ...hit, score: scores[index] ?? 0 })));
}
