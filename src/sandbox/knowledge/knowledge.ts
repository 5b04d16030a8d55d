import { chunkHandlers } from "./chunks.ts";
import { datasetHandlers } from "./datasets.ts";
import { documentHandlers } from "./documents.ts";
import { type Call, type Clock, type Handler, HttpError } from "../http/handler.ts";
import { advanceIndexing } from "./indexing.ts";
import { fileResponse } from "./knowledge-files.ts";
import { getDataset, type KnowledgeContext, createContext } from "../storage/knowledge-store.ts";
import { metadataHandlers } from "./metadata.ts";
import { modelHandlers, pipelineHandlers } from "./pipelines.ts";
import { searchHandlers } from "./search.ts";
import type { Store } from "../storage/sqlite.ts";
import { tagHandlers } from "./tags.ts";

export { knowledgeSchema } from "../storage/knowledge-store.ts";

/** The knowledge side of the sandbox. */
export interface Knowledge {
  readonly handlers: readonly Handler[];
  /** Throws 404 if the knowledge base does not exist; the server checks that first. */
  checkDataset(id: string): void;
  /** Returns the download of a file. */
  fileAt(id: string): ReturnType<typeof fileResponse>;
}

/** Opens the knowledge side on a store that has `knowledgeSchema`; the delay is in ms. */
export function openKnowledge(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly indexingDelay: number;
}): Knowledge {
  const context = createContext(deps);
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
    checkDataset: (id) => void getDataset(context, id),
    fileAt: (id) => fileResponse(context, id),
  };
}

/** Runs a handler in a transaction. As on the server, changes made before an error response stay. */
const inTransaction = (context: KnowledgeContext, { row, handle }: Handler): Handler => ({
  row,
  handle(input: never, call: Call) {
    const result = context.store.transaction(() => {
      advanceIndexing(context);
      try {
        return handle(input, call);
      } catch (error) {
        if (error instanceof HttpError) return error;
        throw error;
      }
    });
    if (result instanceof HttpError) throw result;
    return result;
  },
});
