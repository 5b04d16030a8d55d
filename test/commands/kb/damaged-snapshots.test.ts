// What a backup does not know for certain it says: no command takes, removes or forgets another state in silence.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { keptSnapshots, parsePolicy } from "../../../src/commands/kb/backup/prune.ts";
import { diskFiles, filesOf } from "../../../src/host/node-files.ts";
import { rareTest, sampled } from "../../lib/sampled.ts";
import { manualClock } from "../../lib/manual-clock.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400 });
const home = await temporaryDirectory();
const at = (time: string) => ({ folder: home, now: () => new Date(time) });
const today = "2026-05-03T12:00:00Z";
const kb = (...argv: string[]) => server.cli(["kb", ...argv], at(today));
const done = async (...argv: string[]) =>
  (await server.done(["kb", ...argv], at(today))).out.trim();

await done("create", "Base", "--indexing-technique", "economy");
const id = await done("show", "Base", "--jq", ".id");
/** Adds a document, so that each snapshot has one more than the one before. */
async function grown(name: string): Promise<void> {
  await done("doc", "add", "Base", name, "--text", `Text of ${name}`);
  await done("doc", "wait", "Base");
}
const backupAt = async (directory: string, time: string, name = "Base"): Promise<string> =>
  (
    await server.done(["kb", "backup", directory, name, "--columns", "snapshot"], at(time))
  ).out.trim();

const twice = join(home, "twice");
await grown("a.md");
const first = await backupAt(twice, "2026-05-01T10:00:00Z");
await grown("b.md");
const second = await backupAt(twice, "2026-05-02T10:00:00Z");

let copies = 0;
/** A backup of two snapshots, and the file of the second. */
async function copied(): Promise<{ directory: string; newest: string }> {
  const directory = join(home, `copy-${++copies}`);
  await cp(twice, directory, { recursive: true });
  return { directory, newest: join(directory, "snapshots", id, `20260502T100000Z-${second}.json`) };
}
const hashesOf = async (directory: string) =>
  (await readdir(directory, { recursive: true }))
    .filter((path) => !path.endsWith(".lock"))
    .toSorted();
/** Runs the line that a hint has. */
const pasted = (err: string, ...more: string[]) =>
  kb(...(/`kb ([^`]+)`/.exec(err)?.[1] ?? "").split(" "), ...more);
const fifo = (path: string) => void execFileSync("sh", ["-c", 'mkfifo "$0"', path]);
const replaced = async (path: string, make: (path: string) => unknown) => {
  await rm(path, { recursive: true });
  await make(path);
};
const aside = async (path: string) => {
  const to = join(home, `aside-${basename(dirname(dirname(dirname(path))))}`);
  await rename(path, to);
  await symlink(to, path);
};

/** Damages of the newest snapshot, and what is said of it. */
const damages: readonly (readonly [
  what: string,
  why: string,
  damage: (path: string) => unknown,
])[] = [
  ["cut off", "not valid JSON", (path) => writeFile(path, '{"id":"')],
  ["empty", "not valid JSON", (path) => writeFile(path, "")],
  [
    "edited",
    "modified after the backup",
    async (path) =>
      writeFile(path, (await readFile(path, "utf8")).replace('"documents":2', '"documents":1')),
  ],
  ["a directory", "is a directory", (path) => replaced(path, (each) => mkdir(each))],
  ["a pipe", "not a regular file", (path) => replaced(path, fifo)],
  ["a link to a good one", "a link, which is not followed", aside],
  [
    "a dangling link",
    "a link, which is not followed",
    (path) => replaced(path, (each) => symlink("gone", each)),
  ],
  [
    "numbered by a browser",
    "not the name of a snapshot",
    (path) => rename(path, path.replace(".json", " (1).json")),
  ],
  [
    "a conflict of two machines",
    "not the name of a snapshot",
    (path) => rename(path, path.replace(".json", ".sync-conflict-20260502-110000-ABCDEFG.json")),
  ],
  ["still on its way", "not the name of a snapshot", (path) => rename(path, `${path}.partial`)],
  [
    "under another ID",
    "its name is that of another snapshot",
    (path) => rename(path, path.replace(second, "deadbeef")),
  ],
];
/** What stands beside two good snapshots. */
const beside: readonly (readonly [what: string, why: string, add: (path: string) => unknown])[] = [
  [
    "a second file of it",
    "not the name of a snapshot",
    (path) => cp(path, path.replace(".json", " (1).json")),
  ],
  [
    "a second file with the name of one",
    "its name is that of another snapshot",
    (path) => cp(path, path.replace(second, "deadbeef")),
  ],
  [
    "a copy of its folder",
    "not made by kb backup",
    (path) => cp(dirname(path), `${dirname(path)} (1)`, { recursive: true }),
  ],
  [
    "a linked folder",
    "a link, which is not followed",
    (path) => symlink(home, join(dirname(path), "../linked")),
  ],
  [
    "a file of others",
    "not made by kb backup",
    (path) => writeFile(join(dirname(path), "../a.txt"), ""),
  ],
];

test.each(
  sampled(12, [
    ...damages.map((row) => [...row, first] as const),
    ...beside.map((row) => [...row, second] as const),
  ]),
)(
  "restore, drill and prune stop at the newest snapshot or a file beside it: %s",
  async (_, why, damage, readable) => {
    const { directory, newest } = await copied();
    await damage(newest);
    const restore = ["backup", "restore", directory, "Base", "--name", `From${copies}`];
    for (const line of [
      [...restore, "-y"],
      ["backup", "drill", directory, "Base", "-y"],
    ]) {
      const ran = await kb(...line, "-q");
      expect(ran, line.join(" ")).toMatchObject({ exit: 2, out: "" });
      expect(ran.err).toContain(why);
      expect(ran.err).toContain(` --snapshot ${readable}`);
    }
    const taken = await pasted((await kb(...restore)).err, "--dry-run");
    expect(taken.exit, taken.err).toBe(0);
    expect(taken.out.match(/\tdocument\t/g)).toHaveLength(readable === first ? 1 : 2);
    const list = await kb("backup", "list", directory, "--kb", "Base", "-o", "json");
    expect(list.exit).toBe(10);
    const rows = JSON.parse(list.out) as { status: string; note: string }[];
    const [unread] = rows;
    expect(unread).toMatchObject({
      status: "unreadable",
      note: expect.stringContaining(why) as string,
    });
    const before = await hashesOf(directory);
    const pruned = await kb("backup", "prune", directory, "--keep", "last=9", "-y");
    expect(pruned).toMatchObject({ exit: 2, out: "" });
    expect(pruned.err).toContain(why);
    expect(await hashesOf(directory)).toEqual(before);
  },
);

test("a time takes the snapshot of its second", async () => {
  for (const [time, taken] of [
    ["2026-05-02T10:00:00Z", second],
    ["2026-05-02T09:59:59Z", first],
  ] as const) {
    const ran = await kb("backup", "restore", twice, "Base", "--name", "At", "--at", time, "-n");
    expect(ran.err).toContain(`taking snapshot ${taken} `);
  }
});

test("an older snapshot that cannot be read, or that of another base, does not stop a restore", async () => {
  const { directory, newest } = await copied();
  await writeFile(newest.replace("20260502T100000Z", "20260430T100000Z"), "{");
  await done("backup", "restore", directory, "Base", "--name", "Later", "--dry-run");
  const ran = await kb("backup", "restore", directory, "Base", "--at", "2026-04-30 12:00", "-n");
  expect(ran.exit, ran.err).toBe(2);
  const others = join(directory, "snapshots", id.replace(/^.{8}/, "00000000"));
  await mkdir(others);
  await writeFile(join(others, basename(newest)), "{");
  await done("backup", "restore", directory, id, "--name", "Later", "--dry-run");
  // Its name is not known, so it may have been this one.
  expect((await kb("backup", "restore", directory, "Base", "-n")).exit).toBe(2);
});

test.each<[string, (path: string) => Promise<void> | void, string]>([
  ["a link", (path) => symlink("gone", path), "a link that leads nowhere"],
  ["a file", (path) => writeFile(path, ""), "not a directory"],
  ["a pipe", fifo, "not a directory"],
])("the folder of all snapshots is %s", async (_, make, why) => {
  const { directory } = await copied();
  await replaced(join(directory, "snapshots"), make);
  for (const [exit, ...line] of [
    [2, directory, "Base"],
    [10, "list", directory],
    [2, "restore", directory, "Base", "-n"],
    [2, "prune", directory, "--keep", "last=1", "-y"],
  ] as const) {
    const ran = await kb("backup", ...line);
    expect(ran.exit, line.join(" ")).toBe(exit);
    expect(ran.out + ran.err).toContain(join(directory, "snapshots"));
    if (line[0] === "list") expect(ran.out).toContain(`snapshots: ${why}`);
  }
});

test("a knowledge base is found by an earlier name, with its newest snapshot", async () => {
  const { directory } = await copied();
  await done("update", "Base", "--name", "Renamed");
  const third = await backupAt(directory, "2026-05-03T09:00:00Z", "Renamed");
  const ran = await kb("backup", "restore", directory, "Base", "--name", "Earlier", "-n");
  await done("update", "Renamed", "--name", "Base");
  expect(ran.err).toContain(`taking snapshot ${third} `);
});

test("a backup does not wait for a pipe in the place of its journal", async () => {
  const { directory } = await copied();
  fifo(join(directory, "snapshots", `${id}.part.jsonl`));
  const ran = await kb("backup", directory, "Base");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(".part.jsonl is not a regular file");
});

test("an interrupt while a snapshot is read ends the command as one", async () => {
  const { directory, newest } = await copied();
  const stop = new AbortController();
  const { read } = diskFiles;
  const pressed = (path: string) => {
    if (path === newest) queueMicrotask(() => stop.abort("SIGINT"));
    return read(path);
  };
  const world = { ...at(today), signal: stop.signal, files: { read: pressed } };
  const ran = await server.cli(["kb", "backup", "list", directory], world);
  expect(ran.exit, ran.err).toBe(130);
  expect(ran.err).not.toContain("cannot be read");
});

test("a note that is a number is damage", async () => {
  const { directory, newest } = await copied();
  const { sum: _, ...snapshot } = JSON.parse(await readFile(newest, "utf8")) as { sum: string };
  const edited = { ...snapshot, note: 5 };
  const sum = createHash("sha256").update(JSON.stringify(edited)).digest("hex");
  await writeFile(newest, JSON.stringify({ ...edited, sum }));
  const ran = await kb("backup", "restore", directory, "Base", "-n");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain("fields are missing");
});

test("a new snapshot is taken beside one that cannot be read, and is the newest", async () => {
  const { directory, newest } = await copied();
  await writeFile(newest, "{");
  await backupAt(directory, "2026-05-03T09:00:00Z");
  const ran = await kb("backup", "restore", directory, "Base", "--name", "Newest", "--dry-run");
  expect(ran, ran.err).toMatchObject({ exit: 0 });
  expect(ran.err).toContain("of 2026-05-03T09:00:00.000Z with 2 documents");
});

describe("an object or the mark of the backup", () => {
  const pieces = {
    mark: "is a directory",
    manifest: "is a directory",
    content: "is missing",
  } as const;
  test.each(Object.entries(pieces))(
    "%s in the place of which something else is",
    async (what, why) => {
      const { directory, newest } = await copied();
      const object = (hash: string) => join(directory, "objects", hash.slice(0, 2), hash);
      const { manifest } = JSON.parse(await readFile(newest, "utf8")) as { manifest: string };
      const { state } = JSON.parse(await readFile(object(manifest), "utf8")) as {
        state: { documents: { sha256: string }[] };
      };
      const path = {
        mark: join(directory, "kb-backup.json"),
        manifest: object(manifest),
        content: object(state.documents[0]?.sha256 ?? ""),
      }[what as keyof typeof pieces];
      const kinds = [
        [(each: string) => mkdir(each), why],
        [fifo, what === "content" ? why : "is not a regular file"],
      ] as const;
      for (const [make, said] of kinds) {
        await replaced(path, make);
        for (const command of ["restore", "drill"]) {
          const ran = await kb("backup", command, directory, "Base", "-y");
          expect(ran, command).toMatchObject({ exit: 2, out: "" });
          expect(ran.err).toContain(said);
        }
      }
      if (what === "mark") return;
      // The next backup stores again what it can, and never waits.
      const stored = await kb("backup", directory, "Base");
      expect(stored.err).not.toContain("internal error");
    },
  );
});

describe("a clock that was ahead", () => {
  const ahead = "2099-01-01T00:00:00Z";
  test("does not decide what is newest", async () => {
    const { directory } = await copied();
    const future = await backupAt(directory, ahead);
    const restore = ["backup", "restore", directory, "Base", "--name", "Clock", "-n"];
    const stopped = await kb(...restore, "-q");
    expect(stopped.exit).toBe(2);
    expect(stopped.err).toContain(`${future} is of 2099-01-01T00:00:00.000Z, later than now`);
    expect((await pasted(stopped.err, "-n")).exit).toBe(0);
    const newest = await backupAt(directory, today);
    const list = await done("backup", "list", directory, "--columns", "snapshot,status");
    expect(list.split("\n")).toEqual([
      `${newest}\tcomplete`,
      `${future}\tlater than now`,
      `${second}\tcomplete`,
      `${first}\tcomplete`,
    ]);
    expect((await kb(...restore)).err).toContain(
      `taking snapshot ${newest} of ${new Date(today).toISOString()}`,
    );
    const pruned = await kb(
      "backup",
      "prune",
      directory,
      "--keep",
      "last=2",
      "-y",
      "--columns",
      "snapshot,action,note",
    );
    expect(pruned.exit).toBe(10);
    expect(pruned.err).toContain(`later than now: ${future}`);
    expect(pruned.out.trim().split("\n")).toEqual([
      `${first}\tremoved\t`,
      `${second}\tkept\tlast`,
      `${future}\tkept\tlater than now`,
      `${newest}\tkept\tlast`,
    ]);
  });

  test("nor which unreadable one may be that of a time", async () => {
    const { directory } = await copied();
    const future = await backupAt(directory, ahead);
    const newest = await backupAt(directory, today);
    const folder = join(directory, "snapshots", id);
    const files = await readdir(folder);
    const named = (snapshot: string) =>
      join(folder, files.find((name) => name.includes(snapshot)) ?? "");
    await writeFile(named(newest), "{");
    const restore = ["backup", "restore", directory, "Base", "--name", "Time", "-n", "-q"];
    for (const _ of ["the future one is readable", "it is gone"]) {
      const ran = await kb(...restore, "--at", today);
      expect(ran.exit).toBe(2);
      expect(ran.err).toContain(`${newest}.json: not valid JSON`);
      await rm(named(future), { force: true });
    }
  });

  test("nor one that was behind", async () => {
    const { directory } = await copied();
    const newest = await backupAt(directory, "2020-01-01T00:00:00Z");
    const ran = await kb("backup", "restore", directory, "Base", "--name", "Behind", "-n");
    expect(ran.err).toContain(`taking snapshot ${newest} of 2020-01-01`);
  });

  rareTest("nor which command was the last", async () => {
    const folder = join(home, "undo-clock");
    const change = (word: string, time: string) =>
      server.done(["kb", "doc", word, "Base", "a.md", "--backup-dir", join(folder, "b")], {
        ...at(time),
        folder,
      });
    await change("disable", ahead);
    await change("enable", today);
    const list = await server.done(["kb", "undo", "--list", "--columns", "command"], {
      ...at(today),
      folder,
    });
    expect(list.out).toBe("kb doc enable Base a.md\nkb doc disable Base a.md\n");
  });
});

describe("what is complete", () => {
  test("a restore takes the state before a command, and says so even with -q", async () => {
    const directory = join(home, "around");
    await grown("c.md");
    await done("doc", "delete", "Base", "c.md", "-y", "--backup-dir", directory);
    const ran = await kb("backup", "restore", directory, "Base", "--name", "Before", "-y", "-q");
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toMatch(
      /with 3 documents, not the newer [0-9a-f]{8}: taken after kb doc delete/,
    );
    expect(await done("doc", "list", "Before", "--columns", "name")).toContain("c.md");
    // At a time, the state after the command is the one.
    const later = await kb("backup", "restore", directory, "Base", "--at", "2026-05-04", "-n");
    expect(later.err).toContain("with 2 documents");
  });

  test("one that lacks the chunks of a document is taken by its ID only", async () => {
    const clock = manualClock(today);
    const still = await testSandbox({ clock });
    const [folder, directory] = [join(home, "still"), join(home, "still-backup")];
    const run = (...argv: string[]) => still.cli(["kb", ...argv], { ...at(today), folder });
    await run("create", "Base", "--indexing-technique", "economy");
    await run("backup", directory, "Base");
    await run("doc", "add", "Base", "slow.md", "--text", "Slow");
    const partial = (await run("backup", directory, "Base", "--columns", "snapshot")).out.trim();
    const restore = ["backup", "restore", directory, "Base", "--name", "Partial", "-n", "-q"];
    const ran = await run(...restore);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain(
      `with 0 documents, not the newer ${partial}: without chunks: 1 document`,
    );
    const [own = ""] = await readdir(join(directory, "snapshots"));
    const folderOf = join(directory, "snapshots", own);
    for (const name of await readdir(folderOf))
      if (!name.includes(partial)) await rm(join(folderOf, name));
    const none = await run(...restore);
    expect(none.exit).toBe(2);
    expect(none.err).toContain("is complete; the last one");
    expect(none.err).toContain(`--snapshot ${partial}`);
    const list = await run("backup", "list", directory, "--columns", "status");
    expect(list.out).toBe("partial\n");
  });

  test.each([
    ["partial", { partial: "only 1 of 2 documents" }],
    ["after a command", { note: "after kb doc delete" }],
  ])("prune keeps the newest complete one besides one %s", (_, more) => {
    const whole = { taken_at: "2026-05-01T10:00:00Z" };
    const other = { taken_at: "2026-05-02T10:00:00Z", ...more };
    const kept = keptSnapshots([whole, other], parsePolicy(["last=1"]), "UTC");
    expect([...kept]).toEqual([
      [other, "last"],
      [whole, "newest"],
    ]);
  });
});

test("a restore that was killed at its very end says that its knowledge base is made", async () => {
  await done("backup", "restore", twice, "Base", "--name", "Ended", "-y");
  const again = await kb("backup", "restore", twice, "Base", "--name", "Ended", "-y");
  expect(again.exit).toBe(5);
  expect(again.err).toContain("it has 2 documents, as after an earlier run");
  const lacks = await kb("backup", "restore", twice, "Base", "--into", "Ended", "--dry-run");
  expect(lacks).toMatchObject({ exit: 0, out: "" });
  await done("doc", "delete", "Ended", "a.md", "-y");
  const other = await kb("backup", "restore", twice, "Base", "--name", "Ended", "-y");
  expect(other.err).toContain("use --name for another name");
});

test("a manifest with another content than its hash says is not read", async () => {
  const { directory, newest } = await copied();
  const { manifest } = JSON.parse(await readFile(newest, "utf8")) as { manifest: string };
  const path = join(directory, "objects", manifest.slice(0, 2), manifest);
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace('"description":""', '"description":"Another"'));
  for (const command of ["restore", "drill"]) {
    const ran = await kb("backup", command, directory, "Base", "-y");
    expect(ran).toMatchObject({ exit: 2, out: "" });
    expect(ran.err).toContain(`${path} is damaged`);
  }
});

test("a drill creates no tags", async () => {
  const directory = join(home, "tagged");
  await done("tag", "create", "temporary");
  await done("tag", "bind", "Base", "temporary");
  await backupAt(directory, today);
  await done("tag", "delete", "temporary", "-y");
  const ran = await kb("backup", "drill", directory, "Base", "-y");
  expect(ran.exit, ran.err).toBe(0);
  expect(await done("tag", "list", "--columns", "name")).not.toContain("temporary");
});

test("a rule of the last ones counts each of the same time", () => {
  const taken_at = "2026-05-01T10:00:00.000Z";
  const [one, other] = [{ taken_at }, { taken_at, order: "2026-05-01T10:00:01.000Z" }];
  expect(keptSnapshots([one, other], parsePolicy(["last=2"]), "UTC").size).toBe(2);
});

describe("an undo", () => {
  const folder = join(home, "undo");
  const backups = join(folder, "b");
  const run = (...argv: string[]) => server.cli(["kb", ...argv], { ...at(today), folder });

  test("whose backup is damaged changes nothing", async () => {
    await run("doc", "delete", "Base", "a.md", "-y", "--backup-dir", backups);
    const [record = ""] = await readdir(join(folder, "state", "undo"));
    const { before } = JSON.parse(
      await readFile(join(folder, "state", "undo", record), "utf8"),
    ) as {
      before: string;
    };
    const snapshots = join(backups, "snapshots", id);
    const name = (await readdir(snapshots)).find((each) => each.includes(before)) ?? "";
    const path = join(snapshots, name);
    const good = await readFile(path);
    const from = server.seen.length;
    for (const [what, why, damage] of damages.slice(0, 7)) {
      await damage(path);
      const ran = await run("undo", "-y");
      expect(ran.exit, what).toBe(2);
      expect(ran.err).toContain(why);
      await rm(path, { recursive: true });
      await writeFile(path, good);
    }
    const { manifest } = JSON.parse(good.toString()) as { manifest: string };
    const object = (hash: string) => join(backups, "objects", hash.slice(0, 2), hash);
    const { state } = JSON.parse(await readFile(object(manifest), "utf8")) as {
      state: { documents: { name: string; sha256: string; chunks: { sha256: string } }[] };
    };
    const gone = state.documents.find((each) => each.name === "a.md");
    for (const hash of [gone?.sha256 ?? "", gone?.chunks.sha256 ?? ""]) {
      const bytes = await readFile(object(hash));
      await writeFile(object(hash), bytes.toString().replace("Text", "Tent"));
      const ran = await run("undo", "-y");
      expect(ran.exit, ran.out + ran.err).toBe(2);
      expect(ran.err).toContain("do not match");
      await writeFile(object(hash), bytes);
    }
    expect(server.seen.slice(from).filter(({ method }) => method !== "GET")).toEqual([]);
    expect((await run("undo", "-y")).exit).toBe(0);
  });

  rareTest(
    "takes back no older command in the place of one whose record is unreadable",
    async () => {
      const records = join(folder, "state", "undo");
      for (const [document, time] of [
        ["a.md", "2026-05-03T11:00:00Z"],
        ["b.md", "2026-05-03T11:30:00Z"],
      ] as const) {
        const line = ["kb", "doc", "disable", "Base", document, "--backup-dir", backups];
        await server.done(line, { folder, now: () => new Date(time) });
      }
      const paths = (await readdir(records)).map((name) => join(records, name));
      const texts = await Promise.all(paths.map((each) => readFile(each, "utf8")));
      const path = paths[texts.findIndex((text) => text.includes("disable Base b.md"))] ?? "";
      const good = await readFile(path);
      const rows: readonly (readonly [what: string, damage: () => unknown])[] = [
        ["empty", () => writeFile(path, "")],
        ["of another shape", () => writeFile(path, "[]")],
        ["a pipe", () => replaced(path, fifo)],
        ["a directory", () => replaced(path, (each) => mkdir(each))],
        ["a dangling link", () => replaced(path, (each) => symlink("gone", each))],
        ["still on its way", () => rename(path, `${path}.partial`)],
      ];
      for (const [what, damage] of rows) {
        await damage();
        const ran = await run("undo", "-y");
        expect(ran, what).toMatchObject({ exit: 2, out: "" });
        expect(ran.err).toContain(`${path.replace(/\.json.*/, ".json")}`);
        const [, line = ""] = /`kb ([^`]+)`/.exec(ran.err) ?? [];
        expect((await run(...line.split(" "), "--dry-run")).exit, line).toBe(0);
        const list = await run("undo", "--list", "--columns", "command");
        expect(list).toMatchObject({ exit: 10, out: "kb doc disable Base a.md\n" });
        await rm(`${path}.partial`, { force: true });
        await rm(path, { recursive: true, force: true });
        await writeFile(path, good);
      }
      for (const _ of ["b.md", "a.md"]) expect((await run("undo", "-y")).exit).toBe(0);
    },
  );

  test("takes back nothing on another server", async () => {
    const other = await testSandbox({ speed: 400 });
    await run("doc", "disable", "Base", "b.md", "--backup-dir", backups);
    const ran = await other.cli(["kb", "undo", "-y"], { ...at(today), folder });
    expect(ran.exit).toBe(3);
    expect((await other.cli(["kb", "undo", "--list"], { ...at(today), folder })).out).toBe("");
    expect((await run("undo", "-y")).exit).toBe(0);
  });
});

test("a full disk is a reason, also for the file that names what is stored, which is removed", async () => {
  // As of a write to an open file: the system does not say which one.
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), {
    code: "ENOSPC",
    syscall: "write",
  });
  const { default: system } = await import("node:fs/promises");
  let writes = 0;
  const files = filesOf({
    fs: async () => ({
      ...system,
      appendFile: (...given: Parameters<typeof system.appendFile>) =>
        writes++ === 0 ? system.appendFile(...given) : Promise.reject(full),
    }),
    readContent: system.readFile as (path: string) => Promise<Buffer>,
    statPath: (path) => system.stat(path),
    lstatPath: (path) => system.lstat(path),
    randomHex: async () => "0123abcd",
    lockClock: () => Promise.reject(new Error("no lock waits")),
  });
  const directory = join(home, "full");
  const { append } = files;
  const ran = await server.cli(["kb", "backup", directory, "Base"], {
    ...at(today),
    files: { append },
  });
  expect(ran.exit).toBe(1);
  expect(ran.err).toContain(".part.jsonl: disk full");
  expect(await readdir(join(directory, "snapshots"))).toEqual([]);
});
