import * as pipelines from "../../operations/pipeline.ts";
import { noFileUploaded } from "../http/errors.ts";
import { bindHandlers, type Handlers } from "../http/handler.ts";
import { checkFlag } from "../http/page-params.ts";
import type { KnowledgeContext } from "../storage/knowledge-store.ts";
import { addUpload, onlyFile } from "./knowledge-files.ts";
import { knowledgeError, toResponse } from "./responses.ts";

/** Pipelines: no knowledge base has one. */
const handlers: Handlers<typeof pipelines, KnowledgeContext> = {
  listDatasourcePlugins(_context, _input, call) {
    checkFlag(call, "is_published", "DatasourcePluginsQuery");
    throw knowledgeError("pipeline missing");
  },

  runDatasourceNode() {
    throw knowledgeError("pipeline missing");
  },

  runPipeline() {
    throw knowledgeError("pipeline missing");
  },

  uploadPipelineFile(context, _input, call) {
    const file = onlyFile(call.files);
    if (!file) throw noFileUploaded();
    // Any kind is accepted; the error of a file that is too large has no text (server §3).
    const { file_id } = addUpload(context, file, (reason) =>
      reason === "size" ? knowledgeError("file rejected") : undefined,
    );
    const stored = context.files.find({ id: file_id }) ?? {};
    return { status: 201, json: toResponse("pipeline_file", stored) };
  },
};

export const pipelineHandlers = bindHandlers(pipelines, handlers);
