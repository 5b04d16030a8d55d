import type * as operations from "../../operations/chunks.ts";
import { countCharacters } from "../../lib/text.ts";
import { internalServerError } from "../protocol/errors.ts";
import { atLeast } from "../protocol/handler.ts";
import { pageFields } from "../protocol/page-params.ts";
import { ModelError } from "../models/model-error.ts";
import { countTokens } from "../models/tokens.ts";
import { extractKeywords } from "../models/words.ts";
import { account } from "../protocol/ids.ts";
import {
  type DatasetRow,
  type DocumentRow,
  getDataset,
  type KnowledgeContext,
  requireDocument,
  type SegmentRow,
  type KnowledgeHandlers,
} from "./records/knowledge-store.ts";
import type { Changes } from "../storage/table.ts";
import { childChunkHandlers, childResponse, listChildren } from "./child-chunks.ts";
import {
  checkNewContents,
  getSegment,
  parseSegmentPage,
  type SegmentContent,
  segmentIn,
  type SegmentPlace,
  segmentsIn,
} from "./chunk-requests.ts";
import {
  remakeChildren,
  addSegment,
  embedSegment,
  indexSegmentWords,
} from "./indexing/segments.ts";
import { isHighQuality, requireCredentials, indexTableOf } from "./indexing/embedding.ts";
import { knowledgeError, toResponse } from "./records/responses.ts";

/** Chunks and their child chunks. */
export const chunkHandlers: KnowledgeHandlers<typeof operations> = {
  ...childChunkHandlers,

  listChunks(context, input, call) {
    const document = requireDocument(context, input);
    requireCredentials(context, getDataset(context, input.dataset_id), "provider not initialized");
    const page = parseSegmentPage(call);
    const statuses = call.query.getAll("status");
    if (atLeast(call.version, "1.15.0") && !statuses.every((status) => STATUSES.has(status))) {
      throw internalServerError();
    }
    const where = `document_id = ?1 AND (?2 IS NULL OR content LIKE '%' || ?2 || '%')
      AND (?3 = '[]' OR status IN (SELECT value FROM json_each(?3)))`;
    const values = [document.id, input.keyword ?? null, JSON.stringify(statuses)];
    const { rows, total } = context.segments.page(where, "position", values, page);
    const data = rows.map(openResponses(context, document));
    const { has_more, limit, page: number } = pageFields(page, rows.length, total);
    return { json: { data, doc_form: document.doc_form, total, has_more, limit, page: number } };
  },

  createChunks(context, input, call) {
    const document = requireDocument(context, input);
    if (document.indexing_status !== "completed")
      throw knowledgeError("document of chunks not indexed");
    if (!document.enabled) throw knowledgeError("document of chunks disabled");
    const dataset = getDataset(context, document.dataset_id);
    requireCredentials(context, dataset, "provider not initialized");
    const segments = segmentsIn(call.body);
    checkNewContents(document, segments, call);
    const data = segments.map((sent) => createChunk(context, dataset, document, sent));
    updateWordCount(context, document.id);
    return { json: { data, doc_form: document.doc_form } };
  },

  getChunk(context, input) {
    requireCredentials(context, getDataset(context, input.dataset_id), "dataset unavailable");
    return showSegment(context, input);
  },

  updateChunk(context, input, call) {
    const dataset = getDataset(context, input.dataset_id);
    requireCredentials(context, dataset, "dataset unavailable");
    const found = getSegment(context, input);
    changeChunk(context, dataset, found, segmentIn(call.body));
    updateWordCount(context, input.document_id);
    return showSegment(context, input);
  },

  deleteChunk(context, input) {
    requireCredentials(context, getDataset(context, input.dataset_id), "dataset unavailable");
    const [{ id }, document] = getSegment(context, input);
    context.segments.delete({ id });
    updateWordCount(context, document.id);
    return { status: 204 };
  },
};

function showSegment(context: KnowledgeContext, place: SegmentPlace) {
  const [row, document] = getSegment(context, place);
  return { json: { data: openResponses(context, document)(row), doc_form: document.doc_form } };
}

/**
 * Returns what makes responses of a document's chunks. Its rule decides whether they show their child
 * chunks; the route of child chunks always does (server §9.8).
 */
function openResponses(context: KnowledgeContext, { rule_id }: DocumentRow) {
  const rule = context.process_rules.find({ id: rule_id })?.rule;
  const shows = rule?.mode === "hierarchical" && rule.rules.parent_mode !== "full-doc";
  return (row: SegmentRow) =>
    toResponse("segment", row, {
      child_chunks: shows ? listChildren(context, row.id).map(childResponse) : [],
      tokens: row.tokens ?? 0,
      indexing_at: row.indexing_at || null, // chunks of pipelines have none
      // A chunk that failed was not disabled by anyone.
      ...(row.status === "error" && { disabled_by: null }),
    });
}

/** Stores a new chunk as the last of its document; returns it as the response shows it. */
function createChunk(
  context: KnowledgeContext,
  dataset: DatasetRow,
  document: DocumentRow,
  sent: SegmentContent,
): object {
  const { dataset_id, id: document_id } = document;
  const { content = "", keywords } = sent;
  const answer = answerIn(sent, document);
  const position = context.segments.max("position", { document_id }) + 1;
  const given = { content, answer, keywords: keywords?.length ? keywords : null };
  const segment = { dataset_id, document_id, position, ...given, counted: counted(given) };
  const segment_id = addSegment(context, dataset, segment, context.now());
  const [row] = getSegment(context, { dataset_id, document_id, segment_id });
  const error = attemptIndexing(context, dataset, [row, document], true);
  // The response shows a chunk that failed, though it is not stored (server §9.7).
  if (error !== undefined) context.segments.delete({ id: segment_id });
  const failure = error === undefined ? {} : failed(context, error);
  const respond = openResponses(context, document);
  return respond({ ...row, keywords: row.keywords ?? [], ...failure });
}

/** What the server reports for a question that changes without its answer (server §9.8). */
const ANSWER_LOST = 'can only concatenate str (not "NoneType") to str';

/** Changes a chunk. One that cannot be indexed ends in error, with its new content (server §9.7). */
function changeChunk(
  context: KnowledgeContext,
  dataset: DatasetRow,
  [row, document]: readonly [SegmentRow, DocumentRow],
  change: SegmentContent,
): void {
  const { segments } = context;
  const { id } = row;
  const content = change.content || row.content; // the server takes empty content for none
  const answer = answerIn(change, document, row);
  const isChanged = content !== row.content;
  const embeds = isHighQuality(dataset);
  if (embeds && isChanged && answer === null && document.doc_form === "qa_model")
    return segments.update({ id }, { answer, ...failed(context, ANSWER_LOST) });
  const now = context.now();
  const enabled = change.enabled ?? row.enabled;
  const newKeywords = isChanged && row.keywords !== null ? extractKeywords(content) : undefined;
  segments.update(
    { id },
    {
      content,
      answer,
      word_count: countCharacters(counted({ content, answer })),
      keywords: change.keywords ?? newKeywords,
      enabled,
      disabled_at: enabled ? null : (row.disabled_at ?? now),
      summary: change.summary ?? undefined,
      ...(isChanged && changedContent(context)),
      ...(isChanged && embeds && { tokens: countTokens(counted({ content, answer })) }),
    },
  );
  indexSegmentWords(context, id);
  const remakes = change.regenerate_child_chunks === true;
  const error = attemptIndexing(context, dataset, [{ ...row, content }, document], remakes);
  if (error !== undefined) segments.update({ id }, failed(context, error));
}

/** Only question-and-answer documents have answers; in a change, one that is not sent is removed. */
const answerIn = (
  { answer = null }: SegmentContent,
  { doc_form }: DocumentRow,
  stored: Pick<SegmentRow, "answer"> = { answer: null },
) => (doc_form === "qa_model" ? answer : stored.answer);

const counted = ({ content, answer }: Pick<SegmentRow, "content" | "answer">): string =>
  content + (answer ?? "");

function changedContent(context: KnowledgeContext): Changes<SegmentRow> {
  const now = context.now();
  const times = { updated_at: now, indexing_at: now, completed_at: now };
  return { ...times, updated_by: account.id, status: "completed", error: null };
}

/**
 * Embeds a stored chunk, or its child chunks, which are first made again if `remakes`. Returns the
 * model's text if it fails.
 */
function attemptIndexing(
  context: KnowledgeContext,
  dataset: DatasetRow,
  [segment, document]: readonly [SegmentRow, DocumentRow],
  remakes: boolean,
): string | undefined {
  try {
    if (remakes && indexTableOf(dataset).table === "child_chunks")
      remakeChildren(context, document, segment);
    embedSegment(context, dataset, segment);
    return undefined;
  } catch (error) {
    if (error instanceof ModelError) return error.runText;
    throw error;
  }
}

/** The fields of a chunk that could not be indexed. */
const failed = (context: KnowledgeContext, error: string) => ({
  status: "error",
  error,
  enabled: false,
  disabled_at: context.now(),
});

/** Sets the word count of a document to that of its chunks. */
const updateWordCount = ({ store }: KnowledgeContext, documentId: string) =>
  store.run(
    `UPDATE documents SET word_count =
       (SELECT ifnull(sum(word_count), 0) FROM segments WHERE document_id = ?1) WHERE id = ?1`,
    documentId,
  );

const STATUSES = new Set(["waiting", "indexing", "completed", "error", "paused", "re_segment"]);
