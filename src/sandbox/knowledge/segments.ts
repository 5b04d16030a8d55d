import { countCharacters } from "./characters.ts";
import { createHash } from "node:crypto";
import {
  account,
  type ChildChunkRow,
  type KnowledgeContext,
  type SegmentRow,
} from "../storage/knowledge-store.ts";
import { toSeconds } from "../storage/ids.ts";
import { extractKeywords, tokenize } from "./words.ts";

/** A chunk to store; `keywords` null takes them from the content. */
export interface NewSegment {
  readonly dataset_id: string;
  readonly document_id: string;
  readonly position: number;
  readonly content: string;
  readonly answer: string | null;
  readonly keywords: readonly string[] | null;
}

/** Stores a chunk that searches find at once, and gives its id. */
export function addSegment(room: KnowledgeContext, segment: NewSegment, at: number): string {
  const { store } = room;
  const id = room.newId();
  const keywords = segment.keywords ?? extractKeywords(segment.content);
  store.run(
    `INSERT INTO segments (id, dataset_id, document_id, position, content, answer, word_count,
       keywords, index_node_id, status, enabled, created_at, updated_at, indexing_at, completed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'completed', 1, ?, ?, ?, ?)`,
    id,
    segment.dataset_id,
    segment.document_id,
    segment.position,
    segment.content,
    segment.answer,
    countCharacters(segment.content + (segment.answer ?? "")),
    JSON.stringify(keywords),
    room.newId(),
    at,
    at,
    at,
    at,
  );
  indexWords(room, id);
  return id;
}

/** Puts the words of a stored chunk into the index, in place of those that are there. */
export function indexWords({ store }: KnowledgeContext, id: string): void {
  const row = store.get<SegmentRow>("SELECT * FROM segments WHERE id = ?", id);
  if (!row) return;
  const keywords = keywordsOf(row) ?? [];
  const words = tokenize([row.content, row.answer ?? "", ...keywords].join("\n")).join(" ");
  store.run("DELETE FROM segment_words WHERE rowid = ?", row.key);
  store.run("INSERT INTO segment_words (rowid, words) VALUES (?, ?)", row.key, words);
}

const keywordsOf = (row: SegmentRow): readonly string[] | null =>
  row.keywords === null ? null : (JSON.parse(row.keywords) as string[]); // written by us

/** Fields of a chunk that every answer has, and in their order. */
const segmentFields = (row: SegmentRow) => ({
  id: row.id,
  position: row.position,
  document_id: row.document_id,
  content: row.content,
  sign_content: row.content as string | null, // searches answer null
  answer: row.answer,
  word_count: row.word_count,
  tokens: 0,
  keywords: keywordsOf(row),
  index_node_id: row.index_node_id,
  index_node_hash: createHash("sha256").update(row.content).digest("hex"),
  hit_count: 0,
  enabled: row.enabled === 1,
  disabled_at: row.disabled_at === null ? null : toSeconds(row.disabled_at),
  disabled_by: row.disabled_at === null ? null : account.id,
  status: row.status,
  created_by: account.id,
  created_at: toSeconds(row.created_at),
});

const ends = (row: SegmentRow) => ({
  indexing_at: toSeconds(row.indexing_at),
  completed_at: row.completed_at === null ? null : toSeconds(row.completed_at),
  error: null,
  stopped_at: null,
});

/** A chunk as the chunk routes answer it. */
export const segmentResponse = (row: SegmentRow, children: readonly ChildChunkRow[]): object => ({
  ...segmentFields(row),
  updated_at: toSeconds(row.updated_at),
  updated_by: row.updated_by,
  ...ends(row),
  child_chunks: children.map(childChunkResponse),
  attachments: [],
  summary: row.summary,
});

/** A chunk as a search finds it, with the document it belongs to. */
export const searchResultSegment = (row: SegmentRow, document: object): object => ({
  ...segmentFields(row),
  sign_content: null,
  ...ends(row),
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
