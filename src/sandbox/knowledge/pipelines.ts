import * as models from "../../operations/models.ts";
import * as pipelines from "../../operations/pipeline.ts";
import { invalidParam, noFileUploaded } from "../http/errors.ts";
import { bindHandlers, type Handlers } from "../http/handler.ts";
import { checkFlag } from "../http/page-params.ts";
import { account, type KnowledgeContext } from "../storage/knowledge-store.ts";
import { addUpload, getFile, onlyFile } from "./knowledge-files.ts";

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
    const stored = getFile(context, file_id);
    return {
      status: 201,
      json: {
        id: file_id,
        name: file.name,
        size: file.bytes.byteLength,
        extension: stored?.extension,
        mime_type: stored?.mime_type,
        created_by: account.id,
        // ISO without a zone, in microseconds (server §1).
        created_at: new Date(context.now()).toISOString().replace("Z", "000"),
      },
    };
  },
};

export const modelHandlers = bindHandlers(models, modelList);
export const pipelineHandlers = bindHandlers(pipelines, handlers);

const pipelineNotFound = () => invalidParam("Pipeline not found");
