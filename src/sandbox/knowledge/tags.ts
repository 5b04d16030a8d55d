import type * as operations from "../../operations/tags.ts";
import { internalServerError, raise } from "../protocol/response.ts";
import { atLeast } from "../../lib/version.ts";
import type { Call } from "../protocol/handler.ts";
import { validationError, valueError } from "../protocol/validation.ts";
import { isUuid } from "../../lib/text.ts";
import type { KnowledgeContext, TagRow, KnowledgeHandlers } from "./records/knowledge-store.ts";
import { knowledgeError } from "./records/responses.ts";

/** Tags and their bindings. */
export const tagHandlers: KnowledgeHandlers<typeof operations> = {
  listTags(context, _input, call) {
    const tags = context.tags.list({}, "rowid DESC");
    const fields = tags.map((_, index) => `${index}.binding_count`);
    if (tags.length > 0) checkResponse(call, "list[DataSetTag]", fields);
    return { json: tags.map((tag) => tagResponse(context, tag)) };
  },

  createTag(context, { name }, call) {
    checkName(context, name);
    const tag = context.tags.insert({ name });
    checkResponse(call, "DataSetTag", ["binding_count"]);
    return { json: tagResponse(context, tag) };
  },

  renameTag(context, { tag_id, name }, call) {
    const tag = getTag(context, tag_id);
    const isUnchanged = tag.name === name && atLeast(call.version, "1.14.2");
    if (!isUnchanged) checkName(context, name);
    context.tags.update({ id: tag.id }, { name });
    return { json: tagResponse(context, { ...tag, name }) };
  },

  deleteTag(context, { tag_id }) {
    const { id } = getTag(context, tag_id);
    context.tags.delete({ id });
    return { status: 204 };
  },

  bindTags(context, { tag_ids, target_id }) {
    if (tag_ids.length === 0) throw tagsMissing("TagBindingPayload", tag_ids);
    checkTarget(context, target_id, "bind");
    const sql = "INSERT OR IGNORE INTO tag_bindings SELECT id, ? FROM tags WHERE id = ?";
    for (const id of tag_ids) context.store.run(sql, target_id, id);
    return { status: 204 };
  },

  unbindTags(context, { tag_ids = [], tag_id, target_id }, call) {
    if (tag_id === undefined && !atLeast(call.version, "1.14.1")) {
      const missing = { field: "tag_id", type: "missing", value: call.body } as const;
      throw validationError("TagUnbindingPayload", missing);
    }
    const ids = tag_id === undefined ? tag_ids : [...tag_ids, tag_id];
    if (ids.length === 0) throw tagsMissing("TagUnbindingPayload", tag_ids);
    checkTarget(context, target_id, "unbind");
    for (const id of ids) context.tag_bindings.delete({ tag_id: id, dataset_id: target_id });
    return { status: 204 };
  },

  listBoundTags(context, { dataset_id }) {
    const data = listDatasetTags(context, dataset_id);
    return { json: { data, total: data.length } };
  },
};

/** Returns the tags of a knowledge base, newest first. */
export const listDatasetTags = ({ tags }: KnowledgeContext, datasetId: string) =>
  tags.select(
    "JOIN tag_bindings ON tag_id = id WHERE dataset_id = ? ORDER BY tags.rowid DESC",
    datasetId,
  );

const tagResponse = ({ tag_bindings }: KnowledgeContext, tag: TagRow) => ({
  id: tag.id,
  name: tag.name,
  type: "knowledge",
  binding_count: String(tag_bindings.count({ tag_id: tag.id })),
});

function getTag({ tags }: KnowledgeContext, id: string): TagRow {
  // The server passes the text to its database, which accepts only UUIDs.
  if (!isUuid(id)) throw internalServerError();
  return tags.find({ id }) ?? raise(knowledgeError("tag missing"));
}

function checkName({ tags }: KnowledgeContext, name: string): void {
  if (tags.count({ name }) > 0) throw knowledgeError("tag name taken");
}

function checkTarget({ datasets }: KnowledgeContext, id: string, action: "bind" | "unbind"): void {
  if (!datasets.find({ id })) throw knowledgeError(`dataset to ${action} missing`);
}

const tagsMissing = (model: string, sent: unknown) =>
  valueError(model, "tag_ids", sent, "Tag IDs is required.");

/** Old servers fail to validate the count in their own response, after the write (server §10). */
function checkResponse(call: Call, model: string, fields: readonly string[]): void {
  if (atLeast(call.version, "1.13.0")) return;
  const problem = { type: "string_type", value: 0 } as const;
  throw validationError(model, ...fields.map((field) => ({ ...problem, field })));
}
