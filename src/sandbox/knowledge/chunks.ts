import { valueAt } from "../../lib/json.ts";
import { countCharacters } from "../../lib/text.ts";
import type * as operations from "../../operations/chunks.ts";
import { ModelError } from "../models/marks.ts";
import { countTokens } from "../models/tokens.ts";
import { extractKeywords } from "../models/words.ts";
import { internalServerError, raise } from "../protocol/response.ts";
import { atLeast } from "../../lib/version.ts";
import type { Call } from "../protocol/handler.ts";
import { account } from "../protocol/ids.ts";
import { InvalidInput, numberParam, pageFields, parsePage } from "../protocol/validation.ts";
import type { PageParams, ValidationProblem } from "../protocol/validation.ts";
import {
  indexTableOf,
  indexWords,
  isHighQuality,
  usableDataset,
  vectorFor,
  withModelErrors,
  addChild,
  addSegment,
  embedSegment,
  indexSegmentWords,
  remakeChildren,
} from "./indexing/segments.ts";
import { getDataset, requireDocument } from "./records/knowledge-store.ts";
import type {
  ChildChunkRow,
  DatasetRow,
  DocumentRow,
  KnowledgeContext,
  KnowledgeHandlers,
  SegmentRow,
} from "./records/knowledge-store.ts";
import { knowledgeError, segmentResponse, toResponse } from "./records/responses.ts";

/** Chunks and their child chunks. */
export const chunkHandlers: KnowledgeHandlers<typeof operations> = {
  listChunks(context, input, call) {
    const document = requireDocument(context, input);
    usableDataset(context, input, "provider not initialized");
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
    const { doc_form } = document;
    const { has_more, limit, page: number } = pageFields(page, rows.length, total);
    return { json: { data, doc_form, total, has_more, limit, page: number } };
  },

  createChunks(context, input, call) {
    const document = requireDocument(context, input);
    if (document.indexing_status !== "completed")
      throw knowledgeError("document of chunks not indexed");
    if (!document.enabled) throw knowledgeError("document of chunks disabled");
    const dataset = usableDataset(context, input, "provider not initialized");
    const segments = valueAt(call.body, "segments") as readonly SegmentContent[]; // validated
    checkNewContents(document, segments, call);
    const data = segments.map((sent) => createChunk({ context, dataset, document }, sent));
    updateWordCount(context, document.id);
    return { json: { data, doc_form: document.doc_form } };
  },

  getChunk(context, input) {
    usableDataset(context, input);
    return showSegment(context, input);
  },

  updateChunk(context, input, call) {
    const dataset = usableDataset(context, input);
    const [row, document] = getSegment(context, input);
    const change = valueAt(call.body, "segment") as SegmentContent; // validated
    changeChunk({ context, dataset, document }, row, change);
    updateWordCount(context, input.document_id);
    return showSegment(context, input);
  },

  deleteChunk(context, input) {
    usableDataset(context, input);
    const [{ id }, document] = getSegment(context, input);
    context.segments.delete({ id });
    updateWordCount(context, document.id);
    return { status: 204 };
  },

  listChildChunks(context, input, call) {
    const [{ id }] = getSegment(context, input);
    // Unlike other lists, this one ignores text and numbers below 1, and echoes the limit that it applies.
    const asked = parsePage({ ...call, query: integersOf(call) }, "ChildChunkListQuery");
    const [page, limit] = [Math.max(1, asked.page), Math.min(100, Math.max(1, asked.limit))];
    const keyword = input.keyword?.toLowerCase() ?? "";
    const matches = listChildren(context, id).filter(({ content }) =>
      content.toLowerCase().includes(keyword),
    );
    const data = matches.slice((page - 1) * limit, page * limit).map(childResponse);
    const total = matches.length;
    const total_pages = Math.ceil(total / limit) || Number(atLeast(call.version, "1.15.0"));
    return { json: { data, total, total_pages, page, limit } };
  },

  createChildChunk(context, input) {
    const [{ id: segment_id }] = getSegment(context, input);
    const { content } = input;
    const dataset = usableDataset(context, input, "provider not initialized");
    const vector = withModelErrors(() => vectorFor(dataset, content)); // 400 (server §9.7)
    const position = context.child_chunks.max("position", { segment_id }) + 1;
    const child = { segment_id, position, content, type: "customized", vector } as const;
    return { json: { data: childResponse(addChild(context, child, context.now())) } };
  },

  updateChildChunk(context, input) {
    const child = getChild(context, input);
    const { content } = input;
    const vector = withModelErrors(() => vectorFor(getDataset(context, input.dataset_id), content));
    const changes = { content, type: "customized", vector, updated_at: context.now() } as const;
    context.child_chunks.update({ id: child.id }, changes);
    indexWords(context, "child_chunks", child.id, content);
    return { json: { data: childResponse({ ...child, ...changes }) } };
  },

  deleteChildChunk(context, input) {
    context.child_chunks.delete({ id: getChild(context, input).id });
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
    segmentResponse(row, {
      child_chunks: shows ? listChildren(context, row.id).map(childResponse) : [],
      // A chunk that failed was not disabled by anyone.
      ...(row.status === "error" && { disabled_by: null }),
    });
}

/** Where a chunk is. */
interface ChunkPlace {
  readonly context: KnowledgeContext;
  readonly dataset: DatasetRow;
  readonly document: DocumentRow;
}

/** Stores a new chunk as the last of its document; returns it as the response shows it. */
function createChunk(place: ChunkPlace, sent: SegmentContent): object {
  const { context, dataset, document } = place;
  const { dataset_id, id: document_id } = document;
  const { content = "", keywords } = sent;
  const answer = answerIn(sent, document);
  const position = context.segments.max("position", { document_id }) + 1;
  const given = { content, answer, keywords: keywords?.length ? keywords : null };
  const counted = content + (answer ?? "");
  const segment = { dataset_id, document_id, position, ...given, counted };
  const segment_id = addSegment(context, dataset, segment, context.now());
  const [row] = getSegment(context, { dataset_id, document_id, segment_id });
  const error = attemptIndexing(place, row, true);
  const shown = { keywords: row.keywords ?? [], ...(error && failed(context, error)) };
  // The response shows a chunk that failed, though servers before 1.16 do not store it (server §9.7).
  if (error && atLeast(context.version, "1.16.0")) context.segments.update({ id: row.id }, shown);
  else if (error) context.segments.delete({ id: row.id });
  return openResponses(context, document)({ ...row, ...shown });
}

/** What the server reports for a question that changes without its answer (server §9.8). */
const ANSWER_LOST = 'can only concatenate str (not "NoneType") to str';

/**
 * Changes a chunk. One that cannot be indexed ends in error, with its new content; what the server ignores of a change
 * is ignored here, too (server §9.7).
 */
function changeChunk(place: ChunkPlace, row: SegmentRow, change: SegmentContent): void {
  const { context, dataset, document } = place;
  const { segments } = context;
  const { id } = row;
  const now = context.now();
  if (change.enabled === false && row.enabled)
    return segments.update({ id }, { enabled: false, disabled_at: now });
  if (change.enabled !== true && !row.enabled) throw knowledgeError("chunk disabled");
  const content = change.content || row.content; // the server takes empty content for none
  const answer = answerIn(change, document, row);
  const isChanged = content !== row.content;
  const embeds = isHighQuality(dataset);
  if (embeds && isChanged && answer === null && document.doc_form === "qa_model")
    return segments.update({ id }, { answer, ...failed(context, ANSWER_LOST) });
  const changed = { updated_at: now, indexing_at: now, completed_at: now };
  const text = content + (answer ?? "");
  const given = change.keywords?.length ? change.keywords : undefined;
  const extracted = embeds ? null : (given ?? extractKeywords(content));
  segments.update(
    { id },
    {
      content,
      answer,
      word_count: countCharacters(text),
      keywords: isChanged ? extracted : given,
      enabled: true,
      disabled_at: null,
      summary: change.summary ?? undefined,
      ...(isChanged && { ...changed, updated_by: account.id, status: "completed", error: null }),
      ...(isChanged && embeds && { tokens: countTokens(text) }),
    },
  );
  indexSegmentWords(context, id);
  const remakes = change.regenerate_child_chunks === true;
  const error = attemptIndexing(place, { ...row, content }, remakes);
  if (error !== undefined) segments.update({ id }, failed(context, error));
}

/** Only question-and-answer documents have answers; in a change, one that is not sent is removed. */
const answerIn = (
  { answer = null }: SegmentContent,
  { doc_form }: DocumentRow,
  stored: Pick<SegmentRow, "answer"> = { answer: null },
) => (doc_form === "qa_model" ? answer : stored.answer);

/** Embeds a chunk, or its child chunks, made again if `remakes`. Returns the model's text if it fails. */
function attemptIndexing(
  { context, dataset, document }: ChunkPlace,
  segment: SegmentRow,
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

/** The IDs of a chunk. */
interface SegmentPlace {
  readonly dataset_id: string;
  readonly document_id: string;
  readonly segment_id: string;
}

/** The contents of a chunk in a request; undefined fields stay unchanged. */
interface SegmentContent {
  readonly content?: string;
  readonly answer?: string | null;
  readonly keywords?: readonly string[] | null;
  readonly enabled?: boolean;
  readonly summary?: string | null;
  readonly regenerate_child_chunks?: boolean;
}

/** Returns a chunk and its document; throws 404. */
function getSegment(context: KnowledgeContext, place: SegmentPlace): [SegmentRow, DocumentRow] {
  const document = requireDocument(context, place);
  const row = context.segments.find({ id: place.segment_id, document_id: document.id });
  return [row ?? raise(knowledgeError("chunk missing")), document];
}

/** Throws 400 for the contents of new chunks; since 1.15 blank content is a validation error. */
function checkNewContents(
  { doc_form }: DocumentRow,
  segments: readonly SegmentContent[],
  { version }: Call,
): void {
  if (atLeast(version, "1.15.0")) checkBlank(segments);
  for (const { content, answer } of segments) {
    if (!content?.trim()) throw knowledgeError("chunk content empty");
    if (doc_form !== "qa_model") continue;
    if (!answer) throw knowledgeError("chunk answer missing");
    if (!answer.trim()) throw knowledgeError("chunk answer empty");
  }
}

function checkBlank(segments: readonly SegmentContent[]): void {
  const problems = segments.flatMap(({ content: value }, index): ValidationProblem[] => {
    const field = `segments.${index}.content`;
    return value?.trim() !== ""
      ? []
      : [{ type: "value_error", about: "Content is empty", field, value }];
  });
  if (problems.length === 0) return;
  throw new InvalidInput("SegmentCreatePayload", problems, true);
}

/** The page of a list of chunks; since 1.15 text is ignored, and numbers below 1 are rejected (server §5). */
function parseSegmentPage(call: Call): PageParams {
  if (!atLeast(call.version, "1.15.0")) return parsePage(call, "SegmentListQuery");
  const query = integersOf(call);
  numberParam(query, "SegmentListQuery", "page", [1, Infinity]);
  numberParam(query, "SegmentListQuery", "limit", [1, Infinity]);
  return parsePage({ ...call, query }, "SegmentListQuery");
}

/** A query without a page or a limit that is not an integer. */
function integersOf(call: Call): URLSearchParams {
  const query = new URLSearchParams(call.query);
  for (const name of ["page", "limit"])
    if (!/^-?\d+$/.test(query.get(name) ?? "")) query.delete(name);
  return query;
}

const childResponse = (row: ChildChunkRow) => toResponse("child_chunk", row);

const listChildren = ({ child_chunks }: KnowledgeContext, segment_id: string) =>
  child_chunks.list({ segment_id }, "position");

function getChild(
  context: KnowledgeContext,
  place: SegmentPlace & { readonly child_chunk_id: string },
): ChildChunkRow {
  const [{ id: segment_id }] = getSegment(context, place);
  const child = context.child_chunks.find({ id: place.child_chunk_id, segment_id });
  return child ?? raise(knowledgeError("child chunk missing"));
}
