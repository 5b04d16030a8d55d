import { isObject } from "../../lib/json.ts";
import { raise, HttpError } from "../protocol/errors.ts";
import { type Call, atLeast } from "../protocol/handler.ts";
import { numberParam, type PageParams, parsePage } from "../protocol/page-params.ts";
import { validationError } from "../protocol/validation.ts";
import {
  type DocumentRow,
  type KnowledgeContext,
  requireDocument,
  type SegmentRow,
} from "./records/knowledge-store.ts";
import { knowledgeError } from "./records/responses.ts";

/** The IDs of a chunk. */
export interface SegmentPlace {
  readonly dataset_id: string;
  readonly document_id: string;
  readonly segment_id: string;
}

/** The contents of a chunk in a request; undefined fields stay unchanged. */
export interface SegmentContent {
  readonly content?: string;
  readonly answer?: string | null;
  readonly keywords?: readonly string[] | null;
  readonly enabled?: boolean;
  readonly summary?: string | null;
  readonly regenerate_child_chunks?: boolean;
}

/** Returns a chunk and its document; throws 404. */
export function getSegment(
  context: KnowledgeContext,
  place: SegmentPlace,
): [row: SegmentRow, document: DocumentRow] {
  const document = requireDocument(context, place);
  const row = context.segments.find({ id: place.segment_id, document_id: document.id });
  return [row ?? raise(knowledgeError("chunk missing")), document];
}

// Bodies were validated against their models.
export const segmentsIn = (body: unknown) =>
  (isObject(body) ? body["segments"] : []) as readonly SegmentContent[];
export const segmentIn = (body: unknown) =>
  (isObject(body) ? body["segment"] : {}) as SegmentContent;

/** Throws 400 for the contents of new chunks; since 1.15 blank content is a validation error. */
export function checkNewContents(
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
  const problem = { type: "value_error", about: "Content is empty" } as const;
  const problems = segments.flatMap(({ content: value }, index) =>
    value?.trim() === "" ? [{ ...problem, field: `segments.${index}.content`, value }] : [],
  );
  if (problems.length === 0) return;
  const { message: error } = validationError("SegmentCreatePayload", ...problems);
  throw new HttpError(400, "", error, { error });
}

/** The page of a list of chunks; since 1.15 text is ignored, and numbers below 1 are rejected (server §5). */
export function parseSegmentPage(call: Call): PageParams {
  if (!atLeast(call.version, "1.15.0")) return parsePage(call, "SegmentListQuery");
  const query = new URLSearchParams(call.query);
  for (const name of ["page", "limit"] as const) {
    if (!/^-?\d+$/.test(query.get(name) ?? "")) query.delete(name);
    numberParam(query, "SegmentListQuery", name, [1, Infinity]);
  }
  return parsePage({ ...call, query }, "SegmentListQuery");
}
