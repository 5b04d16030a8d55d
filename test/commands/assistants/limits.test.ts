import { expect, test } from "vitest";
import { permitFor, placeOf, uriOf } from "../../../src/commands/assistants/kb-documents.ts";
import { deleteDocument, createDocumentByText } from "../../../src/operations/documents.ts";
import {
  deleteKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
} from "../../../src/operations/knowledge.ts";
import { bindTags, createTag, listTags } from "../../../src/operations/tags.ts";

const [mine, other] = ["11111111-1111-4111-8111-111111111111", "2222"];
const none = { write: false, delete: false };
const all = { write: true, delete: true };
const only = [{ id: mine, name: "Mine" }];

// The last gate before a request is sent: no tool reaches it with what it stops.
test.each([
  [none, undefined, listKnowledgeBases, {}, "sent"],
  [none, undefined, searchKnowledgeBase, { dataset_id: other }, "sent"],
  [none, undefined, createTag, {}, "this server may not write"],
  [none, undefined, deleteDocument, { dataset_id: mine }, "this server may not delete"],
  [{ ...none, write: true }, undefined, createTag, {}, "sent"],
  [{ ...none, write: true }, undefined, deleteKnowledgeBase, {}, "this server may not delete"],
  [{ ...none, delete: true }, undefined, deleteKnowledgeBase, {}, "sent"],
  [{ ...none, delete: true }, undefined, createTag, {}, "this server may not write"],
  [all, only, createDocumentByText, { dataset_id: mine }, "sent"],
  [all, only, createDocumentByText, { dataset_id: other }, 'knowledge base "2222" is not one of'],
  [none, only, searchKnowledgeBase, { dataset_id: other }, 'knowledge base "2222" is not one of'],
  [all, only, bindTags, { target_id: other }, 'knowledge base "2222" is not one of'],
  [all, only, bindTags, { target_id: mine }, "sent"],
  [all, only, createTag, {}, "this server may only change its own knowledge bases"],
  [none, only, listTags, {}, "sent"],
])("%j %j %o %j: %s", (permissions, allowed, row, input, expected) => {
  const permit = () => permitFor(permissions, allowed)(row, input);
  if (expected === "sent") expect(permit).not.toThrow();
  else expect(permit).toThrow(expected);
});

test.each([
  [{ kb: "Handbook" }, "kb://Handbook"],
  [{ kb: "Handbook", document: "leave.md" }, "kb://Handbook/leave.md"],
  [{ kb: "A/B c", document: "ä?#(1).md" }, "kb://A%2FB%20c/%C3%A4%3F%23%281%29.md"],
])("%j is %s", (place, uri) => {
  expect(uriOf(place)).toBe(uri);
  expect(new URL(uri).href).toBe(uri);
  expect(placeOf(uri)).toEqual({ document: undefined, ...place });
});

test.each(["kb://", "kb:///x", "kb://a/b/c", "kb://a/%E0%A4%A", "http://a/b"])(
  "%s is not the URI of a document",
  (uri) => expect(() => placeOf(uri)).toThrow("is not the URI of a document"),
);
