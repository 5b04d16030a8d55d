import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { takeLock } from "../../src/host/lock.ts";
import { memoryKeyring } from "../lib/keyring.ts";
import { manualClock } from "../lib/manual-clock.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";
import type { World } from "../lib/support.ts";

// Commands that change the same state at the same time lose nothing of each other.

const url = "http://127.0.0.1:9/v1";
const add = (name: string, world: World) =>
  cli(["kb", "login", name, "--base-url", url, "--key-file", "-", "--no-check"], {
    stdin: `dataset-${name}-0123`,
    ...world,
  });
const stored = async (folder: string) =>
  JSON.parse(await readFile(join(folder, "config", "profiles.json"), "utf8")) as {
    default: string;
    profiles: Record<string, { key?: string; key_in?: string }>;
  };

test.each([
  ["in the profile file", undefined],
  ["in a keyring", memoryKeyring()],
])("of ten profiles added at once, keys %s, all are there", async (_, keyring) => {
  const folder = await temporaryDirectory();
  const names = Array.from({ length: 10 }, (_, index) => `p${index}`);
  const ran = await Promise.all(
    names.map((name) => add(name, { folder, ...(keyring && { keyring }) })),
  );
  expect(ran.map(({ exit }) => exit)).toEqual(names.map(() => 0));
  const { profiles } = await stored(folder);
  expect(Object.keys(profiles).sort()).toEqual(names);
  for (const name of names) {
    const { key, key_in } = profiles[name] ?? {};
    expect(keyring ? key_in : key).toBe(keyring ? "keyring" : `dataset-${name}-0123`);
  }
});

/** Replies to the first prompt only after something else is done. */
const answering =
  (during: () => Promise<unknown>, answer: string): NonNullable<World["around"]> =>
  (host) => ({
    ...host,
    prompt: async () => {
      await during();
      return answer;
    },
  });

test("a profile added while another one waits for its key stays", async () => {
  const folder = await temporaryDirectory();
  const slow = await cli(["kb", "login", "slow", "--base-url", url, "--no-check"], {
    folder,
    tty: true,
    around: answering(() => add("second", { folder }), "dataset-slow-0123"),
  });
  expect(slow.exit).toBe(0);
  const { profiles, ...rest } = await stored(folder);
  expect(rest).toEqual({ default: "second" });
  expect(Object.entries(profiles).map(([name, { key }]) => [name, key])).toEqual([
    ["second", "dataset-second-0123"],
    ["slow", "dataset-slow-0123"],
  ]);
});

test("removing asks first and takes away that profile alone; choosing one loses none", async () => {
  const folder = await temporaryDirectory();
  await add("old", { folder });
  const gone = await cli(["kb", "profile", "remove", "old"], {
    folder,
    tty: true,
    around: answering(() => add("new", { folder }), "y"),
  });
  expect(gone.exit).toBe(0);
  expect(Object.keys((await stored(folder)).profiles)).toEqual(["new"]);
  const both = await Promise.all([
    cli(["kb", "profile", "use", "new"], { folder }),
    add("third", { folder }),
    add("fourth", { folder }),
  ]);
  expect(both.map(({ exit }) => exit)).toEqual([0, 0, 0]);
  const after = await stored(folder);
  expect(Object.keys(after.profiles).sort()).toEqual(["fourth", "new", "third"]);
  expect(after.default).toBe("new");
});

test("a base URL that a profile got while a key was typed keeps the key from its server", async () => {
  const folder = await temporaryDirectory();
  const other = ["--base-url", "http://127.0.0.1:8/v1", "--no-check"];
  const slow = await cli(["kb", "login", "one", ...other], {
    folder,
    tty: true,
    around: answering(() => add("one", { folder }), "dataset-other-0123"),
  });
  expect(slow).toMatchObject({ exit: 2 });
  expect(slow.err).toContain(`the keys of profile one belong to ${url}`);
  expect((await stored(folder)).profiles["one"]?.key).toBe("dataset-one-0123");
});

test("who waits for the profile file says within a second who has it, since when and what to do", async () => {
  const folder = await temporaryDirectory();
  await add("one", { folder });
  const owner = { pid: process.ppid, isAlive: () => true };
  const clock = manualClock("2026-11-23T08:00:00Z");
  const held = takeLock(join(folder, "config", "profiles.json.lock"), { ...owner, clock });
  if (!("release" in held)) throw new Error("it is free");
  const start = clock.now().getTime();
  let toldAfter = Infinity;
  const around: World["around"] = (host) => ({
    ...host,
    stderr: {
      ...host.stderr,
      write(text) {
        toldAfter = Math.min(toldAfter, clock.now().getTime() - start);
        return host.stderr.write(text);
      },
    },
    async sleep(ms) {
      await clock.advance(ms);
      if (clock.now().getTime() - start > 3000) held.release();
    },
  });
  const argv = ["kb", "profile", "use", "one"];
  const ran = await cli(argv, { folder, around, elapsed: () => clock.now().getTime() });
  expect(ran.exit, ran.err).toBe(0);
  expect(toldAfter).toBeLessThanOrEqual(1000);
  expect(ran.err.split("\n")[0]).toBe(
    `waiting for the profile file, locked by pid ${process.ppid} on ${hostname()} ` +
      "since 2026-11-23T08:00:00.000Z: wait until it has finished, " +
      `or end it: \`kill ${process.ppid}\``,
  );
});

test("the rows of one file are sent by one command at a time", async () => {
  const server = await testSandbox();
  const folder = await temporaryDirectory();
  const rows = join(folder, "tags.csv");
  await writeFile(rows, `name\n${Array.from({ length: 20 }, (_, n) => `t${n}`).join("\n")}\n`);
  const ran = await Promise.all(
    [1, 2].map(() => server.cli(["kb", "tag", "create", "--each", rows], { folder })),
  );
  expect(ran.map(({ exit }) => exit).sort()).toEqual([0, 1]);
  const refused = ran.find(({ exit }) => exit === 1);
  expect(refused?.err).toMatch(
    /^error: another command is sending these rows, pid \d+ on \S+ since \S+Z\nhint: .*or end it: `kill \d+`/,
  );
  expect(server.seen.filter(({ method }) => method === "POST")).toHaveLength(20);
});

/** A server with a knowledge base, Handbook, of one document. */
async function serverWithHandbook() {
  const server = await testSandbox();
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  await server.done(["kb", "doc", "add", "Handbook", "a.md", "--text", "a"]);
  await server.done(["kb", "doc", "wait", "Handbook"]);
  return server;
}

test("a directory is written by one export at a time", async () => {
  const server = await serverWithHandbook();
  const folder = await temporaryDirectory();
  const place = join(folder, "backup");
  const argv = ["kb", "export", "Handbook", place];
  const ran = await Promise.all([1, 2].map(() => server.cli(argv, { folder })));
  expect(ran.map(({ exit }) => exit).sort()).toEqual([0, 1]);
  const refused = ran.find(({ exit }) => exit === 1);
  expect(refused?.err).toMatch(/^error: another command is exporting to .*backup, pid \d+/);
  expect(refused?.out).toBe("");
  expect(await readdir(place)).toEqual(["chunks", "documents", "manifest.json"]);
});

test("an export, an import and a copy that cannot be locked, on a full disk, do nothing", async () => {
  const server = await serverWithHandbook();
  const folder = await temporaryDirectory();
  const place = join(folder, "backup");
  await server.done(["kb", "export", "Handbook", place], { folder });
  const lock = () => Promise.reject(Object.assign(new Error(), { code: "ENOSPC", path: place }));
  const around: World["around"] = (host) => ({ ...host, files: { ...host.files, lock } });
  const before = server.seen.length;
  for (const words of [
    ["export", "Handbook", place],
    ["import", place, "--name", "Copy"],
    ["copy", "Handbook", "--name", "Copy"],
  ]) {
    const full = await server.cli(["kb", ...words], { folder, around });
    expect(full).toMatchObject({ exit: 1, out: "" });
    expect(full.err).toContain("disk full");
  }
  const writes = server.seen.slice(before).filter(({ method }) => method !== "GET");
  expect(writes).toEqual([]);
});

test("an export that was killed before it wrote anything but its lock can be repeated", async () => {
  const server = await serverWithHandbook();
  const folder = await temporaryDirectory();
  const place = join(folder, "backup");
  await mkdir(place);
  const dead = { pid: 2 ** 30, start: "1", place: "", token: "0123456789abcdef" };
  const path = join(place, "manifest.part.jsonl.lock");
  await writeFile(path, JSON.stringify(dead));
  await utimes(path, 0, 0); // not refreshed for long
  await server.done(["kb", "export", "Handbook", place], { folder });
  expect(await readdir(place)).toEqual(["chunks", "documents", "manifest.json"]);
});
