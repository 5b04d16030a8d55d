import * as operations from "../../operations/knowledge.ts";
import { bindHandlers, type Handlers } from "../http/handler.ts";
import {
  getDataset,
  type DatasetRow,
  type DocumentRow,
  type KnowledgeContext,
  type SegmentRow,
} from "../storage/knowledge-store.ts";
import { parseMetadataFilter } from "./metadata-filter.ts";
import { documentMetadata } from "./metadata-values.ts";
import { invalidParam } from "../http/errors.ts";
import { searchResultSegment } from "./segments.ts";
import { getSearchSettings } from "./search-settings.ts";
import { matchAny, tokenize } from "./words.ts";

interface Hit extends SegmentRow {
  /** bm25: negative, best match lowest. */
  readonly rank: number;
  readonly words: string;
}

/** Search in a knowledge base: always full text, whatever the search method. */
const handlers: Handlers<typeof operations, KnowledgeContext> = {
  searchKnowledgeBase(context, input) {
    const dataset = getDataset(context, input.dataset_id);
    const { query, attachment_ids = [] } = input;
    if (query === "" && attachment_ids.length === 0) {
      throw invalidParam("Query or attachment_ids is required");
    }
    const settings = getSearchSettings(dataset, input.retrieval_model);
    const filter = parseMetadataFilter(settings.metadata_filtering_conditions);
    const words = tokenize(query);
    const hits = findSegments(context, dataset, words);
    const scores = scoreHits(hits, words);
    const isKeywordSearch = settings.search_method === "keyword_search";
    const minScore =
      settings.score_threshold_enabled && !isKeywordSearch ? (settings.score_threshold ?? 0) : 0;

    const records: object[] = [];
    for (const [index, hit] of hits.entries()) {
      if (records.length >= settings.top_k) break;
      const score = scores[index] ?? 0;
      const document = context.store.get<DocumentRow>(
        "SELECT * FROM documents WHERE id = ?",
        hit.document_id,
      );
      if (!document || score < minScore) continue;
      const metadata = documentMetadata(context, dataset, document);
      const values = Object.fromEntries(metadata.map(({ name, value }) => [name, value]));
      if (filter && !filter(values)) continue;
      records.push({
        segment: searchResultSegment(hit, {
          id: document.id,
          data_source_type: "upload_file",
          name: document.name,
          doc_type: null,
          doc_metadata: metadata.length === 0 ? null : metadata,
        }),
        child_chunks: [],
        // The server does not score keyword searches (server §6.1).
        score: isKeywordSearch ? 0 : score,
        tsne_position: null,
        files: [],
        summary: null,
      });
    }
    return { json: { query: { content: query }, records } };
  },
};

export const searchHandlers = bindHandlers(operations, handlers);

/** Finds chunks with any of the words, best first; words are weighted by all stored chunks. */
function findSegments(
  { store }: KnowledgeContext,
  dataset: DatasetRow,
  words: readonly string[],
): Hit[] {
  const query = matchAny(words);
  if (query === undefined) return [];
  return store.all<Hit>(
    `SELECT segments.*, bm25(segment_words) AS rank, segment_words.words AS words
     FROM segment_words JOIN segments ON segments.key = segment_words.rowid
     JOIN documents ON documents.id = segments.document_id
     WHERE segment_words MATCH ? AND segments.dataset_id = ?
       AND segments.enabled AND segments.status = 'completed'
       AND documents.enabled AND NOT documents.archived
       AND documents.indexing_status = 'completed'
     ORDER BY rank, documents.key, segments.position LIMIT 200`,
    query,
    dataset.id,
  );
}

/** Scores from 0 to 1: for the best hit the share of the words it contains, for others in proportion. */
function scoreHits(hits: readonly Hit[], words: readonly string[]): number[] {
  const [best] = hits;
  if (!best) return [];
  const bestWords = new Set(best.words.split(" "));
  const unique = [...new Set(words)];
  const top = unique.filter((word) => bestWords.has(word)).length / unique.length;
  return hits.map(({ rank }) => (top * rank) / best.rank);
}
