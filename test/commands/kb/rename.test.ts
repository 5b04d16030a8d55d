import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { handEdits } from "../../../src/commands/kb/documents/losses.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import {
  cannedServer,
  ok,
  pageOf,
  type Canned,
  type CannedRequest,
} from "../../lib/canned-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory, type World } from "../../lib/support.ts";
import { createZip } from "../../lib/zip.ts";

const server = await testSandbox();
const kb = "Handbook";
const umlauts = "# Grüße\r\n\r\nDreißig Tage 🎉 im Jahr.\n";
let folder = "";

const run = (argv: readonly string[], world: World = {}) =>
  server.cli(["kb", ...argv], { folder, ...world });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder });

const rename = (...words: string[]) => run(["doc", "rename", kb, ...words]);
const show = async (name: string) =>
  JSON.parse((await done("doc", "show", kb, name, "-o", "json")).out) as Record<string, unknown>;
const names = async () =>
  (await done("doc", "list", kb, "--all", "--jq", "[.[].name] | sort | .[]")).out.split("\n");
const add = (name: string, text: string, ...flags: string[]) =>
  done("doc", "add", kb, name, "--text", text, ...flags);

/** Its metadata without the fields that the server fills, such as its name. */
const ownValues = (document: Record<string, unknown>) =>
  (document["doc_metadata"] as { id: string }[]).filter(({ id }) => id !== "built-in");

/** The content of a document, exact to the byte. */
async function contentOf(name: string): Promise<string> {
  const dir = await temporaryDirectory();
  const { out } = await done("doc", "download", kb, name, "--dir", dir, "--jq", ".[0].path");
  return readFile(out.trim(), "utf8");
}

/** The writes sent since then, as method and last part of the path. */
const writesSince = (since: number) =>
  server.seen
    .slice(since)
    .filter(({ method, path }) => method !== "GET" && !/download-zip/.test(path))
    .map(({ method, path }) => `${method} ${path.split("/").at(-1)}`);

beforeAll(async () => {
  folder = await temporaryDirectory();
});
test("a terminal is told the old and the new name, of a knowledge base as of a document", async () => {
  await add("a.md", "x");
  await done("doc", "wait", kb);
  const told = async (...words: string[]) => (await run(words, { tty: true, columns: 200 })).err;
  expect(await told("doc", "rename", kb, "a.md", "b.md")).toMatch(
    /^Renamed document a.md to b.md$/m,
  );
  expect(await told("update", kb, "--name", "New")).toBe(`Renamed knowledge base ${kb} to New\n`);
  const both = ["update", "New", "--name", kb, "--description", "x"];
  expect(await told(...both)).toBe("Updated knowledge base New\n");
});

beforeEach(async () => {
  server.sandbox.setFaults([]);
  await run(["delete", kb, "--yes", "--if-exists"]);
  await done("create", kb, "--indexing-technique", "economy");
});

const custom = {
  mode: "custom",
  rules: {
    pre_processing_rules: [],
    segmentation: { separator: "\n\n", max_tokens: 100, chunk_overlap: 0 },
  },
};

describe("kb doc rename", () => {
  test("sends name and text in one request and keeps everything else", async () => {
    await add(
      "leave.md",
      umlauts,
      "--process-rule",
      JSON.stringify(custom),
      "--doc-language",
      "German",
    );
    await add("other.md", "x", "--process-rule", '{"mode":"automatic"}');
    await done("doc", "wait", kb);
    await done("metadata", "create", kb, "team", "--type", "string");
    await done("metadata", "create", kb, "pages", "--type", "number");
    await done("metadata", "set", kb, "leave.md", "--set", "team=people", "--set", "pages=7");
    const before = await show("leave.md");
    const since = server.seen.length;
    const ran = await rename("leave.md", "time/off.md", "-o", "json");
    expect(ran).toMatchObject({ exit: 0, err: "" });
    expect(JSON.parse(ran.out)).toEqual({
      id: before["id"],
      name: "time/off.md",
      previous_name: "leave.md",
      indexing_status: "completed",
      display_status: "available",
    });
    expect(writesSince(since)).toEqual(["POST update-by-text"]);
    expect(server.seen.slice(since).some(({ path }) => path.endsWith("/download"))).toBe(false);
    const after = await show("time/off.md");
    const kept = ["id", "doc_form", "doc_language", "enabled", "archived", "document_process_rule"];
    for (const field of kept) expect(after[field], field).toEqual(before[field]);
    expect(ownValues(after)).toEqual(ownValues(before));
    expect(ownValues(after)).toHaveLength(2);
    expect(await contentOf("time/off.md")).toBe(umlauts);
    // The newest rule of the knowledge base, which later documents take, is not replaced.
    expect(after["dataset_process_rule"]).toEqual(before["dataset_process_rule"]);
    expect(await names()).toEqual(["other.md", "time/off.md", ""]);
  });

  test("a name that another document has in other letters is free", async () => {
    await add("Leave.md", "x");
    await add("other.md", "y");
    await done("doc", "wait", kb);
    expect(await rename("other.md", "leave.md")).toMatchObject({ exit: 0, err: "" });
    expect(await names()).toEqual(["Leave.md", "leave.md", ""]);
  });

  test("a document from a file stays a file of its kind", async () => {
    const path = join(folder, "prices.csv");
    await writeFile(path, umlauts);
    await done("doc", "upload", kb, path, "--content-type", "text/csv");
    await done("doc", "wait", kb);
    const since = server.seen.length;
    expect((await rename("prices.csv", "prices.md")).err).toContain("does not end in .csv");
    expect((await rename("prices.csv", "a/prices.csv")).err).toContain("cannot have slashes");
    expect(writesSince(since)).toEqual([]);
    expect(await rename("prices.csv", "costs.csv")).toMatchObject({ exit: 0, err: "" });
    const { data_source_info } = await show("costs.csv");
    expect(data_source_info).toMatchObject({
      upload_file: { name: "costs.csv", extension: "csv", mime_type: "text/csv" },
    });
    expect(await contentOf("costs.csv")).toBe(umlauts);
  });

  test("a synced document: a notice says that a sync names it by its file", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "a.md"), umlauts);
    await done("sync", kb, dir);
    const ran = await rename("a.md", "b.md");
    expect(ran).toMatchObject({
      exit: 0,
      err: "kb sync names a document after its file again when that file changes\n",
    });
    expect((await done("sync", kb, dir)).err).toContain("1 file: 1 with the same content\n");
    expect(await names()).toEqual(["b.md", ""]);
    expect(await contentOf("b.md")).toBe(umlauts);
    await writeFile(join(dir, "a.md"), "changed");
    await done("sync", kb, dir);
    expect(await names()).toEqual(["a.md", ""]);
  });

  test("--no-wait returns before the document is indexed", async () => {
    await add("a.md", "text");
    await done("doc", "wait", kb);
    const ran = await rename("a.md", "b.md", "--no-wait");
    expect(ran).toMatchObject({ exit: 0, err: "" });
    const update = server.seen.findLastIndex(({ path }) => path.endsWith("/update-by-text"));
    expect(server.seen.slice(update + 1)).toHaveLength(1);
  });

  test("a name that it already has sends nothing", async () => {
    await add("a.md", "text");
    await done("doc", "wait", kb);
    const since = server.seen.length;
    expect(await rename("a.md", "a.md")).toMatchObject({
      exit: 0,
      err: "it already has this name\n",
    });
    expect(writesSince(since)).toEqual([]);
  });

  test("a dry run shows the request and what would be lost", async () => {
    await add("a.md", "text");
    await done("doc", "wait", kb);
    await done("chunk", "add", kb, "a.md", "--content", "by hand");
    await done("chunk", "update", kb, "a.md", await chunkId("a.md", 1), "--content", "edited");
    const since = server.seen.length;
    const ran = await rename("a.md", "b.md", "--dry-run");
    expect(ran.exit).toBe(0);
    expect(ran.out).toMatch(/^POST .*\/update-by-text\n[^]*"name":"b\.md","text":"text"/);
    expect(ran.err).toContain("would lose chunk 1 (edited)");
    expect(writesSince(since)).toEqual([]);
  });
});

const idOf = async (name: string) => (await show(name))["id"] as string;
const chunkId = async (name: string, position: number) =>
  (await done("chunk", "list", kb, name, "--jq", `.[${position - 1}].id`)).out.trim();

describe("what cannot be renamed is refused before anything is sent", () => {
  beforeEach(async () => {
    await add("a.md", "text");
    await add("b.md", "other");
    await done("doc", "wait", kb);
  });

  test.each<[string, readonly string[], number, RegExp]>([
    ["a name that another document has", [], 5, /document "b\.md" already exists/],
    ["a disabled document", ["doc", "disable", kb, "a.md"], 5, /is disabled[^]*kb doc enable/],
    ["an archived document", ["doc", "archive", kb, "a.md"], 5, /is archived[^]*kb doc unarchive/],
  ])("%s", async (name, first, exit, message) => {
    if (first.length > 0) await done(...first);
    const since = server.seen.length;
    const ran = await rename("a.md", first.length > 0 ? "c.md" : "b.md");
    expect(ran).toMatchObject({ exit, out: "", err: expect.stringMatching(message) as string });
    expect(writesSince(since), name).toEqual([]);
  });

  test.each([
    ["a server that does not give the content", "POST /datasets/*/download-zip status=404"],
    ["a server before 1.13.1", "* * version=1.12.1"],
  ])("%s: exit code 6", async (_, fault) => {
    server.sandbox.setFaults([parseFault(fault)]);
    const since = server.seen.length;
    expect(await rename("a.md", "c.md")).toMatchObject({ exit: 6, out: "" });
    expect(writesSince(since)).toEqual([]);
  });

  test("a server before 1.14.0 gets its own route for files", async () => {
    const path = join(folder, "f.csv");
    await writeFile(path, "a,b\n");
    await done("doc", "upload", kb, path);
    await done("doc", "wait", kb);
    server.sandbox.setFaults([parseFault("* * version=1.13.1")]);
    expect((await rename("f.csv", "g.csv")).exit).toBe(0);
    expect(await contentOf("g.csv")).toBe("a,b\n");
  });

  test("changes by hand are named and need --yes, or an answer", async () => {
    await done("chunk", "update", kb, "a.md", await chunkId("a.md", 1), "--content", "edited");
    const since = server.seen.length;
    const refused = await rename("a.md", "c.md");
    expect(refused).toMatchObject({ exit: 2, out: "" });
    expect(refused.err).toContain("Rename a.md to c.md and lose chunk 1 (edited)?");
    expect(refused.err).toContain("pass --yes");
    const questions: string[] = [];
    const line = ["doc", "rename", kb, "a.md", "c.md"];
    const no = await run(line, { tty: true, answers: ["n"], questions });
    expect(no).toMatchObject({ exit: 2, err: "nothing was changed\n" });
    expect(questions).toEqual([
      "Rename a.md to c.md and lose chunk 1 (edited)? The document is split into chunks\n    again. [y/N, b to back up first] ",
    ]);
    expect(writesSince(since)).toEqual([]);
    expect((await rename("a.md", "c.md", "--yes")).exit).toBe(0);
    expect(await contentOf("c.md")).toBe("text");
  });
});

test("chunks that are changed while the prompt waits are not lost", async () => {
  await add("a.md", "text");
  await done("doc", "wait", kb);
  const id = await chunkId("a.md", 1);
  await done("chunk", "update", kb, "a.md", id, "--content", "edited");
  const since = server.seen.length;
  const ran = await run(["doc", "rename", kb, "a.md", "b.md"], {
    tty: true,
    around: (host) => ({
      ...host,
      async prompt() {
        await done("chunk", "add", kb, "a.md", "--content", "added meanwhile");
        await done(
          "chunk",
          "update",
          kb,
          "a.md",
          await chunkId("a.md", 2),
          "--content",
          "and edited",
        );
        return "y";
      },
    }),
  });
  expect(ran.exit).toBe(5);
  expect(ran.err).toContain("its chunks were changed meanwhile");
  expect(writesSince(since).filter((line) => /update-by/.test(line))).toEqual([]);
});

describe("a failure in between", () => {
  beforeEach(async () => {
    await add("a.md", umlauts);
    await done("doc", "wait", kb);
  });

  test("after the update: the same command finishes the rename", async () => {
    // The fourth read of the document comes after the update.
    server.sandbox.setFaults([parseFault("POST /datasets/*/update-by-text cut-bytes=0")]);
    const lost = await rename("a.md", "b.md");
    expect(lost.exit).toBe(11);
    expect(lost.err).toContain("the change may have been applied");
    expect(lost.err).toContain("run the same command again");
    server.sandbox.setFaults([]);
    const id = (await show("b.md"))["id"] as string;
    const again = await rename(id, "b.md");
    expect(again).toMatchObject({ exit: 0, err: "it already has this name\n" });
    expect(await contentOf("b.md")).toBe(umlauts);
  });

  test("after the update, while it is verified: the error says that it was made", async () => {
    // The first two reads of the document are before the update.
    const id = await idOf("a.md");
    server.sandbox.setFaults([parseFault(`GET /datasets/*/documents/${id} status=500 skip=2`)]);
    const failed = await rename("a.md", "b.md", "--retries", "0");
    expect(failed.exit).toBe(1);
    expect(failed.err).toContain("some changes were made");
    server.sandbox.setFaults([]);
    expect(await contentOf("b.md")).toBe(umlauts);
  });

  test("before the update: nothing has changed", async () => {
    server.sandbox.setFaults([parseFault("POST /datasets/*/update-by-text reset")]);
    expect((await rename("a.md", "b.md")).exit).toBe(11);
    server.sandbox.setFaults([]);
    expect(await names()).toEqual(["a.md", ""]);
    expect(await contentOf("a.md")).toBe(umlauts);
  });
});

describe("a server that does not keep what others keep", () => {
  const [base, id, field] = [1, 2, 3].map((digit) => `0000000${digit}-0000-4000-8000-000000000000`);
  const value = { id: field, name: "team", type: "string", value: "people" };
  const file = { name: "a.md", extension: "txt", mime_type: "text/plain" };
  let document: Record<string, unknown> = {};
  let canned: Awaited<ReturnType<typeof cannedServer>>;
  beforeAll(async () => {
    canned = await cannedServer();
  });
  beforeEach(() => {
    document = {
      id,
      name: "a.md",
      indexing_status: "completed",
      display_status: "available",
      enabled: true,
      archived: false,
      doc_form: "text_model",
      doc_language: "English",
      completed_at: 10,
      segment_count: 1,
      data_source_type: "upload_file",
      data_source_info: { upload_file: { ...file, size: 4 } },
      document_process_rule: { mode: "automatic", rules: null },
      doc_metadata: [value],
    };
  });

  /** What the server does with an update, and with metadata values. */
  interface Behavior {
    readonly update: (sent: CannedRequest) => object;
    readonly metadata?: () => Canned;
  }
  const renameThere = ({ update, metadata }: Behavior) =>
    canned.run(
      {
        "GET /datasets/*/documents/*/segments": () => pageOf(),
        "GET /datasets/*/documents/*": () => ok(document),
        "GET /datasets/*/documents": () => pageOf(),
        "POST /datasets/*/documents/download-zip": () => ({
          status: 200,
          bytes: createZip([{ name: "a.md", bytes: Buffer.from("Text") }], new Date("2026-01-01")),
        }),
        "POST /datasets/*/documents/*/update-by-text": (sent) => {
          document = { ...document, name: "b.md", ...update(sent) };
          return ok({ document: { id, name: "b.md" }, batch: "1" });
        },
        "POST /datasets/*/documents/metadata": () =>
          metadata?.() ?? ((document["doc_metadata"] = [value]), ok({ result: "success" })),
      },
      ["kb", "doc", "rename", base ?? "", id ?? "", "b.md"],
      { folder },
    );

  test("lost metadata is set again", async () => {
    const ran = await renameThere({ update: () => ({ doc_metadata: null }) });
    expect(ran).toMatchObject({ exit: 0, err: "" });
    expect(canned.seen.find(({ line }) => line.endsWith("/metadata"))?.body).toEqual({
      operation_data: [
        {
          document_id: id,
          metadata_list: [{ id: field, name: "team", value: "people" }],
          partial_update: true,
        },
      ],
    });
  });

  test("metadata that cannot be set again is in the hint", async () => {
    const metadata = () => ({ status: 500, json: { code: "unknown", message: "no", status: 500 } });
    const ran = await renameThere({ update: () => ({ doc_metadata: [] }), metadata });
    expect(ran.exit).toBe(9);
    expect(ran.err).toContain("renamed, but the server lost the metadata team");
    expect(ran.err).toContain("--set team=people");
    expect(ran.err).toContain("some changes were made");
  });

  test("a content that is stored shorter is kept in a file", async () => {
    const update = () => ({ data_source_info: { upload_file: { ...file, size: 3 } } });
    const ran = await renameThere({ update });
    expect(ran).toMatchObject({ exit: 9, out: "" });
    expect(ran.err).toContain(
      "renamed, but the server stored 3 of a content of size 4; it is kept",
    );
    expect(ran.err).toContain("some changes were made");
    const [, path = ""] = /`kb doc update \S+ \S+ --text-file (\S+)`/.exec(ran.err) ?? [];
    expect(await readFile(path, "utf8")).toBe("Text");
  });

  test.each<[string, object, string]>([
    ["another status", { enabled: false }, "renamed, but the server changed: enabled"],
    [
      "another rule",
      { document_process_rule: { mode: "hierarchical", rules: {} } },
      "renamed, but the server changed: chunking rule",
    ],
    [
      "failed indexing",
      { indexing_status: "error", error: "no model" },
      "renamed, but indexing failed: no model",
    ],
  ])("%s is an error", async (_, changes, message) => {
    const ran = await renameThere({ update: () => changes });
    expect(ran).toMatchObject({ exit: 9, out: "" });
    expect(ran.err).toContain(message);
  });

  test("content of another length than the server reports is not sent", async () => {
    document["data_source_info"] = { upload_file: { ...file, size: 66 } };
    const ran = await renameThere({ update: () => ({}) });
    expect(ran).toMatchObject({ exit: 6, out: "" });
    expect(ran.err).toContain("gives 4 bytes of the document, whose size is 66");
    expect(canned.lines().filter((line) => line.startsWith("POST"))).toEqual([
      `POST /datasets/${base}/documents/download-zip`,
    ]);
  });

  test.each<[string, object, RegExp]>([
    ["a pipeline", { created_from: "rag-pipeline" }, /a document from a pipeline has no file/],
    ["notion_import", { data_source_type: "notion_import" }, /from notion_import has no file/],
  ])("a document from %s: exit code 6", async (_, changes, message) => {
    Object.assign(document, changes);
    const ran = await renameThere({ update: () => ({}) });
    expect(ran).toMatchObject({ exit: 6, err: expect.stringMatching(message) as string });
  });
});

describe("kb doc rename --each", () => {
  const rows = async (text: string) => {
    const path = join(folder, "names.csv");
    await writeFile(path, text);
    return path;
  };
  beforeEach(async () => {
    for (const name of ["a.md", "b.md", "c.md"]) await add(name, `text of ${name}`);
    await done("doc", "wait", kb);
  });

  test("renames each row, and fails those that cannot be", async () => {
    await done("doc", "disable", kb, "b.md");
    const path = await rows("doc,name\na.md,1.md\nb.md,2.md\nc.md,3.md\n");
    const ran = await rename("--each", path, "-o", "json");
    expect(ran.exit).toBe(10);
    expect(JSON.parse(ran.out)).toMatchObject([
      { row: 1, status: "ok" },
      { row: 2, status: "failed", error: expect.stringContaining("is disabled") as string },
      { row: 3, status: "ok" },
    ]);
    expect(await names()).toEqual(["1.md", "3.md", "b.md", ""]);
    // The same file continues with the ids of the first time.
    await done("doc", "enable", kb, "b.md");
    const again = await rename("--each", path, "-o", "json");
    expect(again.exit, again.err).toBe(0);
    expect(again.err).toContain("resuming: 2 of 3 rows already done");
    expect(await names()).toEqual(["1.md", "2.md", "3.md", ""]);
    for (const name of ["a", "b", "c"]) {
      const number = { a: 1, b: 2, c: 3 }[name];
      expect(await contentOf(`${number}.md`)).toBe(`text of ${name}.md`);
    }
  });

  test.each<[string, string, number, RegExp]>([
    [
      "a name twice",
      "doc,name\na.md,1.md\nb.md,1.md\n",
      2,
      /row 2.*another row has the name "1\.md"/,
    ],
    ["a swap", "doc,name\nc.md,1.md\na.md,b.md\nb.md,a.md\n", 2, /row \d.*swaps or chains names/],
    ["a chain", "doc,name\na.md,1.md\nb.md,a.md\n", 2, /row \d.*swaps or chains names/],
    [
      "an unknown document",
      "doc,name\na.md,1.md\nz.md,2.md\n",
      3,
      /row 2 \(line 3\), column doc: .*not found; no changes were made$/m,
    ],
    ["a missing column", "doc\na.md\n", 2, /column name not found/],
    ["an unknown column", "doc,name,x\na.md,1.md,2\n", 2, /unknown column "x"/],
  ])("%s: nothing is sent", async (_, text, exit, message) => {
    const path = await rows(text);
    const since = server.seen.length;
    const ran = await rename("--each", path);
    expect(ran).toMatchObject({ exit, out: "", err: expect.stringMatching(message) as string });
    expect(writesSince(since)).toEqual([]);
  });

  test("edited chunks of a row need --yes before any row is sent", async () => {
    await done("chunk", "update", kb, "b.md", await chunkId("b.md", 1), "--content", "edited");
    const path = await rows("doc,name\na.md,1.md\nb.md,2.md\n");
    const since = server.seen.length;
    const refused = await rename("--each", path);
    expect(refused.exit).toBe(2);
    expect(refused.err).toContain(
      "row 2 (line 3): confirmation required: Rename b.md to 2.md and lose chunk 1 (edited)?",
    );
    expect(writesSince(since)).toEqual([]);
    expect((await rename("--each", path, "--yes")).exit).toBe(0);
    expect(await names()).toEqual(["1.md", "2.md", "c.md", ""]);
  });

  test("a row whose response was lost is not repeated, but finished", async () => {
    const path = await rows("doc,name\na.md,1.md\nb.md,2.md\n");
    server.sandbox.setFaults([parseFault("POST /datasets/*/update-by-text cut-bytes=0 times=1")]);
    const lost = await rename("--each", path, "--concurrency", "1", "-o", "json");
    expect(lost.exit).toBe(10);
    expect(JSON.parse(lost.out)).toMatchObject([{ status: "unknown" }, { status: "ok" }]);
    const since = server.seen.length;
    const again = await rename("--each", path, "-o", "json");
    expect(again.exit, again.err).toBe(0);
    expect(writesSince(since)).toEqual([]);
    expect(await names()).toEqual(["1.md", "2.md", "c.md", ""]);
  });

  test("a dry run shows the requests of all rows and sends none", async () => {
    const path = await rows("doc,name\na.md,1.md\nb.md,2.md\n");
    const since = server.seen.length;
    const ran = await rename("--each", path, "--dry-run");
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out.match(/^POST .*update-by-text$/gm)).toHaveLength(2);
    expect(writesSince(since)).toEqual([]);
  });
});

test("doc update with a name alone names the command for it", async () => {
  await add("a.md", "text");
  const since = server.seen.length;
  const ran = await run(["doc", "update", kb, "a.md", "--name", "new name.md"]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("`kb doc rename Handbook a.md 'new name.md'`");
  expect(server.seen.slice(since)).toEqual([]);
});

describe("changes of chunks by hand", () => {
  const chunk = {
    id: "1",
    position: 1,
    enabled: true,
    status: "completed",
    indexing_at: 10,
    child_chunks: [],
  };
  test.each<[string, object[], string[]]>([
    ["none", [chunk, { ...chunk, position: 2 }], []],
    ["edited", [{ ...chunk, updated_by: "someone" }], ["chunk 1 (edited)"]],
    ["added", [chunk, { ...chunk, position: 2, indexing_at: 11 }], ["chunk 2 (added)"]],
    ["disabled", [{ ...chunk, enabled: false, disabled_at: 12 }], ["chunk 1 (disabled)"]],
    ["removed", [{ ...chunk, position: 3 }], ["chunk 1 (removed)", "chunk 2 (removed)"]],
    ["not embedded", [{ ...chunk, enabled: false, disabled_at: 9, status: "error" }], []],
    ["of a hierarchy without a model", [{ ...chunk, enabled: false, disabled_at: null }], []],
    [
      "children",
      [{ ...chunk, child_chunks: [{ type: "customized" }] }],
      ["chunk 1 (child chunks edited)"],
    ],
    ["of a pipeline", [{ ...chunk, indexing_at: null, completed_at: 10 }], []],
  ])("%s", (_, chunks, expected) => {
    expect(handEdits(chunks as Parameters<typeof handEdits>[0], { completed_at: 10 })).toEqual(
      expected,
    );
  });

  test("added, in a document that is not indexed again yet", () => {
    const added = { ...chunk, position: 2, indexing_at: 11, completed_at: 11 };
    const chunks = [{ ...chunk, completed_at: 10 }, added] as Parameters<typeof handEdits>[0];
    expect(handEdits(chunks, { completed_at: null })).toEqual(["chunk 2 (added)"]);
  });
});
