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

/** Returns the search for applications. */
export const openRetrieve =
  (context: KnowledgeContext): Retrieve =>
  (wanted, query, topK) =>
    context.datasets
      .select("ORDER BY rowid")
      .filter(({ id, name }) => wanted.some((each) => ["*", id, name].includes(each)))
      .flatMap((dataset) =>
        rankSegments(context, dataset, query, settingsOf(dataset)).flatMap((hit) => {
          const segment = context.segments.find({ id: hit.id });
          const document = context.documents.find({ id: hit.document_id });
          return segment && document ? [{ dataset, document, segment, score: hit.score }] : [];
        }),
      )
      .sort((a, b) => b.score - a.score)
      .slice(0, topK);
