import { account } from "../storage/ids.ts";
import { isObject } from "../../lib/json.ts";
import * as operations from "../../operations/chunks.ts";
import { internalServerError, raise } from "../http/errors.ts";
import { bindHandlers, type Call, type Handlers, HttpError } from "../http/handler.ts";
import { numberParam, pageFields, type PageParams, parsePage } from "../http/page-params.ts";
import { validationError } from "../http/pydantic.ts";
import { atLeast } from "../http/router.ts";
import {
  type ChildChunkRow,
  type DatasetRow,
  deleteSegments,
  type DocumentRow,
  getDataset,
  requireDocument,
  type KnowledgeContext,
  type SegmentRow,
} from "../storage/knowledge-store.ts";
import { ModelError } from "../models/model-error.ts";
import { countTokens } from "../models/tokens.ts";
import { isHighQuality, withModelErrors } from "./indexing/embedding.ts";
import { knowledgeError, toResponse } from "./responses.ts";
import { addSegment, countSegment, embedSegment, indexWords } from "./indexing/segments.ts";
import { extractKeywords } from "../models/words.ts";

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
}

/** Chunks and their child chunks. */
const handlers: Handlers<typeof operations, KnowledgeContext> = {
  listChunks(context, input, call) {
    const document = requireDocument(context, input);
    const page = parseSegmentPage(call);
    const statuses = call.query.getAll("status");
    if (atLeast(call.version, "1.15.0") && !statuses.every((status) => STATUSES.has(status))) {
      throw internalServerError();
    }
    const where = `document_id = ?1 AND (?2 IS NULL OR content LIKE '%' || ?2 || '%')
      AND (?3 = '[]' OR status IN (SELECT value FROM json_each(?3)))`;
    const values = [document.id, input.keyword ?? null, JSON.stringify(statuses)];
    const { rows, total } = context.segments.page(where, "position", values, page);
    const data = rows.map((row) => segmentResponse(context, row, document));
    const { has_more, limit, page: number } = pageFields(page, rows.length, total);
    return { json: { data, doc_form: document.doc_form, total, has_more, limit, page: number } };
  },

  createChunks(context, input, call) {
    const document = requireDocument(context, input);
    if (document.indexing_status !== "completed")
      throw knowledgeError("document of chunks not indexed");
    if (!document.enabled) throw knowledgeError("document of chunks disabled");
    const segments = segmentsIn(call.body);
    if (atLeast(call.version, "1.15.0")) checkBlank(segments);
    for (const { content, answer } of segments) checkContent(document, content, answer);
    const dataset = getDataset(context, document.dataset_id);
    const { dataset_id, id: document_id, doc_form } = document;
    const last = context.segments.max("position", { document_id });
    const data = segments.map(({ content = "", answer = null, keywords }, index) => {
      const position = last + 1 + index;
      const words = keywords?.length ? keywords : null;
      const segment = { dataset_id, document_id, position, content, answer, keywords: words };
      const segment_id = addSegment(context, dataset, segment, context.now());
      const [row] = getSegment(context, { ...input, segment_id });
      const failure = embedNew(context, dataset, row);
      return segmentResponse(context, { ...row, ...failure }, document);
    });
    updateWordCount(context, document_id);
    return { json: { data, doc_form } };
  },

  getChunk: (context, input) => showSegment(context, input),

  updateChunk(context, input, call) {
    const [{ id, ...row }, document] = getSegment(context, input);
    const change = segmentIn(call.body);
    const content = change.content ?? row.content;
    const answer = change.answer ?? row.answer;
    checkContent(document, content, answer);
    const isExtracted = change.content !== undefined && row.keywords !== null;
    const newKeywords = isExtracted ? extractKeywords(content) : undefined;
    const enabled = change.enabled ?? row.enabled;
    const now = context.now();
    context.segments.update(
      { id },
      {
        content,
        answer,
        word_count: countSegment({ content, answer }),
        keywords: change.keywords ?? newKeywords,
        enabled,
        disabled_at: enabled ? null : (row.disabled_at ?? now),
        summary: change.summary ?? undefined,
        updated_at: now,
        updated_by: content === row.content && answer === row.answer ? undefined : account.id,
        indexing_at: now,
        completed_at: now,
      },
    );
    indexWords(context, id);
    const dataset = getDataset(context, input.dataset_id);
    if (isHighQuality(dataset)) {
      context.segments.update({ id }, { tokens: countTokens(content) });
      withModelErrors(() => embedSegment(context, dataset, { id, content }));
    }
    updateWordCount(context, document.id);
    return showSegment(context, input);
  },

  deleteChunk(context, input) {
    const [{ id }, document] = getSegment(context, input);
    deleteSegments(context, "id", id);
    updateWordCount(context, document.id);
    return { status: 204 };
  },

  listChildChunks(context, input, call) {
    const [{ id }] = getSegment(context, input);
    // Unlike other lists, this one ignores invalid numbers and echoes the limit that it applies.
    const page = Math.max(1, parseInteger(call.query.get("page"), 1));
    const limit = Math.min(100, Math.max(1, parseInteger(call.query.get("limit"), 20)));
    const keyword = input.keyword?.toLowerCase() ?? "";
    const matches = listChildren(context, id).filter(({ content }) =>
      content.toLowerCase().includes(keyword),
    );
    const data = matches.slice((page - 1) * limit, page * limit).map(childResponse);
    const total = matches.length;
    const minPages = atLeast(call.version, "1.15.0") ? 1 : 0;
    const total_pages = Math.max(minPages, Math.ceil(total / limit));
    return { json: { data, total, total_pages, page, limit } };
  },

  createChildChunk(context, input) {
    const [{ id: segment_id }] = getSegment(context, input);
    const now = context.now();
    const child: ChildChunkRow = {
      id: context.newId(),
      segment_id,
      position: context.child_chunks.max("position", { segment_id }) + 1,
      content: input.content,
      type: "customized",
      created_at: now,
      updated_at: now,
    };
    context.child_chunks.insert(child);
    return { json: { data: childResponse(child) } };
  },

  updateChildChunk(context, input) {
    const child = getChild(context, input);
    const { content } = input;
    const changed = { ...child, content, type: "customized", updated_at: context.now() } as const;
    context.child_chunks.update({ id: child.id }, changed);
    return { json: { data: childResponse(changed) } };
  },

  deleteChildChunk(context, input) {
    const { id } = getChild(context, input);
    context.child_chunks.delete({ id });
    return { status: 204 };
  },
};

export const chunkHandlers = bindHandlers(operations, handlers);

function getSegment(
  context: KnowledgeContext,
  place: SegmentPlace,
): [row: SegmentRow, document: DocumentRow] {
  const document = requireDocument(context, place);
  const row = context.segments.find({ id: place.segment_id, document_id: document.id });
  return [row ?? raise(knowledgeError("chunk missing")), document];
}

function showSegment(context: KnowledgeContext, place: SegmentPlace) {
  const [row, document] = getSegment(context, place);
  return { json: { data: segmentResponse(context, row, document), doc_form: document.doc_form } };
}

/** Only hierarchical documents show child chunks, though others may have some (server §9.7). */
function segmentResponse(context: KnowledgeContext, row: SegmentRow, { doc_form }: DocumentRow) {
  const children = doc_form === "hierarchical_model" ? listChildren(context, row.id) : [];
  const child_chunks = children.map(childResponse);
  return toResponse("segment", row, {
    child_chunks,
    tokens: row.tokens ?? 0,
    indexing_at: row.indexing_at || null, // chunks of pipelines have none
  });
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

/**
 * Embeds a new chunk. If the model fails, the chunk is not stored, though the response shows it with
 * the fields returned (server §9.7).
 */
function embedNew(context: KnowledgeContext, dataset: DatasetRow, row: SegmentRow): object {
  if (!isHighQuality(dataset)) return {};
  try {
    embedSegment(context, dataset, row);
    return {};
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    deleteSegments(context, "id", row.id);
    const disabled = { enabled: false, disabled_at: context.now(), disabled_by: null };
    return { ...disabled, status: "error", error: error.runText, keywords: row.keywords ?? [] };
  }
}

/** Sets the word count of a document to that of its chunks. */
const updateWordCount = ({ store }: KnowledgeContext, documentId: string) =>
  store.run(
    `UPDATE documents SET word_count =
       (SELECT ifnull(sum(word_count), 0) FROM segments WHERE document_id = ?1) WHERE id = ?1`,
    documentId,
  );

// Bodies were validated against their models.
const segmentsIn = (body: unknown) =>
  (isObject(body) ? body["segments"] : []) as readonly SegmentContent[];
const segmentIn = (body: unknown) => (isObject(body) ? body["segment"] : {}) as SegmentContent;

const contentError = (error: string) => new HttpError(400, "", error, { error });

/** Since 1.15 blank content is a validation error. */
function checkBlank(segments: readonly SegmentContent[]): void {
  const problem = { reason: "Value error, Content is empty", type: "value_error" };
  const problems = segments.flatMap(({ content: value }, index) =>
    value?.trim() === "" ? [{ ...problem, field: `segments.${index}.content`, value }] : [],
  );
  if (problems.length === 0) return;
  throw contentError(validationError("SegmentCreatePayload", ...problems).message);
}

function checkContent(
  { doc_form }: DocumentRow,
  content: string | undefined,
  answer: string | null | undefined,
): void {
  if (!content?.trim()) throw contentError("Content is empty");
  if (doc_form !== "qa_model") return;
  if (!answer) throw contentError("Answer is required");
  if (!answer.trim()) throw contentError("Answer is empty");
}

const STATUSES = new Set(["waiting", "indexing", "completed", "error", "paused", "re_segment"]);

/** Since 1.15 text is ignored, and numbers below 1 are rejected (server §5). */
function parseSegmentPage(call: Call): PageParams {
  if (!atLeast(call.version, "1.15.0")) return parsePage(call, "SegmentListQuery");
  const query = new URLSearchParams(call.query);
  for (const name of ["page", "limit"] as const) {
    if (!/^-?\d+$/.test(query.get(name) ?? "")) query.delete(name);
    numberParam(query, "SegmentListQuery", name, [1, Infinity]);
  }
  return parsePage({ ...call, query }, "SegmentListQuery");
}

function parseInteger(text: string | null, defaultValue: number): number {
  return text !== null && /^-?\d+$/.test(text) ? Number(text) : defaultValue;
}
