import { countCharacters } from "./characters.ts";
import { createHash } from "node:crypto";
import {
  account,
  type ChildChunkRow,
  type KnowledgeContext,
  type SegmentRow,
} from "../storage/knowledge-store.ts";
import { toSeconds, toSecondsOrNull } from "../storage/ids.ts";
import { extractKeywords, tokenize } from "./words.ts";

/** A chunk to store; if `keywords` is null, they are extracted from the content. */
export interface NewSegment {
  readonly dataset_id: string;
  readonly document_id: string;
  readonly position: number;
  readonly content: string;
  readonly answer: string | null;
  readonly keywords: readonly string[] | null;
}

/** Stores and indexes a chunk; returns its ID. */
export function addSegment(context: KnowledgeContext, segment: NewSegment, time: number): string {
  const id = context.newId();
  const keywords = segment.keywords ?? extractKeywords(segment.content);
  context.store.insert("segments", {
    ...segment,
    id,
    word_count: countCharacters(segment.content + (segment.answer ?? "")),
    keywords: JSON.stringify(keywords),
    index_node_id: context.newId(),
    status: "completed",
    enabled: 1,
    created_at: time,
    updated_at: time,
    indexing_at: time,
    completed_at: time,
  });
  indexWords(context, id);
  return id;
}

/** Replaces the words of a stored chunk in the index. */
export function indexWords({ store }: KnowledgeContext, id: string): void {
  const row = store.get<SegmentRow>("SELECT * FROM segments WHERE id = ?", id);
  if (!row) return;
  const keywords = parseKeywords(row) ?? [];
  const words = tokenize([row.content, row.answer ?? "", ...keywords].join("\n")).join(" ");
  store.run("DELETE FROM segment_words WHERE rowid = ?", row.key);
  store.run("INSERT INTO segment_words (rowid, words) VALUES (?, ?)", row.key, words);
}

const parseKeywords = (row: SegmentRow): readonly string[] | null =>
  row.keywords === null ? null : (JSON.parse(row.keywords) as string[]); // this file's own format

/** The fields of a chunk that all responses have, in order. */
const segmentFields = (row: SegmentRow) => ({
  id: row.id,
  position: row.position,
  document_id: row.document_id,
  content: row.content,
  sign_content: row.content as string | null, // null in searches
  answer: row.answer,
  word_count: row.word_count,
  tokens: 0,
  keywords: parseKeywords(row),
  index_node_id: row.index_node_id,
  index_node_hash: createHash("sha256").update(row.content).digest("hex"),
  hit_count: 0,
  enabled: row.enabled === 1,
  disabled_at: toSecondsOrNull(row.disabled_at),
  disabled_by: row.disabled_at === null ? null : account.id,
  status: row.status,
  created_by: account.id,
  created_at: toSeconds(row.created_at),
});

const indexingFields = (row: SegmentRow) => ({
  indexing_at: toSeconds(row.indexing_at),
  completed_at: toSecondsOrNull(row.completed_at),
  error: null,
  stopped_at: null,
});

/** A chunk in the responses of chunk routes. */
export const segmentResponse = (row: SegmentRow, children: readonly ChildChunkRow[]): object => ({
  ...segmentFields(row),
  updated_at: toSeconds(row.updated_at),
  updated_by: row.updated_by,
  ...indexingFields(row),
  child_chunks: children.map(childChunkResponse),
  attachments: [],
  summary: row.summary,
});

/** A chunk in a search result, with its document. */
export const searchResultSegment = (row: SegmentRow, document: object): object => ({
  ...segmentFields(row),
  sign_content: null,
  ...indexingFields(row),
  document,
});

export const childChunkResponse = (row: ChildChunkRow): object => ({
  id: row.id,
  segment_id: row.segment_id,
  content: row.content,
  position: row.position,
  word_count: countCharacters(row.content),
  type: row.type,
  created_at: toSeconds(row.created_at),
  updated_at: toSeconds(row.updated_at),
});
