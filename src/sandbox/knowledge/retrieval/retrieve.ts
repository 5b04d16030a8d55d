import type {
  DatasetRow,
  DocumentRow,
  KnowledgeContext,
  SegmentRow,
} from "../../storage/knowledge-store.ts";
import { rankSegments } from "./rank.ts";
import { DEFAULT_SETTINGS } from "./search-settings.ts";

/** A chunk that was found for an application. */
export interface Passage {
  readonly dataset: DatasetRow;
  readonly document: DocumentRow;
  readonly segment: SegmentRow;
  readonly score: number;
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

const settingsOf = ({ retrieval_model }: DatasetRow) => retrieval_model ?? DEFAULT_SETTINGS;

/** Whether a knowledge base has a document to search; the server leaves out those without. */
const hasDocuments = ({ documents }: KnowledgeContext, { id: dataset_id }: DatasetRow): boolean =>
  documents.count({ dataset_id, indexing_status: "completed", enabled: true, archived: false }) > 0;

/** Returns the search for applications. */
export const openRetrieve =
  (context: KnowledgeContext): Retrieve =>
  (wanted, query, topK) =>
    context.datasets
      .select("ORDER BY rowid")
      .filter(({ id, name }) => wanted.some((each) => ["*", id, name].includes(each)))
      .filter((dataset) => hasDocuments(context, dataset))
      .flatMap((dataset) =>
        rankSegments(context, dataset, query, settingsOf(dataset)).flatMap((hit) => {
          const segment = context.segments.find({ id: hit.id });
          const document = context.documents.find({ id: hit.document_id });
          return segment && document ? [{ dataset, document, segment, score: hit.score }] : [];
        }),
      )
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
