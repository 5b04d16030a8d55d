import { chmod, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { keptSnapshots, parsePolicy } from "../../../src/commands/kb/backup/prune.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import { formsOfChunks, handEditedBase } from "../../lib/as-is-bases.ts";
import { fullAfter } from "../../lib/full-disk.ts";
import { rareTest, sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { manualClock } from "../../lib/manual-clock.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
beforeEach(() => server.sandbox.setFaults([]));

const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home });
const done = async (...argv: string[]) =>
  (await server.done(["kb", ...argv], { folder: home })).out.trim();

const [, vectors] = formsOfChunks;
await handEditedBase(server, "Source", vectors);
const id = (await done("show", "Source", "--jq", ".id")).trim();

interface Row {
  readonly snapshot: string;
  readonly added: number;
  readonly downloaded: number;
}
const backup = async (directory: string, ...more: string[]) =>
  (JSON.parse(await done("backup", directory, "Source", "-o", "json", ...more)) as Row[])[0] as Row;

/** All files of a directory with their bytes, as one hash each. */
async function filesOf(directory: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(
      path,
      createHash("sha256")
        .update(await readFile(path))
        .digest("hex"),
    );
  }
  return found;
}
const sizeOf = async (directory: string) =>
  (
    await Promise.all(
      [...(await filesOf(directory)).keys()].map(async (path) => (await readFile(path)).length),
    )
  ).reduce((sum, size) => sum + size, 0);

test("a second snapshot of an unchanged base sends reads only and adds less than 1 %", async () => {
  await done("create", "Large", "--indexing-technique", "economy");
  for (let at = 0; at < 3; at++)
    await done("doc", "add", "Large", `${at}.md`, "--text", `Text ${at}. `.repeat(2400));
  await done("doc", "wait", "Large");
  const directory = join(home, "twice");
  await done("backup", directory, "Large");
  const before = await sizeOf(directory);
  const from = server.seen.length;
  await done("backup", directory, "Large");
  const methods = new Set(server.seen.slice(from).map(({ method }) => method));
  expect([...methods]).toEqual(["GET"]);
  const grown = (await sizeOf(directory)) - before;
  expect(grown).toBeGreaterThan(0);
  expect(grown / before).toBeLessThan(0.01);
  // A list of documents, and for each the list of its chunks.
  const perDocument = server.seen.slice(from).filter(({ path }) => path.includes("/documents/"));
  expect(perDocument.map(({ path }) => path.replace(/\?.*/, "").split("/").at(-1))).toEqual(
    Array(3).fill("segments"),
  );
});

test("a chunking rule that an earlier snapshot has is that of its ID", async () => {
  const rule = (separator: string) =>
    JSON.stringify({
      mode: "custom",
      rules: { pre_processing_rules: [], segmentation: { separator, max_tokens: 100 } },
    });
  await done("create", "Ruled", "--indexing-technique", "economy");
  for (const [name, separator] of [
    ["a.md", "#"],
    ["b.md", "="],
  ] as const)
    await done("doc", "add", "Ruled", name, "--text", "x", "--process-rule", rule(separator));
  await done("doc", "wait", "Ruled");
  const directory = join(home, "ruled");
  await done("backup", directory, "Ruled");
  await done("doc", "update", "Ruled", "a.md", "--text", "y", "--process-rule", rule("+"));
  await done("doc", "wait", "Ruled");
  await done("backup", directory, "Ruled");
  await done("backup", "restore", directory, "Ruled", "--name", "Ruled again", "-y");
  const path = ".document_process_rule.rules.segmentation.separator";
  const separatorOf = (name: string) => done("doc", "show", "Ruled again", name, "--jq", path);
  expect([await separatorOf("a.md"), await separatorOf("b.md")]).toEqual(["+", "="]);
});

test("only what changed is downloaded, and each state comes back with its chunks", async () => {
  const directory = join(home, "states");
  const first = await backup(directory);
  expect(first.downloaded).toBe(3);
  await done("copy", "Source", "--name", "As it was", "--as-is", "-y");
  const [chunk] = JSON.parse(await done("chunk", "list", "Source", "edited.md", "-o", "json")) as [
    { id: string; content: string },
  ];
  const change = ["chunk", "update", "Source", "edited.md", chunk.id, "--content"];
  await done(...change, "Changed by hand");
  const second = await backup(directory);
  expect(second.downloaded).toBe(0);
  const diff = await done("backup", "diff", directory, first.snapshot, second.snapshot);
  expect(diff).toMatch(/^chunk\tedited\.md: chunk 1.*\tdiffers/);
  await done(
    "backup",
    "restore",
    directory,
    "Source",
    "--snapshot",
    first.snapshot,
    "--name",
    "Old",
    "-y",
  );
  await done("verify", "name:Old", "name:As it was", "--chunks");
  await done("backup", "restore", directory, id, "--name", "New", "-y");
  await done("verify", "name:New", "Source", "--chunks");
  await done(...change, chunk.content);
});

rareTest("a time selects the newest snapshot up to it", async () => {
  const directory = join(home, "times");
  const at = (text: string) => ({ folder: home, now: () => new Date(text) });
  for (const day of ["2026-05-01", "2026-05-03"])
    await server.done(["kb", "backup", directory, "Source"], at(`${day}T10:00:00Z`));
  const list = JSON.parse(await done("backup", "list", directory, "-o", "json")) as Row[];
  const restore = async (time: string) => {
    const line = ["kb", "backup", "restore", directory, "Source", "--name", `At ${time}`, "--at"];
    return server.cli([...line, time, "-y"], at("2026-05-04T00:00:00Z"));
  };
  expect((await restore("2026-05-01")).err).toContain('no snapshot of "Source" is that old');
  expect((await restore("2026-05-02")).err).toContain("as of 2026-05-01T10:00:00.000Z");
  expect((await restore("10m")).err).toContain("as of 2026-05-03T10:00:00.000Z");
  expect(list.map(({ snapshot }) => snapshot)).toHaveLength(2);
});

describe("keep", () => {
  const day = (date: string) => ({ taken_at: `2026-${date}:00Z` });
  // A Monday, two times of the Sunday before, and earlier days; the last is a Sunday.
  const all = [
    "04-26T10:00",
    "05-01T10:00",
    "05-02T23:30",
    "05-03T09:00",
    "05-03T21:00",
    "05-04T08:00",
  ].map(day);
  test.each([
    [["last=2"], "UTC", { "05-03T21:00": "last", "05-04T08:00": "last" }],
    [["daily=2"], "UTC", { "05-03T21:00": "daily", "05-04T08:00": "daily" }],
    [
      ["daily=3"],
      "Europe/Berlin",
      { "05-01T10:00": "daily", "05-03T21:00": "daily", "05-04T08:00": "daily" },
    ],
    [
      ["weekly=3"],
      "UTC",
      { "04-26T10:00": "weekly", "05-03T21:00": "weekly", "05-04T08:00": "weekly" },
    ],
    [["monthly=2,last=1"], "UTC", { "04-26T10:00": "monthly", "05-04T08:00": "monthly, last" }],
    [["yearly=0"], "UTC", { "05-04T08:00": "newest" }],
    [
      ["hourly=9"],
      "UTC",
      Object.fromEntries(all.map(({ taken_at }) => [taken_at.slice(5, 16), "hourly"])),
    ],
  ])("%s in %s", (texts, zone, expected) => {
    const kept = keptSnapshots(all, parsePolicy(texts), zone);
    const found = [...kept].map(([{ taken_at }, why]) => [taken_at.slice(5, 16), why] as const);
    expect(Object.fromEntries(found.toSorted())).toEqual(expected);
  });

  test.each(["daily", "daily=x", "often=3", ""])("%s is not a policy", async (text) => {
    const ran = await kb("backup", "prune", home, "--keep", text);
    expect(ran).toMatchObject({ exit: 2, out: "" });
    expect(ran.err).toContain("invalid --keep");
  });
});

test("prune removes old snapshots and exactly the files that no other needs", async () => {
  const directory = join(home, "pruned");
  await backup(directory);
  const alone = await filesOf(directory);
  await done("doc", "add", "Source", "later.md", "--text", "Added later");
  await done("doc", "wait", "Source");
  const last = await backup(directory);
  await done("doc", "delete", "Source", "later.md", "-y");
  const line = ["backup", "prune", directory, "--keep", "last=1"];
  expect((await kb(...line)).exit).toBe(2); // without a terminal, only with --yes
  const dry = await done(...line, "-n");
  expect(dry.split("\n").map((row) => row.split("\t")[0])).toEqual(["removed", "kept"]);
  const before = await filesOf(directory);
  await done(...line, "-y");
  const after = await filesOf(directory);
  expect([...after].every(([path, hash]) => before.get(path) === hash)).toBe(true);
  const gone = [...before.keys()].filter((path) => !after.has(path));
  // Its snapshot and its manifest: documents and chunks are still needed.
  expect(gone).toHaveLength(2);
  expect(gone.every((path) => alone.has(path))).toBe(true);
  await done("backup", "restore", directory, "Source", "--name", "Pruned", "-y");
  expect(await done("backup", "list", directory, "-o", "name")).toBe(last.snapshot);
});

test("the list says which snapshots lack something", async () => {
  const directory = join(home, "listed");
  await backup(directory);
  server.sandbox.setFaults([parseFault("GET /datasets/*/documents/*/segments status=400")]);
  await done("doc", "add", "Source", "unlisted.md", "--text", "Its chunks are not listed");
  await done("doc", "wait", "Source");
  expect((await kb("backup", directory, "Source")).exit).toBe(10);
  server.sandbox.setFaults([]);
  await done("doc", "delete", "Source", "unlisted.md", "-y");
  expect(await done("backup", "list", directory, "--columns", "status")).toBe("partial\ncomplete");
});

test("two servers that were made from one database each have their own history", async () => {
  const directory = join(home, "servers");
  const twin = await alteringProxy(server.sandbox.origin, () => {});
  const of = async (...argv: string[]) =>
    (await server.done(["kb", ...argv, "--base-url", twin], { folder: home })).out;
  const own = (await backup(directory)).snapshot;
  await of("backup", directory, "Source");
  const third = await alteringProxy(server.sandbox.origin, () => {});
  const kept = await done("backup", "prune", directory, "--keep", "last=1", "-y");
  expect(kept.split("\n").filter((row) => row.startsWith("kept"))).toHaveLength(2);
  const restore = ["backup", "restore", directory, "Source", "--name", "Twin", "-n"];
  expect((await kb(...restore)).exit).toBe(0);
  const other = await server.cli(["kb", ...restore, "--base-url", third], { folder: home });
  expect(other.exit).toBe(5);
  expect(other.err).toContain("2 servers have the knowledge base");
  const chosen = ["kb", ...restore, "--snapshot", own, "--base-url", third];
  expect((await server.cli(chosen, { folder: home })).exit).toBe(0);
});

rareTest("prune removes nothing while it cannot tell what a snapshot needs", async () => {
  const directory = join(home, "unread");
  await backup(directory);
  await done("doc", "add", "Source", "later.md", "--text", "Only later");
  await done("doc", "wait", "Source");
  await backup(directory);
  await done("doc", "delete", "Source", "later.md", "-y");
  await backup(directory);
  const folder = join(directory, "snapshots", id);
  await rename(folder, join(home, "aside"));
  expect((await kb("backup", "prune", directory, "--keep", "last=1", "-y")).exit).toBe(3);
  await rename(join(home, "aside"), folder);
  const [, middle = ""] = (await readdir(folder)).toSorted();
  await writeFile(join(folder, middle), "{");
  const before = await filesOf(directory);
  const ran = await kb("backup", "prune", directory, "--keep", "last=1", "-y");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("so nothing was removed");
  expect(await filesOf(directory)).toEqual(before);
});

test("a document that is being indexed has no chunks yet, which is said", async () => {
  const clock = manualClock(new Date().toISOString());
  const still = await testSandbox({ clock });
  const folder = join(home, "still");
  await still.done(["kb", "create", "Base", "--indexing-technique", "economy"], { folder });
  await still.done(["kb", "doc", "add", "Base", "slow.md", "--text", "Slow"], { folder });
  const ran = await still.cli(["kb", "backup", join(folder, "b"), "Base"], { folder });
  expect([ran.exit, ran.out, ran.err]).toEqual([
    10,
    expect.stringContaining("without chunks: 1 document, being indexed"),
    expect.stringContaining("without the chunks of slow.md: being indexed"),
  ]);
  const list = await still.done(["kb", "backup", "list", join(folder, "b"), "-o", "json"], {
    folder,
  });
  expect(list.out).toContain("without chunks: 1 document, being indexed");
});

test("no backup is made in a directory with other files", async () => {
  const ran = await kb("backup", home, "Source");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("kb backup makes one in a new or empty directory");
});

test("a damaged file is stored again by the next backup, and never restored", async () => {
  const directory = join(home, "damaged");
  await backup(directory);
  const [object = ""] = [...(await filesOf(directory)).keys()].filter((path) =>
    path.includes("objects"),
  );
  const original = await readFile(object);
  await writeFile(object, "x".repeat(original.length));
  const from = server.seen.filter(({ method }) => method !== "GET").length;
  const restored = await kb("backup", "restore", directory, "Source", "--name", "No", "-y");
  expect(restored.exit).toBe(2);
  expect(server.seen.filter(({ method }) => method !== "GET")).toHaveLength(from);
  const all = await filesOf(directory);
  await backup(directory);
  expect(await readFile(object)).toEqual(original);
  expect((await filesOf(directory)).size).toBe(all.size + 1);
});

describe("a directory that others have written", () => {
  const secret = join(home, "secret.txt");
  /** A backup whose manifest is replaced, with hashes that are right. */
  async function forged(name: string, change: (document: Record<string, unknown>) => void) {
    const directory = join(home, name);
    await backup(directory);
    const folder = join(directory, "snapshots", id);
    const [file = ""] = await readdir(folder);
    const { sum: _, ...snapshot } = JSON.parse(await readFile(join(folder, file), "utf8")) as {
      sum: string;
      manifest: string;
    };
    const path = (hash: string) => join(directory, "objects", hash.slice(0, 2), hash);
    const manifest = JSON.parse(await readFile(path(snapshot.manifest), "utf8")) as {
      state: { documents: Record<string, unknown>[] };
    };
    change(manifest.state.documents[0] ?? {});
    const text = JSON.stringify(manifest);
    const hash = createHash("sha256").update(text).digest("hex");
    await mkdir(join(directory, "objects", hash.slice(0, 2)), { recursive: true });
    await writeFile(path(hash), text);
    const other = { ...snapshot, manifest: hash };
    const sum = createHash("sha256").update(JSON.stringify(other)).digest("hex");
    await writeFile(join(folder, file), JSON.stringify({ ...other, sum }));
    return directory;
  }

  const forgeries: readonly [string, (document: Record<string, unknown>) => void][] = [
    ["a path outside", (document) => (document["file"] = "../../secret.txt")],
    ["an absolute path", (document) => (document["file"] = secret)],
    ["a file that is no object", (document) => (document["file"] = "kb-backup.json")],
    [
      "chunks outside",
      (document) => (document["chunks"] = { file: "../x", sha256: "0".repeat(64) }),
    ],
    [
      "chunks without a hash",
      (document) => (document["chunks"] = { file: "objects/00/0", sha256: null }),
    ],
    ["no name", (document) => delete document["name"]],
  ];
  test.each(sampled(2, forgeries))(
    "with %s is rejected before anything is sent",
    async (what, change) => {
      await writeFile(secret, "TOP SECRET");
      const directory = await forged(`forged ${what}`, change);
      const from = server.seen.length;
      for (const line of [
        ["restore", directory, "Source", "-y"],
        ["drill", directory, "Source", "-y"],
      ]) {
        const ran = await kb("backup", ...line);
        expect(ran.exit, ran.err).toBe(2);
        expect(ran.err).toContain("invalid manifest");
      }
      expect(server.seen.slice(from).filter(({ method }) => method !== "GET")).toEqual([]);
    },
  );

  test("a link that leads out is not followed, neither for reading nor for writing", async () => {
    const [directory, outside] = [join(home, "linked"), join(home, "outside")];
    await backup(directory);
    await mkdir(outside);
    await rm(join(directory, "objects"), { recursive: true });
    await symlink(outside, join(directory, "objects"));
    for (const line of [
      ["restore", directory, "Source", "--name", "Linked"],
      [directory, "Source"],
    ]) {
      const ran = await kb("backup", ...line);
      expect(ran.exit, ran.err).not.toBe(0);
      expect(ran.err).toContain("is a link that leads out of");
    }
    expect(await readdir(outside)).toEqual([]);
  });

  test("a prune removes nothing where a link leads", async () => {
    const [directory, outside] = [join(home, "linked prune"), join(home, "outside prune")];
    await backup(directory);
    await backup(directory);
    await rename(join(directory, "snapshots"), outside);
    await symlink(outside, join(directory, "snapshots"));
    const ran = await kb("backup", "prune", directory, "--keep", "last=1", "-y");
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("is a link that leads out of");
    expect(await readdir(join(outside, id))).toHaveLength(2);
  });

  test("a restore says whose hands could have written it", async () => {
    const directory = join(home, "shared");
    await backup(directory);
    await chmod(directory, 0o777);
    const { err } = await kb("backup", "restore", directory, "Source", "--name", "Shared", "-y");
    expect(err).toContain("hashes show damage, but not who wrote a backup");
  });
});

test("of two backups at once, one works and the other says who is at work", async () => {
  const directory = join(home, "at once");
  const ran = await Promise.all([1, 2].map(() => kb("backup", directory, "Source")));
  expect(ran.map(({ exit }) => exit).toSorted()).toEqual([0, 1]);
  expect(ran.find(({ exit }) => exit === 1)?.err).toContain("another command is writing to");
});

rareTest(
  "a full disk leaves the earlier snapshots whole, and the same command continues",
  async () => {
    const directory = join(home, "full");
    await backup(directory);
    const before = await filesOf(directory);
    await done("doc", "add", "Source", "full.md", "--text", "Too much");
    await done("doc", "wait", "Source");
    for (let left = 0; ; left++) {
      const ran = await server.cli(["kb", "backup", directory, "Source"], {
        folder: home,
        files: fullAfter(left),
      });
      const now = await filesOf(directory);
      for (const [path, hash] of before) expect(now.get(path), path).toBe(hash);
      if (ran.exit === 0) break;
      expect(ran.err).toContain("disk full");
      expect((await done("backup", "list", directory, "-o", "name")).split("\n")).toHaveLength(1);
      expect(left).toBeLessThan(20);
    }
    await done("doc", "delete", "Source", "full.md", "-y");
  },
);

test("a knowledge base that the key does not open does not keep the others from being stored", async () => {
  await done("create", "Closed", "--indexing-technique", "economy");
  const closed = (await done("show", "Closed", "--jq", ".id")).trim();
  server.sandbox.setFaults([parseFault(`GET /datasets/${closed} status=403`)]);
  const ran = await kb("backup", join(home, "some"), closed, "Source");
  expect(ran.exit).toBe(10);
  expect(ran.out.split("\n").map((row) => row.split("\t")[0])).toEqual(["failed", "stored", ""]);
  expect(ran.err).toContain("failed to back up 1 of 2");
});

describe("drill", () => {
  const names = async () => (await done("list", "--all", "--jq", ".[].name")).split("\n");

  test("an undamaged backup has no differences and leaves nothing behind", async () => {
    const directory = join(home, "drilled");
    await backup(directory);
    const questions = join(home, "questions.jsonl");
    await writeFile(questions, '{"question":"subject4","documents":["edited.md"]}\n');
    const before = await names();
    const ran = await kb("backup", "drill", directory, "Source", "--questions", questions, "-y");
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out).toBe("");
    expect(ran.err).toMatch(
      /restored 3 documents .*asked 1 question, and removed them again: no differences/,
    );
    expect(await names()).toEqual(before);
  });

  rareTest("a question that finds other chunks is a difference", async () => {
    const directory = join(home, "drifted");
    await backup(directory);
    await done("doc", "add", "Source", "drift.md", "--text", "Everything about subject4");
    await done("doc", "wait", "Source");
    const questions = join(home, "questions.jsonl");
    await writeFile(
      questions,
      '{"question":"Everything about subject4","documents":["drift.md"]}\n',
    );
    const ran = await kb("backup", "drill", directory, "Source", "--questions", questions, "-y");
    await done("doc", "delete", "Source", "drift.md", "-y");
    expect(ran.exit, ran.err).toBe(14);
    expect(ran.out).toMatch(/^question\tEverything about subject4\tfinds other chunks/);
  });

  rareTest("removes what a killed one has left, and nothing that others have changed", async () => {
    const directory = join(home, "left");
    await backup(directory);
    for (const changed of [false, true]) {
      const stop = new AbortController();
      const folder = join(home, `left ${changed}`);
      const waiting = server.cli(["kb", "backup", "drill", directory, "Source", "-y"], {
        folder,
        signal: stop.signal,
        around: (host) => ({
          ...host,
          files: {
            ...host.files,
            // The import has created the knowledge base then.
            writeAtomic: async (path, ...rest) => {
              await host.files.writeAtomic(path, ...rest);
              if (/imports/.test(path) && String(rest[0]).includes("dataset_id"))
                stop.abort("SIGINT");
            },
          },
        }),
      });
      expect((await waiting).exit).toBe(130);
      const [left = ""] = (await names()).filter((name) => name.startsWith("kb drill "));
      expect(left).not.toBe("");
      if (changed) await done("update", `name:${left}`, "--description", "Mine");
      const next = ["kb", "backup", "drill", directory, "Source", "-y"];
      const { err } = await server.done(next, { folder });
      expect((await names()).includes(left)).toBe(changed);
      expect(err).toContain(changed ? `kept ${left}` : `removed ${left}`);
    }
  });
});
