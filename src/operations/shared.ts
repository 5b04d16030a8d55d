import { body, events, form, local, noContent, path, query, success } from "./operation.ts";
import type { Param, Shape } from "./operation.ts";

/** `{ required }` in the options of a parameter. */
export const required = true as const;

/** Knowledge base, by name or ID. */
export const dataset_id = path.ref("kb", "Knowledge base name or ID");

/** Document of that knowledge base, by name or ID. */
export const document_id = path.ref("document", "Document name or ID", { placeholder: "doc" });

/** Run of a workflow, from `wf run` or `wf logs` (`workflow_run.id`, not the ID of the log). */
export const workflow_run_id = path.uuid("Run ID", { placeholder: "run", listed: "run" });

/**
 * The end user (server §2), filled from `--user`, `KB_USER`, the profile or the default `kb-wf`; rows
 * only declare where it is sent.
 */
export const userInBody = body.text("End user of the request", { from: "user" });
export const userInQuery = query.text("End user of the request", { from: "user" });
export const userInForm = form.text("End user of the request", { from: "user" });

/** The file of a multipart form. */
export const fileParam = form.file("File, - for stdin", { required });

/** Media type of that file. The server reads it from the header of the part, not from the content. */
export const content_type = local.text("Media type (default: by file extension)", {
  length: [1, 255],
});

/** Encoding of files with texts, by a label of the Encoding Standard. */
export const encodingParam = local.text("Encoding of texts (default UTF-8)", {
  placeholder: "name",
  isAboutFiles: true,
});

/** A file to send in place of what an editor makes. */
export const editedFile = local.text("Send this file, such as one that an edit has kept", {
  isAboutFiles: true,
});

/** The server truncates longer names, so the document could not be found by the file name. */
export const namedFileParam = { ...fileParam, length: [1, 200] } as const;

/** Chunk structures (server §7). */
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

/** The shape of a list of objects with these fields. */
export const listOf = <const F extends Readonly<Record<string, Shape>>>(fields: F) =>
  ({ kind: "list", of: { kind: "object", fields } }) as const;

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

/** Search settings: four fields are required, the rest is optional (server §6). */
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
    // Outside this range the request succeeds and the document fails later (server §6).
    max_tokens: { kind: "integer", required, range: [50, 4000] },
    chunk_overlap: { kind: "integer" },
  },
} as const;

/** How a document is split into chunks (server §6). */
export const processRuleShape = {
  kind: "object",
  fields: {
    mode: { kind: "text", required, choices: ["automatic", "custom", "hierarchical"] },
    rules: {
      kind: "object",
      fields: {
        pre_processing_rules: {
          ...listOf({ id: { kind: "text", required }, enabled: { kind: "flag", required } }),
          required,
        },
        segmentation,
        parent_mode: { kind: "text", choices: ["full-doc", "paragraph"] },
        subchunk_segmentation: { kind: "object" },
      },
    },
  },
} as const;

/** The rule that splits documents as the platform sees fit. */
export const automaticProcessRule = { mode: "automatic" } as const;

/** Default rule of parent-child documents. */
const hierarchicalRule = {
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
/** The rule of document forms that need one; with another mode they get no chunks (server §9.8). */
export const defaultByForm: Readonly<Record<string, { readonly mode: string }>> = {
  hierarchical_model: hierarchicalRule,
};

export const retrieval_model = body.json("Search settings", { shape: retrievalShape });
export const process_rule = body.json("Chunking rule", { shape: processRuleShape });

/** Parameters of a body in the JSON part of a multipart form. */
export const inData = <P extends Record<string, Param>>(params: P) =>
  Object.fromEntries(
    Object.entries(params).map(([name, param]) => [name, { ...param, in: "data" }]),
  ) as { [K in keyof P]: Omit<P[K], "in"> & { readonly in: "data" } };

/** What all deletes have in common. */
export const deletes = { returns: noContent, alreadyDoneStatus: 404, destructive: true } as const;

/** A stop, which succeeds for any task (server §13). */
export const stops = {
  action: "stop task {task}",
  done: "Sent a stop request for task {task}",
  returns: success,
  retry: "idempotent",
} as const;

/** A request whose response is a stream of events, with one at least every few seconds. */
export const streaming = {
  fixed: { response_mode: "streaming" },
  returns: events,
  idleTimeout: 45,
} as const;

/** The same request with one response at the end, which takes up to 20 minutes. */
export const blocking = {
  fixed: { response_mode: "blocking" },
  idleTimeout: 1260,
} as const;
