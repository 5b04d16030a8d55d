/** Hostile names and archives: nothing outside of the target is written, read or removed. */
import { createHash } from "node:crypto";
import { lstat, mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { createZip } from "../lib/zip.ts";
import { rawServer } from "../lib/raw-server.ts";
import { sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

const top = await temporaryDirectory();
let number = 0;
/** The target directory, and the files around it. */
let around = "";
let target = "";

beforeEach(async () => {
  around = join(top, String(++number));
  target = join(around, "target");
  await mkdir(join(around, "other"), { recursive: true });
  await writeFile(join(around, "other", "precious.md"), "mine");
});

/** All files below a directory, without following links. */
async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  const kinds = await Promise.all(names.map((name) => lstat(join(folder, name))));
  return names.filter((_, index) => !kinds[index]?.isDirectory()).sort();
}

/** Nothing around the target has changed, except for the error log. */
async function expectUntouched(): Promise<void> {
  const outside = (await filesIn(around)).filter(
    (name) => !/^(target(\/|$)|state\/failures\/)/.test(name),
  );
  expect(outside).toEqual(["other/precious.md"]);
  expect(await readFile(join(around, "other", "precious.md"), "utf8")).toBe("mine");
}

const kb = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const ids = (count: number) =>
  Array.from({ length: count }, (_, index) => `0190f2b4-5f6a-7c31-9d2e-00000000000${index}`);

/** A server with documents of these names and this ZIP. */
async function hostile(names: readonly string[], zip: Uint8Array): Promise<string> {
  const { baseUrl } = await rawServer([
    (socket, request) => {
      const index = Number(/documents\/[0-9a-f-]+(\d)[? ]/.exec(request)?.[1] ?? 0);
      const packed = request.startsWith("POST");
      const body = packed ? zip : Buffer.from(JSON.stringify({ id: "x", name: names[index] }));
      const type = packed ? "application/zip" : "application/json";
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${body.length}\r\n` +
          "content-disposition: attachment; filename=../../evil.md\r\nconnection: close\r\n\r\n",
      );
      socket.end(body);
    },
  ]);
  return baseUrl;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const zipWith = (...entries: readonly (readonly [name: string, text: string])[]) =>
  createZip(
    entries.map(([name, text]) => ({ name, bytes: bytes(text) })),
    new Date("2026-05-01T10:00:00Z"),
  );

async function download(names: readonly string[], zip: Uint8Array, ...more: readonly string[]) {
  const baseUrl = await hostile(names, zip);
  return cli(["kb", "doc", "download", kb, ...ids(names.length), "--dir", target, ...more], {
    env: { KB_BASE_URL: baseUrl, KB_KEY: "dataset-x" },
    folder: around,
  });
}

/** The part of the hash of a long name that its file has. */
const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);

/** A notice that a document was renamed, in one line without control characters. */
const said = (place: string) =>
  expect.stringMatching(
    new RegExp(
      `^wrote document [^\\p{Cc}\\p{Bidi_Control}]+ to ${target}/${place.replace(/[().[\]]/g, "\\$&")}\n$`,
      "u",
    ),
  ) as string;

describe("kb doc download", () => {
  test.each(
    sampled(5, [
      ["../../evil.md", "%2E%2E/%2E%2E/evil.md"],
      ["/etc/cron.d/evil", "%2Fetc/cron.d/evil"],
      ["C:\\Windows\\evil.dll", "C%3A%5CWindows%5Cevil.dll"],
      ["evil\0.md", "evil%00.md"],
      ["\u001b]0;evil\u0007.md", "%1B]0;evil%07.md"],
      ["\u009b2Jevil.md", "%C2%9B2Jevil.md"],
      ["evil\u202edm.exe", "evil%E2%80%AEdm.exe"],
      ["evil\r\n.md", "evil%0D%0A.md"],
      [".git/config", "%2Egit/config"],
      ["GIT~1/config", "GIT%7E1/config"],
      ["HEAD", "%48EAD"],
      ["NUL", "%4EUL"],
      ["evil.md. .", "evil.md. %2E"],
      ["漢".repeat(200), `${"漢".repeat(62)}%-${digest("漢".repeat(200))}`],
      [`${"漢".repeat(200)}.md`, `${"漢".repeat(61)}%-${digest(`${"漢".repeat(200)}.md`)}.md`],
    ]),
  )("%j is written below the directory", async (name, place) => {
    const ran = await download([name], zipWith([name, "text"]));
    expect(ran).toMatchObject({ exit: 0, err: said(place) });
    expect(await filesIn(target)).toEqual([place]);
    await expectUntouched();
  });

  test.each(
    sampled<readonly [string, readonly string[], readonly string[]]>(3, [
      ["of one name", ["a.md", "a.md"], ["a (1).md", "a.md"]],
      ["that differ in case", ["a.md", "A.md"], ["A (1).md", "a.md"]],
      ["that differ in their Unicode form", ["é.md", "e\u0301.md"], ["e\u0301 (1).md", "é.md"]],
      ["of which one is the folder of the other", ["a", "a/b"], ["a", "a (1)/b"]],
      ["of which one is in the other", ["a/b", "a"], ["a (1)", "a/b"]],
    ]),
  )("documents %s are two files", async (_how, names, files) => {
    const ran = await download(names, zipWith(["x", "1"], ["x", "2"]));
    const renamed = files.find((name) => !names.includes(name)) ?? "";
    expect(ran).toMatchObject({ exit: 0, err: said(renamed) });
    expect(await filesIn(target)).toEqual(files.toSorted());
    const [first, second] = ran.out.trim().split("\n");
    const pathOf = (line = "") => line.split("\t")[0] ?? "";
    expect(await readFile(pathOf(first), "utf8")).toBe("1");
    expect(await readFile(pathOf(second), "utf8")).toBe("2");
  });

  test("a link that leads out of the directory is not followed", async () => {
    await mkdir(target);
    await symlink(join(around, "other"), join(target, "sub"));
    const ran = await download(["sub/precious.md"], zipWith(["x", "theirs"]));
    expect(ran).toMatchObject({
      exit: 2,
      err: expect.stringContaining("is a link that leads out of") as string,
    });
    await expectUntouched();
    const deeper = await download(["sub/new/folder.md"], zipWith(["x", "theirs"]));
    expect(deeper.exit).toBe(2);
    await expectUntouched();
  });

  test("a link in place of a file is replaced, its target stays", async () => {
    await mkdir(target);
    await symlink(join(around, "other", "precious.md"), join(target, "a.md"));
    const zip = zipWith(["x", "theirs"]);
    expect((await download(["a.md"], zip)).exit).toBe(2);
    expect((await download(["a.md"], zip, "--overwrite")).exit).toBe(0);
    expect(await readFile(join(target, "a.md"), "utf8")).toBe("theirs");
    await expectUntouched();
  });

  test("a ZIP entry that is a link becomes a text file", async () => {
    const zip = zipWith(["link.md", "/etc/passwd"]);
    // The ZIP directory marks it: made by Unix, with the mode of a link.
    const directory = Buffer.from(zip).lastIndexOf("PK\u0001\u0002", undefined, "latin1");
    zip.set([20, 3], directory + 4);
    zip.set([0, 0, 0xff, 0xa1], directory + 38);
    expect((await download(["link.md"], zip)).exit).toBe(0);
    expect((await lstat(join(target, "link.md"))).isFile()).toBe(true);
    expect(await readFile(join(target, "link.md"), "utf8")).toBe("/etc/passwd");
  });

  test.each(
    sampled(5, [
      ["more files than were asked for", zipWith(["a", "1"], ["b", "2"], ["c", "3"]), 1],
      ["none", zipWith(), 10],
      ["half of one", zipWith(["a", "1"]).subarray(0, 20), 1],
    ]),
  )("a ZIP with %s is refused", async (_what, zip, exit) => {
    const ran = await download(["a.md"], zip);
    expect(ran.exit).toBe(exit);
    await mkdir(target, { recursive: true });
    expect(await filesIn(target)).toEqual([]);
  });
});

const server = await testSandbox({ speed: 200 });
const sandboxed = (...argv: readonly string[]) => server.cli(["kb", ...argv], { folder: around });

/** A knowledge base in the sandbox with documents of these names. */
async function filled(...names: readonly string[]): Promise<string> {
  const base = `Hostile ${number}`;
  await sandboxed("create", base, "--indexing-technique", "economy");
  for (const name of names) await sandboxed("doc", "add", base, name, "--text", `text of ${name}`);
  await sandboxed("doc", "wait", base);
  return base;
}

/** Writes a manifest as an export does, tampered with, but with a valid checksum. */
async function forge(change: (manifest: Record<string, unknown>) => unknown): Promise<void> {
  const path = join(target, "manifest.json");
  const { sum: _, ...manifest } = JSON.parse(await readFile(path, "utf8")) as Record<
    string,
    unknown
  >;
  change(manifest);
  const sum = createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
  await writeFile(path, JSON.stringify({ ...manifest, sum }));
}

type Documents = { state: { documents: Record<string, unknown>[] } };

describe("kb export and kb import", () => {
  test("documents are written below the directory, whatever their names", async () => {
    const base = await filled("../../evil.md", "/evil.md", "evil\u202e.md", "EVIL.md", "a", "a/b");
    const ran = await sandboxed("export", base, target);
    expect([ran.exit, ran.err.includes("6 documents")]).toEqual([0, true]);
    expect(ran.err).toContain(
      "3 names encoded in paths: documents/%2E%2E/%2E%2E/evil.md, documents/%2Fevil.md, documents/evil%E2%80%AE.md\n",
    );
    expect((await filesIn(target)).filter((name) => name.startsWith("documents"))).toEqual([
      "documents/%2E%2E/%2E%2E/evil.md",
      "documents/%2Fevil.md",
      "documents/EVIL.md",
      "documents/a",
      "documents/a (1)/b",
      "documents/evil%E2%80%AE.md",
    ]);
    await expectUntouched();
    expect((await sandboxed("import", target, "--name", `${base} again`)).exit).toBe(0);
    expect((await sandboxed("export", base, target)).out).toBe("");
  });

  test("a link that leads out of the directory is not followed", async () => {
    const base = await filled("sub/precious.md");
    await sandboxed("export", base, target);
    await symlink(join(around, "other"), join(target, "documents", "elsewhere"));
    await sandboxed("doc", "add", base, "elsewhere/precious.md", "--text", "theirs");
    await sandboxed("doc", "wait", base);
    const ran = await sandboxed("export", base, target);
    expect(ran).toMatchObject({ exit: 2, err: expect.stringContaining("leads out of") as string });
    await expectUntouched();
  });

  test.each(
    sampled(5, [
      ["a document above the directory", { file: "../other/precious.md" }],
      ["a document of the root", { file: "/etc/passwd" }],
      ["a document of another drive", { file: "C:/secret.md" }],
      ["a document behind a backslash", { file: "..\\other\\precious.md" }],
      ["a document that is the directory", { file: "documents/.." }],
      ["chunks above the directory", { chunks: "../other/precious.md" }],
      ["chunks that are no path", { chunks: 5 }],
      ["a document that is no path", { file: 5 }],
    ]),
  )("a manifest that names %s is refused", async (_what, fields) => {
    const base = await filled("a.md");
    await sandboxed("export", base, target);
    await forge((manifest) => Object.assign((manifest as Documents).state.documents[0]!, fields));
    const before = server.seen.length;
    for (const line of [
      ["import", target, "--name", "x"],
      ["export", base, target],
      ["verify", target, base],
    ]) {
      const ran = await sandboxed(...line);
      expect([line[0], ran.exit, ran.err.split("\n", 1)[0]]).toEqual([
        line[0],
        2,
        expect.stringMatching(/manifest\.json: (file outside the directory|state\.documents)/),
      ]);
    }
    const writes = server.seen.slice(before).filter(({ method }) => method !== "GET");
    expect(writes).toEqual([]);
    await expectUntouched();
  });

  test.each(
    sampled(5, [
      ["in place of its journal", "manifest.part.jsonl", "precious.md"],
      ["in place of its journal, to a file that does not exist", "manifest.part.jsonl", "new.md"],
      ["in place of its lock", "manifest.part.jsonl.lock", "precious.md"],
      ["in place of its manifest", "manifest.json", "precious.md"],
      ["in place of a document", "documents/a.md", "precious.md"],
      ["in place of all documents", "documents", ""],
    ]),
  )("a link %s is not followed", async (_what, name, to) => {
    const base = await filled("a.md");
    const links = async () => {
      await rm(join(target, name), { recursive: true, force: true });
      await symlink(join(around, "other", to), join(target, name));
    };
    await mkdir(target);
    await links().catch(() => mkdir(join(target, "documents")).then(links));
    const planted = await sandboxed("export", base, target);
    expect([planted.exit, planted.err], planted.err).toEqual([2, expect.stringContaining(target)]);
    await rm(target, { recursive: true });
    await sandboxed("export", base, target);
    await links();
    await sandboxed("doc", "update", base, "a.md", "--text", "changed");
    await sandboxed("doc", "wait", base);
    const ran = await sandboxed("export", base, target);
    expect([ran.exit, ran.err], ran.err).toEqual([2, expect.stringContaining("link")]);
    await expectUntouched();
  });

  test("a stale file behind a link is not deleted", async () => {
    const base = await filled("a.md", "sub/precious.md");
    await sandboxed("export", base, target);
    await sandboxed("doc", "delete", base, "sub/precious.md", "--yes");
    await forge((manifest) => {
      const found = (manifest as Documents).state.documents.find(({ name }) => name !== "a.md");
      found!["file"] = "documents/elsewhere/precious.md";
    });
    await symlink(join(around, "other"), join(target, "documents", "elsewhere"));
    expect((await sandboxed("export", base, target)).exit).toBe(2);
    await expectUntouched();
  });

  test("a document that is a link to another file is not uploaded", async () => {
    const base = await filled("a.md");
    await sandboxed("export", base, target);
    await forge((manifest) =>
      Object.assign((manifest as Documents).state.documents[0]!, {
        file: "documents/b.md",
        sha256: createHash("sha256").update("mine").digest("hex"),
      }),
    );
    await symlink(join(around, "other", "precious.md"), join(target, "documents", "b.md"));
    const before = server.seen.length;
    const ran = await sandboxed("import", target, "--name", "x");
    expect(ran).toMatchObject({ exit: 2, err: expect.stringContaining("leads out of") as string });
    expect(server.seen.slice(before)).toEqual([]);
  });
});

test("kb sync uploads no file outside of the directory through a link", async () => {
  const base = await filled();
  await mkdir(join(target, "sub"), { recursive: true });
  await writeFile(join(target, "a.md"), "A");
  await symlink("../a.md", join(target, "sub", "same.md"));
  await symlink(join(around, "other", "precious.md"), join(target, "file.md"));
  await symlink("../other", join(target, "folder"));
  const ran = await sandboxed("sync", base, target);
  expect(ran.exit).toBe(10);
  expect(ran.out.split("\n").slice(-3)).toEqual([
    "failed\tfile.md\tthe symlink points outside the directory\t",
    "failed\tfolder\tthe symlink points outside the directory\t",
    "",
  ]);
  const sent = server.seen.map(({ body }) => new TextDecoder().decode(body)).join("\n");
  expect(sent).toContain("sub/same.md");
  expect(sent).not.toContain("mine");
});

test("patterns match a deep path in linear time, or are rejected", async () => {
  const base = await filled();
  await mkdir(join(target, "a/".repeat(60)), { recursive: true });
  await writeFile(join(target, "a/".repeat(60), "c.md"), "deep");
  await writeFile(join(target, ".kbignore"), `a/${"**/".repeat(30)}b\n`);
  const ran = await sandboxed("sync", base, target, "--dry-run", "--exclude", "**/**/**/**/**/x");
  expect([ran.exit, ran.out.split("\t")[0]]).toEqual([0, "create"]);
  await writeFile(join(target, ".kbignore"), `${"**/a/".repeat(20)}b\n`);
  expect(await sandboxed("sync", base, target, "--dry-run")).toMatchObject({
    exit: 2,
    err: expect.stringContaining("too many **") as string,
  });
});

test("a file is written to the given path, whatever its name on the server", async () => {
  const baseUrl = await hostile([], bytes("content"));
  const place = join(around, "target.bin");
  const ran = await cli(["wf", "file", "preview", kb, "--output-file", place], {
    env: { KB_BASE_URL: baseUrl, KB_APP_KEY: "app-x" },
    folder: around,
  });
  expect(ran.exit).toBe(0);
  expect(await filesIn(around)).toEqual(["other/precious.md", "target.bin"]);
});
