import { isObject } from "../../../lib/json.ts";
import { groupDigits } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import { getDocument } from "../../../operations/documents.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import { listMetadataFields } from "../../../operations/metadata.ts";
import { listTags } from "../../../operations/tags.ts";
import type { CommandRules } from "../../task/command-rules.ts";
import { syncFields } from "../documents/index.ts";

type Reader = NonNullable<CommandRules["deletion"]>;

/** What is lost with a knowledge base. */
export const ofKnowledgeBase: Reader = async ({ dataset_id }, call) => {
  const kb = await call(getKnowledgeBase, { dataset_id });
  if (!isObject(kb) || typeof kb["document_count"] !== "number") return undefined;
  const parts = partsOf(kb, [
    ["document_count", "document"],
    ["word_count", "word"],
  ]);
  if (parts.length === 0) return { size: "no documents" };
  const users = partsOf(kb, [["app_count", "application"]]).map((count) => `used by ${count}`);
  const type = typeof kb["name"] === "string" ? kb["name"] : undefined;
  return { size: [...parts, ...users].join(", "), type };
};

/** What is lost with a document. */
export const ofDocument: Reader = async ({ dataset_id, document_id }, call) => {
  const input = { dataset_id, document_id, metadata: "without" };
  const document = await call(getDocument, input);
  const [chunks] = partsOf(document, [["segment_count", "chunk"]]);
  return chunks === undefined ? undefined : { size: chunks };
};

/** What is lost with a metadata field. */
export const ofMetadataField: Reader = async ({ dataset_id, metadata_id }, call) => {
  const fields = await call(listMetadataFields, { dataset_id });
  const field = rowWithId(fields, metadata_id);
  const [documents] = partsOf(field, [["count", "document"]]);
  if (documents === undefined) return undefined;
  const isMark = Object.values<unknown>(syncFields).includes(field?.["name"]);
  return {
    size: `values of ${documents}${isMark ? ", which kb sync needs to find them again" : ""}`,
  };
};

/** What is lost with a tag. */
export const ofTag: Reader = async ({ tag_id }, call) => {
  const tag = rowWithId(await call(listTags, {}), tag_id);
  // It is text in the responses of most servers (server §10).
  const bound = Number(tag?.["binding_count"] ?? 0);
  return bound > 0 ? { size: `bound to ${counted(bound, "knowledge base")}` } : undefined;
};

/** `297 documents`, `480,574 words` of the fields of an object that count something. */
function partsOf(object: unknown, counts: readonly (readonly [string, string])[]): string[] {
  if (!isObject(object)) return [];
  return counts.flatMap(([field, noun]) => {
    const count = object[field];
    if (typeof count !== "number" || count === 0) return [];
    return [`${groupDigits(count)} ${noun}${count === 1 ? "" : "s"}`];
  });
}

const rowWithId = (rows: unknown, id: unknown) =>
  Array.isArray(rows) ? rows.filter(isObject).find((row) => row["id"] === id) : undefined;
