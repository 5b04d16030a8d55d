import { body, data, form, local, path, query } from "./operation.ts";

/** `{ required }` in a parameter's limits. */
export const required = true as const;

/** Knowledge base, by name or id. */
export const dataset_id = path.ref("kb", "Knowledge base name or ID");

/** Document of that knowledge base, by name or id. */
export const document_id = path.ref("document", "Document name or ID", { placeholder: "doc" });

/** Run of a workflow, from `wf run` or `wf logs` (`workflow_run.id`, not the log's own id). */
export const workflow_run_id = path.uuid("Run ID", { placeholder: "run" });

/**
 * The end user. Never typed per command: `--user`, `KB_USER`, the profile's or the fixed `kb-wf`
 * fill it (server §2), so rows only say where it goes.
 */
export const userInBody = body.text("End user of the request", { from: "user" });
export const userInQuery = query.text("End user of the request", { from: "user" });
export const userInForm = form.text("End user of the request", { from: "user" });

/** The file of a multipart form. */
export const fileParam = form.file("File, - for stdin", { required });

/** Media type of that file. The server takes it from the part's header, never from the content. */
export const content_type = local.text("Media type (default: by file extension)", {
  length: [1, 255],
});

/** The server cuts a longer name, and nobody would find the document by the name of its file. */
export const namedFileParam = { ...fileParam, maxNameLength: 200 } as const;

/** Kinds of chunking (server §7). */
export const docForms = ["text_model", "hierarchical_model", "qa_model"] as const;
export const indexingTechniques = ["high_quality", "economy"] as const;

export const modelTypes = [
  "text-embedding",
  "rerank",
  "llm",
  "tts",
  "speech2text",
  "moderation",
] as const;

/** The technique that embedding models are for, and the parameter that names one (server §8). */
export const impliesHighQuality = { indexing_technique: "high_quality" } as const;
export const needsEmbeddingModel = ["high_quality", "embedding_model"] as const;

const modelShape = {
  kind: "object",
  fields: {
    reranking_provider_name: { kind: "text" },
    reranking_model_name: { kind: "text" },
  },
} as const;

export const searchMethods = [
  "keyword_search",
  "semantic_search",
  "full_text_search",
  "hybrid_search",
] as const;

/** Search settings: four fields the server insists on, the rest optional (server §6). */
export const retrievalShape = {
  kind: "object",
  fields: {
    search_method: {
      kind: "text",
      required,
      choices: searchMethods,
    },
    reranking_enable: { kind: "flag", required },
    reranking_mode: { kind: "text", choices: ["reranking_model", "weighted_score"] },
    reranking_model: modelShape,
    top_k: { kind: "integer", required },
    score_threshold_enabled: { kind: "flag", required },
    score_threshold: { kind: "number" },
    weights: { kind: "object" },
    metadata_filtering_conditions: { kind: "object" },
  },
} as const;

const segmentation = {
  kind: "object",
  required,
  fields: {
    separator: { kind: "text" },
    // Outside these bounds the call is taken and the document fails later (server §6).
    max_tokens: { kind: "integer", required, range: [50, 4000] },
    chunk_overlap: { kind: "integer" },
  },
} as const;

/** How a document is cut into chunks (server §6). */
export const processRuleShape = {
  kind: "object",
  fields: {
    mode: { kind: "text", required, choices: ["automatic", "custom", "hierarchical"] },
    rules: {
      kind: "object",
      fields: {
        pre_processing_rules: {
          kind: "list",
          required,
          of: {
            kind: "object",
            fields: { id: { kind: "text", required }, enabled: { kind: "flag", required } },
          },
        },
        segmentation,
        parent_mode: { kind: "text", choices: ["full-doc", "paragraph"] },
        subchunk_segmentation: { kind: "object" },
      },
    },
  },
} as const;

/** The usual rule of parent-child documents; with another mode they get no chunk (server §9.8). */
export const hierarchicalRule = {
  mode: "hierarchical",
  rules: {
    pre_processing_rules: [
      { id: "remove_extra_spaces", enabled: true },
      { id: "remove_urls_emails", enabled: false },
    ],
    segmentation: { separator: "\n\n", max_tokens: 1024, chunk_overlap: 50 },
    parent_mode: "paragraph",
    subchunk_segmentation: { separator: "\n", max_tokens: 512, chunk_overlap: 50 },
  },
} as const;
const defaultByForm = { hierarchical_model: hierarchicalRule } as const;

export const retrieval_model = body.json("Search settings", { shape: retrievalShape });
export const process_rule = body.json("Chunking rule", {
  defaultByForm,
  shape: processRuleShape,
});
export const process_rule_data = data.json("Chunking rule", {
  defaultByForm,
  shape: processRuleShape,
});
