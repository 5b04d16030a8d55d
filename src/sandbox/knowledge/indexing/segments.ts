import { countCharacters } from "../../../lib/utf8.ts";
import { countTokens } from "../../models/tokens.ts";
import { extractKeywords } from "../../models/words.ts";
import type { DatasetRow, KnowledgeContext, SegmentRow } from "../records/knowledge-store.ts";
import { embedChildren } from "./children.ts";
import { isHighQuality } from "./embedding.ts";
import { indexTableOf, indexWords, vectorFor } from "./index-tables.ts";

/** A chunk to store; if `keywords` is null, they are extracted from the content. */
export type NewSegment = Pick<
  SegmentRow,
  "dataset_id" | "document_id" | "position" | "content" | "answer" | "keywords"
> & {
  /** The text whose characters and tokens count. */
  readonly counted: string;
};

/**
 * Stores a chunk and indexes its words; returns its ID. A chunk of a knowledge base with an embedding
 * model has no keywords of its own, and its tokens are counted.
 */
export function addSegment(
  context: KnowledgeContext,
  dataset: DatasetRow,
  { counted, ...segment }: NewSegment,
  time: number,
): string {
  const id = context.newId();
  const embeds = isHighQuality(dataset);
  context.segments.insert({
    ...segment,
    id,
    word_count: countCharacters(counted),
    keywords: segment.keywords ?? (embeds ? null : extractKeywords(segment.content)),
    tokens: embeds ? countTokens(counted) : 0,
    index_node_id: context.newId(),
    status: "completed",
    enabled: true,
    created_at: time,
    updated_at: time,
    indexing_at: time,
    completed_at: time,
  });
  indexSegmentWords(context, id);
  return id;
}

/** Embeds a stored chunk, or its child chunks if it is found by them. Throws ModelError. */
export function embedSegment(
  context: KnowledgeContext,
  dataset: DatasetRow,
  { id, content }: Pick<SegmentRow, "id" | "content">,
): void {
  if (indexTableOf(dataset).table === "child_chunks") return embedChildren(context, dataset, id);
  context.segments.update({ id }, { vector: vectorFor(dataset, content) });
}

/** Replaces the words of a stored chunk in the index. */
export function indexSegmentWords(context: KnowledgeContext, id: string): void {
  const row = context.segments.find({ id });
  if (!row) return;
  const text = [row.content, row.answer ?? "", ...(row.keywords ?? [])].join("\n");
  indexWords(context, "segments", id, text);
}
