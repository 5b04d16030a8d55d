/** The entry that loads all others, for the package and the single executable. */
export { chunkLoader, compile } from "./chunk-loader.ts";
export { compiledInFull } from "./compiled-store.ts";
export { start } from "./start.ts";
