/** The chunks of a document as a list: how it is read, stored in a file, compared, and made equal to another. */
export { diffChunks } from "./compare-chunks.ts";
export { changeChunks, makeChunks } from "./make-chunks.ts";
export type { ChunkCounts, ChunkTarget } from "./make-chunks.ts";
export { chunkRules, planChunks, stepsFor } from "./compare-chunks.ts";
export type { ChunkRules, ChunkStep } from "./compare-chunks.ts";
export { readChunks, readChunksOf } from "./stored-chunk.ts";
export type { ChunkPlace, ExistingChunk } from "./stored-chunk.ts";
export { chunkHash, chunkLine, embeddedCharacters, isCarried } from "./stored-chunk.ts";
export type { StoredChunk } from "./stored-chunk.ts";
export { updateStored } from "./update-chunk.ts";
