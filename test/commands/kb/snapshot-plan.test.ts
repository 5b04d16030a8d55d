import { expect, test } from "vitest";
import { planDocuments } from "../../../src/commands/kb/changes/index.ts";
import type { SourceDocument } from "../../../src/commands/kb/changes/index.ts";
import type { DocumentState } from "../../../src/commands/kb/documents/index.ts";
import type { BundledDocument } from "../../../src/commands/kb/snapshot/bundle.ts";
import { sourceDocuments } from "../../../src/commands/kb/snapshot/import.ts";
import { diffKb } from "../../../src/commands/kb/snapshot/verify.ts";
import type { ComparedDocument, ComparedKb } from "../../../src/commands/kb/snapshot/verify.ts";

const compared = (name: string, other: Partial<ComparedDocument> = {}): ComparedDocument => ({
  id: `id of ${name}`,
  name,
  stored: "f1",
  from_text: true,
  enabled: true,
  archived: false,
  indexing_status: "completed",
  metadata: {},
  rule: null,
  sha256: "1",
  ...other,
});

const exported = { rule: null, enabled: true, archived: false, sharesName: false, isLater: false };

/** A document of an export, whose content has the hash 1. */
const bundled = (name: string, other: Partial<SourceDocument> = {}): SourceDocument => ({
  path: name,
  name,
  kind: "text",
  location: name,
  hash: "1",
  size: 1,
  metadata: {},
  exported,
  ...other,
});

/** A document of the target and the hash of its content. */
const existing = (
  name: string,
  { hash = "1", ...other }: Partial<DocumentState> & { readonly hash?: string } = {},
) => ({ ...compared(name), error: null, from_api: false, id: `${name} ${hash}`, hash, ...other });

const inError = { indexing_status: "error" };

test.each<[string, SourceDocument[], ReturnType<typeof existing>[], readonly string[]]>([
  ["a new document", [bundled("a")], [], ["create a"]],
  ["the same document", [bundled("a")], [existing("a")], ["unchanged a"]],
  ["other content", [bundled("a")], [existing("a", { hash: "2" })], ["update a"]],
  ["no content", [bundled("a", { hash: null })], [], ["failed a"]],
  [
    "two of the same content",
    [bundled("a"), bundled("a")],
    [existing("a")],
    ["unchanged a", "create a"],
  ],
  [
    "an uploaded file with a slash",
    [bundled("x/a", { name: "x∕a" })],
    [existing("x∕a")],
    ["unchanged x/a"],
  ],
  [
    "other content, beside one whose content is needed",
    [
      bundled("a", { hash: "1" }),
      bundled("a", { hash: "2", exported: { ...exported, isLater: true } }),
    ],
    [existing("a", { hash: "2" })],
    ["create a", "unchanged a"],
  ],
  [
    "other content of a disabled one",
    [bundled("a")],
    [existing("a", { hash: "2", enabled: false })],
    ["create a"],
  ],
  ["a text with a slash", [bundled("x/a")], [existing("x∕a")], ["create x/a"]],
  ["other values", [bundled("a", { metadata: { n: 1 } })], [existing("a")], ["metadata a"]],
  [
    "more values",
    [bundled("a", { metadata: { n: 1 } })],
    [existing("a", { metadata: { n: 1, m: 2 } })],
    ["unchanged a"],
  ],
  [
    "an enabled document of a disabled one",
    [bundled("a", { exported: { ...exported, enabled: false } })],
    [existing("a")],
    ["metadata a"],
  ],
  [
    "an archived document of an archived one",
    [bundled("a", { exported: { ...exported, archived: true } })],
    [existing("a", { archived: true })],
    ["unchanged a"],
  ],
  [
    "one that is being indexed",
    [bundled("a")],
    [existing("a", { indexing_status: "splitting" })],
    ["adopt a"],
  ],
  ["one without chunks", [bundled("a")], [existing("a", { error: "no chunks" })], ["adopt a"]],
  ["one in error", [bundled("a")], [existing("a", inError)], ["update a"]],
  [
    "one in error beside another",
    [bundled("a")],
    [existing("a", inError), existing("a", { hash: "2" })],
    ["failed a"],
  ],
  [
    "a disabled one in error",
    [bundled("a")],
    [existing("a", { ...inError, enabled: false })],
    ["failed a"],
  ],
])("an import: %s", (_, sources, documents, changes) => {
  const hashes = new Map(documents.map(({ id, hash }) => [id, hash]));
  expect(
    planDocuments(sources, { documents, hashes }, {}).map(
      ({ action, name }) => `${action} ${name}`,
    ),
  ).toEqual(changes);
});

test.each<[string, SourceDocument[], ReturnType<typeof existing>[], readonly string[]]>([
  [
    "a disabled one of its name",
    [bundled("a")],
    [existing("a", { hash: "2", enabled: false })],
    ["skip a"],
  ],
  ["none of its name", [bundled("a")], [existing("b", { hash: "2" })], ["create a"]],
  [
    "a disabled one that another one is",
    [bundled("a"), bundled("a", { hash: "2" })],
    [existing("a", { hash: "2", enabled: false })],
    ["create a", "unchanged a"],
  ],
])("a restore of single documents beside %s", (_, sources, documents, changes) => {
  const hashes = new Map(documents.map(({ id, hash }) => [id, hash]));
  const planned = planDocuments(sources, { documents, hashes }, { single: true });
  expect(planned.map(({ action, name }) => `${action} ${name}`)).toEqual(changes);
});

/** A document in the manifest; `file` is null if the export has no content for it. */
const listed = (name: string, from: "text" | "upload" | "nothing" = "text"): BundledDocument => ({
  ...compared(name),
  from_text: from === "text",
  file: from === "nothing" ? null : "documents/file",
  bytes: 1,
});

test.each<[string, BundledDocument[], readonly string[]]>([
  ["a text", [listed("a")], ["text a"]],
  ["an upload", [listed("a", "upload")], ["file a"]],
  ["texts of two names", [listed("a"), listed("b")], ["text a", "text b"]],
  ["names that differ in case", [listed("a"), listed("A")], ["text a", "text A"]],
  [
    "three texts of one name",
    [listed("a"), listed("a"), listed("a")],
    ["text a shared", "file a shared later", "file a shared later"],
  ],
  [
    "a text and an upload",
    [listed("a"), listed("a", "upload")],
    ["text a shared", "file a shared later"],
  ],
  [
    "an upload and a text",
    [listed("a", "upload"), listed("a")],
    ["file a shared", "file a shared later"],
  ],
  ["one without content first", [listed("a", "nothing"), listed("a")], ["file a", "text a"]],
  [
    "an upload whose stored name is that of another",
    [listed("x∕a", "upload"), listed("x/a", "upload")],
    ["file x∕a shared", "file x∕a shared later"],
  ],
  [
    "a text with a slash and an upload with its stored name",
    [listed("x/a"), listed("x∕a", "upload")],
    ["text x/a", "file x∕a"],
  ],
  [
    "texts with a slash, of which the later is uploaded",
    [listed("x/a"), listed("x/a")],
    ["text x/a shared", "file x∕a shared later"],
  ],
])("documents of one name: %s", (_, documents, expected) => {
  const state = { ...kb(), documents };
  const found = sourceDocuments("export", { state, rules: {} }, []).map(
    ({ kind, name, exported: { sharesName = false, isLater = false } = {} }) =>
      [kind, name, ...(sharesName ? ["shared"] : []), ...(isLater ? ["later"] : [])].join(" "),
  );
  expect(found).toEqual(expected);
});

const kb = (other: Partial<ComparedKb> = {}): ComparedKb => ({
  settings: {
    name: "Handbook",
    description: "",
    permission: "only_me",
    indexing_technique: "economy",
    doc_form: "text_model",
    embedding_model: null,
    retrieval_model: { top_k: 2 },
    summary_index_setting: null,
  },
  tags: [],
  fields: [],
  built_in_fields: false,
  documents: [],
  ...other,
});

test.each<[string, Partial<ComparedKb>, Partial<ComparedKb>, readonly string[]]>([
  ["nothing", {}, {}, []],
  ["a tag", { tags: ["a", "b"] }, { tags: ["b", "c"] }, ['tag a: "a" null', 'tag c: null "c"']],
  [
    "a field",
    { fields: [{ name: "n", type: "number" }] },
    { fields: [{ name: "n", type: "time" }] },
    ['field n: "number" "time"'],
  ],
  ["built-in fields", { built_in_fields: true }, {}, ["setting built_in_fields: true false"]],
  ["a document", { documents: [compared("a")] }, {}, ['document a: "exists" null']],
  [
    "the second of a name",
    { documents: [compared("a"), compared("a")] },
    { documents: [compared("a")] },
    ['document a #2: "exists" null'],
  ],
  [
    "content",
    { documents: [compared("a")] },
    { documents: [compared("a", { sha256: null })] },
    ['content a: "1" null'],
  ],
  [
    "status",
    { documents: [compared("a")] },
    { documents: [compared("a", { archived: true, enabled: false })] },
    ['status a: "enabled" "archived, disabled"'],
  ],
  [
    "a value",
    { documents: [compared("a", { metadata: { n: 5 } })] },
    { documents: [compared("a", { metadata: { n: 6 } })] },
    ["metadata a: n: 5 6"],
  ],
  [
    "a type",
    { documents: [compared("a", { metadata: { n: 5 } })] },
    { documents: [compared("a", { metadata: { n: "5" } })] },
    ['metadata a: n: "5 (number)" "5 (text)"'],
  ],
])("diffKb: %s", (_, a, b, differences) => {
  expect(
    [...diffKb(kb(a), kb(b))].map(
      ({ what, name, a: one, b: other }) =>
        `${what} ${name}: ${JSON.stringify(one)} ${JSON.stringify(other)}`,
    ),
  ).toEqual(differences);
});

test.each<[unknown, unknown, readonly string[]]>([
  [{ top_k: 2 }, { top_k: 2, weights: null }, []],
  [{ top_k: 2 }, { top_k: 3 }, ["retrieval_model.top_k"]],
  [{ weights: { vector: 1 } }, { weights: { vector: 2 } }, ["retrieval_model.weights.vector"]],
  [{ weights: { vector: 1 } }, {}, ["retrieval_model.weights"]],
])("diffKb: search settings %j and %j", (a, b, names) => {
  const base = kb();
  const withSearch = (retrieval_model: unknown): ComparedKb => ({
    ...base,
    settings: { ...base.settings, retrieval_model },
  });
  expect([...diffKb(withSearch(a), withSearch(b))].map(({ name }) => name)).toEqual(names);
});
