/** The change engine: what plans and makes the changes of a knowledge base. */
export type { DocumentTarget } from "./apply-documents.ts";
export type { DocumentFlags } from "./params.ts";
export { applySettings, createKb } from "./apply-settings.ts";
export type { SettingsPlan } from "./apply-settings.ts";
export { change, documentRow, rowOf, sendsContent } from "./change.ts";
export type { Action, Change, DocumentChange, SourceDocument } from "./change.ts";
export {
  countsOf,
  isChange,
  isOutOfSync,
  makeDocuments,
  plannedRow,
  requireMade,
  sizeOf,
  changeSummary,
  lossesIn,
  withLosses,
  withLost,
} from "./make-documents.ts";
export type { SizedChange } from "./make-documents.ts";
export { ambiguousContent, duplicatePath, indexedAgain, planDocuments } from "./plan-documents.ts";
export { planSettings } from "./plan-settings.ts";
export type { CurrentState, DesiredState } from "./plan-settings.ts";
export type { MadeJournal, Noted } from "./upload.ts";
export {
  changeResults,
  routine,
  settingChanges,
  syncRequests,
  transferFlags,
  transfers,
} from "./params.ts";
