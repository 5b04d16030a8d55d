// Backups, restores and undos that are killed at any of their steps outside end as undisturbed ones.
import { createHash } from "node:crypto";
import { cp, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formsOfChunks, handEditedBase } from "../../lib/as-is-bases.ts";
import { fullAfter } from "../../lib/full-disk.ts";
import { killer } from "../../lib/killed-at.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const killedAt = killer(server);
const world = { folder: home };
const kb = (...argv: string[]) => server.cli(["kb", ...argv], world);
const done = async (...argv: string[]) => (await server.done(["kb", ...argv], world)).out.trim();

await handEditedBase(server, "Source", formsOfChunks[1]);
await done("export", "Source", join(home, "source"));
const directory = join(home, "backup");
await done("backup", directory, "Source");

const steps = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
const outside = /^(GET|POST|PATCH|DELETE|writeAtomic|append|remove) /;
/** Is it the nth step outside? */
const nthStep = (number: number) => {
  let count = 0;
  return (step: string) => outside.test(step) && ++count === number;
};
/** Kills a line at a step, which half of the time is done after all. */
async function killed(number: number, argv: readonly string[], folder: string): Promise<boolean> {
  const rest = await killedAt(nthStep(number), argv, folder);
  if (number % 2 === 0) await (await rest?.())?.body?.dump();
  return rest !== undefined;
}
const sent = (since: number, pattern: RegExp) =>
  server.seen.slice(since).filter(({ method, path }) => pattern.test(`${method} ${path}`));

test.each(sampled(10, steps(30)))("a backup killed at step %i is continued", async (number) => {
  const at = join(home, `backup ${number}`);
  if (number % 3 === 0) await cp(directory, at, { recursive: true });
  const folder = join(home, `of ${at}`);
  const argv = ["kb", "backup", at, "Source"];
  const from = server.seen.length;
  await killed(number, argv, folder);
  const again = await server.cli(argv, { folder });
  expect(again.exit, again.err).toBe(0);
  expect(sent(from, /download-zip/).length).toBeLessThanOrEqual(2);
  const list = (await done("backup", "list", at, "-o", "name")).split("\n");
  for (const snapshot of list)
    await done("backup", "restore", at, "Source", "--snapshot", snapshot, "--dry-run", "-y");
  // All files are whole, and none is left over but objects that another snapshot may use.
  for (const entry of await readdir(at, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.parentPath.includes("objects")) continue;
    const bytes = await readFile(join(entry.parentPath, entry.name));
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(entry.name);
  }
  expect((await readdir(join(at, "snapshots"))).filter((name) => name.includes("part"))).toEqual(
    [],
  );
});

test.each(sampled(9, steps(22)))("a restore killed at step %i is continued", async (number) => {
  const name = `Restored ${number}`;
  const folder = join(home, name);
  const argv = ["kb", "backup", "restore", directory, "Source", "--name", name, "-y"];
  const from = server.seen.length;
  if (await killed(number, argv, folder)) {
    const again = await server.cli(argv, { folder });
    // One that was killed after its last step finds its own knowledge base.
    const isMade = again.exit === 5 && again.err.includes("already exists");
    expect(isMade ? 0 : again.exit, again.err).toBe(0);
  }
  await done("verify", join(home, "source"), `name:${name}`, "--chunks");
  // Three documents, and at most the one under way once more.
  expect(sent(from, /POST .*\/document\/create-by/).length).toBeLessThanOrEqual(6);
});

test.each(sampled(9, steps(22)))(
  "a restore of one document killed at step %i is continued",
  async (number) => {
    const name = `One ${number}`;
    const folder = join(home, name);
    await done("copy", "Source", "--name", name, "--as-is", "-y");
    await done("doc", "delete", name, "edited.md", "-y");
    const into = ["--only", "edited.md", "--into", name, "-y"];
    const argv = ["kb", "backup", "restore", directory, "Source", ...into];
    const from = server.seen.length;
    await killed(number, argv, folder);
    const again = await server.cli(argv, { folder });
    expect(again.exit, again.err).toBe(0);
    await done("verify", join(home, "source"), `name:${name}`, "--chunks");
    expect(sent(from, /POST .*\/document\/create-by/).length).toBeLessThanOrEqual(2);
  },
);

const undone = {
  "a deleted document": ["doc", "delete", "$", "edited.md", "-y"],
  "a replaced document": ["doc", "add", "$", "edited.md", "--text", "Replaced"],
  "a deleted knowledge base": ["delete", "$", "-y"],
};
const moments = Object.entries(undone).flatMap(([what, line]) =>
  steps(40).map((number) => [what, number, line] as const),
);

test.each(sampled(25, moments))(
  "an undo of %s killed at step %i is continued",
  async (what, number, line) => {
    const name = `${what.slice(2, 20)} ${number}`;
    const folder = join(home, name);
    await done("copy", "Source", "--name", name, "--as-is", "-y");
    const words = line.map((word) => (word === "$" ? name : word));
    await server.done(["kb", ...words, "--backup-dir", join(folder, "backups")], { folder });
    const from = server.seen.length;
    const wasKilled = await killed(number, ["kb", "undo", "-y"], folder);
    const again = await server.cli(["kb", "undo", "-y"], { folder });
    // One that was killed after its last step, or not at all, has nothing left to take back.
    expect(wasKilled && again.exit !== 3 ? again.exit : 0, again.err).toBe(0);
    await done("verify", join(home, "source"), `name:${name}`, "--chunks");
    expect(sent(from, /POST .*\/document\/create-by/).length).toBeLessThanOrEqual(
      what.includes("base") ? 6 : 2,
    );
  },
);

test.each(sampled(20, steps(60)))(
  "what a drill killed at step %i leaves is removed",
  async (number) => {
    const folder = join(home, `drill ${number}`);
    const argv = ["kb", "backup", "drill", directory, "Source", "-y"];
    await killed(number, argv, folder);
    const again = await server.cli(argv, { folder });
    expect(again.exit, again.err).toBe(0);
    const names = (await kb("list", "--all", "--jq", ".[].name")).out.split("\n");
    expect(names.filter((name) => name.startsWith("kb drill"))).toEqual([]);
    expect(
      (await readdir(join(folder, "state", "drills"))).filter((name) => name.endsWith(".json")),
    ).toEqual([]);
  },
);

test.each(["restore", "undo"])("a full disk in the middle of %s loses nothing", async (what) => {
  const name = `Full ${what}`;
  const folder = join(home, name);
  if (what === "undo") {
    await done("copy", "Source", "--name", name, "--as-is", "-y");
    const line = ["kb", "doc", "delete", name, "edited.md", "-y"];
    await server.done([...line, "--backup-dir", join(folder, "backups")], { folder });
  }
  const argv =
    what === "undo"
      ? ["kb", "undo", "-y"]
      : ["kb", "backup", "restore", directory, "Source", "--name", name, "-y"];
  let left = 0;
  for (; ; left++) {
    const ran = await server.cli(argv, { folder, files: fullAfter(left) });
    if (ran.exit === 0) break;
    expect(ran.err).toContain("disk full");
    expect(left).toBeLessThan(20);
  }
  expect(left).toBeGreaterThan(0);
  await done("verify", join(home, "source"), `name:${name}`, "--chunks");
});
