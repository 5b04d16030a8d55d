import * as chunks from "./chunks.ts";
import * as documents from "./documents.ts";
import * as knowledge from "./knowledge.ts";
import * as metadata from "./metadata.ts";
import * as models from "./models.ts";
import type { AnyOperation } from "./operation.ts";
import * as pipeline from "./pipeline.ts";
import * as tags from "./tags.ts";

/** All rows that use the knowledge key, by noun: the modules export nothing but rows. */
export const kbOperations: readonly AnyOperation[] = [
  knowledge,
  documents,
  chunks,
  metadata,
  tags,
  models,
  pipeline,
].flatMap((rows) => Object.values(rows) as AnyOperation[]); // types are erased; rows remain
