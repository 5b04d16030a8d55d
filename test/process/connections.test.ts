import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../lib/directory.ts";
import { parseFault } from "../../src/sandbox/http/faults.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import { start } from "../lib/sync-kills.ts";

/** Documents that are being created, of all processes. */
const open = { now: 0, most: 0, onFive: () => {} };
const isCreate = ({ path }: { readonly path: string }) => path.endsWith("/create-by-text");

const server = await testSandbox({
  speed: 1,
  faults: [parseFault("POST */create-by-text delay=30ms")],
  onRequest(request) {
    if (!isCreate(request)) return;
    open.most = Math.max(open.most, ++open.now);
    if (open.now === 5) open.onFive();
  },
  onResponse(record) {
    if (isCreate(record)) open.now--;
  },
});

/** Starts a sync of 40 files into a knowledge base of its own. */
async function startSync(home: string, name: string, flags: readonly string[] = []) {
  const dir = join(home, name);
  await write(
    dir,
    Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`${at}.md`, `${name} ${at}`])),
  );
  await server.done(["kb", "create", name, "--indexing-technique", "economy"]);
  return start(server, home, ["sync", name, dir, "--no-wait", "-v", ...flags]);
}

test("five syncs at once send no more than ten requests at a time, and none fails", async () => {
  const home = await temporaryDirectory();
  const names = ["one", "two", "three", "four", "five"];
  const syncs = await Promise.all(names.map((name) => startSync(home, name)));
  for (const { exit, err } of await Promise.all(syncs.map(({ ended }) => ended))) {
    expect(exit, err).toBe(0);
    expect(err).not.toContain(": retry ");
  }
  expect(open.most).toBeGreaterThan(5);
  expect(open.most).toBeLessThanOrEqual(10);
  expect(await readdir(join(home, "state"))).toEqual([]);
});

test("a sync that is killed leaves its connections to the others", async () => {
  const home = await temporaryDirectory();
  const isBusy = new Promise<void>((resolve) => (open.onFive = resolve));
  const killed = await startSync(home, "killed", ["--concurrency", "10"]);
  await isBusy;
  killed.child.kill("SIGKILL");
  await killed.ended;
  const next = await (await startSync(home, "next")).ended;
  expect(next.exit, next.err).toBe(0);
  const left = await readdir(join(home, "state"));
  // The journal of the killed sync waits for the next one of that knowledge base.
  expect(left.filter((name) => !name.startsWith("sync-"))).toEqual([]);
});
