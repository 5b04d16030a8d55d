/** The chunks of a document as a list: how it is read, stored in a file, compared, and made equal to another. */
export { changeChunks, changeRows, makeChunks, updateStored } from "./make-chunks.ts";
export type { ChunkCounts, ChunkTarget } from "./make-chunks.ts";
export { chunkRules, diffChunks, partsThatDiffer, planChunks, stepsFor } from "./compare-chunks.ts";
export type { ChunkRules, ChunkStep } from "./compare-chunks.ts";
export {
  chunkHash,
  chunkLine,
  embeddedCharacters,
  isCarried,
  readChunks,
  readChunksOf,
} from "./stored-chunk.ts";
export type { ChunkPlace, ExistingChunk, StoredChunk } from "./stored-chunk.ts";
