/** What other features use of `kb sync`. */
export {
  binaryKinds,
  extensionOf,
  extraKinds,
  markupKinds,
  textKinds,
  uploadKind,
} from "./file-kinds.ts";
export { MAX_NAME_LENGTH } from "./local-files.ts";
export { run as syncDirectory } from "./sync.ts";
export { obstacle, walkFiles } from "./walk.ts";
export type { FoundFile, Obstacle } from "./walk.ts";
