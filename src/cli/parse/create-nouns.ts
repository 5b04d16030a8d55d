import type { Noun } from "../../operations/operation.ts";

/** What an operation makes, so that `--if-not-exists` can find it by its name. */
export const createsNoun: Readonly<Record<string, Noun>> = {
  createDataset: "kb",
  createKnowledgeTag: "tag",
  createMetadataField: "field",
};
