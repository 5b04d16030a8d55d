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

/** Start of each stage as a share of the indexing delay, latest first. */
const STAGE_STARTS = [
  ["indexing", 0.6],
  ["splitting", 0.45],
  ["cleaning", 0.3],
  ["parsing", 0.1],
  ["waiting", 0],
] as const satisfies readonly (readonly [Stage, number])[];

/** Start of a stage of a document, ms since 1970. */
export function stageStart(context: KnowledgeContext, document: DocumentRow, stage: Stage): number {
  const [, share] = STAGE_STARTS.find(([name]) => name === stage) ?? ["", 0];
  return document.queued_at + share * context.indexingDelay;
}

/** Extensions of text files; other kinds are stored, and fail to index. */
const TEXT_EXTENSIONS = new Set([
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

/** Documents that are due for their next stage; one index lookup per stage. */
const DUE_DOCUMENTS = `SELECT * FROM documents WHERE ${STAGE_STARTS.map(([stage], index) => {
  const next = index === 0 ? 1 : STAGE_STARTS[index - 1]?.[1];
  return `(indexing_status = '${stage}' AND queued_at <= ?1 - ${next} * ?2)`;
}).join(" OR ")} ORDER BY queued_at, key`;

/**
 * Advances each document to its current stage. Nothing runs between requests: each request first
 * catches up with what a worker would have done, even after a restart.
 */
export function advanceIndexing(context: KnowledgeContext): void {
  const due = context.store.all<DocumentRow>(DUE_DOCUMENTS, context.now(), context.indexingDelay);
  for (const document of due) advance(context, document);
}

function advance(context: KnowledgeContext, document: DocumentRow): void {
  const { store } = context;
  const age = context.now() - document.queued_at;
  const isDone = age >= context.indexingDelay;
  const [stage] = STAGE_STARTS.find(([, part]) => age >= part * context.indexingDelay) ?? [
    "waiting",
  ];

  const time = document.queued_at + Math.min(age, context.indexingDelay);
  if ((isDone || stage === "indexing") && document.indexing_status !== "indexing") {
    const problem = splitDocument(context, document, time);
    if (problem !== undefined) {
      const changes = {
        indexing_status: "error",
        error: problem,
        stopped_at: time,
        updated_at: time,
      };
      return store.update("documents", document.id, changes);
    }
  }
  if (isDone) complete(context, document, time);
  else store.update("documents", document.id, { indexing_status: stage });
}

/** Splits the text of a document into stored chunks; returns the reason if that fails. */
function splitDocument(
  context: KnowledgeContext,
  document: DocumentRow,
  time: number,
): string | undefined {
  const chunks = splitFile(context, document);
  if (typeof chunks === "string") return chunks;
  deleteSegments(context, "document_id", document.id);
  for (const [index, { content, children }] of chunks.entries()) {
    const { dataset_id, id: document_id } = document;
    const position = index + 1;
    const segment = { dataset_id, document_id, position, content, answer: null, keywords: null };
    addChildren(context, addSegment(context, segment, time), children, time);
  }
  const word_count = chunks.reduce((sum, { content }) => sum + countCharacters(content), 0);
  context.store.update("documents", document.id, { word_count, tokens: 0 });
  return undefined;
}

/** Splits a document's file into chunks, or returns the reason why it cannot. */
function splitFile(context: KnowledgeContext, document: DocumentRow): TextChunk[] | string {
  const file = context.store.get<{ readonly extension: string; readonly bytes: Uint8Array }>(
    "SELECT extension, bytes FROM files WHERE id = ?",
    document.file_id,
  );
  if (!file || !TEXT_EXTENSIONS.has(file.extension)) {
    return "The sandbox supports text files only; it cannot extract text from this file type.";
  }
  try {
    return splitIntoChunks(
      new TextDecoder().decode(file.bytes),
      getProcessRule(context, document.rule_id),
    );
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function addChildren(
  context: KnowledgeContext,
  segmentId: string,
  contents: readonly string[],
  time: number,
): void {
  for (const [index, content] of contents.entries()) {
    context.store.insert("child_chunks", {
      id: context.newId(),
      segment_id: segmentId,
      position: index + 1,
      content,
      type: "automatic",
      created_at: time,
      updated_at: time,
    });
  }
}

function complete({ store }: KnowledgeContext, document: DocumentRow, time: number): void {
  store.update("documents", document.id, {
    indexing_status: "completed",
    error: null,
    stopped_at: null,
    completed_at: time,
    updated_at: time,
  });
  if (document.doc_form !== "hierarchical_model") return;
  // Without an embedding model, the chunks of a hierarchical document are never completed: the
  // document is available, but searches do not find it.
  store.run(
    `UPDATE segments SET status = 'indexing', enabled = 0, keywords = NULL, completed_at = NULL
     WHERE document_id = ?`,
    document.id,
  );
}
