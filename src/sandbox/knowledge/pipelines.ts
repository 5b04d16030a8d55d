import * as models from "../../operations/models.ts";
import * as pipelines from "../../operations/pipeline.ts";
import { noFileUploaded } from "../http/errors.ts";
import { bindHandlers, type Handlers } from "../http/handler.ts";
import { checkFlag } from "../http/page-params.ts";
import type { KnowledgeContext } from "../storage/knowledge-store.ts";
import { addUpload, onlyFile } from "./knowledge-files.ts";
import { knowledgeRefusal, toResponse } from "./responses.ts";

const MODEL_TYPES = ["text-embedding", "rerank", "llm", "tts", "speech2text", "moderation"];

/** Models: none are configured. */
const modelList: Handlers<typeof models, KnowledgeContext> = {
  listModels(_context, _input, call) {
    const type = call.path["model_type"] ?? "";
    if (!MODEL_TYPES.includes(type)) throw knowledgeRefusal("model type invalid", { type });
    return { json: { data: [] } };
  },
};

/** Pipelines: no knowledge base has one. */
const handlers: Handlers<typeof pipelines, KnowledgeContext> = {
  listDatasourcePlugins(_context, _input, call) {
    checkFlag(call, "is_published", "DatasourcePluginsQuery");
    throw knowledgeRefusal("pipeline missing");
  },

  runDatasourceNode() {
    throw knowledgeRefusal("pipeline missing");
  },

  runPipeline() {
    throw knowledgeRefusal("pipeline missing");
  },

  uploadPipelineFile(context, _input, call) {
    const file = onlyFile(call.files);
    if (!file) throw noFileUploaded();
    // Any kind is accepted; the error of a file that is too large has no text (server §3).
    const { file_id } = addUpload(context, file, (reason) =>
      reason === "size" ? knowledgeRefusal("file rejected") : undefined,
    );
    const stored = context.files.find({ id: file_id }) ?? {};
    return { status: 201, json: toResponse("pipeline_file", stored) };
  },
};

export const modelHandlers = bindHandlers(models, modelList);
export const pipelineHandlers = bindHandlers(pipelines, handlers);
