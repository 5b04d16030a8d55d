import type { DatasetRow, KnowledgeContext } from "../records/knowledge-store.ts";
import { isHighQuality } from "../indexing/embedding.ts";
import { advanceIndexing } from "../indexing/indexing.ts";
import { findChunks, type FoundChunk } from "./found-chunks.ts";
import { DEFAULT_SETTINGS, type SearchSettings } from "../records/search-settings.ts";

/** A chunk that was found for an application. */
export interface Passage extends FoundChunk {
  readonly dataset: DatasetRow;
}

/**
 * Searches knowledge bases for an application, best first; `datasets` are IDs or names, and `*`
 * stands for all of them. Throws ModelError if a model fails.
 */
export type Retrieve = (
  datasets: readonly string[],
  query: string,
  topK: number,
) => readonly Passage[];

/** Applications search economy by keywords, whatever the knowledge base says. */
const settingsOf = (dataset: DatasetRow): SearchSettings => {
  const settings = dataset.retrieval_model ?? DEFAULT_SETTINGS;
  return isHighQuality(dataset) ? settings : { ...settings, search_method: "keyword_search" };
};

/** Whether a knowledge base has a document to search; the server leaves out those without. */
const hasDocuments = ({ documents }: KnowledgeContext, { id: dataset_id }: DatasetRow): boolean =>
  documents.count({ dataset_id, indexing_status: "completed", enabled: true, archived: false }) > 0;

/** Returns the search for applications. */
export const openRetrieve =
  (context: KnowledgeContext): Retrieve =>
  (wanted, query, topK) => {
    context.store.transaction(() => advanceIndexing(context));
    return context.datasets
      .select("ORDER BY rowid")
      .filter(({ id, name }) => wanted.some((each) => ["*", id, name].includes(each)))
      .filter((dataset) => hasDocuments(context, dataset))
      .flatMap((dataset) => {
        const settings = { ...settingsOf(dataset), top_k: topK };
        return findChunks(context, dataset, query, settings).map((found) => ({
          dataset,
          ...found,
        }));
      })
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
  };
