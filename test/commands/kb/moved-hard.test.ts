import { createHash } from "node:crypto";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { diskFiles } from "../../../src/host/node-files.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { syncedBases } from "../../lib/synced-base.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { hintedCommands } from "../../lib/hinted.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let name = "";
let folder = "";

beforeEach(async () => {
  ({ name, dir: folder } = await newBase());
});

const kb = (...argv: readonly string[]) => server.cli(["kb", ...argv], { folder: home });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });

/** Adds documents from text and waits until they are indexed. */
async function texts(base: string, contents: Readonly<Record<string, string>>): Promise<void> {
  for (const [document, text] of Object.entries(contents))
    await done("doc", "add", base, document, "--text", text);
  await done("doc", "wait", base);
}

/** Uploads a file; a second one of the same name does not replace the first. */
async function upload(base: string, file: string, content: string): Promise<void> {
  const path = join(home, file);
  await writeFile(path, content);
  const rule = ["--process-rule", '{"mode":"automatic"}', "--no-duplicate"];
  await done("doc", "upload", base, path, ...rule);
}

/** A file that the sandbox stores but cannot index. */
const unreadable = "quarter.pdf";

/** Documents of the manifest. */
async function bundled(): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(folder, "manifest.json"), "utf8");
  const { state } = JSON.parse(text) as { state: { documents: Record<string, unknown>[] } };
  return state.documents;
}

/** Changes a manifest and its checksum. */
async function forge(from: string, to: string): Promise<void> {
  const path = join(folder, "manifest.json");
  const text = (await readFile(path, "utf8")).replace(from, to);
  const { sum: _, ...manifest } = JSON.parse(text) as Record<string, unknown>;
  await writeFile(path, JSON.stringify({ ...manifest, sum: sha256(JSON.stringify(manifest)) }));
}

const listed = async (base: string, path: string) =>
  JSON.parse((await done("doc", "list", base, "--all", "--jq", `[.[]|${path}]`)).out) as unknown;

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("an export over an earlier one", () => {
  test("updates state and metadata of documents with the same content", async () => {
    await texts(name, { "a.md": "one" });
    await done("metadata", "create", name, "team", "--type", "string");
    await done("export", name, folder);
    await done("metadata", "set", name, "a.md", "--set", "team=people");
    await done("doc", "disable", name, "a.md");
    await done("doc", "archive", name, "a.md");
    await done("export", name, folder);
    expect(await bundled()).toMatchObject([
      { name: "a.md", enabled: false, archived: true, metadata: { team: "people" } },
    ]);
    expect((await kb("verify", folder, name)).exit).toBe(0);
    await done("export", name, folder, "--no-chunks");
    expect(Object.keys((await bundled())[0] ?? {})).not.toContain("chunks");
    expect(await readdir(join(folder, "chunks"))).toEqual([]);
  });

  test("restores a modified file of the same size", async () => {
    await texts(name, { "a.md": "one" });
    await done("export", name, folder);
    await writeFile(join(folder, "documents/a.md"), "two");
    const ran = await done("export", name, folder);
    expect(ran.out).toBe("written\ta.md\tdocuments/a.md\t3\n");
    expect(await readFile(join(folder, "documents/a.md"), "utf8")).toBe("one");
  });

  test("keeps the last one complete if it is interrupted", async () => {
    await texts(name, { "a.md": "one", "b.md": "two" });
    await done("export", name, folder);
    await texts(name, { "a.md": "ONE!", "b.md": "TWO!" });
    const before = await readFile(join(folder, "manifest.json"), "utf8");
    const full: typeof diskFiles.writeAtomic = (path, ...content) =>
      /b[^/]*\.md$/.test(path)
        ? Promise.reject(Object.assign(new Error("no room"), { code: "ENOSPC", path }))
        : diskFiles.writeAtomic(path, ...content);
    const line = ["kb", "export", name, folder];
    const interrupted = await server.cli(line, { folder: home, files: { writeAtomic: full } });
    expect(interrupted.exit).toBe(1);
    expect(await readFile(join(folder, "manifest.json"), "utf8")).toBe(before);
    expect(await readdir(join(folder, "documents"))).toEqual(["a (1).md", "a.md", "b.md"]);
    await done("import", folder, "--name", `${name} then`);
    expect((await kb("verify", folder, `${name} then`)).exit).toBe(0);

    await done("export", name, folder);
    expect((await kb("verify", folder, name)).exit).toBe(0);
    expect(await readdir(join(folder, "documents"))).toEqual(["a (1).md", "b (1).md"]);
    expect((await readdir(folder)).sort()).toEqual(["chunks", "documents", "manifest.json"]);
  });

  test("alternates between two file names for a document that changes", async () => {
    await texts(name, { "a.md": "one" });
    await done("export", name, folder);
    await texts(name, { "a.md": "two" });
    expect((await done("export", name, folder)).out).toBe(
      "written\ta.md\tdocuments/a (1).md\t3\nremoved\ta.md\tdocuments/a.md\t3\n",
    );
    expect((await done("export", name, folder)).out).toBe("");
    await texts(name, { "a.md": "three" });
    expect((await done("export", name, folder)).out).toBe(
      "written\ta.md\tdocuments/a.md\t5\nremoved\ta.md\tdocuments/a (1).md\t3\n",
    );
  });

  test.each([
    ["writes a directory with the name of an earlier file", "x", "x/y.md"],
    ["writes a file with the name of an earlier directory", "x/y.md", "x"],
  ])("%s", async (_, first, second) => {
    await texts(name, { [first]: "one" });
    await done("export", name, folder);
    await done("doc", "delete", name, first, "--yes");
    await texts(name, { [second]: "two" });
    await done("export", name, folder);
    await done("export", name, folder);
    expect((await kb("verify", folder, name)).exit).toBe(0);
  });
});

describe("an import", () => {
  test("keeps names of texts that files cannot have", async () => {
    await texts(name, { "sub/notes.txt": "plain", "sub\\more.TXT": "plain, too" });
    await done("export", name, folder);
    await done("import", folder, "--name", `${name} copy`);
    expect((await kb("verify", folder, `${name} copy`)).out).toBe("");
    await done("import", folder, "--into", `${name} copy`);
    expect(await listed(`${name} copy`, ".name")).toHaveLength(2);
  });

  test("reports a changed name, and finds the document under it", async () => {
    await texts(name, { "sub/a.md": "one" });
    await done("doc", "disable", name, "sub/a.md");
    await texts(name, { "sub/a.md": "two" });
    await done("export", name, folder);
    const ran = await done("import", folder, "--name", `${name} copy`);
    expect(ran.out).toContain("stored as sub∕a.md");
    await done("import", folder, "--into", `${name} copy`);
    expect(await listed(`${name} copy`, ".name")).toHaveLength(2);
  });

  test("never gives access to more people than before", async () => {
    await texts(name, { "a.md": "one" });
    const members = JSON.stringify([{ user_id: "00000000-0000-4000-8000-000000000001" }]);
    await done("update", name, "--permission", "partial_members", "--partial-member-list", members);
    await done("export", name, folder);
    const ran = await done("import", folder, "--name", `${name} copy`);
    expect(ran.err).toContain(`${name} copy is private to its owner`);
    expect((await done("show", `${name} copy`, "--jq", ".permission")).out).toBe("only_me\n");
  });

  test("keeps other values of existing documents", async () => {
    await texts(name, { "a.md": "one" });
    await done("metadata", "create", name, "team", "--type", "string");
    await done("metadata", "set", name, "a.md", "--set", "team=people");
    await done("export", name, folder);
    const other = `${name} other`;
    await done("create", other, "--indexing-technique", "economy");
    await texts(other, { "a.md": "one" });
    await done("metadata", "create", other, "owner", "--type", "string");
    await done("metadata", "set", other, "a.md", "--set", "owner=ann");
    await done("import", folder, "--into", other);
    const path = "(.doc_metadata|map({(.name):.value})|add|{owner,team})";
    expect(await listed(other, path)).toEqual([{ owner: "ann", team: "people" }]);
  });

  test("replaces an existing document in error", async () => {
    await upload(name, unreadable, "%PDF");
    await done("export", name, folder);
    const copy = ["import", folder, "--name", `${name} copy`] as const;
    const first = await kb(...copy);
    expect(first.exit).toBe(10);
    const before = await listed(`${name} copy`, ".id");
    const sent = server.seen.length;
    const second = await kb(...copy);
    expect([second.exit, second.out]).toEqual([
      10,
      expect.stringContaining("failed\tdocument\tquarter.pdf"),
    ]);
    const paths = server.seen.slice(sent).map(({ path }) => path.split("/").at(-1));
    // Once to replace it, and once more because that failed.
    expect(paths.filter((path) => path === "create-by-file")).toHaveLength(2);
    expect(await listed(`${name} copy`, ".id")).toEqual(before);
  });

  test("reports why a disabled document could not be indexed", async () => {
    await upload(name, unreadable, "%PDF");
    await done("export", name, folder);
    await forge('"enabled": true', '"enabled": false');
    const ran = await kb("import", folder, "--name", `${name} copy`);
    expect(ran).toMatchObject({
      exit: 10,
      out: expect.stringContaining("cannot extract text from this file type") as string,
    });
  });

  test("does not touch two documents of one name if one is in error", async () => {
    const other = `${name} other`;
    await done("create", other, "--indexing-technique", "economy");
    await upload(other, unreadable, "%PDF one");
    await upload(other, unreadable, "%PDF two");
    await kb("doc", "wait", other);
    await upload(name, unreadable, "%PDF two");
    await done("export", name, folder);
    const before = server.seen.length;
    const ran = await kb("import", folder, "--into", other);
    expect([ran.exit, ran.out]).toEqual([
      10,
      expect.stringContaining("exists with an indexing error"),
    ]);
    const paths = server.seen.slice(before).map(({ path }) => path.split("/").at(-1));
    expect(paths).not.toContain("create-by-file");
  });
});

describe("verify", () => {
  test("reports a document in error", async () => {
    await texts(name, { "a.md": "one" });
    await done("export", name, folder);
    await forge('"completed"', '"error"');
    const ran = await kb("verify", folder, name);
    expect([ran.exit, ran.out]).toEqual([14, "status\ta.md\terror\tenabled\n"]);
  });

  test("distinguishes the second document of a name from one with such a name", async () => {
    await texts(name, { "a.md": "one" });
    await done("doc", "disable", name, "a.md");
    await texts(name, { "a.md": "two", "a.md #2": "three" });
    await done("export", name, folder);
    const second = (await bundled())[1]?.["file"];
    await writeFile(join(folder, String(second)), "TWO");
    const ran = await kb("verify", folder, name);
    expect([ran.exit, ran.out]).toEqual([
      14,
      `content\ta.md #2\t${sha256("TWO")}\t${sha256("two")}\n`,
    ]);
  });

  test("reports documents without content", async () => {
    await texts(name, { "a.md": "one" });
    server.sandbox.setFaults([parseFault("POST */download-zip status=404")]);
    expect((await kb("export", name, folder)).exit).toBe(10);
    const ran = await done("verify", folder, name);
    expect(ran.err).toContain("; documents without content: 1");
  });

  test("export and copy report which chunks they omit, for each form", async () => {
    const forms = [
      ["text_model", "edited chunks"],
      ["hierarchical_model", "edited chunks, child chunks"],
      ["qa_model", "edited chunks, questions and answers"],
    ];
    for (const [form = "", words] of forms) {
      const base = `${name} ${form}`;
      await done("create", base, "--indexing-technique", "economy");
      await done("doc", "add", base, "a.md", "--text", "one", "--doc-form", form);
      await done("doc", "wait", base);
      const place = `${folder} ${form}`;
      const exported = await kb("export", base, place);
      const hint = `\`kb import '${place}' --as-is\``;
      expect(exported.err).toContain(`to import with ${words}: ${hint}\n`);
      const without = await kb("export", base, place, "--no-chunks");
      expect(without.err).toContain(`not exported: ${words}; without --no-chunks they are\n`);
      const copied = await kb("copy", base, "--name", `${base} copy`);
      expect(copied.err).toContain(`\nnot copied: ${words}\n`);
      const ran = await kb("verify", place, base);
      expect(ran.err).toContain("no differences; compared 1 and 1 documents");
      const uncompared = `${words}, languages of documents, chunking rules of documents`;
      expect(ran.err).toContain(`not compared: ${uncompared}\n`);
    }
  });

  test("an export reports documents with edited chunks", async () => {
    await texts(name, { "a.md": "one", "b.md": "two" });
    const chunk = (await done("chunk", "list", name, "a.md", "-o", "name")).out.trim();
    await done("chunk", "update", name, "a.md", chunk, "--content", "one, edited");
    const ran = await done("export", name, folder);
    expect(ran.err).toContain("\n1 document with edited chunks: a.md\n");
  });

  test("takes names with slashes and quotes, with and without name:", async () => {
    const odd = `Hand/Copy "x" 🦊 ${name}`;
    await done("create", odd, "--indexing-technique", "economy");
    for (const side of [odd, `name:${odd}`]) {
      const ran = await done("verify", name, side);
      expect(ran.err).toContain("no differences");
    }
    const missing = await kb("verify", name, "no/such");
    expect([missing.exit, missing.err]).toEqual([
      2,
      expect.stringContaining("no export found in no/such"),
    ]);
  });
});

describe("hierarchical documents get child chunks", () => {
  const children = async (base: string, document: string) => {
    const listed = await done(
      "chunk",
      "list",
      base,
      document,
      "--jq",
      "[.[].child_chunks | length]",
    );
    return JSON.parse(listed.out) as number[];
  };

  test("in sync, with a rule of their own or none, and in import", async () => {
    const rule =
      '{"mode":"hierarchical","rules":{"pre_processing_rules":[],"segmentation":{"separator":"\\n\\n","max_tokens":500,"chunk_overlap":0},"parent_mode":"paragraph","subchunk_segmentation":{"separator":". ","max_tokens":100,"chunk_overlap":0}}}';
    const text = "One. Two. Three.\n\nFour. Five.";
    const dir = `${folder} of files`;
    await done(
      "doc",
      "add",
      name,
      "first.md",
      "--text",
      text,
      "--doc-form",
      "hierarchical_model",
      "--process-rule",
      rule,
    );
    await done("doc", "wait", name);
    expect(await children(name, "first.md")).toEqual([3, 2]);
    await write(dir, { "new.md": text, "new.csv": "a. b\n" });
    await done("sync", name, dir);
    expect(await children(name, "new.md")).toEqual([3, 2]);
    await write(dir, { "new.md": `${text}\n\nSix.`, "new.csv": "c. d\n" });
    await done("sync", name, dir);
    expect(await children(name, "new.md")).toEqual([3, 2, 1]);
    expect((await children(name, "new.csv"))[0]).toBeGreaterThan(0);

    await done("export", name, folder);
    // Without rules, as if the documents had been added with an automatic one.
    const path = join(folder, "manifest.json");
    const { sum: _, ...manifest } = JSON.parse(await readFile(path, "utf8")) as Record<
      string,
      unknown
    >;
    const forged = { ...manifest, rules: {} };
    await writeFile(path, JSON.stringify({ ...forged, sum: sha256(JSON.stringify(forged)) }));
    await done("import", folder, "--name", `${name} copy`);
    expect((await children(`${name} copy`, "new.md")).every((count) => count > 0)).toBe(true);
  });
});

describe("a copy", () => {
  test("keeps the summary settings, which verify compares", async () => {
    const setting =
      '{"enable":true,"model_name":"m","model_provider_name":"p","summary_prompt":"short"}';
    const base = `${name} summed`;
    await done(
      "create",
      base,
      "--indexing-technique",
      "economy",
      "--summary-index-setting",
      setting,
    );
    const copied = await done("copy", base, "--name", `${base} copy`);
    const [[, ...verify] = []] = hintedCommands(copied.err);
    expect(verify.slice(0, 2)).toEqual(["verify", base]);
    await done(...verify);
    const differing = await kb("verify", base, name);
    expect(differing.out).toContain("setting\tsummary_index_setting");
  });

  test("with an existing name is rejected before the download, with a hint that works", async () => {
    await texts(name, { "a.md": "one" });
    for (const flags of [[], ["--dry-run"]]) {
      const before = server.seen.length;
      const ran = await kb("copy", name, ...flags);
      expect(ran.exit).toBe(5);
      expect(ran.err).toContain(`knowledge base "${name}" already exists`);
      expect(server.seen.slice(before).every(({ method }) => method === "GET")).toBe(true);
      const [[, ...copy] = []] = hintedCommands(ran.err);
      expect(copy.slice(0, 3)).toEqual(["copy", name, "--name"]);
      if (flags.length === 0) await done(...copy);
    }
  });

  test("is only planned in a dry run", async () => {
    await texts(name, { "a.md": "one" });
    const line = ["copy", name, "--name", `${name} copy`, "--dry-run"];
    const before = server.seen.length;
    const plan = [
      `create\tknowledge base\t${name} copy\t\t`,
      "create\tdocument\ta.md\t\t",
      "",
    ].join("\n");
    expect(await done(...line)).toMatchObject({ out: plan, err: "" });
    expect(server.seen.slice(before).every(({ method }) => method === "GET")).toBe(true);
  });

  test("that fails keeps the downloaded documents and resumes with them", async () => {
    await texts(name, { "a.md": "one" });
    const line = ["copy", name, "--name", `${name} copy`];
    server.sandbox.setFaults([parseFault("POST */create-by-text status=500")]);
    const ran = await kb(...line, "--retries", "0");
    const directory = /documents stay in (.*); run the same command again/.exec(ran.err)?.[1];
    expect(await readdir(directory ?? "")).toEqual(["documents", "manifest.json"]);
    server.sandbox.setFaults([]);
    const before = server.seen.length;
    await done(...line);
    const downloads = server.seen
      .slice(before)
      .filter(({ path }) => path.endsWith("/download-zip"));
    expect(downloads).toHaveLength(0);
    expect(await readdir(join(home, "cache", "copies"))).toEqual([]);
    expect((await kb("verify", name, `${name} copy`)).exit).toBe(0);
  });
});
