import {
  bindTags,
  listBoundTags,
  createTag,
  listTags,
  deleteTag,
  renameTag,
  unbindTags,
} from "../../operations/tags.ts";
import { type Call, type Handler, on } from "../http/handler.ts";
import type { KnowledgeContext, TagRow } from "../storage/knowledge-store.ts";
import { invalidParam, notFoundAt, internalServerError } from "../http/errors.ts";
import { atLeast } from "../http/router.ts";
import { isUuidText } from "../storage/ids.ts";
import { validationError } from "../http/validation.ts";

const tagsPath = "/v1/datasets/tags";

/** Tags and what they are bound to. */
export function tagHandlers(room: KnowledgeContext): readonly Handler[] {
  const { store } = room;

  /** A tag as answers show it. */
  const answered = (tag: TagRow) => ({
    id: tag.id,
    name: tag.name,
    type: "knowledge",
    binding_count: String(
      store.get<{ readonly count: number }>(
        "SELECT count(*) AS count FROM tag_bindings WHERE tag_id = ?",
        tag.id,
      )?.count,
    ),
  });

  const tagOf = (id: string): TagRow => {
    // The server hands the text to its database, which takes UUIDs only.
    if (!isUuidText(id)) throw internalServerError();
    const found = store.get<TagRow>("SELECT id, name FROM tags WHERE id = ?", id);
    if (!found) {
      throw notFoundAt("Tag not found.", tagsPath, [
        tagsPath,
        "/v1/datasets/<uuid:dataset_id>/tags",
        "/v1/datasets/<uuid:dataset_id>/documents/<uuid:document_id>/segments/<uuid:segment_id>/child_chunks/<uuid:child_chunk_id>",
      ]);
    }
    return found;
  };

  const checkName = (name: string) => {
    if (store.get("SELECT id FROM tags WHERE name = ?", name)) {
      throw invalidParam("Tag name already exists");
    }
  };

  const checkTarget = (id: string, [path, other]: readonly [string, string]) => {
    if (store.get("SELECT id FROM datasets WHERE id = ?", id)) return;
    const routes = [path, other].map((word) => `${tagsPath}/${word}`);
    throw notFoundAt("Dataset not found.", `${tagsPath}/${path}`, [...routes, tagsPath]);
  };

  return [
    on(listTags, (_input, call) => {
      const rows = store.all<TagRow>("SELECT id, name FROM tags ORDER BY key DESC");
      if (rows.length > 0)
        checkAnswer(
          call,
          "list[DataSetTag]",
          rows.map((_, at) => `${at}.`),
        );
      return { json: rows.map(answered) };
    }),

    on(createTag, ({ name }, call) => {
      checkName(name);
      const tag = { id: room.newId(), name };
      store.run("INSERT INTO tags (id, name) VALUES (?, ?)", tag.id, name);
      checkAnswer(call, "DataSetTag", [""]);
      return { json: answered(tag) };
    }),

    on(renameTag, ({ tag_id, name }, call) => {
      const tag = tagOf(tag_id);
      const itsOwn = tag.name === name && atLeast(call.version, "1.14.2");
      if (!itsOwn) checkName(name);
      store.run("UPDATE tags SET name = ? WHERE id = ?", name, tag.id);
      return { json: answered({ ...tag, name }) };
    }),

    on(deleteTag, ({ tag_id }) => {
      const { id } = tagOf(tag_id);
      store.run("DELETE FROM tag_bindings WHERE tag_id = ?", id);
      store.run("DELETE FROM tags WHERE id = ?", id);
      return { status: 204 };
    }),

    on(bindTags, ({ tag_ids, target_id }) => {
      if (tag_ids.length === 0) throw withoutTags("TagBindingPayload", tag_ids);
      checkTarget(target_id, ["binding", "unbinding"]);
      for (const id of tag_ids) {
        store.run(
          "INSERT OR IGNORE INTO tag_bindings SELECT id, ? FROM tags WHERE id = ?",
          target_id,
          id,
        );
      }
      return { status: 204 };
    }),

    on(unbindTags, ({ tag_ids = [], tag_id, target_id }, call) => {
      const missing = { field: "tag_id", reason: "Field required", type: "missing" };
      if (tag_id === undefined && !atLeast(call.version, "1.14.1")) {
        throw validationError("TagUnbindingPayload", { ...missing, value: call.body });
      }
      const chosen = tag_id === undefined ? tag_ids : [...tag_ids, tag_id];
      if (chosen.length === 0) throw withoutTags("TagUnbindingPayload", tag_ids);
      checkTarget(target_id, ["unbinding", "binding"]);
      for (const id of chosen) {
        store.run("DELETE FROM tag_bindings WHERE tag_id = ? AND dataset_id = ?", id, target_id);
      }
      return { status: 204 };
    }),

    on(listBoundTags, ({ dataset_id }) => {
      const data = listDatasetTags(room, dataset_id);
      return { json: { data, total: data.length } };
    }),
  ];
}

/** Tags of a knowledge base, newest first. */
export const listDatasetTags = ({ store }: KnowledgeContext, datasetId: string) =>
  store.all<TagRow>(
    `SELECT id, name FROM tags JOIN tag_bindings ON tag_id = id WHERE dataset_id = ?
     ORDER BY key DESC`,
    datasetId,
  );

const withoutTags = (model: string, value: unknown) =>
  validationError(model, {
    field: "tag_ids",
    reason: "Value error, Tag IDs is required.",
    type: "value_error",
    value,
  });

/** Old servers trip over the count in their own answer, when the tag is long made (server §10). */
function checkAnswer(call: Call, model: string, places: readonly string[]): void {
  if (atLeast(call.version, "1.13.0")) return;
  const finding = { reason: "Input should be a valid string", type: "string_type", value: 0 };
  throw validationError(
    model,
    ...places.map((place) => ({ ...finding, field: `${place}binding_count` })),
  );
}
