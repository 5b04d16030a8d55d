import { invalidParam } from "../../protocol/response.ts";
import { catalogOf } from "../../models/catalog.ts";
import { similarity, overlap, tokenize } from "../../models/words.ts";
import { Marks, ModelError } from "../../models/marks.ts";
import { type DatasetRow, type KnowledgeContext, WORD_TABLES } from "../records/knowledge-store.ts";
import {
  embedFor,
  isHighQuality,
  requireCredentials,
  indexTableOf,
  storedDimensions,
  vectorOf,
} from "../indexing/segments.ts";
import { knowledgeError, type SearchSettings } from "../records/responses.ts";

/** A chunk that a search found, or a child chunk of it. */
export interface Hit {
  /** The ID in the index table of the knowledge base. */
  readonly id: string;
  readonly content: string;
  readonly segment_id: string;
  readonly document_id: string;
  /** From 0 to 1; 0 for keyword searches, which the server does not score (server §6.1). */
  readonly score: number;
}

/** A row of the index table, while all rows are compared: reading more of each takes longer. */
interface Row {
  readonly rowid: number;
  readonly score: number;
}

/** A search in a knowledge base. */
export interface Search {
  readonly context: KnowledgeContext;
  readonly dataset: DatasetRow;
  readonly query: string;
  readonly settings: SearchSettings;
  /** Whether a document may be found. */
  readonly accepts: (documentId: string) => boolean;
}

/**
 * The best `top_k` chunks or child chunks for a query, best first, down to the threshold. Those of
 * economy are always found by their words, whatever the method. Throws ModelError.
 */
export function rankHits(search: Search): Hit[] {
  const { context, dataset, settings } = search;
  const { search_method, top_k, score_threshold_enabled, score_threshold } = settings;
  const isKeywordSearch = search_method === "keyword_search";
  const minScore = score_threshold_enabled && !isKeywordSearch ? (score_threshold ?? 0) : 0;
  const embeds = isHighQuality(dataset);
  if (!isKeywordSearch) requireCredentials(context, dataset);
  if (embeds && top_k < 1) throw invalidParam("top_k must be a positive integer");
  // Economy has no vectors; a server without models searches its words for any method.
  if (context.model && !isKeywordSearch) requireVectors(search);
  const found = embeds ? findByMethod(search) : findByWords(search, "OR");
  return rerankHits(search, readHits(search, found))
    .filter(({ score }) => score >= minScore)
    .map((hit) => (isKeywordSearch ? { ...hit, score: 0 } : hit));
}

/** Reads the first `top_k` rows that are accepted. */
function readHits({ context, dataset, settings, accepts }: Search, found: readonly Row[]): Hit[] {
  const { table, rows } = indexTableOf(dataset);
  const sql = `SELECT ${table}.id, ${table}.content, segments.id AS segment_id, segments.document_id
    FROM ${rows} WHERE ${table}.rowid = ?`;
  const hits: Hit[] = [];
  for (const { rowid, score } of found) {
    if (hits.length >= settings.top_k) break;
    const row = context.store.get<Omit<Hit, "score">>(sql, rowid);
    if (row && accepts(row.document_id)) hits.push({ ...row, score });
  }
  return hits;
}

/** Throws 400 with the text of the database if no document was embedded yet (server §8). */
function requireVectors({ context, dataset, settings }: Search): void {
  if (storedDimensions(context, dataset) !== undefined) return;
  const table = dataset.id.replaceAll("-", "_");
  throw settings.search_method === "full_text_search"
    ? knowledgeError("no table of words", { table, cut: table.slice(0, 12) })
    : knowledgeError("no vectors", { table });
}

/** Full-text scores of a database are about this much lower than our shares of words (server §6.1). */
const RANK_SCALE = 0.2;

function findByMethod(search: Search): Row[] {
  const { search_method, weights } = search.settings;
  if (search_method === "keyword_search") return []; // no keywords are stored (server §6.1)
  if (search_method === "full_text_search") {
    const found = findByWords(search, "AND");
    return found.map(({ rowid, score }) => ({ rowid, score: score * RANK_SCALE }));
  }
  const byMeaning = findByMeaning(search);
  // Without weights, the scores are those of the vectors.
  if (search_method !== "hybrid_search" || !weights) return byMeaning;
  const words = new Map(findByWords(search, "OR").map(({ rowid, score }) => [rowid, score]));
  const forMeaning = weights.vector_setting?.vector_weight ?? 0;
  const forWords = weights.keyword_setting?.keyword_weight ?? 0;
  return bestFirst(
    byMeaning.map(({ rowid, score }) => ({
      rowid,
      score: forMeaning * score + forWords * (words.get(rowid) ?? 0),
    })),
  );
}

/** Of equal scores, the oldest first. */
const bestFirst = (found: readonly Row[]): Row[] =>
  found.toSorted((a, b) => b.score - a.score || a.rowid - b.rowid);

/** The chunks that a search may find. */
const SEARCHABLE = `segments.dataset_id = ?1 AND segments.enabled AND segments.status = 'completed'
  AND documents.enabled AND NOT documents.archived AND documents.indexing_status = 'completed'`;

/** Ranks all chunks by the similarity of their vectors to that of the query. */
function findByMeaning({ context, dataset, query }: Search): Row[] {
  const asked = embedFor(dataset, query);
  const ours = asked.length;
  const stored = storedDimensions(context, dataset) ?? ours;
  if (stored !== ours) throw knowledgeError("vectors of other dimensions", { ours, stored });
  const { table, rows } = indexTableOf(dataset);
  const found = context.store.all<{ readonly rowid: number; readonly vector: Uint8Array }>(
    `SELECT ${table}.rowid, ${table}.vector
     FROM ${rows} JOIN documents ON documents.id = segments.document_id
     WHERE ${SEARCHABLE} AND ${table}.vector IS NOT NULL`,
    dataset.id,
  );
  return bestFirst(
    found.map(({ rowid, vector }) => ({ rowid, score: similarity(asked, vectorOf(vector)) })),
  );
}

/**
 * Finds chunks with any or all of the words, best first; words are weighted by all stored chunks. The score
 * of the best one is the share of the words it contains, those of others are in proportion.
 */
function findByWords({ context, dataset, query }: Search, by: "AND" | "OR"): Row[] {
  const { store } = context;
  const words = [...new Set(tokenize(query))];
  if (words.length === 0) return [];
  const { table, rows } = indexTableOf(dataset);
  const wordTable = WORD_TABLES[table];
  const found = store.all<{ readonly rowid: number; readonly rank: number }>(
    `SELECT ${table}.rowid, bm25(${wordTable}) AS rank
     FROM ${rows} JOIN ${wordTable} ON ${wordTable}.rowid = ${table}.rowid
     JOIN documents ON documents.id = segments.document_id
     WHERE ${wordTable} MATCH ?2 AND ${SEARCHABLE}
     ORDER BY rank, ${table}.rowid`,
    dataset.id,
    words.map((word) => `"${word}"`).join(` ${by} `),
  );
  const [best] = found; // bm25 is negative, lowest for the best match
  if (!best) return [];
  const sql = `SELECT words FROM ${wordTable} WHERE rowid = ?`;
  const stored = store.get<{ readonly words: string }>(sql, best.rowid)?.words ?? "";
  const bestWords = new Set(stored.split(" "));
  const top = words.filter((word) => bestWords.has(word)).length / words.length;
  return found.map(({ rowid, rank }) => ({ rowid, score: (top * rank) / best.rank }));
}

/** Reranks the hits if the settings name a model for it; without one, the server reranks nothing. */
function rerankHits({ dataset, query, settings }: Search, hits: readonly Hit[]): readonly Hit[] {
  const name = settings.reranking_model?.reranking_model_name;
  if (!isHighQuality(dataset) || !settings.reranking_enable || !name) return hits;
  // Recorded: the provider rejects a model that it does not know as a bad request.
  if (!catalogOf("rerank").some(({ model }) => model === name)) throw new ModelError("bad");
  const contents = hits.map(({ content }) => content);
  const scores = rerank(query, contents);
  return hits
    .map((hit, index) => ({ ...hit, score: scores[index] ?? 0 }))
    .sort((a, b) => b.score - a.score);
}

/** The share of a query's words that each text contains. Throws ModelError for the mark `rerank-error`. */
export function rerank(query: string, texts: readonly string[]): number[] {
  const marks = new Marks(query);
  marks.fail("rerank-error");
  const asked = tokenize(marks.rest);
  return texts.map((text) => overlap(asked, tokenize(text)));
}
