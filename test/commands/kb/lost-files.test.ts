import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { unzipSync, zipSync } from "fflate";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { bytesOf } from "../../../src/lib/collect.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { listening } from "../../lib/listening.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400 });
const home = await temporaryDirectory();
const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });
const lose = async (what: object) => {
  const body = JSON.stringify(what);
  const { ok } = await fetch(`${server.sandbox.origin}/_sandbox/lose`, { method: "POST", body });
  expect(ok).toBe(true);
};

const names = ["a.md", "b.md", "c.md", "d.md"];
/** A knowledge base with these documents, of which the server has lost the files of some. */
async function baseWithout(name: string, lost: readonly string[]) {
  await done("create", name, "--indexing-technique", "economy");
  for (const each of names) await done("doc", "add", name, each, "--text", `Text of ${each}`);
  await done("doc", "wait", name);
  for (const each of lost)
    await lose({ file: (await done("doc", "show", name, each, "--jq", ".id")).out.trim() });
}
const downloads = (since: number) =>
  server.seen.slice(since).filter(({ path }) => path.endsWith("/download-zip")).length;

const positions = [
  ["First", ["d.md"]],
  ["Middle", ["b.md"]],
  ["Last", ["a.md"]],
  ["Two", ["a.md", "c.md"]],
  ["All", names],
] as const;
beforeAll(async () => {
  for (const [name, lost] of positions) await baseWithout(name, lost);
});
beforeEach(() => server.sandbox.setFaults([]));

interface Bundle {
  readonly state: {
    readonly documents: readonly {
      readonly name: string;
      readonly file: string | null;
      readonly chunks: { readonly file: string };
    }[];
  };
}

test.each(positions)("%s: an export stores the rest, and the chunks of all", async (name, lost) => {
  const directory = join(home, name);
  const ran = await kb("export", name, directory);
  expect(ran.exit, ran.err).toBe(10);
  for (const each of lost) expect(ran.out).toContain(`no content\t${each}\t`);
  const manifest = await readFile(join(directory, "manifest.json"), "utf8");
  const { documents } = (JSON.parse(manifest) as Bundle).state;
  const without = documents.filter(({ file }) => file === null);
  expect(without.map((each) => each.name).sort()).toEqual([...lost].sort());
  for (const { name: document, file, chunks } of documents) {
    expect(await readFile(join(directory, chunks.file), "utf8")).toContain(`Text of ${document}`);
    if (file !== null)
      expect(await readFile(join(directory, file), "utf8")).toBe(`Text of ${document}`);
  }
});

test.each(positions)("%s: a backup is partial, and a check finds the file", async (name, lost) => {
  const backup = await kb("backup", join(home, `${name} backup`), name);
  expect(backup.exit, backup.err).toBe(10);
  expect(backup.err).toContain("the server has lost the files of ");
  const listed = await done("backup", "list", join(home, `${name} backup`), "-o", "json");
  expect(listed.out).toContain("without lost files: ");
  const check = await kb("check", name, "--fail-if", "lost_files>0");
  expect(check.exit).toBe(14);
  const rows = check.out
    .trim()
    .split("\n")
    .map((row) => row.split("\t"));
  const found = rows.filter(([problem]) => problem === "lost file").map((row) => row[2]);
  expect(found.toSorted()).toEqual([...lost].sort());
  expect(rows.find(([problem]) => problem === "lost file")?.[4]).toContain(
    `kb doc replace ${name}`,
  );
});

test("a lost file costs one wait for its ZIP, and one for itself", async () => {
  const since = server.seen.length;
  await kb("check", "Middle", "--no-chunks", "--retries", "0");
  expect(downloads(since)).toBe(1 + names.length);
});

test("a transfer that breaks once loses nothing", async () => {
  server.sandbox.setFaults([parseFault("POST *download-zip reset times=1")]);
  const ran = await kb("cat", "Middle", "a.md", "--retries", "0");
  expect(ran).toMatchObject({ exit: 0, out: "Text of a.md", err: "" });
});

/** Faults of transfers, and the exit code of a command that reads one document or all: 11 is the network. */
const broken = [
  ["cut-bytes=10 times=2", 0],
  ["cut-bytes=10", 11],
  ["status=503 times=1", 0],
] as const;
test.each(broken)("transfers that break (%s) have lost no file", async (fault, exit) => {
  const directory = join(home, `broken ${fault}`);
  server.sandbox.setFaults([parseFault(`POST *download-zip ${fault}`)]);
  const one = await kb("cat", "First", "a.md", "--retries", "0");
  expect([one.exit, one.out]).toEqual([exit, exit === 0 ? "Text of a.md" : ""]);
  server.sandbox.setFaults([parseFault(`POST *download-zip ${fault}`)]);
  const all = await kb("doc", "download", "First", "a.md", "b.md", "--dir", directory);
  expect([all.exit, all.err.includes("has no file")]).toEqual([exit, false]);
});

test("an undo makes no document again while the content of one of its name does not arrive", async () => {
  await baseWithout("Undone", []);
  await done("doc", "delete", "Undone", "a.md", "--yes", "--backup-dir", join(home, "undone"));
  await done("doc", "add", "Undone", "a.md", "--text", "Another text");
  await done("doc", "wait", "Undone");
  server.sandbox.setFaults([parseFault("POST *download-zip reset")]);
  const ran = await kb("undo", "--yes", "--retries", "0");
  expect(ran.err).toContain("the content of document a.md does not arrive");
  expect(ran.exit).toBe(11);
  server.sandbox.setFaults([]);
  const records = await done("undo", "--list");
  expect(records.out).toMatch(/^[0-9a-f]{8}\tkb doc delete Undone a\.md/);
  const listed = await done("doc", "list", "Undone", "--jq", ".[].name");
  expect(listed.out.trim().split("\n").toSorted()).toEqual(names);
});

test("a server that does not answer has lost nothing", async () => {
  server.sandbox.setFaults([
    parseFault("POST *download-zip reset"),
    parseFault("GET *documents/* reset"),
  ]);
  const ran = await kb("export", "Middle", join(home, "down"), "--retries", "0");
  expect(ran.exit).toBe(11);
  expect(ran.out).not.toContain("no content");
  // Only the chunks whose keywords are searched for arrive, so the download has to ask again.
  server.sandbox.setFaults([
    parseFault("POST *download-zip reset"),
    parseFault("GET *documents/* reset skip=1"),
  ]);
  const check = await kb("check", "Middle", "--no-chunks", "--retries", "0");
  expect(check.exit, check.out).toBe(11);
  expect(check.err).toContain("failed to get document");
});

test.each(positions)("%s: a download writes the rest, and names the lost", async (name, lost) => {
  const directory = join(home, `${name} files`);
  const ran = await kb("doc", "download", name, ...names, "--dir", directory, "--retries", "0");
  expect(ran.exit, ran.err).toBe(10);
  const rest = names.filter((each) => !lost.some((one) => one === each));
  const written = await readdir(directory).catch(() => []);
  expect(written.toSorted()).toEqual(rest);
  for (const each of rest)
    expect(await readFile(join(directory, each), "utf8")).toBe(`Text of ${each}`);
  expect(ran.err).toContain(`not downloaded: ${lost.join(", ")}`);
});

test.each([500, 502, 504])("a ZIP that is %d is replaced by single downloads", async (status) => {
  server.sandbox.setFaults([parseFault(`POST *download-zip status=${status} times=1`)]);
  const directory = join(home, `zip ${status}`);
  const line = ["doc", "download", "Middle", "a.md", "c.md", "--dir", directory];
  const ran = await kb(...line, "--retries", "0");
  expect(ran.exit, ran.err).toBe(0);
  expect(await readFile(join(directory, "c.md"), "utf8")).toBe("Text of c.md");
});

/** A server that has no record of the file of a document, whose entry its ZIPs lack. */
async function withoutEntry(lacking: string): Promise<string> {
  const proxy = createServer((request, response) => {
    const answer = async () => {
      const body = await bytesOf(request as AsyncIterable<Uint8Array>);
      const { method = "GET", url = "", headers } = request;
      const { authorization = "" } = headers;
      const sent = await fetch(`${server.sandbox.origin}${url}`, {
        method,
        headers: { authorization, "content-type": "application/json" },
        ...(body.length > 0 && { body }),
      });
      let bytes = new Uint8Array(await sent.arrayBuffer());
      if (url.endsWith("/download-zip")) {
        const { [lacking]: _, ...rest } = unzipSync(bytes);
        bytes = Uint8Array.from(zipSync(rest));
      }
      const type = sent.headers.get("content-type") ?? "application/json";
      response.writeHead(sent.status, { "content-type": type }).end(bytes);
    };
    void answer();
  });
  return listening(proxy);
}

test.each(["a.md", "c.md"])("a ZIP without %s gives none the content of another", async (each) => {
  await baseWithout(`No ${each}`, []);
  const directory = join(home, `no ${each}`);
  const url = await withoutEntry(each);
  const ran = await kb(
    "doc",
    "download",
    `No ${each}`,
    ...names,
    "--dir",
    directory,
    "--base-url",
    url,
  );
  expect(ran.exit, ran.err).toBe(10);
  expect(ran.err).toContain(`not downloaded: ${each}`);
  for (const other of names.filter((name) => name !== each))
    expect(await readFile(join(directory, other), "utf8")).toBe(`Text of ${other}`);
});
