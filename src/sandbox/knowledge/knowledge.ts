import { chunkHandlers } from "./chunks.ts";
import { datasetHandlers } from "./datasets.ts";
import { documentHandlers } from "./documents.ts";
import { type Call, type Clock, type Handler, Refused } from "../http/handler.ts";
import { settleIndexing } from "./indexing.ts";
import { servedFile } from "./knowledge-files.ts";
import { datasetOf, type KnowledgeRoom, openRoom } from "../storage/knowledge-store.ts";
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
  fileAt(id: string): ReturnType<typeof servedFile>;
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
  const room = openRoom(deps);
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
    checkDataset: (id) => void datasetOf(room, id),
    fileAt: (id) => servedFile(room, id),
    stop() {},
  };
}

/** The handler in one transaction. What a refusal has changed before stays, as on the server. */
const atOnce = (room: KnowledgeRoom, { row, answer }: Handler): Handler => ({
  row,
  answer(input: never, call: Call) {
    const outcome = room.store.transaction(() => {
      settleIndexing(room);
      try {
        return answer(input, call);
      } catch (error) {
        if (error instanceof Refused) return error;
        throw error;
      }
    });
    if (outcome instanceof Refused) throw outcome;
    return outcome;
  },
});
