import type * as operations from "../../operations/chunks.ts";
import { raise } from "../protocol/errors.ts";
import { atLeast } from "../protocol/handler.ts";
import {
  type ChildChunkRow,
  getDataset,
  type KnowledgeContext,
  type KnowledgeHandlers,
} from "./records/knowledge-store.ts";
import { getSegment, type SegmentPlace } from "./chunk-requests.ts";
import { addChild } from "./indexing/segments.ts";
import {
  requireCredentials,
  withModelErrors,
  indexWords,
  vectorFor,
} from "./indexing/embedding.ts";
import { knowledgeError, toResponse } from "./records/responses.ts";

/** Child chunks. */
export const childChunkHandlers = {
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
    const { content } = input;
    requireCredentials(context, getDataset(context, input.dataset_id), "provider not initialized");
    const vector = embedded(context, input);
    const position = context.child_chunks.max("position", { segment_id }) + 1;
    const child = { segment_id, position, content, type: "customized", vector } as const;
    return { json: { data: childResponse(addChild(context, child, context.now())) } };
  },

  updateChildChunk(context, input) {
    const child = getChild(context, input);
    const { content } = input;
    const vector = embedded(context, input);
    const changes = { content, type: "customized", vector, updated_at: context.now() } as const;
    context.child_chunks.update({ id: child.id }, changes);
    indexWords(context, "child_chunks", child.id, content);
    return { json: { data: childResponse({ ...child, ...changes }) } };
  },

  deleteChildChunk(context, input) {
    context.child_chunks.delete({ id: getChild(context, input).id });
    return { status: 204 };
  },
} satisfies Partial<KnowledgeHandlers<typeof operations>>;

export const childResponse = (row: ChildChunkRow) => toResponse("child_chunk", row);

export const listChildren = ({ child_chunks }: KnowledgeContext, segment_id: string) =>
  child_chunks.list({ segment_id }, "position");

/** The vector of a content; throws 400 if the model fails (server §9.7). */
const embedded = (
  context: KnowledgeContext,
  { dataset_id, content }: { readonly dataset_id: string; readonly content: string },
) => withModelErrors(() => vectorFor(getDataset(context, dataset_id), content));

function getChild(
  context: KnowledgeContext,
  place: SegmentPlace & { readonly child_chunk_id: string },
): ChildChunkRow {
  const [{ id: segment_id }] = getSegment(context, place);
  const child = context.child_chunks.find({ id: place.child_chunk_id, segment_id });
  return child ?? raise(knowledgeError("child chunk missing"));
}

function parseInteger(text: string | null, defaultValue: number): number {
  return text !== null && /^-?\d+$/.test(text) ? Number(text) : defaultValue;
}
