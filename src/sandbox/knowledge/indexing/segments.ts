import { countCharacters } from "../../../lib/utf8.ts";
import type { DatasetRow, KnowledgeContext, SegmentRow } from "../../storage/knowledge-store.ts";
import { countTokens } from "../../models/tokens.ts";
import { embedFor, isHighQuality, vectorBytes } from "./embedding.ts";
import { extractKeywords, tokenize } from "../../models/words.ts";

/** A chunk to store; if `keywords` is null, they are extracted from the content. */
export type NewSegment = Pick<
  SegmentRow,
  "dataset_id" | "document_id" | "position" | "content" | "answer" | "keywords"
>;

/**
 * Stores and indexes a chunk; returns its ID. A chunk of a knowledge base with an embedding model has
 * no keywords of its own, and its tokens are counted.
 */
export function addSegment(
  context: KnowledgeContext,
  dataset: DatasetRow,
  segment: NewSegment,
  time: number,
): string {
  const id = context.newId();
  const embeds = isHighQuality(dataset);
  context.segments.insert({
    ...segment,
    id,
    word_count: countSegment(segment),
    keywords: segment.keywords ?? (embeds ? null : extractKeywords(segment.content)),
    tokens: embeds ? countTokens(segment.content) : 0,
    index_node_id: context.newId(),
    status: "completed",
    enabled: true,
    created_at: time,
    updated_at: time,
    indexing_at: time,
    completed_at: time,
  });
  indexWords(context, id);
  return id;
}

/** Embeds a stored chunk with the model of its knowledge base. Throws ModelError. */
export function embedSegment(
  { segments }: KnowledgeContext,
  dataset: DatasetRow,
  { id, content }: Pick<SegmentRow, "id" | "content">,
): void {
  segments.update({ id }, { vector: vectorBytes(embedFor(dataset, content)) });
}

/** The characters of a chunk with its answer. */
export const countSegment = ({ content, answer }: Pick<SegmentRow, "content" | "answer">) =>
  countCharacters(content + (answer ?? ""));

/** Replaces the words of a stored chunk in the index. */
export function indexWords({ store, segments }: KnowledgeContext, id: string): void {
  const row = segments.find({ id });
  if (!row) return;
  const text = [row.content, row.answer ?? "", ...(row.keywords ?? [])].join("\n");
  const rowid = "SELECT rowid FROM segments WHERE id = ?1";
  store.run(`DELETE FROM segment_words WHERE rowid = (${rowid})`, id);
  const sql = `INSERT INTO segment_words (rowid, words) VALUES ((${rowid}), ?2)`;
  store.run(sql, id, tokenize(text).join(" "));
}
