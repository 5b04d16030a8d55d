import { chunkHandlers } from "./chunks.ts";
import { datasetHandlers } from "./datasets.ts";
import { documentHandlers } from "./documents.ts";
import { type Call, type Clock, type Handler, HttpError } from "../http/handler.ts";
import { advanceIndexing } from "./indexing.ts";
import { fileResponse } from "./knowledge-files.ts";
import { getDataset, type KnowledgeContext, createContext } from "../storage/knowledge-store.ts";
import { metadataHandlers } from "./metadata.ts";
import { pipelineHandlers } from "./pipelines.ts";
import { searchHandlers } from "./search.ts";
import type { Store } from "../storage/sqlite.ts";
import { tagHandlers } from "./tags.ts";

export { knowledgeSchema } from "../storage/knowledge-store.ts";

/** The knowledge side of the sandbox. */
export interface Knowledge {
  readonly handlers: readonly Handler[];
  /** Throws Refused 404 where nobody has the knowledge base: the server looks before all else. */
  checkDataset(id: string): void;
  /** What the address of a download gives; undefined for an unknown file. */
  fileAt(id: string): ReturnType<typeof fileResponse>;
  /** Nothing runs in the background: indexing catches up with the clock at each request. */
  stop(): void;
}

/** Opens the knowledge side on a store that has `knowledgeSchema`; the delay is in ms. */
export function openKnowledge(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly indexingDelay: number;
}): Knowledge {
  const room = createContext(deps);
  const handlers = [
    datasetHandlers,
    searchHandlers,
    documentHandlers,
    chunkHandlers,
    metadataHandlers,
    tagHandlers,
    pipelineHandlers,
  ].flatMap((open) => open(room));
  return {
    handlers: handlers.map((handler) => atOnce(room, handler)),
    checkDataset: (id) => void getDataset(room, id),
    fileAt: (id) => fileResponse(room, id),
    stop() {},
  };
}

/** The handler in one transaction. What a refusal has changed before stays, as on the server. */
const atOnce = (room: KnowledgeContext, { row, handle: answer }: Handler): Handler => ({
  row,
  handle(input: never, call: Call) {
    const outcome = room.store.transaction(() => {
      advanceIndexing(room);
      try {
        return answer(input, call);
      } catch (error) {
        if (error instanceof HttpError) return error;
        throw error;
      }
    });
    if (outcome instanceof HttpError) throw outcome;
    return outcome;
  },
});
