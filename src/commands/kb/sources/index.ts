/** What other features use of sources. */
export {
  binaryKinds,
  extensionOf,
  extraKinds,
  markupKinds,
  textKinds,
  uploadKind,
  uploadLimit,
  contentFixes,
  pointerProblem,
  recoded,
  textProblem,
} from "./content.ts";
export { openSource } from "./open.ts";
export { markOf, SameObject } from "./source.ts";
export type { Content, Source, SourceEntry, SourceObject, SourceOptions } from "./source.ts";
export { obstacle, walkFiles } from "./walk.ts";
export type { FoundFile, Obstacle } from "./walk.ts";
