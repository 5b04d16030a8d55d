import { searchKnowledgeBase } from "../../operations/knowledge.ts";
import { type Handler, on } from "../http/handler.ts";
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
  /** From bm25: negative, the best lowest. */
  readonly rank: number;
  readonly words: string;
}

/** The search of a knowledge base: full text, whatever the method is called. */
export const searchHandlers = (room: KnowledgeContext): readonly Handler[] => [
  on(searchKnowledgeBase, (input) => {
    const dataset = getDataset(room, input.dataset_id);
    const { query, attachment_ids = [] } = input;
    if (query === "" && attachment_ids.length === 0) {
      throw invalidParam("Query or attachment_ids is required");
    }
    const settings = getSearchSettings(dataset, input.retrieval_model);
    const filter = parseMetadataFilter(settings.metadata_filtering_conditions);
    const words = tokenize(query);
    const hits = ranked(room, dataset, words);
    const scores = scoresOf(hits, words);
    const keywordSearch = settings.search_method === "keyword_search";
    const least =
      settings.score_threshold_enabled && !keywordSearch ? (settings.score_threshold ?? 0) : 0;

    const records: object[] = [];
    for (const [index, hit] of hits.entries()) {
      if (records.length >= settings.top_k) break;
      const score = scores[index] ?? 0;
      const document = room.store.get<DocumentRow>(
        "SELECT * FROM documents WHERE id = ?",
        hit.document_id,
      );
      if (!document || score < least) continue;
      const metadata = documentMetadata(room, dataset, document);
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
        // The server gives no scores in keyword search (server §6.1).
        score: keywordSearch ? 0 : score,
        tsne_position: null,
        files: [],
        summary: null,
      });
    }
    return { json: { query: { content: query }, records } };
  }),
];

/** Chunks that hold any of the words, the best first. Words are weighed over all that is stored. */
function ranked({ store }: KnowledgeContext, dataset: DatasetRow, words: readonly string[]): Hit[] {
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

/** From 0 to 1: the best has the part of the query's words that it holds, the others in proportion. */
function scoresOf(hits: readonly Hit[], words: readonly string[]): number[] {
  const [best] = hits;
  if (!best) return [];
  const held = new Set(best.words.split(" "));
  const wanted = [...new Set(words)];
  const top = wanted.filter((word) => held.has(word)).length / wanted.length;
  return hits.map(({ rank }) => (top * rank) / best.rank);
}
