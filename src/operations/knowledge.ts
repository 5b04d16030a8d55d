import type { Chunk } from "./chunks.ts";
import {
  body,
  joinTexts,
  list as rows,
  local,
  kbOperation,
  page,
  query,
  withFields,
  record,
  within,
} from "./operation.ts";
import type { Checked, Column } from "./operation.ts";
import {
  dataset_id,
  deletes,
  listOf,
  required,
  retrieval_model,
  indexingTechniques,
} from "./shared.ts";

const permissions = ["only_me", "all_team_members", "partial_members"] as const;

const baseFields = {
  id: "id",
  name: "text",
  "description?": "text",
  "permission?": "text",
  // Null until it is chosen, at the latest with the first document.
  "indexing_technique?": "text",
  "doc_form?": "text",
  "embedding_model?": "text",
  "embedding_model_provider?": "text",
  "document_count?": "number",
  // Search settings; a knowledge base without any shows the defaults (server §6.1).
  "retrieval_model_dict?": { search_method: "text", top_k: "number" },
  "tags?": [{ id: "id", name: "id" }],
} as const;

/** A knowledge base. Optional fields depend on the server version or the request. */
export type KnowledgeBase = Checked<typeof baseFields> & {
  readonly provider: string;
  /** Without summaries, contains nulls (server §6.3). */
  readonly summary_index_setting?: { readonly enable: boolean | null };
};

/** A search result; `score` is 0 in keyword search (server §6). */
export interface SearchRecord {
  readonly segment: Omit<Chunk, "child_chunks" | "updated_by"> & {
    readonly document_id: string;
    readonly document: { readonly id: string; readonly name: string } | null;
  };
  readonly child_chunks: readonly { readonly content: string; readonly score: number }[];
  readonly score: number;
}

const tagNames: Column<KnowledgeBase> = [
  "tags",
  (kb) => joinTexts(kb.tags?.map(({ name }) => name)),
];

const sheet = record<KnowledgeBase>(
  "name description indexing=indexing_technique doc_form permission",
  tagNames,
  "documents=document_count:count words=word_count:count",
  "created=created_at:time updated=updated_at:time id:id",
  "... provider embedding_model_provider embedding_model retrieval_model_dict",
  "total_available_documents:count apps=app_count:count built_in_field_enabled runtime_mode",
  "enable_api created_by",
);

const description = body.text("Description", { length: [0, 400] });
const indexing_technique = body.choice(indexingTechniques, "Indexing technique");
const permission = body.choice(permissions, "Who in the workspace can see it", {
  serverDefault: "only_me",
});
const embedding_model = body.model("Embedding model, see `kb model list`");
const embedding_model_provider = body.text("Provider of a model given without one");
const external_retrieval_model = body.json("Search settings of external knowledge", {
  shape: { kind: "object" },
});
const external_knowledge_api_id = body.text("ID of the external knowledge API");
const external_knowledge_id = body.text("ID of the knowledge in that API");

export const listKnowledgeBases = kbOperation({
  id: "listDatasets",
  command: "kb list",
  action: "list knowledge bases",
  summary: "List knowledge bases, newest first",
  route: "GET /datasets",
  params: {
    keyword: query.text("Only names that contain this text", { meant: ["--filter", "--name"] }),
    // Names are resolved among all of them, so the list has all of them.
    include_all: query.flag("Include those that the workspace owner cannot see (default true)", {
      default: true,
    }),
    // Servers differ in the meaning of several tags (server §5).
    tag_ids: query.ref("tag", "Only with this tag; several match any (all since 1.15)", {
      many: true,
      flag: "tag",
    }),
  },
  returns: page<KnowledgeBase>(
    "name indexing=indexing_technique documents=document_count:count words=word_count:count",
    "created=created_at:time id:id ... description permission provider doc_form embedding_model",
    tagNames,
    "apps=app_count:count updated=updated_at:time",
  ),
  examples: [
    "kb list --keyword hand",
    "kb list --tag published --all",
    "kb list --where 'documents > 10'",
    "kb list --all --jq '.[] | select(.document_count == 0) | .name'",
  ],
});

export const createKnowledgeBase = kbOperation({
  id: "createDataset",
  command: "kb create <name>",
  action: "create knowledge base {name}",
  meant: ["init"],
  summary: "Create an empty knowledge base",
  creates: "kb",
  route: "POST /datasets",
  params: {
    name: body.text("Name, unique in the workspace", { length: [1, 40], required }),
    description,
    indexing_technique,
    permission,
    provider: body.choice(["vendor", "external"], "Where the content is stored", {
      serverDefault: "vendor",
    }),
    embedding_model,
    embedding_model_provider,
    retrieval_model,
    external_knowledge_api_id,
    external_knowledge_id,
    summary_index_setting: body.json("Summary index settings", {
      shape: { kind: "object" },
    }),
  },
  // It has no content yet.
  returns: record<KnowledgeBase>(
    "name indexing=indexing_technique permission id:id ... description provider doc_form",
    "embedding_model_provider embedding_model retrieval_model_dict created=created_at:time",
  ),
  examples: [
    "kb create Handbook --indexing-technique economy",
    "kb create Handbook --if-not-exists",
    "kb create --each bases.csv --indexing-technique economy",
  ],
});

export const getKnowledgeBase = kbOperation({
  id: "getDatasetDetail",
  command: "kb show <kb>",
  action: "get knowledge base {kb}",
  summary: "Show a knowledge base",
  route: "GET /datasets/{dataset_id}",
  params: { dataset_id },
  returns: withFields(baseFields, sheet),
  examples: ["kb show Handbook", "kb show Handbook --jq .retrieval_model_dict"],
});

export const updateKnowledgeBase = kbOperation({
  id: "updateDataset",
  command: "kb update <kb>",
  action: "update knowledge base {kb}",
  meant: ["rename", "mv"],
  summary: "Update a knowledge base and wait for any reindexing",
  about:
    "After a change of the indexing technique or the embedding model, the documents are read until they are\nindexed, and a search checks the index. Some servers index with the earlier settings; --rewrite then\ndownloads each document and sends its content again. If chunks were edited, added, disabled or removed\nby hand, the command names them and asks.",
  knownErrors: [
    {
      message: "Dataset name already exists",
      hint: "choose another name; `kb show {name}` shows the knowledge base that has this one",
    },
  ],
  route: "PATCH /datasets/{dataset_id}",
  params: {
    dataset_id,
    name: body.text("New name, unique in the workspace", { length: [1, 40] }),
    description,
    indexing_technique,
    permission: body.choice(permissions, "Who in the workspace can see it"),
    embedding_model,
    embedding_model_provider,
    retrieval_model,
    partial_member_list: body.json("Members who can see it: [{user_id}]", {
      shape: listOf({ user_id: { kind: "text", required } }),
    }),
    external_retrieval_model,
    external_knowledge_id,
    external_knowledge_api_id,
    rewrite: local.flag("Write documents again if searches fail"),
  },
  anyOf: "all",
  confirms: true,
  exits: ["remote-failed"],
  returns: sheet,
  examples: [
    "kb update Handbook --name Policies",
    "kb update Handbook --permission only_me",
    "kb update Handbook --description 'What new colleagues ask' --dry-run",
  ],
});

export const deleteKnowledgeBase = kbOperation({
  id: "deleteDataset",
  command: "kb delete <kb>",
  action: "delete knowledge base {kb}",
  summary: "Delete a knowledge base and its documents, even if apps use it",
  route: "DELETE /datasets/{dataset_id}",
  params: { dataset_id },
  ...deletes,
  examples: [
    "kb delete Handbook --yes",
    "kb delete Handbook --yes --backup",
    "kb delete Handbook --yes --if-exists",
  ],
});

/** Content of the child chunk with the highest score. */
const bestChild = ({ child_chunks }: SearchRecord): string | undefined =>
  child_chunks.toSorted((a, b) => b.score - a.score)[0]?.content;

export const searchKnowledgeBase = kbOperation({
  id: "retrieveSegments",
  action: "search knowledge base {kb}",
  route: "POST /datasets/{dataset_id}/retrieve",
  params: {
    dataset_id,
    query: body.text("Search query", { length: [1, 250], required }),
    retrieval_model,
    attachment_ids: body.text("Uploaded file to search with", { many: true }),
    external_retrieval_model,
  },
  returns: withFields(
    {
      score: "number",
      segment: {
        content: "text",
        "answer?": "text",
        "document?": { id: "id", name: "text" },
      },
      child_chunks: [{ content: "text" }],
    },
    rows<SearchRecord>(
      "records",
      ...within("segment", "document=document.name"),
      "score",
      ...within("segment", "content answer:sparse"),
      ["child", bestChild, "sparse"],
      "chunk=segment.id:id ... position=segment.position",
      ["keywords", ({ segment }) => joinTexts(segment.keywords)],
    ),
  ),
  retry: "safe",
});
