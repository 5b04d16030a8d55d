import * as operations from "../../operations/knowledge.ts";
import { bindHandlers, type Handlers } from "../http/handler.ts";
import { type DatasetRow, getDataset, type KnowledgeContext } from "../storage/knowledge-store.ts";
import { parseMetadataFilter } from "./metadata-filter.ts";
import { documentMetadata } from "./metadata-values.ts";
import { knowledgeRefusal, toResponse } from "./responses.ts";
import { DEFAULT_SETTINGS, type SearchSettings } from "./search-settings.ts";
import { matchAny, tokenize } from "./words.ts";

/** Search in a knowledge base: always full text, whatever the search method. */
const handlers: Handlers<typeof operations, KnowledgeContext> = {
  searchKnowledgeBase(context, input) {
    const dataset = getDataset(context, input.dataset_id);
    const { query, attachment_ids = [] } = input;
    if (query === "" && attachment_ids.length === 0) {
      throw knowledgeRefusal("query missing");
    }
    // Validated with the request.
    const sent = input.retrieval_model as SearchSettings | undefined;
    const settings = sent ?? dataset.retrieval_model ?? DEFAULT_SETTINGS;
    const filter = parseMetadataFilter(settings.metadata_filtering_conditions);
    const isKeywordSearch = settings.search_method === "keyword_search";
    const minScore =
      settings.score_threshold_enabled && !isKeywordSearch ? (settings.score_threshold ?? 0) : 0;

    const records: object[] = [];
    for (const { score, ...hit } of findSegments(context, dataset, tokenize(query))) {
      if (records.length >= settings.top_k) break;
      const segment = context.segments.find({ id: hit.id });
      const document = context.documents.find({ id: hit.document_id });
      if (!segment || !document || score < minScore) continue;
      const metadata = documentMetadata(context, dataset, document);
      const values = Object.fromEntries(metadata.map(({ name, value }) => [name, value]));
      if (filter && !filter(values)) continue;
      const record = toResponse("search_record", segment, {
        document_name: document.name,
        doc_metadata: metadata.length === 0 ? null : metadata,
        // The server does not score keyword searches (server §6.1).
        score: isKeywordSearch ? 0 : score,
      });
      records.push(record);
    }
    return { json: { query: { content: query }, records } };
  },
};

export const searchHandlers = bindHandlers(operations, handlers);

/** A chunk that a search found. */
interface Hit {
  readonly id: string;
  readonly document_id: string;
  /** From 0 to 1. */
  readonly score: number;
}

/**
 * Finds chunks with any of the words, best first; words are weighted by all stored chunks. The score
 * of the best one is the share of the words it contains, those of others are in proportion.
 */
function findSegments(
  { store }: KnowledgeContext,
  dataset: DatasetRow,
  words: readonly string[],
): Hit[] {
  const query = matchAny(words);
  if (query === undefined) return [];
  const hits = store.all<Hit & { readonly rank: number; readonly words: string }>(
    `SELECT segments.id, segments.document_id, bm25(segment_words) AS rank, segment_words.words
     FROM segment_words JOIN segments ON segments.rowid = segment_words.rowid
     JOIN documents ON documents.id = segments.document_id
     WHERE segment_words MATCH ? AND segments.dataset_id = ?
       AND segments.enabled AND segments.status = 'completed'
       AND documents.enabled AND NOT documents.archived
       AND documents.indexing_status = 'completed'
     ORDER BY rank, documents.rowid, segments.position LIMIT 200`,
    query,
    dataset.id,
  );
  const [best] = hits; // bm25 is negative, lowest for the best match
  if (!best) return [];
  const bestWords = new Set(best.words.split(" "));
  const unique = [...new Set(words)];
  const top = unique.filter((word) => bestWords.has(word)).length / unique.length;
  return hits.map((hit) => ({ ...hit, score: (top * hit.rank) / best.rank }));
}
