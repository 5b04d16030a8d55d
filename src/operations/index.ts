import * as annotations from "./annotations.ts";
import * as apps from "./apps.ts";
import * as chats from "./chats.ts";
import * as chunks from "./chunks.ts";
import * as documents from "./documents.ts";
import * as files from "./files.ts";
import * as forms from "./forms.ts";
import * as knowledge from "./knowledge.ts";
import * as metadata from "./metadata.ts";
import type { AnyOperation } from "./operation.ts";
import * as pipeline from "./pipeline.ts";
import * as tags from "./tags.ts";
import * as workflows from "./workflows.ts";

/** The rows that use the knowledge key. */
export const knowledgeRows = {
  ...knowledge,
  ...documents,
  ...chunks,
  ...metadata,
  ...tags,
  ...pipeline,
};

/** The rows that use an application key. */
export const appRows = {
  ...workflows,
  ...forms,
  ...files,
  ...chats,
  ...apps,
  ...annotations,
};

/** Every row of the table, by noun. */
export const operations = [
  ...Object.values(knowledgeRows),
  ...Object.values(appRows),
] as readonly AnyOperation[];
