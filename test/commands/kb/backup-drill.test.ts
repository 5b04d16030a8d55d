/** What a drill compares, and what it leaves when it fails. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { setFaults } from "../../lib/synced-base.ts";

const server = await testSandbox({ speed: 400 });
const folder = await temporaryDirectory();
const directory = join(folder, "backup");
const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder });
const done = async (...argv: string[]) => (await server.done(["kb", ...argv], { folder })).out;

const economy = ["--indexing-technique", "economy"];
await done("create", "Source", ...economy, "--permission", "all_team_members");
await done("doc", "add", "Source", "a.md", "--text", "One");
await done("doc", "wait", "Source");
await done("backup", directory, "Source");

const drill = (...argv: string[]) => kb("backup", "drill", directory, "Source", "-y", ...argv);
const drills = async () => {
  const names = (await done("list", "--all", "--jq", ".[].name")).split("\n");
  const notes = await readdir(join(folder, "state", "drills"));
  return [
    names.filter((name) => name.startsWith("kb drill")).length,
    notes.filter((name) => name.endsWith(".json")).length,
  ];
};
beforeEach(() => setFaults(server, []));

test("permissions are compared, and chunks if the snapshot has them", async () => {
  const whole = await drill();
  expect(whole.exit, whole.out).toBe(0);
  expect(whole.err).toContain("removed them again: no differences\n");
  await done("backup", join(folder, "texts"), "Source", "--no-chunks");
  const texts = await kb("backup", "drill", join(folder, "texts"), "Source", "-y");
  expect(texts.exit, texts.out).toBe(0);
  expect(texts.err).toContain("; chunks not compared, as not all documents have them: no diff");
});

test("one that fails removes its knowledge base", async () => {
  setFaults(server, ["POST /datasets/*/document/create-by-text status=403"]);
  expect((await drill()).exit).not.toBe(0);
  expect(await drills()).toEqual([0, 0]);
});

test("one that does not know whether it has made its knowledge base leaves that to the next", async () => {
  setFaults(server, ["POST /datasets cut-bytes=10"]);
  expect((await drill()).exit).not.toBe(0);
  expect(await drills()).toEqual([1, 1]);
  setFaults(server, []);
  const next = await drill();
  expect(next.exit, next.err).toBe(0);
  expect(next.err).toMatch(/removed kb drill [0-9a-f]{16}, which an interrupted drill left behind/);
  expect(await drills()).toEqual([0, 0]);
});

test("without the knowledge base, a question must find its documents", async () => {
  await done("create", "Gone", ...economy);
  await done("doc", "add", "Gone", "b.md", "--text", "Two of the kind");
  await done("doc", "wait", "Gone");
  const of = join(folder, "gone");
  await done("backup", of, "Gone");
  await done("delete", "Gone", "-y");
  const questions = join(folder, "questions.jsonl");
  const asked = async (...documents: string[]) => {
    await writeFile(questions, JSON.stringify({ question: "Two of the kind", documents }));
    return kb("backup", "drill", of, "Gone", "--questions", questions, "-y");
  };
  const found = await asked("b.md");
  expect(found.exit, found.err + found.out).toBe(0);
  const missed = await asked("b.md", "c.md");
  expect(missed.exit, missed.err).toBe(14);
  expect(missed.out).toMatch(/^question\tTwo of the kind\tdoes not find the document/);
});
