import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { contentsOf, write } from "../lib/directory.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { start } from "../lib/sync-kills.ts";

const server = await testSandbox({ speed: 50 });
const home = await temporaryDirectory();

const tree = Object.fromEntries(
  Array.from({ length: 60 }, (_, at) => [`${at % 5}/${at}.md`, `text ${at}`]),
);

/** Creates a knowledge base and returns its ID. */
const base = async (name: string) =>
  (
    await server.cli(["kb", "create", name, "--indexing-technique", "economy", "-o", "name"])
  ).out.trim();

/** Runs the same command in several processes at once. */
const together = (count: number, argv: readonly string[]) =>
  Promise.all(Array.from({ length: count }, () => start(server, home, argv).ended));

const texts = async (kb: string) =>
  Object.fromEntries(
    [...(await contentsOf(server.sandbox.origin, kb))].map(([name, { text }]) => [name, text]),
  );

test.each([1, 2, 3])("four syncs of one directory at once (round %d)", async (round) => {
  const dir = join(home, `sync ${round}`);
  const kb = await base(`At once ${round}`);
  await write(dir, tree);
  await together(4, ["sync", kb, dir]);
  const last = await start(server, home, ["sync", kb, dir]).ended;
  expect(last.exit, last.err).toBe(0);
  // contentsOf would fail on duplicate names: no document was created twice.
  expect(await texts(kb)).toEqual(tree);
  expect((await start(server, home, ["sync", kb, dir]).ended).err).toContain("60 unchanged");
});

test.each([1, 2, 3])("three exports into one directory at once (round %d)", async (round) => {
  const kb = await base(`Exported ${round}`);
  const dir = join(home, `docs ${round}`);
  await write(dir, tree);
  expect((await start(server, home, ["sync", kb, dir]).ended).exit).toBe(0);
  const folder = join(home, `export ${round}`);
  const ends = await together(3, ["export", kb, folder]);
  expect(ends.some(({ exit }) => exit === 0)).toBe(true);
  // A process that starts after another one has ended finds everything exported.
  for (const { exit, err } of ends.filter((end) => end.exit !== 0)) {
    expect(exit).toBe(1);
    expect(err).toMatch(/^error: another command is exporting to /);
  }
  const last = await start(server, home, ["export", kb, folder]).ended;
  expect(last.exit, last.err).toBe(0);
  const verified = await start(server, home, ["verify", folder, kb]).ended;
  expect(verified.exit, verified.err).toBe(0);
  const { state } = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as {
    state: { documents: { file: string }[] };
  };
  const all = await readdir(folder, { recursive: true });
  const files = all.filter((path) => path.endsWith(".md")).sort();
  expect(files).toEqual(state.documents.map(({ file }) => file).sort());
});

test.each([1, 2, 3])("three imports of one export at once (round %d)", async (round) => {
  const kb = await base(`Source ${round}`);
  const dir = join(home, `source ${round}`);
  await write(dir, tree);
  expect((await start(server, home, ["sync", kb, dir]).ended).exit).toBe(0);
  const folder = join(home, `moved ${round}`);
  expect((await start(server, home, ["export", kb, folder]).ended).exit).toBe(0);
  const name = `Target ${round}`;
  const ends = await together(3, ["import", folder, "--name", name]);
  // A process that starts after another one has ended finds that the name is taken.
  for (const { exit, err } of ends.filter((end) => end.exit !== 0)) {
    expect([1, 5], err).toContain(exit);
    if (exit === 1) expect(err).toMatch(/^error: another command is importing into /);
  }
  const again = await start(server, home, ["import", folder, "--into", name]).ended;
  expect(again.exit, again.err).toBe(0);
  const verified = await start(server, home, ["verify", folder, name]).ended;
  expect(verified.exit, verified.err).toBe(0);
});

test.each([1, 2, 3])(
  "four processes that add profiles at once lose none (round %d)",
  async (round) => {
    const names = [1, 2, 3, 4].map((at) => `p${round}-${at}`);
    const add = (name: string) =>
      start(
        server,
        home,
        `login ${name} --base-url http://127.0.0.1:9/v1 --key-command true --no-check`.split(" "),
      );
    const ends = await Promise.all(names.map((name) => add(name).ended));
    for (const { exit, err } of ends) expect(exit, err).toBe(0);
    const folder = (await readdir(home, { recursive: true })).find((name) =>
      name.endsWith("profiles.json"),
    );
    const { profiles } = JSON.parse(await readFile(join(home, folder ?? ""), "utf8")) as {
      profiles: object;
    };
    for (const name of names) expect(Object.keys(profiles)).toContain(name);
  },
);

test.each([1, 2, 3])(
  "two processes that send the rows of one file: each row once (round %d)",
  async (round) => {
    const rows = join(home, `tags ${round}.csv`);
    await write(home, {
      [`tags ${round}.csv`]: `name\n${Array.from({ length: 30 }, (_, at) => `r${round}-${at}\n`).join("")}`,
    });
    const before = server.seen.length;
    const ends = await together(2, ["tag", "create", "--each", rows]);
    expect(ends.map(({ exit }) => exit)).toContain(0);
    const refused = ends.find(({ exit }) => exit !== 0);
    // A process that starts after the other has ended finds every row done.
    // The lock says nothing of its owner for the moment in which it is created.
    if (refused) {
      const message = /^error: another command is sending these rows, (pid \d+|another process\n)/;
      expect(refused.err).toMatch(message);
    }
    expect(server.seen.slice(before).filter(({ method }) => method === "POST")).toHaveLength(30);
  },
);
