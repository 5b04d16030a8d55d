import { describe, expect, test } from "vitest";
import { ambiguousContent, planDocuments } from "../../../src/commands/kb/changes/index.ts";
import { isCustomField } from "../../../src/commands/kb/documents/index.ts";
import type { DocumentState } from "../../../src/commands/kb/documents/index.ts";
import type { LocalFile } from "../../../src/commands/kb/sync/local-files.ts";
import {
  matchesNone,
  parsePatterns,
  patternValues,
} from "../../../src/commands/kb/sync/patterns.ts";
import { isInShard, parseShard } from "../../../src/commands/task/shard.ts";

const [one, two] = ["1".repeat(64), "2".repeat(64)];

/** A file whose content has the hash `one`. */
const file = (path: string, metadata: LocalFile["metadata"] = {}): LocalFile => ({
  path,
  relativePath: path,
  location: path,
  name: path,
  kind: "text",
  hash: one,
  size: 1,
  metadata,
});

/** A document that a sync of `.` stored as `f1`, except for some fields. */
const document = (name: string, other: Partial<DocumentState> = {}): DocumentState => ({
  id: `id of ${name}`,
  name,
  stored: "f1",
  from_text: true,
  from_api: false,
  enabled: true,
  archived: false,
  indexing_status: "completed",
  error: null,
  metadata: { kb_path: name, kb_hash: one, kb_source: ".", kb_file: "f1" },
  rule: null,
  ...other,
});

const synced = (hash: string, other: object = {}) => ({
  metadata: { kb_path: "a", kb_hash: hash, kb_source: ".", kb_file: "f1", ...other },
});

interface Rules {
  readonly prune?: boolean;
  readonly adopt?: boolean;
  readonly mayExist?: (path: string) => boolean;
  readonly hashes?: Readonly<Record<string, string>>;
}

/** Steps as `action path note`. */
const plan = (
  files: readonly LocalFile[],
  documents: readonly DocumentState[],
  { prune = false, adopt = false, mayExist = () => false, hashes = {} }: Rules = {},
) =>
  planDocuments(
    files,
    { documents, hashes: new Map(Object.entries(hashes)) },
    { source: ".", prune, adopt, mayExist },
  ).map(({ action, name, note }) => [action, name, ...(note === null ? [] : [note])].join(" "));

describe("a sync: one file and its document", () => {
  const conflict = "no sync created the document of this name";
  test.each<[string, DocumentState | undefined, Rules, string]>([
    ["no document", undefined, {}, "create a"],
    ["the same content", document("a"), {}, "unchanged a"],
    ["other content", document("a", synced(two)), {}, "update a"],
    ["a pending hash", document("a", synced(`pending:${one}`)), {}, "update a"],
    [
      "a pending hash and the right content",
      document("a", synced(`pending:${one}`)),
      { hashes: { "id of a": one } },
      "adopt a same content: taken over without an upload",
    ],
    [
      "a document without sync fields",
      document("a", { metadata: {} }),
      {},
      `conflict a ${conflict}`,
    ],
    [
      "the same, created by the API",
      document("a", { metadata: {}, from_api: true }),
      {},
      "conflict a probably left by an interrupted sync",
    ],
    ["the same with --adopt", document("a", { metadata: {} }), { adopt: true }, "update a"],
    [
      "the same with the right content",
      document("a", { metadata: {} }),
      { hashes: { "id of a": one } },
      "adopt a same content: taken over without an upload",
    ],
    [
      "another stored file",
      document("a", { stored: "f2" }),
      {},
      "update a changed on the server since the last sync",
    ],
    [
      "another stored file of the same content",
      document("a", { stored: "f2" }),
      { hashes: { "id of a": one } },
      "adopt a same content: taken over without an upload",
    ],
    ["no stored file", document("a", { stored: null }), {}, "unchanged a"],
    [
      "an indexing error",
      document("a", { indexing_status: "error" }),
      {},
      "update a indexing failed before",
    ],
    ["a disabled document", document("a", { enabled: false }), {}, "unchanged a disabled"],
    [
      "a disabled document of other content",
      document("a", { enabled: false, ...synced(two) }),
      {},
      "skip a the document is disabled and its content differs",
    ],
    [
      "an archived document of other content",
      document("a", { archived: true, ...synced(two) }),
      {},
      "skip a the document is archived and its content differs",
    ],
  ])("%s", (_, existing, rules, step) => {
    expect(plan([file("a")], existing ? [existing] : [], rules)).toEqual([step]);
  });

  test.each<[LocalFile["metadata"], object, string]>([
    [{ team: "hr" }, { team: "hr" }, "unchanged a"],
    [{ team: "hr" }, { team: "it" }, "metadata a"],
    [{ team: "hr" }, {}, "metadata a"],
    [{ team: "" }, {}, "unchanged a"],
    [{ pages: 7 }, { pages: "7" }, "metadata a"],
    [{}, { team: "it" }, "unchanged a"],
  ])("metadata %j in the file, %j in the document: %s", (values, stored, step) => {
    expect(plan([file("a", values)], [document("a", synced(one, stored))])).toEqual([step]);
  });
});

describe("a sync: documents without a file", () => {
  const archived = "an archived document cannot be deleted; unarchive it first";
  const other = { metadata: { kb_path: "a", kb_hash: one, kb_source: "hr", kb_file: "f1" } };
  test.each<[string, DocumentState, Rules, readonly string[]]>([
    ["without --prune", document("a"), {}, []],
    ["with --prune", document("a"), { prune: true }, ["delete a"]],
    ["whose file may exist", document("a"), { prune: true, mayExist: () => true }, []],
    ["of another source", document("a", other), { prune: true }, []],
    ["without sync fields", document("a", { metadata: {} }), { prune: true }, []],
    ["archived", document("a", { archived: true }), { prune: true }, [`skip a ${archived}`]],
  ])("%s", (_, existing, rules, steps) => {
    expect(plan([], [existing], rules)).toEqual(steps);
  });

  test("more of them than a call takes arguments", () => {
    const documents = Array.from({ length: 200_000 }, (_, index) => document(`${index}`));
    expect(plan([], documents, { prune: true })).toHaveLength(200_000);
  });

  test("a document whose name a new file takes is kept", () => {
    const renamed = document("a", { metadata: { ...document("b").metadata, kb_path: "b" } });
    const other = { ...file("a"), hash: "0".repeat(64) };
    expect(plan([other], [renamed], { prune: true })).toEqual(["create a"]);
  });

  test("a file with another path and the same content keeps its document, with prune only", () => {
    const old = document("b");
    expect(plan([file("a")], [old], { prune: true })).toEqual(["update a renamed from b"]);
    expect(plan([file("a")], [old])).toEqual(["create a"]);
    expect(plan([file("a.md")], [old], { prune: true })).toEqual(["create a.md", "delete b"]);
    const mayExist = () => true;
    expect(plan([file("a")], [old], { prune: true, mayExist })).toEqual(["create a"]);
    expect(plan([file("a"), file("c")], [old], { prune: true })).toEqual([
      "update a renamed from b",
      "create c",
    ]);
    expect(plan([file("a"), file("b")], [old], { prune: true })).toEqual([
      "create a",
      "unchanged b",
    ]);
    const others = document("b", { metadata: { ...old.metadata, kb_source: "hr" } });
    expect(plan([file("a")], [others], { prune: true })).toEqual(["create a"]);
    const touched = document("b", { stored: "f2" });
    expect(plan([file("a")], [touched], { prune: true })).toEqual(["create a", "delete b"]);
  });

  test("of two documents of one path, the disabled one is the duplicate", () => {
    const documents = [document("a", { enabled: false }), document("a")];
    const note = "another document has the same path";
    expect(plan([file("a")], documents)).toEqual(["unchanged a", `skip a ${note}`]);
    expect(plan([file("a")], documents, { prune: true })).toEqual([
      "unchanged a",
      `delete a ${note}`,
    ]);
  });
});

test.each<[string, Partial<DocumentState>, boolean]>([
  ["the same hash", {}, false],
  ["another hash", synced(two), false],
  ["a pending hash of this content", synced(`pending:${one}`), true],
  ["a pending hash of other content", synced(`pending:${two}`), false],
  ["no hash", { metadata: {} }, true],
  ["the same hash, but another stored file", { stored: "f2" }, true],
])("ambiguousContent: %s", (_, other, isAmbiguous) => {
  expect(ambiguousContent([file("a")], [document("a", other)])).toHaveLength(isAmbiguous ? 1 : 0);
});

test.each<[string, boolean]>([
  ["team", true],
  ["", false],
  ["kb_hash", false],
  ["uploader", false],
  ["x".repeat(255), true],
  ["x".repeat(256), false],
])("isCustomField(%j) is %j", (name, isCustom) => expect(isCustomField(name)).toBe(isCustom));

test.each<[glob: string, path: string, value: string]>([
  ["teams/*/**", "teams/hr/a/b.md", "hr|a/b.md"],
  ["**/*.md", "a/b/c.md", "a/b/|c"],
  ["**/*.md", "c.md", "|c"],
  ["*.md", "a/c.md", ""],
  ["a?.md", "ab.md", "b|"],
  ["a?.md", "a/.md", ""],
  ["*a*b", "xaab", "xa|"],
])("--match %j and path %j: {1}|{2} is %j", (glob, path, value) => {
  const patterns = parsePatterns(["field={1}|{2}"], [glob]);
  expect(patternValues(path, patterns)["field"] ?? "").toBe(value);
  expect(patterns.map((pattern) => matchesNone(pattern, [path]))).toEqual([value === ""]);
});

test("shards divide paths among them", () => {
  const shards = [1, 2, 3].map((index) => parseShard(`${index}/3`, {}));
  for (const path of ["a.md", "b.md", "c/d.md", "ü.md"])
    expect(shards.filter((shard) => isInShard(path, shard))).toHaveLength(1);
  // The first 8 digits of the SHA-256 of "a" are ca978112 = 3398926610, which is 2 modulo 3.
  expect(isInShard("a", shards[2])).toBe(true);
});
