/** What other features use of exports. */
export {
  checkedManifest,
  documentNames,
  fileHash,
  readManifest,
  requireUndamaged,
} from "./bundle.ts";
export type { BundledDocument, Manifest } from "./bundle.ts";
export { capture } from "./capture.ts";
export type { CaptureStore, StoredContent } from "./capture.ts";
export { chunkChanges, madeThere, makes, map_model, reads } from "./command.ts";
export { importBundle, sourceDocuments } from "./import.ts";
export { bundleSide, differenceNote, differencesOf, kbSide, notImportable } from "./verify.ts";
export type { KbDifference } from "./verify.ts";
export { exportBundle } from "./export.ts";
export { importNotePath } from "./import-target.ts";
