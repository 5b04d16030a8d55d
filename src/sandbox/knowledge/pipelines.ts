import * as models from "../../operations/models.ts";
import * as pipelines from "../../operations/pipeline.ts";
import { found, invalidParam, noFileUploaded } from "../http/errors.ts";
import { bindHandlers, type Handlers } from "../http/handler.ts";
import { checkFlag } from "../http/page-params.ts";
import type { KnowledgeContext } from "../storage/knowledge-store.ts";
import { addUpload, onlyFile } from "./knowledge-files.ts";
import { toResponse } from "./responses.ts";

const MODEL_TYPES = ["text-embedding", "rerank", "llm", "tts", "speech2text", "moderation"];

/** Models: none are configured. */
const modelList: Handlers<typeof models, KnowledgeContext> = {
  listModels(_context, _input, call) {
    const type = call.path["model_type"] ?? "";
    if (!MODEL_TYPES.includes(type)) throw invalidParam(`'${type}' is not a valid ModelType`);
    return { json: { data: [] } };
  },
};

/** Pipelines: no knowledge base has one. */
const handlers: Handlers<typeof pipelines, KnowledgeContext> = {
  listDatasourcePlugins(_context, _input, call) {
    checkFlag(call, "is_published", "DatasourcePluginsQuery");
    throw pipelineNotFound();
  },

  runDatasourceNode() {
    throw pipelineNotFound();
  },

  runPipeline() {
    throw pipelineNotFound();
  },

  uploadPipelineFile(context, _input, call) {
    const file = onlyFile(call.files);
    if (!file) throw noFileUploaded();
    // Any kind is accepted; the error of a file that is too large has no text (server §3).
    const { file_id } = addUpload(context, file, (reason) =>
      reason === "size" ? invalidParam("") : undefined,
    );
    const stored = found(context.files.find({ id: file_id }), "File not found.");
    // ISO without a zone, in microseconds (server §1).
    const created_at = new Date(stored.created_at).toISOString().replace("Z", "000");
    return { status: 201, json: toResponse("pipeline_file", stored, { created_at }) };
  },
};

export const modelHandlers = bindHandlers(models, modelList);
export const pipelineHandlers = bindHandlers(pipelines, handlers);

const pipelineNotFound = () => invalidParam("Pipeline not found");
