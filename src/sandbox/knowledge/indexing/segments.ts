import { countCharacters } from "../../../lib/text.ts";
import { countTokens } from "../../models/tokens.ts";
import { extractKeywords } from "../../models/words.ts";
import {
  type DatasetRow,
  type KnowledgeContext,
  type SegmentRow,
  type ChildChunkRow,
  type DocumentRow,
} from "../records/knowledge-store.ts";
import { isHighQuality, indexTableOf, indexWords, vectorFor } from "./embedding.ts";
import { splitChildren } from "../../../splitting/split.ts";

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

/** A child chunk to store; without `vector`, it is embedded later. */
type NewChild = Pick<ChildChunkRow, "segment_id" | "position" | "content" | "type"> &
  Partial<Pick<ChildChunkRow, "vector">>;

/** Stores a child chunk and indexes its words; returns it. */
export function addChild(context: KnowledgeContext, child: NewChild, time: number): ChildChunkRow {
  const row = context.child_chunks.insert({ ...child, created_at: time, updated_at: time });
  indexWords(context, "child_chunks", row.id, child.content);
  return row;
}

/** Stores the child chunks of a chunk in their order. */
export function addChildren(
  context: KnowledgeContext,
  segment_id: string,
  contents: readonly string[],
  time: number,
): void {
  for (const [index, content] of contents.entries())
    addChild(context, { segment_id, position: index + 1, content, type: "automatic" }, time);
}

/** Embeds the stored child chunks of a chunk. Throws ModelError. */
export function embedChildren(
  { child_chunks }: KnowledgeContext,
  dataset: DatasetRow,
  segment_id: string,
): void {
  for (const { id, content } of child_chunks.list({ segment_id }))
    child_chunks.update({ id }, { vector: vectorFor(dataset, content) });
}

/** Splits a stored chunk into child chunks again, by the rule of its document. */
export function remakeChildren(
  context: KnowledgeContext,
  { rule_id }: DocumentRow,
  { id, content }: Pick<SegmentRow, "id" | "content">,
): void {
  context.child_chunks.delete({ segment_id: id });
  const rule = context.process_rules.find({ id: rule_id })?.rule;
  if (rule) addChildren(context, id, splitChildren(content, rule, context.version), context.now());
}
