import { type Call, type Handler, HttpError } from "../protocol/handler.ts";
import {
  createContext,
  getDataset,
  type KnowledgeContext,
  type KnowledgeDependencies,
} from "./records/knowledge-store.ts";
import { chunkHandlers } from "./chunks.ts";
import { datasetHandlers } from "./datasets.ts";
import { documentHandlers } from "./documents.ts";
import { advanceIndexing } from "./indexing/indexing.ts";
import { fileResponse, readUpload } from "./records/knowledge-files.ts";
import { metadataHandlers } from "./metadata.ts";
import { modelHandlers } from "./models.ts";
import { addPipelineBases } from "./pipelines/bases.ts";
import { pipelineHandlers } from "./pipeline.ts";
import { openRetrieve } from "./retrieval/retrieve.ts";
import { searchHandlers } from "./retrieval/search.ts";
import { tagHandlers } from "./tags.ts";

/** The knowledge side of the sandbox. */
export type Knowledge = ReturnType<typeof openKnowledge>;

/** Opens the knowledge side. */
export function openKnowledge(dependencies: KnowledgeDependencies) {
  const context = createContext(dependencies);
  if (context.model) addPipelineBases(context);
  const handlers = [
    datasetHandlers,
    searchHandlers,
    documentHandlers,
    chunkHandlers,
    metadataHandlers,
    tagHandlers,
    pipelineHandlers,
    modelHandlers,
  ].flatMap((open) => open(context));
  return {
    handlers: handlers.map((handler) => inTransaction(context, handler)),
    /** Throws 404 if the knowledge base does not exist; the server checks that first. */
    checkDataset: (id: string) => void getDataset(context, id),
    retrieve: openRetrieve(context),
    /** Returns the download of a file. */
    fileAt: (id: string) => fileResponse(context, id),
  };
}

/**
 * Runs a handler in a transaction. As on the server, changes made before an error response stay.
 * Files are read before, since a transaction cannot wait.
 */
const inTransaction = (context: KnowledgeContext, { row, handle }: Handler): Handler => ({
  row,
  async handle(input: never, call: Call) {
    const files = context.model ? await readUpload(call.files) : call.files;
    const result = context.store.transaction(() => {
      advanceIndexing(context);
      try {
        return handle(input, { ...call, files });
      } catch (error) {
        if (error instanceof HttpError) return error;
        throw error;
      }
    });
    if (result instanceof HttpError) throw result;
    return result;
  },
});
