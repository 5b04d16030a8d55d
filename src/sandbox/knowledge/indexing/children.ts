import {
  type ChildChunkRow,
  type DatasetRow,
  deleteChildren,
  type DocumentRow,
  type KnowledgeContext,
  type SegmentRow,
} from "../records/knowledge-store.ts";
import { splitChildren } from "./chunking.ts";
import { indexWords, vectorFor } from "./index-tables.ts";

/** A child chunk to store; without `vector`, it is embedded later. */
type NewChild = Pick<ChildChunkRow, "segment_id" | "position" | "content" | "type"> &
  Partial<Pick<ChildChunkRow, "vector">>;

/** Stores a child chunk and indexes its words; returns it. */
export function addChild(context: KnowledgeContext, child: NewChild, time: number): ChildChunkRow {
  const id = context.newId();
  const row = { vector: null, ...child, id, created_at: time, updated_at: time };
  context.child_chunks.insert(row);
  indexWords(context, "child_chunks", id, child.content);
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
  deleteChildren(context, id);
  const rule = context.process_rules.find({ id: rule_id })?.rule;
  if (rule) addChildren(context, id, splitChildren(content, rule), context.now());
}
