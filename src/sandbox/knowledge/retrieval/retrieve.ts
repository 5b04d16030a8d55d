import { isObject } from "../../../lib/json.ts";
import { compares } from "../../protocol/comparisons.ts";
import type {
  DatasetRow,
  KnowledgeContext,
  ChildChunkRow,
  DocumentRow,
  MetadataValue,
  SegmentRow,
} from "../records/knowledge-store.ts";
import { isHighQuality, indexTableOf } from "../indexing/segments.ts";
import { advanceIndexing } from "../indexing/indexing.ts";
import { DEFAULT_SETTINGS, type SearchSettings } from "../records/responses.ts";
import { documentMetadata } from "../records/metadata-values.ts";
import { type Hit, rankHits } from "./rank.ts";

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

const searchable = { indexing_status: "completed", enabled: true, archived: false } as const;

/** Returns the search for applications. */
export const openRetrieve =
  (context: KnowledgeContext): Retrieve =>
  (wanted, query, topK) => {
    context.store.transaction(() => advanceIndexing(context));
    return (
      context.datasets
        .select("ORDER BY rowid")
        .filter(({ id, name }) => wanted.some((each) => ["*", id, name].includes(each)))
        // The server leaves out those without a document to search.
        .filter(({ id: dataset_id }) => context.documents.count({ dataset_id, ...searchable }) > 0)
        .flatMap((dataset) => {
          const stored = dataset.retrieval_model ?? DEFAULT_SETTINGS;
          // Economy is searched by keywords, whatever the knowledge base says.
          const method = isHighQuality(dataset) ? stored.search_method : "keyword_search";
          const settings = { ...stored, search_method: method, top_k: topK };
          const found = findChunks(context, dataset, query, settings);
          return found.map((each) => ({ dataset, ...each }));
        })
        .sort((a, b) => b.score - a.score)
        .slice(0, topK)
    );
  };

/** A chunk that was found. */
export interface FoundChunk {
  readonly segment: SegmentRow;
  readonly document: DocumentRow;
  /** That of its best child chunk, if it was found by them. */
  readonly score: number;
  /** The child chunks that were found, best first. */
  readonly children: readonly FoundChild[];
}

type FoundChild = Pick<ChildChunkRow, "id" | "content" | "position"> & Pick<Hit, "score">;

/** Searches a knowledge base, best chunk first. Throws ModelError. */
export function findChunks(
  context: KnowledgeContext,
  dataset: DatasetRow,
  query: string,
  settings: SearchSettings,
): FoundChunk[] {
  const accepts = documentFilter(context, dataset, settings);
  const hits = rankHits({ context, dataset, query, settings, accepts });
  const byChildren = indexTableOf(dataset).table === "child_chunks";
  const segmentIds = new Set(hits.map(({ segment_id }) => segment_id));
  return [...segmentIds].flatMap((id) => {
    const ofChunk = hits.filter(({ segment_id }) => segment_id === id);
    const segment = context.segments.find({ id });
    const document = segment && context.documents.find({ id: segment.document_id });
    if (!document) return [];
    const children = byChildren ? ofChunk.flatMap((hit) => childOf(context, hit)) : [];
    return [{ segment, document, score: ofChunk[0]?.score ?? 0, children }];
  });
}

function childOf({ child_chunks }: KnowledgeContext, { id, score }: Hit): FoundChild[] {
  const child = child_chunks.find({ id });
  return child ? [{ id, content: child.content, position: child.position, score }] : [];
}

/** Whether the conditions of the settings accept a document; each is looked at once. */
function documentFilter(
  context: KnowledgeContext,
  dataset: DatasetRow,
  { metadata_filtering_conditions }: SearchSettings,
): (documentId: string) => boolean {
  const filter = parseMetadataFilter(metadata_filtering_conditions);
  if (!filter) return () => true;
  const known = new Map<string, boolean>();
  const check = (id: string): boolean => {
    const document = context.documents.find({ id });
    const metadata = document ? documentMetadata(context, dataset, document) : [];
    const values = Object.fromEntries(metadata.map(({ name, value }) => [name, value]));
    return document !== undefined && filter(values);
  };
  return (id) => {
    const accepted = known.get(id) ?? check(id);
    known.set(id, accepted);
    return accepted;
  };
}

/** Reports whether a document with these values, by name, matches. */
type MetadataFilter = (values: Readonly<Record<string, MetadataValue | undefined>>) => boolean;

/** Parses `metadata_filtering_conditions`; undefined if every document matches (server §6). */
export function parseMetadataFilter(sent: unknown): MetadataFilter | undefined {
  if (!isObject(sent) || !Array.isArray(sent["conditions"])) return undefined;
  const conditions = sent["conditions"].filter(isObject);
  if (conditions.length === 0) return undefined;
  return (values) => {
    const matches = ({ name, comparison_operator, value }: Readonly<Record<string, unknown>>) =>
      compares(String(comparison_operator), values[String(name)] ?? null, value ?? "");
    return sent["logical_operator"] === "or" ? conditions.some(matches) : conditions.every(matches);
  };
}
