import { body, list as rows, noContent, kbOperation, withFields, record } from "./operation.ts";
import { dataset_id, deletes, required } from "./shared.ts";

/** A tag of knowledge bases. */
export interface Tag {
  readonly id: string;
  readonly name: string;
}

const tag_id = body.ref("tag", "Tag name or ID", { required });
const target_id = body.ref("kb", "Knowledge base name or ID", { required });

export const listTags = kbOperation({
  id: "getKnowledgeTags",
  command: "kb tag list",
  action: "list tags",
  summary: "List the tags of knowledge bases, newest first",
  route: "GET /datasets/tags",
  params: {},
  returns: withFields(
    { id: "id", name: "text" },
    rows<Tag>("", "name bindings=binding_count:count id:id ... type"),
  ),
  examples: ["kb tag list", `kb tag list --jq '.[] | select(.binding_count == "0") | .name'`],
});

export const createTag = kbOperation({
  id: "createKnowledgeTag",
  command: "kb tag create <name>",
  action: "create tag {name}",
  summary: "Create a tag",
  creates: "tag",
  route: "POST /datasets/tags",
  params: { name: body.text("Name, unique in the workspace", { length: [1, 50], required }) },
  returns: record<Tag>("name bindings=binding_count:count id:id ... type"),
  examples: [
    "kb tag create draft",
    "kb tag create published --if-not-exists",
    "kb tag create --each tags.csv",
  ],
});

export const renameTag = kbOperation({
  id: "updateKnowledgeTag",
  command: "kb tag rename <tag> <name>",
  action: "rename tag {tag} to {name}",
  summary: "Rename a tag",
  route: "PATCH /datasets/tags",
  params: {
    tag_id,
    name: body.text("New name, unique in the workspace", { length: [1, 50], required }),
  },
  returns: record<Tag>("name bindings=binding_count:count id:id ... type"),
  examples: ["kb tag rename draft published", "kb tag rename --each renames.csv"],
});

export const deleteTag = kbOperation({
  id: "deleteKnowledgeTag",
  command: "kb tag delete <tag>",
  action: "delete tag {tag}",
  summary: "Delete a tag and remove it from all knowledge bases",
  route: "DELETE /datasets/tags",
  params: { tag_id },
  ...deletes,
  examples: ["kb tag delete draft --yes", "kb tag delete --each old-tags.csv --yes --if-exists"],
});

export const bindTags = kbOperation({
  id: "bindTagsToDataset",
  command: "kb tag bind <kb> <tag...>",
  action: "bind tags {tag} to knowledge base {kb}",
  meant: ["binding", "assign"],
  summary: "Bind tags to a knowledge base",
  route: "POST /datasets/tags/binding",
  params: {
    tag_ids: body.ref("tag", "Tag name or ID", { many: true, required, mustExist: true }),
    target_id,
  },
  returns: noContent,
  retry: "idempotent",
  examples: ["kb tag bind Handbook draft published", "kb tag bind --each bound.csv published"],
});

export const unbindTags = kbOperation({
  id: "unbindTagFromDataset",
  action: "unbind tags {tag} from knowledge base {kb}",
  route: "POST /datasets/tags/unbinding",
  params: {
    tag_ids: body.ref("tag", "Tag name or ID", { many: true }),
    // The only form before 1.14.1; newer servers accept both (server §10).
    tag_id: body.ref("tag", "Tag name or ID"),
    target_id,
  },
  returns: noContent,
  retry: "idempotent",
});

export const listBoundTags = kbOperation({
  id: "queryDatasetTags",
  command: "kb tag bound <kb>",
  action: "list tags of knowledge base {kb}",
  summary: "List the tags bound to a knowledge base",
  route: "GET /datasets/{dataset_id}/tags",
  params: { dataset_id },
  returns: rows<Tag>("data", "name id:id"),
  examples: ["kb tag bound Handbook", "kb tag bound Handbook --jq '.[].name'"],
});
