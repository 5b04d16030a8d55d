/** What other features use of documents. */
export { arrivedHashes, chunkTexts, contentHashes, readContents, replaceFile } from "./contents.ts";
export type { ContentHashes } from "./contents.ts";
export {
  convertValues,
  fieldValue,
  invalidFieldValue,
  storedValues,
  responseValues,
  typesFor,
  writtenValue,
} from "./field-values.ts";
export type { FieldValue, FieldValues } from "./field-values.ts";
export {
  documentStatuses,
  indexingStatusOf,
  isDone,
  isIndexed,
  waitForIndexing,
  run as waitForDocuments,
} from "./indexing-status.ts";
export type { DocumentStatus } from "./indexing-status.ts";
export { confirmLosses, lossesOf, lossNames, nameLosses, readLosses } from "./losses.ts";
export { metadataWriter, restoreValues, waitOnRateLimit } from "./metadata-writer.ts";
export type { MetadataWriter, RateLimitWaiter } from "./metadata-writer.ts";
export {
  newestRule,
  ruleFor,
  ruleOf,
  sendableRule,
  countedDocuments,
  readKb,
  readKbState,
  readRules,
  storedFile,
  pendingHash,
  isKnownToHold,
  isTouched,
  mayHold,
  isAddress,
  sheetMark,
  PLACEHOLDER,
  syncFields,
  isCustomField,
} from "./state.ts";
export { changeSettings, brokenIndex, repairIndex, splitAgain } from "./repair-index.ts";
export type { DocumentState, FieldState, KbProperties, KbSettings, KbState } from "./state.ts";
