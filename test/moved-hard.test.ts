import { createHash } from "node:crypto";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { diskFiles } from "../src/disk.ts";
import { parseFault } from "../src/sandbox/faults.ts";
import { testSandbox } from "./sandbox.ts";
import { temporaryFolder } from "./support.ts";
import type { Ran } from "./support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryFolder();
let number = 0;
let name = "";
let folder = "";

beforeEach(async () => {
  server.sandbox.setFaults([]);
  name = `Moved ${++number}`;
  folder = join(home, `export ${number}`);
  await done("create", name, "--indexing-technique", "economy");
});

const kb = (...argv: readonly string[]) => server.cli(["kb", ...argv], { folder: home });

/** Runs a line that has to work. */
async function done(...argv: readonly string[]): Promise<Ran> {
  const ran = await kb(...argv);
  expect(ran.exit, `${argv.join(" ")}: ${ran.err}`).toBe(0);
  return ran;
}

/** Adds documents made by text, and waits until they are indexed. */
async function texts(base: string, contents: Readonly<Record<string, string>>): Promise<void> {
  for (const [document, text] of Object.entries(contents))
    await done("doc", "add", base, document, "--text", text);
  await done("doc", "wait", base);
}

/** Uploads a file of this name; a second one of a name stands beside the first. */
async function upload(base: string, file: string, content: string): Promise<void> {
  const path = join(home, file);
  await writeFile(path, content);
  const rule = ["--process-rule", '{"mode":"automatic"}', "--no-duplicate"];
  await done("doc", "upload", base, path, ...rule);
}

/** A kind that the sandbox stores and cannot index. */
const unreadable = "quarter.pdf";

/** Documents of the manifest, as they were written. */
async function bundled(): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(folder, "manifest.json"), "utf8");
  const { state } = JSON.parse(text) as { state: { documents: Record<string, unknown>[] } };
  return state.documents;
}

/** Changes a manifest as somebody does who makes the sum fit again. */
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
  test("takes over what the server says now, where no content changed", async () => {
    await texts(name, { "a.md": "one" });
    await done("metadata", "create", name, "team", "--type", "string");
    await done("export", name, folder, "--chunks");
    await done("metadata", "set", name, "a.md", "--set", "team=people");
    await done("doc", "disable", name, "a.md");
    await done("doc", "archive", name, "a.md");
    await done("export", name, folder);
    expect(await bundled()).toMatchObject([
      { name: "a.md", enabled: false, archived: true, metadata: { team: "people" } },
    ]);
    expect(Object.keys((await bundled())[0] ?? {})).not.toContain("chunks");
    expect(await readdir(join(folder, "chunks"))).toEqual([]);
    expect((await kb("verify", folder, name)).exit).toBe(0);
  });

  test("puts a changed file right, though it has its length", async () => {
    await texts(name, { "a.md": "one" });
    await done("export", name, folder);
    await writeFile(join(folder, "documents/a.md"), "two");
    const ran = await done("export", name, folder);
    expect(ran.out).toBe("written\ta.md\tdocuments/a.md\t3\n");
    expect(await readFile(join(folder, "documents/a.md"), "utf8")).toBe("one");
  });

  test("leaves the last one whole when it is ended early", async () => {
    await texts(name, { "a.md": "one", "b.md": "two" });
    await done("export", name, folder);
    await texts(name, { "a.md": "ONE!", "b.md": "TWO!" });
    const before = await readFile(join(folder, "manifest.json"), "utf8");
    const full: typeof diskFiles.writeAtomic = (path, ...content) =>
      /b[^/]*\.md$/.test(path)
        ? Promise.reject(Object.assign(new Error("no room"), { code: "ENOSPC", path }))
        : diskFiles.writeAtomic(path, ...content);
    const line = ["kb", "export", name, folder];
    const cut = await server.cli(line, { folder: home, files: { writeAtomic: full } });
    expect(cut.exit).toBe(1);
    expect(await readFile(join(folder, "manifest.json"), "utf8")).toBe(before);
    expect(await readdir(join(folder, "documents"))).toEqual(["a (1).md", "a.md", "b.md"]);
    await done("import", folder, "--name", `${name} then`);
    expect((await kb("verify", folder, `${name} then`)).exit).toBe(0);

    await done("export", name, folder);
    expect((await kb("verify", folder, name)).exit).toBe(0);
    expect(await readdir(join(folder, "documents"))).toEqual(["a (1).md", "b (1).md"]);
    expect((await readdir(folder)).sort()).toEqual(["documents", "manifest.json"]);
  });

  test("a changed document goes back to its own name with the next change", async () => {
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
    ["a folder of the name of an earlier file", "x", "x/y.md"],
    ["a file of the name of an earlier folder", "x/y.md", "x"],
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

describe("verify tells", () => {
  test("a document in error from one that is available", async () => {
    await texts(name, { "a.md": "one" });
    await done("export", name, folder);
    await forge('"completed"', '"error"');
    const ran = await kb("verify", folder, name);
    expect([ran.exit, ran.out]).toEqual([14, "status\ta.md\terror\tenabled\n"]);
  });

  test("the second of a name from one that is called so", async () => {
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

  test("what it could not compare", async () => {
    await texts(name, { "a.md": "one" });
    server.sandbox.setFaults([parseFault("POST */download-zip status=404")]);
    expect((await kb("export", name, folder)).exit).toBe(10);
    const ran = await done("verify", folder, name);
    expect(ran.err).toContain("were compared; documents without content: 1");
  });
});
