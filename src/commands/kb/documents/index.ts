/** What other features use of documents. */
export { contentHashes, readContents } from "./contents.ts";
export {
  convertValues,
  fieldValue,
  invalidFieldValue,
  storedValues,
  responseValues,
  typesFor,
} from "./field-values.ts";
export type { FieldValue, FieldValues } from "./field-values.ts";
export {
  documentStatuses,
  indexingStatusOf,
  isDone,
  isIndexed,
  waitForIndexing,
} from "./indexing-status.ts";
export type { DocumentStatus } from "./indexing-status.ts";
export { confirmLosses, lossesOfAll } from "./losses.ts";
export { metadataWriter } from "./metadata-writer.ts";
export type { MetadataWriter } from "./metadata-writer.ts";
export { newestRule, ruleFor, ruleOf, sendableRule } from "./process-rule.ts";
export { waitOnRateLimit } from "./rate-limit.ts";
export type { RateLimitWaiter } from "./rate-limit.ts";
export { restoreValues } from "./restore-values.ts";
export { replaceFile } from "./replace.ts";
export { countedDocuments, readKb, readKbState, readRules, storedFile } from "./state.ts";
export type { DocumentState, FieldState, KbProperties, KbSettings, KbState } from "./state.ts";
export { run as waitForDocuments } from "./wait.ts";
export {
  pendingHash,
  isKnownToHold,
  isTouched,
  mayHold,
  isAddress,
  syncFields,
  isCustomField,
} from "./marks.ts";
