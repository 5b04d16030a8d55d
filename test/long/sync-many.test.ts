import { join } from "node:path";
import { expect, test } from "vitest";
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
