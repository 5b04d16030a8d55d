import { countCharacters } from "../../lib/utf8.ts";
import { HttpError } from "../http/handler.ts";
import {
  deleteSegments,
  type DocumentRow,
  type KnowledgeContext,
  type ProcessingStage,
} from "../storage/knowledge-store.ts";
import { splitIntoChunks, type TextChunk } from "./chunking.ts";
import { knowledgeRefusal } from "./responses.ts";
import { addSegment } from "./segments.ts";

/** The stages of indexing in order, with their starts as a share of the indexing delay. */
const STAGES = [
  ["waiting", 0],
  ["parsing", 0.1],
  ["cleaning", 0.3],
  ["splitting", 0.45],
  ["indexing", 0.6],
] as const satisfies readonly (readonly [ProcessingStage, number])[];

/** The start of each stage that a document has reached (ms since 1970), null for the others. */
export function stageStarts(context: KnowledgeContext, document: DocumentRow): (number | null)[] {
  const current = STAGES.findIndex(([stage]) => stage === document.indexing_status);
  return STAGES.map(([, share], index) =>
    current === -1 || index <= current ? document.queued_at + share * context.indexingDelay : null,
  );
}

/** Documents that are due for their next stage; one index lookup per stage. */
const DUE_DOCUMENTS = `WHERE ${STAGES.map(([stage], index) => {
  const next = STAGES[index + 1]?.[1] ?? 1;
  return `(indexing_status = '${stage}' AND queued_at <= ?1 - ${next} * ?2)`;
}).join(" OR ")} ORDER BY queued_at, rowid`;

/**
 * Advances each document to its current stage. Nothing runs between requests: each request first
 * catches up with what a worker would have done, even after a restart.
 */
export function advanceIndexing(context: KnowledgeContext): void {
  const due = context.documents.select(DUE_DOCUMENTS, context.now(), context.indexingDelay);
  for (const document of due) advance(context, document);
}

function advance(context: KnowledgeContext, document: DocumentRow): void {
  const { documents, indexingDelay } = context;
  const { id, queued_at } = document;
  const age = Math.min(context.now() - queued_at, indexingDelay);
  const isDone = age === indexingDelay;
  const stage = STAGES.findLast(([, share]) => age >= share * indexingDelay)?.[0] ?? "waiting";
  const time = queued_at + age;
  try {
    if (stage === "indexing" && document.indexing_status !== "indexing") {
      splitDocument(context, document, time);
    }
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    const failed = { error: error.message, stopped_at: time, updated_at: time };
    return documents.update({ id }, { indexing_status: "error", ...failed });
  }
  if (isDone) complete(context, document, time);
  else documents.update({ id }, { indexing_status: stage });
}

/** Splits the text of a document into stored chunks; throws HttpError with the reason if it cannot. */
function splitDocument(context: KnowledgeContext, document: DocumentRow, time: number): void {
  const { dataset_id, id: document_id } = document;
  const chunks = splitFile(context, document);
  deleteSegments(context, "document_id", document_id);
  for (const [index, { content, children }] of chunks.entries()) {
    const position = index + 1;
    const segment = { dataset_id, document_id, position, content, answer: null, keywords: null };
    const segment_id = addSegment(context, segment, time);
    for (const [childIndex, child] of children.entries()) {
      context.child_chunks.insert({
        id: context.newId(),
        segment_id,
        position: childIndex + 1,
        content: child,
        type: "automatic",
        created_at: time,
        updated_at: time,
      });
    }
  }
  const word_count = chunks.reduce((sum, { content }) => sum + countCharacters(content), 0);
  context.documents.update({ id: document_id }, { word_count, tokens: 0 });
}

/** Extensions of text files; other kinds are stored, and fail to index. */
const TEXT_EXTENSIONS = "txt md markdown mdx html htm csv vtt properties".split(" ");

function splitFile(
  { files, process_rules }: KnowledgeContext,
  { file_id, rule_id }: DocumentRow,
): TextChunk[] {
  const file = files.find({ id: file_id });
  const rule = process_rules.find({ id: rule_id })?.rule;
  if (!file || !rule || !TEXT_EXTENSIONS.includes(file.extension)) {
    throw knowledgeRefusal("file without text");
  }
  return splitIntoChunks(new TextDecoder().decode(file.bytes), rule);
}

function complete(
  { documents, segments }: KnowledgeContext,
  document: DocumentRow,
  time: number,
): void {
  const times = { stopped_at: null, completed_at: time, updated_at: time };
  documents.update({ id: document.id }, { indexing_status: "completed", error: null, ...times });
  if (document.doc_form !== "hierarchical_model") return;
  // Without an embedding model, the chunks of a hierarchical document are never completed: the
  // document is available, but searches do not find it.
  segments.update(
    { document_id: document.id },
    { status: "indexing", enabled: false, keywords: null, completed_at: null },
  );
}
