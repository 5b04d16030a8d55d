import { beforeEach, expect, test } from "vitest";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import { actions, write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { syncedBases, textsOf } from "../../lib/synced-base.ts";

/** The name of a document by its letters: the first one stays. */
const first = new Map<string, string>();
/** A server whose database compares the names of documents without case. */
const server = await testSandbox({ speed: 200 });
const url = await alteringProxy(
  server.sandbox.origin,
  () => {},
  (path) => path,
  (body, path) => {
    if (!path.endsWith("create-by-text")) return body;
    const { name, ...rest } = JSON.parse(body.toString()) as { name: string };
    const stored = first.get(name.toLowerCase()) ?? name;
    first.set(name.toLowerCase(), stored);
    return Buffer.from(JSON.stringify({ ...rest, name: stored }));
  },
);
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
let kb = "";
let dir = "";
beforeEach(async () => {
  first.clear();
  ({ kb, dir } = await newBase());
});

const run = (...argv: readonly string[]) =>
  server.cli(["kb", ...argv, "--base-url", url], { folder: home });
const sync = (...flags: readonly string[]) => run("sync", kb, dir, "--yes", ...flags);

test("two new files that the server takes for one both fail, and neither counts as synced", async () => {
  await write(dir, { "b.md": "lower", "B.md": "UPPER", "c.md": "c" });
  const ran = await sync();
  expect(ran.exit).toBe(10);
  expect(actions(ran.out)).toEqual(["create c.md", "failed B.md", "failed b.md"]);
  expect(ran.out).toMatch(/it replaced [bB]\.md: the server does not tell these names apart/);
  const next = await run("status", kb, dir);
  expect(next.out).toContain("1 to create, 1 to update");
});

test("a file that the server takes for an earlier one fails, and the next sync puts that back", async () => {
  await write(dir, { "B.md": "UPPER", "c.md": "c" });
  expect((await sync()).exit).toBe(0);
  await write(dir, { "b.md": "lower" });
  const ran = await sync("--prune");
  expect(ran.exit).toBe(10);
  expect(actions(ran.out)).toEqual(["failed b.md"]);
  expect(ran.out).toContain("it replaced B.md");
  await write(dir, { "b.md": null });
  const restored = await sync("--prune");
  expect(restored.exit, restored.err).toBe(0);
  expect(actions(restored.out)).toEqual(["update B.md"]);
  expect(await textsOf(server, kb)).toEqual({ "B.md": "UPPER", "c.md": "c" });
});

test("a document that a renamed file has replaced is not deleted with the old name", async () => {
  await write(dir, { "B.md": "UPPER", "c.md": "c" });
  expect((await sync()).exit).toBe(0);
  await write(dir, { "B.md": null, "b.md": "changed" });
  const ran = await sync("--prune");
  expect(ran.exit).toBe(10);
  expect(actions(ran.out)).toEqual(["failed B.md", "failed b.md"]);
  expect(await textsOf(server, kb)).toEqual({ "B.md": "changed", "c.md": "c" });
});
