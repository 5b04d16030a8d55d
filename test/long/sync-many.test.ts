import { join } from "node:path";
import { expect, test } from "vitest";
import type { SourceDocument } from "../../src/commands/kb/changes/change.ts";
import { SourceReader } from "../../src/commands/kb/changes/read-ahead.ts";
import { contentsOf, write } from "../lib/directory.ts";
import { fastClock } from "../lib/fast-clock.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const home = await temporaryDirectory();
/** ms by which the clock of the server is ahead. */
let ahead = 0;
const clock = { ...fastClock(1), now: () => new Date(Date.now() + ahead) };
const server = await testSandbox({ clock, indexingDelay: 600_000 });

const files = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}.md`, `Page ${at}.`]));
const made = async (name: string) =>
  (await server.done(["kb", "create", name, "--indexing-technique", "economy", "-o", "name"])).out;
const created = () => server.seen.filter(({ path }) => path.endsWith("/create-by-text")).length;
const reads = () => server.seen.filter(({ method }) => method === "GET").length;
/** ms after which a sync is taken for hung. */
const patience = 500_000;
const valid = /^[0-9a-f]{64}$/;

test("files are sent while others are indexed, at most 1,000 at a time", async () => {
  const directory = join(home, "many");
  await write(directory, files(1010));
  const kb = (await made("Many")).trim();
  const ended = server.done(["kb", "sync", kb, directory, "-q"]);
  await expect.poll(created, { timeout: patience }).toBe(1000);
  // It looks at their status again and again, and sends nothing more.
  const looked = reads();
  await expect.poll(reads, { timeout: patience }).toBeGreaterThan(looked + 30);
  expect(created()).toBe(1000);
  // The first ones are indexed, the last ones after the sync has begun to wait for them.
  ahead += 3_600_000;
  await expect.poll(created, { timeout: patience }).toBe(1010);
  ahead += 3_600_000;
  await ended;
  const stored = [...(await contentsOf(server.sandbox.origin, kb)).values()];
  expect(stored).toHaveLength(1010);
  expect(stored.every(({ hash }) => valid.test(String(hash)))).toBe(true);
});

test("--no-wait marks documents while others are sent", async () => {
  const directory = join(home, "unmarked");
  await write(directory, files(100));
  const kb = (await made("Marked")).trim();
  const before = server.seen.length;
  await server.done(["kb", "sync", kb, directory, "--no-wait", "-q"]);
  const paths = server.seen.slice(before).map(({ path }) => path);
  const mark = paths.findIndex((path) => path.endsWith("/documents/metadata"));
  const last = paths.findLastIndex((path) => path.endsWith("/create-by-text"));
  expect(mark).toBeGreaterThan(0);
  expect(mark).toBeLessThan(last);
});

/** A reader of sources with these sizes, and the locations that it has read. */
function readerOf(sizes: readonly number[]) {
  const read: string[] = [];
  const sources = sizes.map((size, at): SourceDocument => ({
    path: `${at}`,
    name: `${at}`,
    kind: "text",
    location: `${at}`,
    hash: null,
    size,
    metadata: {},
  }));
  const reader = new SourceReader(sources, {
    async read(path) {
      read.push(path);
      if (path === "1") throw new Error("no such file");
      return new TextEncoder().encode(path);
    },
  });
  const at = async (index: number) =>
    new TextDecoder().decode(await reader.read(sources[index] as SourceDocument));
  return { at, read };
}

test("small sources are read together, each once", async () => {
  const { at, read } = readerOf(Array.from({ length: 20 }, () => 100));
  expect(await at(0)).toBe("0");
  expect(read).toHaveLength(16);
  await expect(at(1)).rejects.toThrow("no such file");
  for (let index = 2; index < 16; index++) expect(await at(index)).toBe(`${index}`);
  expect(read).toHaveLength(16);
  expect(await at(16)).toBe("16");
  expect(read).toHaveLength(20);
});

test("a large source is read alone, and one that is sent again is read again", async () => {
  const { at, read } = readerOf([10 * 2 ** 20, 100, 10 * 2 ** 20, 100]);
  await at(0);
  expect(read).toEqual(["0", "1"]);
  await at(2);
  await at(2);
  expect(read).toEqual(["0", "1", "2", "3", "2"]);
});
