import { listModels } from "../../operations/models.ts";
import {
  listDatasourcePlugins,
  runPipeline,
  runDatasourceNode,
  uploadPipelineFile,
} from "../../operations/pipeline.ts";
import { type Handler, on, HttpError } from "../http/handler.ts";
import { addUpload, getFile } from "./knowledge-files.ts";
import { account, type KnowledgeContext } from "../storage/knowledge-store.ts";
import { checkFlag } from "../http/page-params.ts";
import { invalidParam } from "../http/errors.ts";

const modelTypes = ["text-embedding", "rerank", "llm", "tts", "speech2text", "moderation"];

/** No models are configured and no knowledge base has a pipeline: what a server then answers. */
export const pipelineHandlers = (room: KnowledgeContext): readonly Handler[] => [
  on(listModels, (_input, call) => {
    const type = call.path["model_type"] ?? "";
    if (!modelTypes.includes(type)) throw invalidParam(`'${type}' is not a valid ModelType`);
    return { json: { data: [] } };
  }),

  on(listDatasourcePlugins, (_input, call) => {
    checkFlag(call, "is_published", "DatasourcePluginsQuery");
    throw withoutPipeline();
  }),
  on(runDatasourceNode, () => {
    throw withoutPipeline();
  }),
  on(runPipeline, () => {
    throw withoutPipeline();
  }),

  on(uploadPipelineFile, (_input, { files }) => {
    if (files.size > 1) throw new HttpError(400, "too_many_files", "Only one file is allowed.");
    const file = files.get("file");
    if (!file?.name) throw new HttpError(400, "no_file_uploaded", "Please upload your file.");
    // Any kind is taken; the size is refused without a word (server §3).
    const { file_id } = addUpload(room, file, (reason) =>
      reason === "size" ? invalidParam("") : undefined,
    );
    const stored = getFile(room, file_id);
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
        created_at: new Date(room.now()).toISOString().replace("Z", "000"),
      },
    };
  }),
];

const withoutPipeline = () => invalidParam("Pipeline not found");
