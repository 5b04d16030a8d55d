import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { actions, write } from "../../lib/directory.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { setFaults, syncedBases, textsOf } from "../../lib/synced-base.ts";
import { start } from "../../lib/sync-kills.ts";

let onRequest: (line: string) => void = () => {};
const server = await testSandbox({
  onRequest: ({ method, path }) => onRequest(`${method} ${path}`),
});
const home = await temporaryDirectory();
const elsewhere = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";
let dir = "";

beforeEach(async () => {
  ({ kb, dir } = await newBase());
});

const sync = (...flags: readonly string[]) =>
  server.cli(["kb", "sync", kb, dir, ...flags], { folder: home });
const contents = () => textsOf(server, kb);
const faults = (...all: readonly string[]) => setFaults(server, all);
const journals = async () =>
  (await readdir(join(home, "state"))).filter((name) => name.startsWith("sync-"));
const tree = (count: number, text: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}.md`, `${text} ${at}`]));

/** A first sync that creates documents and cannot mark them. */
async function unmarked(files: Readonly<Record<string, string>>) {
  await write(dir, files);
  faults("POST /datasets/*/documents/metadata status=401");
  expect((await sync()).exit).toBe(4);
  server.sandbox.setFaults([]);
  expect(await contents()).toEqual(files);
}

test("takes over what an interrupted sync of this machine made", async () => {
  await unmarked({ "a.md": "a", "b.md": "b", "gone.md": "gone", "prices.csv": "a,b\n" });
  expect(await journals()).toHaveLength(1);
  faults("GET /datasets/*/documents status=401");
  expect((await sync()).exit).toBe(4);
  server.sandbox.setFaults([]);
  await write(dir, { "a.md": "edited", "gone.md": null, "prices.csv": "c,d\n" });
  const ran = await sync("--prune", "--yes");
  expect(ran.exit, ran.err).toBe(0);
  expect(actions(ran.out)).toEqual([
    "adopt b.md",
    "delete gone.md",
    "update a.md",
    "update prices.csv",
  ]);
  expect(await contents()).toEqual({ "a.md": "edited", "b.md": "b", "prices.csv": "c,d\n" });
  expect(await journals()).toEqual([]);
  expect((await sync("--prune")).err).toContain("3 files: 3 unchanged");
});

test("makes no document again while the content of one that it may have made does not arrive", async () => {
  await write(dir, { "a.md": "a" });
  faults("POST /datasets/*/document/create-by-text cut-bytes=10");
  expect((await sync()).exit).not.toBe(0);
  faults("POST /datasets/*/download-zip reset");
  const ran = await sync("--retries", "0");
  expect(ran.err).toContain("the content of document a.md does not arrive");
  expect(ran.exit).toBe(11);
  server.sandbox.setFaults([]);
  expect((await sync()).exit).toBe(0);
  expect(await contents()).toEqual({ "a.md": "a" });
});

test("takes over a document whose response was lost, by its content", async () => {
  await write(dir, { "a.md": "a", "gone.md": "gone" });
  faults("POST /datasets/*/document/create-by-text cut-bytes=10");
  expect((await sync()).exit).not.toBe(0);
  server.sandbox.setFaults([]);
  // Somebody else's document: its content is not that which was sent.
  await server.done(["kb", "doc", "delete", kb, "gone.md", "--yes"]);
  await server.done(["kb", "doc", "add", kb, "gone.md", "--text", "mine"]);
  await write(dir, { "a.md": "edited", "gone.md": null });
  const ran = await sync("--prune", "--yes");
  expect(ran.exit, ran.err).toBe(0);
  expect(actions(ran.out)).toEqual(["update a.md"]);
  expect(await contents()).toEqual({ "a.md": "edited", "gone.md": "mine" });
  expect(await journals()).toEqual([]);
});

test("a shard keeps what another shard was making", async () => {
  await unmarked(tree(6, "first"));
  await write(dir, tree(6, "second"));
  for (const share of ["1/2", "2/2"]) {
    const ran = await sync("--shard", share);
    expect(ran.exit, ran.err).toBe(0);
    expect(await journals()).toHaveLength(share === "1/2" ? 1 : 0);
  }
  expect(await contents()).toEqual(tree(6, "second"));
});

test("on another machine, names what an interrupted sync probably left", async () => {
  await unmarked({ "a.md": "a", "gone.md": "gone", "kept.md": "kept" });
  await write(dir, { "a.md": "edited", "gone.md": null });
  const other = { folder: elsewhere };
  const ran = await server.cli(["kb", "sync", kb, dir, "--prune", "--include", "*.md"], other);
  expect(ran.exit).toBe(10);
  expect(ran.out).toContain("probably left by an interrupted sync");
  const line = `kb sync ${kb} '${dir}' --include '*.md' --prune --adopt`;
  expect(ran.err).toContain(`hint: to replace those in conflict: \`${line}\``);
  expect(ran.err).toContain(
    "1 document that no sync marked has no file here: gone.md; an interrupted sync may have left it",
  );
  const adopted = ["kb", "sync", kb, dir, "--include", "*.md", "--prune", "--adopt"];
  await server.done(adopted, other);
  expect(await contents()).toEqual({ "a.md": "edited", "gone.md": "gone", "kept.md": "kept" });
});

test("marks new documents when ten wait, and the last ones at the end", async () => {
  await write(dir, tree(25, "text"));
  const kinds: string[] = [];
  onRequest = (line) => {
    if (line.endsWith("/documents/metadata")) kinds.push("mark");
    if (line.endsWith("/create-by-text")) kinds.push("create");
  };
  const ran = await server.cli(["kb", "sync", kb, dir, "--concurrency", "1"], {
    folder: home,
    // The first second does not pass before all documents are sent.
    around: (host) => ({
      ...host,
      sleep: (ms, signal) => host.sleep(ms === 1000 ? 3_600_000 : ms, signal),
    }),
  });
  onRequest = () => {};
  expect(ran.exit, ran.err).toBe(0);
  const ten = Array.from({ length: 10 }, () => "create");
  expect(kinds).toEqual([...ten, "mark", ...ten, "mark", ...ten.slice(5), "mark", "mark"]);
});

test("marks documents after a second, while another one is still being sent", async () => {
  await write(dir, tree(3, "text"));
  faults("POST /datasets/*/document/create-by-text silence skip=2");
  const stop = new AbortController();
  onRequest = (line) => line.endsWith("/documents/metadata") && stop.abort("SIGINT");
  const world = { folder: home, signal: stop.signal };
  const { exit } = await server.cli(["kb", "sync", kb, dir, "--concurrency", "3"], world);
  onRequest = () => {};
  expect(exit).toBe(130);
});

rareTest("a sync that is killed continues without a conflict", async () => {
  await write(dir, tree(20, "first"));
  const { child, ended } = start(server, home, ["sync", kb, dir]);
  let count = 0;
  onRequest = (line) => {
    if (line.endsWith("/create-by-text") && ++count === 5) child.kill("SIGKILL");
  };
  expect((await ended).exit).toBe(null);
  onRequest = () => {};
  await write(dir, { ...tree(20, "second"), "0.md": null, "1.md": null });
  const again = await start(server, home, ["sync", kb, dir, "--prune", "--yes"]).ended;
  expect(again.exit, again.err).toBe(0);
  const { "0.md": _0, "1.md": _1, ...rest } = tree(20, "second");
  expect(await contents()).toEqual(rest);
});
