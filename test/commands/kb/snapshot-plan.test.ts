import { expect, test } from "vitest";
import type { BundledDocument } from "../../../src/commands/kb/snapshot/bundle.ts";
import { diffKb } from "../../../src/commands/kb/snapshot/diff.ts";
import type { ComparedDocument, ComparedKb } from "../../../src/commands/kb/snapshot/diff.ts";
import { planUploads } from "../../../src/commands/kb/snapshot/import-documents.ts";
import type { ExistingDocument } from "../../../src/commands/kb/snapshot/import-documents.ts";

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

const bundled = (name: string, other: Partial<BundledDocument> = {}): BundledDocument => ({
  ...compared(name),
  file: `documents/${name}`,
  bytes: 1,
  ...other,
});

const existing = (name: string, other: Partial<ExistingDocument> = {}): ExistingDocument => ({
  ...compared(name),
  hash: "1",
  ...other,
});

const inError = { indexing_status: "error" };

test.each<[string, BundledDocument[], ExistingDocument[], readonly string[]]>([
  ["a new document", [bundled("a")], [], ["send a"]],
  ["the same document", [bundled("a")], [existing("a")], ["keep a"]],
  ["other content", [bundled("a")], [existing("a", { hash: "2" })], ["send a"]],
  ["no content", [bundled("a", { file: null })], [], ["fail a"]],
  [
    "two of one name",
    [bundled("a"), bundled("a", { sha256: "2" })],
    [],
    ["send a", "send a as duplicate"],
  ],
  [
    "two of the same content",
    [bundled("a"), bundled("a")],
    [existing("a")],
    ["send a as duplicate", "keep a"],
  ],
  [
    "an uploaded file with a slash",
    [bundled("x/a", { from_text: false })],
    [existing("x∕a")],
    ["keep x/a"],
  ],
  ["a text with a slash", [bundled("x/a")], [existing("x∕a")], ["send x/a"]],
  ["one in error", [bundled("a")], [existing("a", inError)], ["send a to replace"]],
  [
    "one in error beside another",
    [bundled("a")],
    [existing("a", inError), existing("a", { hash: "2" })],
    ["fail a"],
  ],
  [
    "a disabled one in error",
    [bundled("a")],
    [existing("a", { ...inError, enabled: false })],
    ["fail a"],
  ],
])("planUploads: %s", (_, documents, present, steps) => {
  const { uploads, ids, failures } = planUploads(documents, present, "kb");
  const sent = uploads.map(({ document, isDuplicate, replacesFailed }) =>
    [
      `send ${document.name}`,
      ...(isDuplicate ? ["as duplicate"] : []),
      ...(replacesFailed ? ["to replace"] : []),
    ].join(" "),
  );
  const kept = [...ids.keys()].map(({ name }) => `keep ${name}`);
  expect([...sent, ...kept, ...failures.map(({ name }) => `fail ${name}`)]).toEqual(steps);
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
  ["a document", { documents: [compared("a")] }, {}, ['document a: "there" null']],
  [
    "the second of a name",
    { documents: [compared("a"), compared("a")] },
    { documents: [compared("a")] },
    ['document a #2: "there" null'],
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
