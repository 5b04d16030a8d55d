import type { Noun } from "../../operations/operation.ts";

/** The noun that an operation creates, so that `--if-not-exists` can find it by name. */
export const createsNoun: Readonly<Record<string, Noun>> = {
  createDataset: "kb",
  createKnowledgeTag: "tag",
  createMetadataField: "field",
};
