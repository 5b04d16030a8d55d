import { countCharacters } from "./characters.ts";
import {
  listChildChunks,
  createChunks,
  createChildChunk,
  listChunks,
  deleteChunk,
  deleteChildChunk,
  getChunk,
  updateChunk,
  updateChildChunk,
} from "../../operations/chunks.ts";
import { type Call, type Handler, on, HttpError } from "../http/handler.ts";
import {
  account,
  type ChildChunkRow,
  type DocumentRow,
  getDocumentRow,
  type KnowledgeContext,
  deleteSegments,
  type SegmentRow,
} from "../storage/knowledge-store.ts";
import { numberParam } from "../http/page-params.ts";
import { type PageParams, pageFields, parsePage } from "../http/pages.ts";
import { notFound, internalServerError } from "../http/errors.ts";
import { atLeast } from "../http/router.ts";
import { addSegment, childChunkResponse, indexWords, segmentResponse } from "./segments.ts";
import { isObject } from "../../lib/json.ts";
import { validationError } from "../http/validation.ts";
import { extractKeywords } from "./words.ts";

/** Where a chunk is. */
interface SegmentPlace {
  readonly dataset_id: string;
  readonly document_id: string;
  readonly segment_id: string;
}

/** What a chunk holds, as the body says; absent fields stay. */
interface SegmentContent {
  readonly content?: string;
  readonly answer?: string | null;
  readonly keywords?: readonly string[] | null;
  readonly enabled?: boolean;
  readonly summary?: string | null;
}

/** Chunks and their child chunks. */
export function chunkHandlers(room: KnowledgeContext): readonly Handler[] {
  const { store } = room;

  const childrenOf = (segmentId: string) =>
    store.all<ChildChunkRow>(
      "SELECT * FROM child_chunks WHERE segment_id = ? ORDER BY position",
      segmentId,
    );

  /** Child chunks show in hierarchical documents only, though others may have some (server §9.7). */
  const answered = (row: SegmentRow, { doc_form }: DocumentRow) =>
    segmentResponse(row, doc_form === "hierarchical_model" ? childrenOf(row.id) : []);

  const segmentOf = (place: SegmentPlace): [row: SegmentRow, document: DocumentRow] => {
    const document = getDocumentRow(room, place);
    const row = store.get<SegmentRow>(
      "SELECT * FROM segments WHERE id = ? AND document_id = ?",
      place.segment_id,
      document.id,
    );
    if (!row) throw notFound("Segment not found.");
    return [row, document];
  };

  const one = (place: SegmentPlace) => {
    const [row, document] = segmentOf(place);
    return { json: { data: answered(row, document), doc_form: document.doc_form } };
  };

  const childOf = (place: SegmentPlace & { readonly child_chunk_id: string }): ChildChunkRow => {
    const [{ id }] = segmentOf(place);
    const found = childrenOf(id).find((child) => child.id === place.child_chunk_id);
    if (!found) throw notFound("Child chunk not found.");
    return found;
  };

  /** A document's characters are those of its chunks. */
  const recount = (documentId: string) =>
    store.run(
      `UPDATE documents SET word_count =
         (SELECT ifnull(sum(word_count), 0) FROM segments WHERE document_id = ?1) WHERE id = ?1`,
      documentId,
    );

  return [
    on(listChunks, (input, call) => {
      const document = getDocumentRow(room, input);
      const page = chunkPageOf(call);
      const wanted = call.query.getAll("status");
      const newer = atLeast(call.version, "1.15.0");
      if (newer && !wanted.every((each) => statuses.has(each))) throw internalServerError();
      const where = `document_id = ?1 AND (?2 IS NULL OR content LIKE '%' || ?2 || '%')
        AND (?3 = '[]' OR status IN (SELECT value FROM json_each(?3)))`;
      const values = [document.id, input.keyword ?? null, JSON.stringify(wanted)] as const;
      const rows = store.all<SegmentRow>(
        `SELECT * FROM segments WHERE ${where} ORDER BY position LIMIT ?4 OFFSET ?5`,
        ...values,
        page.rows,
        page.offset,
      );
      const counted = store.get<{ readonly total: number }>(
        `SELECT count(*) AS total FROM segments WHERE ${where}`,
        ...values,
      );
      const data = rows.map((row) => answered(row, document));
      const { total, ...rest } = pageFields(page, rows.length, counted?.total ?? 0);
      return { json: { data, doc_form: document.doc_form, total, ...rest } };
    }),

    on(createChunks, (input, call) => {
      const document = getDocumentRow(room, input);
      if (document.indexing_status !== "completed") throw notFound("Document is not completed.");
      if (document.enabled === 0) throw notFound("Document is disabled.");
      const segments = segmentsIn(call.body);
      if (atLeast(call.version, "1.15.0")) checkBlank(segments);
      for (const { content, answer } of segments) checkContent(document, content, answer);
      const last = store.get<{ readonly position: number | null }>(
        "SELECT max(position) AS position FROM segments WHERE document_id = ?",
        document.id,
      );
      const data = segments.map(({ content = "", answer = null, keywords = null }, index) => {
        const segment = {
          dataset_id: document.dataset_id,
          document_id: document.id,
          position: (last?.position ?? 0) + 1 + index,
          content,
          answer,
          keywords: keywords?.length ? keywords : null,
        };
        const segment_id = addSegment(room, segment, room.now());
        return answered(...segmentOf({ ...input, segment_id }));
      });
      recount(document.id);
      return { json: { data, doc_form: document.doc_form } };
    }),

    on(getChunk, (input) => one(input)),

    on(updateChunk, (input, call) => {
      const [row, document] = segmentOf(input);
      const change = segmentIn(call.body);
      const content = change.content ?? row.content;
      const answer = change.answer ?? row.answer;
      checkContent(document, content, answer);
      const keywords =
        change.keywords ?? (change.content === undefined ? null : extractKeywords(content));
      const enabled = change.enabled ?? row.enabled === 1;
      const now = room.now();
      store.run(
        `UPDATE segments SET content = ?, answer = ?, word_count = ?, keywords = ifnull(?, keywords),
           enabled = ?, disabled_at = ?, summary = ifnull(?, summary), updated_at = ?,
           updated_by = ?, indexing_at = ?, completed_at = ? WHERE id = ?`,
        content,
        answer,
        countCharacters(content + (answer ?? "")),
        keywords && JSON.stringify(keywords),
        Number(enabled),
        enabled ? null : (row.disabled_at ?? now),
        change.summary ?? null,
        now,
        account.id,
        now,
        now,
        row.id,
      );
      indexWords(room, row.id);
      recount(document.id);
      return one(input);
    }),

    on(deleteChunk, (input) => {
      const [{ id }, document] = segmentOf(input);
      deleteSegments(room, "id", id);
      recount(document.id);
      return { status: 204 };
    }),

    on(listChildChunks, (input, call) => {
      const [{ id }] = segmentOf(input);
      // Unlike the other lists: bad numbers are as good as none, the limit is cut and echoed so.
      const page = Math.max(1, wholeOr(call.query.get("page"), 1));
      const limit = Math.min(100, Math.max(1, wholeOr(call.query.get("limit"), 20)));
      const found = childrenOf(id).filter(({ content }) =>
        content.toLowerCase().includes(input.keyword?.toLowerCase() ?? ""),
      );
      const data = found.slice((page - 1) * limit, page * limit).map(childChunkResponse);
      const total = found.length;
      const least = atLeast(call.version, "1.15.0") ? 1 : 0;
      const total_pages = Math.max(least, Math.ceil(total / limit));
      return { json: { data, total, total_pages, page, limit } };
    }),

    on(createChildChunk, (input) => {
      const [{ id }] = segmentOf(input);
      const now = room.now();
      const child: ChildChunkRow = {
        id: room.newId(),
        segment_id: id,
        position: (childrenOf(id).at(-1)?.position ?? 0) + 1,
        content: input.content,
        type: "customized",
        created_at: now,
        updated_at: now,
      };
      store.run(
        `INSERT INTO child_chunks (id, segment_id, position, content, type, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        child.id,
        child.segment_id,
        child.position,
        child.content,
        child.type,
        now,
        now,
      );
      return { json: { data: childChunkResponse(child) } };
    }),

    on(updateChildChunk, (input) => {
      const { id } = childOf(input);
      store.run(
        "UPDATE child_chunks SET content = ?, type = 'customized', updated_at = ? WHERE id = ?",
        input.content,
        room.now(),
        id,
      );
      return { json: { data: childChunkResponse(childOf(input)) } };
    }),

    on(deleteChildChunk, (input) => {
      store.run("DELETE FROM child_chunks WHERE id = ?", childOf(input).id);
      return { status: 204 };
    }),
  ];
}

// Bodies were checked against their models before they came here.
const segmentsIn = (body: unknown) =>
  (isObject(body) ? body["segments"] : []) as readonly SegmentContent[];
const segmentIn = (body: unknown) => (isObject(body) ? body["segment"] : {}) as SegmentContent;

/** Since 1.15 blank contents are found with the other wrong values. */
function checkBlank(segments: readonly SegmentContent[]): void {
  const findings = segments.flatMap(({ content: value }, index) =>
    value?.trim() === ""
      ? {
          field: `segments.${index}.content`,
          reason: "Value error, Content is empty",
          type: "value_error",
          value,
        }
      : [],
  );
  if (findings.length === 0) return;
  const { message } = validationError("SegmentCreatePayload", ...findings);
  throw new HttpError(400, "", message, { error: message });
}

function checkContent(
  { doc_form }: DocumentRow,
  content: string | undefined,
  answer: string | null | undefined,
): void {
  const refused = (error: string) => new HttpError(400, "", error, { error });
  if (!content?.trim()) throw refused("Content is empty");
  if (doc_form !== "qa_model") return;
  if (!answer) throw refused("Answer is required");
  if (!answer.trim()) throw refused("Answer is empty");
}

const statuses = new Set(["waiting", "indexing", "completed", "error", "paused", "re_segment"]);

/** Since 1.15 text counts as no number, and what is below 1 is refused (server §5). */
function chunkPageOf(call: Call): PageParams {
  if (!atLeast(call.version, "1.15.0")) return parsePage(call, "SegmentListQuery");
  const query = new URLSearchParams(call.query);
  for (const name of ["page", "limit"]) {
    if (!/^-?\d+$/.test(query.get(name) ?? "")) query.delete(name);
    numberParam(query, "SegmentListQuery", name, 1, [1, Infinity]);
  }
  return parsePage({ ...call, query }, "SegmentListQuery");
}

function wholeOr(text: string | null, otherwise: number): number {
  return text !== null && /^-?\d+$/.test(text) ? Number(text) : otherwise;
}
