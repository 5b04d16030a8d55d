import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
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

test("a server that does not answer has lost nothing", async () => {
  server.sandbox.setFaults([
    parseFault("POST *download-zip reset"),
    parseFault("GET *documents/* reset"),
  ]);
  const ran = await kb("export", "Middle", join(home, "down"), "--retries", "0");
  expect(ran.exit).toBe(11);
  expect(ran.out).not.toContain("no content");
});
