import {
  body,
  joinTexts,
  list as rows,
  kbOperation,
  page,
  path,
  query,
  withFields,
  record,
  within,
} from "./operation.ts";
import type { Checked, Column } from "./operation.ts";
import { dataset_id, deletes, document_id, listOf, required } from "./shared.ts";
import { commandLine } from "../lib/command-line.ts";

const statuses = ["waiting", "indexing", "completed", "error", "paused", "re_segment"] as const;

const childFields = { id: "id", content: "text", "type?": "text", "position?": "number" } as const;

const chunkFields = {
  id: "id",
  position: "number",
  content: "text",
  // Only in question-and-answer documents.
  "answer?": "text",
  "keywords?": ["text"],
  enabled: "flag",
  // Each is null until it applies, and absent in older servers.
  "status?": "text",
  "updated_by?": "text",
  "created_at?": "time",
  "disabled_at?": "time",
  "indexing_at?": "time",
  "completed_at?": "time",
  "summary?": "text",
  "error?": "text",
  // Parts of a chunk in a hierarchical document.
  child_chunks: [childFields],
} as const;

/** A chunk ("segment" in the API). */
export type Chunk = Checked<typeof chunkFields> & {
  readonly attachments?: readonly unknown[] | null;
};

const columns: readonly Column<Chunk>[] = [
  "position content answer:sparse status words=word_count:count hits=hit_count:count",
  ["child_chunks", (chunk) => chunk.child_chunks.length || null, "sparse"],
  "id:id ...",
  ["keywords", (chunk) => joinTexts(chunk.keywords)],
  "enabled tokens:count error created=created_at:time updated=updated_at:time",
];

const sheet = record<{ readonly data: Chunk }>(
  ...within("data", "position status enabled content answer"),
  ["keywords", ({ data }) => joinTexts(data.keywords)],
  ...within(
    "data",
    "words=word_count:count hits=hit_count:count error updated=updated_at:time id:id",
    "... child_chunks=child_chunks.length tokens:count summary created=created_at:time",
  ),
  "doc_form",
);

const childSheet = record(
  ...within("data", "position type words=word_count:count content id:id"),
  ...within("data", "... chunk=segment_id created=created_at:time updated=updated_at:time"),
);

const segment_id = path.uuid("Chunk ID", { placeholder: "chunk", listed: "chunk" });
/** The parameters of a route of one chunk. */
const ofChunk = { dataset_id, document_id, segment_id };
const child_chunk_id = path.uuid("Child chunk ID", { placeholder: "child", listed: "child" });

export const listChunks = kbOperation({
  id: "listSegments",
  command: "kb chunk list <kb> <doc>",
  action: "list chunks of document {kb}/{doc}",
  summary: "List the chunks of a document in order",
  route: "GET /datasets/{dataset_id}/documents/{document_id}/segments",
  params: {
    dataset_id,
    document_id,
    status: query.choice(statuses, "Only chunks with this status", { many: true }),
    keyword: query.text("Only chunks that contain this text"),
  },
  returns: withFields(chunkFields, page<Chunk>(...columns)),
  examples: [
    "kb chunk list Handbook welcome.md",
    "kb chunk list Handbook welcome.md --keyword laptops --status completed",
  ],
});

export const createChunks = kbOperation({
  id: "createSegments",
  command: "kb chunk add <kb> <doc>",
  action: "add chunks to document {kb}/{doc}",
  summary: "Append chunks to an indexed document",
  route: "POST /datasets/{dataset_id}/documents/{document_id}/segments",
  params: {
    dataset_id,
    document_id,
    segments: body.json("Several chunks: [{content, answer, keywords}]", {
      shape: listOf({
        content: { kind: "text", required },
        answer: { kind: "text" },
        keywords: { kind: "list", of: { kind: "text" } },
        attachment_ids: { kind: "list", of: { kind: "text" } },
      }),
    }),
    "segments.0.content": body.text("Content of the chunk", { flag: "content" }),
    "segments.0.answer": body.text("Answer, in question-and-answer documents", { flag: "answer" }),
    "segments.0.keywords": body.text("Keyword", { flag: "keyword", many: true }),
    "segments.0.attachment_ids": body.text("Uploaded file to attach", {
      flag: "attachment-ids",
      many: true,
    }),
  },
  anyOf: ["segments", "segments.0.content"],
  indexes: { at: "", dropped: true },
  knownErrors: [
    {
      message: "Document is not completed",
      hint: `run ${commandLine("kb doc wait", ["{dataset_id}", "{document_id}"])} until it is indexed`,
    },
    {
      message: "Document is disabled",
      hint: `run ${commandLine("kb doc enable", ["{dataset_id}", "{document_id}"])} first`,
    },
  ],
  ordered: true,
  returns: rows<Chunk>("data", ...columns),
  examples: [
    "kb chunk add Handbook welcome.md --content Parking --keyword parking",
    `kb chunk add Handbook welcome.md --segments '[{"content":"Parking"},{"content":"Lockers"}]'`,
  ],
});

export const getChunk = kbOperation({
  id: "getSegmentDetail",
  command: "kb chunk show <kb> <doc> <chunk>",
  action: "get chunk {chunk}",
  summary: "Show a chunk",
  route: "GET /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}",
  params: ofChunk,
  returns: sheet,
  examples: [
    "kb chunk show Handbook welcome.md $CHUNK",
    "kb chunk show Handbook welcome.md $CHUNK --jq .content",
  ],
});

export const updateChunk = kbOperation({
  id: "updateSegment",
  command: "kb chunk update <kb> <doc> <chunk>",
  action: "update chunk {chunk}",
  meant: ["chunk enable", "chunk disable"],
  summary: "Update a chunk and reindex it",
  route: "POST /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}",
  params: {
    ...ofChunk,
    "segment.content": body.text("New content", { flag: "content" }),
    "segment.answer": body.text("New answer, in question-and-answer documents", {
      flag: "answer",
    }),
    "segment.keywords": body.text("Keyword; replaces the existing ones", {
      flag: "keyword",
      many: true,
    }),
    "segment.enabled": body.flag("Include it in searches", { flag: "enabled" }),
    "segment.regenerate_child_chunks": body.flag("Split its child chunks again", {
      flag: "regenerate-child-chunks",
      serverDefault: "false",
    }),
    "segment.attachment_ids": body.text("Uploaded file to attach", {
      flag: "attachment-ids",
      many: true,
    }),
    "segment.summary": body.text("New summary", { flag: "summary" }),
  },
  anyOf: "all",
  indexes: { at: "data" },
  knownErrors: [
    {
      message: "Can't update disabled segment",
      hint: "a disabled chunk is changed only together with --enabled",
    },
  ],
  returns: sheet,
  retry: "idempotent",
  examples: [
    "kb chunk update Handbook welcome.md $CHUNK --content 'Parking is free.'",
    "kb chunk update Handbook welcome.md $CHUNK --keyword parking --keyword office",
    "kb chunk update Handbook welcome.md $CHUNK --no-enabled",
  ],
});

export const deleteChunk = kbOperation({
  id: "deleteSegment",
  command: "kb chunk delete <kb> <doc> <chunk>",
  action: "delete chunk {chunk}",
  summary: "Delete a chunk",
  route: "DELETE /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}",
  params: ofChunk,
  ...deletes,
  examples: [
    "kb chunk delete Handbook welcome.md $CHUNK --yes",
    "kb chunk delete Handbook welcome.md $CHUNK --yes --if-exists",
  ],
});

export const listChildChunks = kbOperation({
  id: "getChildChunks",
  command: "kb chunk child list <kb> <doc> <chunk>",
  action: "list child chunks of chunk {chunk}",
  summary: "List the child chunks of a chunk in order",
  route: "GET /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks",
  params: {
    ...ofChunk,
    keyword: query.text("Only child chunks that contain this text"),
  },
  returns: withFields(
    childFields,
    page(
      "position content type words=word_count:count id:id",
      "... created=created_at:time updated=updated_at:time",
    ),
  ),
  examples: [
    "kb chunk child list Handbook welcome.md $CHUNK",
    "kb chunk child list Handbook welcome.md $CHUNK --keyword parking --all",
  ],
});

export const createChildChunk = kbOperation({
  id: "createChildChunk",
  command: "kb chunk child add <kb> <doc> <chunk>",
  action: "add a child chunk to chunk {chunk}",
  summary: "Append a child chunk to a chunk",
  route: "POST /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks",
  params: {
    ...ofChunk,
    content: body.text("Content", { required }),
  },
  ordered: true,
  returns: childSheet,
  examples: [
    "kb chunk child add Handbook welcome.md $CHUNK --content Parking",
    "kb chunk child add Handbook welcome.md $CHUNK --each children.csv",
  ],
});

export const updateChildChunk = kbOperation({
  id: "updateChildChunk",
  command: "kb chunk child update <kb> <doc> <chunk> <child>",
  action: "update child chunk {child}",
  summary: "Update the content of a child chunk",
  route:
    "PATCH /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}",
  params: {
    ...ofChunk,
    child_chunk_id,
    content: body.text("New content", { required }),
  },
  returns: childSheet,
  examples: [
    "kb chunk child update Handbook welcome.md $CHUNK $CHILD --content Parking",
    "kb chunk child update Handbook welcome.md $CHUNK $CHILD --content Parking --dry-run",
  ],
});

export const deleteChildChunk = kbOperation({
  id: "deleteChildChunk",
  command: "kb chunk child delete <kb> <doc> <chunk> <child>",
  action: "delete child chunk {child}",
  summary: "Delete a child chunk",
  route:
    "DELETE /datasets/{dataset_id}/documents/{document_id}/segments/{segment_id}/child_chunks/{child_chunk_id}",
  params: { ...ofChunk, child_chunk_id },
  ...deletes,
  examples: [
    "kb chunk child delete Handbook welcome.md $CHUNK $CHILD --yes",
    "kb chunk child delete Handbook welcome.md $CHUNK $CHILD --yes --if-exists",
  ],
});
