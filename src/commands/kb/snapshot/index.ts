/** What other features use of exports. */
export { checkedManifest, documentNames, fileHash } from "./bundle.ts";
export type { BundledDocument, ChunkFile, Manifest } from "./bundle.ts";
export { madeThere, makes, map_model, reads } from "./command.ts";
export { importBundle, sourceDocuments } from "./import.ts";
export { notImportable } from "./difference-page.ts";
export type { KbDifference } from "./difference-page.ts";
export { bundleSide, differenceNote, differencesOf, kbSide } from "./verify.ts";
export { readManifest } from "./bundle.ts";
export { exportBundle } from "./export.ts";
export { importNotePath } from "./import-target.ts";
