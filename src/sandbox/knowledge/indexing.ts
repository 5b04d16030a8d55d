import { splitIntoChunks, type TextChunk } from "./chunking.ts";
import {
  type DocumentRow,
  type KnowledgeContext,
  deleteSegments,
  getProcessRule,
  type Stage,
} from "../storage/knowledge-store.ts";
import { countCharacters } from "./characters.ts";
import { addSegment } from "./segments.ts";

/** Which part of the indexing delay has passed when a stage begins, latest first. */
const beginnings = [
  ["indexing", 0.6],
  ["splitting", 0.45],
  ["cleaning", 0.3],
  ["parsing", 0.1],
  ["waiting", 0],
] as const satisfies readonly (readonly [Stage, number])[];

/** When a stage of a document begins, ms since 1970. */
export function stageStart(room: KnowledgeContext, document: DocumentRow, stage: Stage): number {
  const [, part] = beginnings.find(([name]) => name === stage) ?? ["", 0];
  return document.queued_at + part * room.indexingDelay;
}

/** What can be read as text; other kinds are stored and fail when they are indexed. */
const readable = new Set([
  "txt",
  "md",
  "markdown",
  "mdx",
  "html",
  "htm",
  "csv",
  "vtt",
  "properties",
]);

/** Documents that have to change by now, those of each stage in one look at the index. */
const dueDocuments = `SELECT * FROM documents WHERE ${beginnings
  .map(([stage], later) => {
    const next = later === 0 ? 1 : beginnings[later - 1]?.[1];
    return `(indexing_status = '${stage}' AND queued_at <= ?1 - ${next} * ?2)`;
  })
  .join(" OR ")} ORDER BY queued_at, key`;

/**
 * Brings every document to the stage that it has reached by now. Nothing happens between requests:
 * who asks sees what a worker would have done since, also after a restart.
 */
export function advanceIndexing(room: KnowledgeContext): void {
  const due = room.store.all<DocumentRow>(dueDocuments, room.now(), room.indexingDelay);
  for (const document of due) advance(room, document);
}

function advance(room: KnowledgeContext, document: DocumentRow): void {
  const { store } = room;
  const age = room.now() - document.queued_at;
  const done = age >= room.indexingDelay;
  const [stage] = beginnings.find(([, part]) => age >= part * room.indexingDelay) ?? ["waiting"];

  const at = document.queued_at + Math.min(age, room.indexingDelay);
  if ((done || stage === "indexing") && document.indexing_status !== "indexing") {
    const problem = split(room, document, at);
    if (problem !== undefined) {
      store.run(
        `UPDATE documents SET indexing_status = 'error', error = ?, stopped_at = ?, updated_at = ?
         WHERE id = ?`,
        problem,
        at,
        at,
        document.id,
      );
      return;
    }
  }
  if (!done) {
    store.run("UPDATE documents SET indexing_status = ? WHERE id = ?", stage, document.id);
    return;
  }
  complete(room, document, at);
}

/** Cuts the text of a document into stored chunks; gives the reason where that fails. */
function split(room: KnowledgeContext, document: DocumentRow, at: number): string | undefined {
  const chunks = cut(room, document);
  if (typeof chunks === "string") return chunks;
  deleteSegments(room, "document_id", document.id);
  for (const [index, { content, children }] of chunks.entries()) {
    const { dataset_id, id: document_id } = document;
    const position = index + 1;
    const segment = { dataset_id, document_id, position, content, answer: null, keywords: null };
    addChildren(room, addSegment(room, segment, at), children, at);
  }
  const words = chunks.reduce((sum, { content }) => sum + countCharacters(content), 0);
  room.store.run(
    "UPDATE documents SET word_count = ?, tokens = 0 WHERE id = ?",
    words,
    document.id,
  );
  return undefined;
}

/** The chunks of a document's file, or why there are none. */
function cut(room: KnowledgeContext, document: DocumentRow): TextChunk[] | string {
  const file = room.store.get<{ readonly extension: string; readonly bytes: Uint8Array }>(
    "SELECT extension, bytes FROM files WHERE id = ?",
    document.file_id,
  );
  if (!file || !readable.has(file.extension)) {
    return "The sandbox reads text files only; it cannot take the text out of this kind.";
  }
  try {
    return splitIntoChunks(
      new TextDecoder().decode(file.bytes),
      getProcessRule(room, document.rule_id),
    );
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function addChildren(
  room: KnowledgeContext,
  segmentId: string,
  contents: readonly string[],
  at: number,
): void {
  for (const [index, content] of contents.entries()) {
    room.store.run(
      `INSERT INTO child_chunks (id, segment_id, position, content, type, created_at, updated_at)
       VALUES (?, ?, ?, ?, 'automatic', ?, ?)`,
      room.newId(),
      segmentId,
      index + 1,
      content,
      at,
      at,
    );
  }
}

function complete({ store }: KnowledgeContext, document: DocumentRow, at: number): void {
  store.run(
    `UPDATE documents SET indexing_status = 'completed', error = NULL, stopped_at = NULL,
       completed_at = ?, updated_at = ? WHERE id = ?`,
    at,
    at,
    document.id,
  );
  if (document.doc_form !== "hierarchical_model") return;
  // Without an embedding model the server never finishes the chunks of a hierarchical document,
  // though the document is called available: searches do not find them.
  store.run(
    `UPDATE segments SET status = 'indexing', enabled = 0, keywords = NULL, completed_at = NULL
     WHERE document_id = ?`,
    document.id,
  );
}
