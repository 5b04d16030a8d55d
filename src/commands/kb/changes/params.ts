import {
  createDocumentByFile,
  createDocumentByText,
  deleteDocument,
  downloadDocumentsZip,
  getDocument,
  listDocuments,
  replaceDocument,
  updateDocumentByFile,
  updateDocumentByText,
} from "../../../operations/documents.ts";
import { createKnowledgeBase, getKnowledgeBase } from "../../../operations/knowledge.ts";
import {
  createMetadataField,
  disableBuiltInFields,
  enableBuiltInFields,
  getMetadataOverview,
  listMetadataFields,
  setDocumentMetadata,
} from "../../../operations/metadata.ts";
import { listModels } from "../../../operations/pipeline.ts";
import type { Input, TerminalForm } from "../../../operations/operation.ts";
import { local } from "../../../operations/operation.ts";
import { bindTags, createTag, listTags } from "../../../operations/tags.ts";

/** Flags of every command that sends documents. */
export const transferFlags = {
  no_wait: local.flag("Do not wait for indexing"),
  wait_for_limit: local.flag("Wait at the rate limit of the knowledge base"),
} as const;

/** Their values. */
export type DocumentFlags = Partial<Input<typeof transferFlags>>;

/** What they read and send. */
export const transfers = [
  getKnowledgeBase,
  getMetadataOverview,
  listMetadataFields,
  createMetadataField,
  setDocumentMetadata,
  listDocuments,
  downloadDocumentsZip,
  createDocumentByText,
  createDocumentByFile,
];

/** What a sync reads and sends. */
export const syncRequests = [
  ...transfers,
  getDocument,
  updateDocumentByText,
  replaceDocument,
  updateDocumentByFile,
  deleteDocument,
];

/** What changes the rest of a knowledge base. */
export const settingChanges = [
  createKnowledgeBase,
  listModels,
  listTags,
  createTag,
  bindTags,
  enableBuiltInFields,
  disableBuiltInFields,
];

/** Changes of documents that need no attention. */
export const routine = ["create", "update", "adopt", "metadata", "chunks"];

export const changeResults = {
  form: "results",
  outcome: "action",
  name: "name",
  reason: "note",
  routine,
} satisfies TerminalForm;
