/** Servers of 1.16 index with the settings from before a change (server §8); --rewrite mends that. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const { done, cli, seen, sandbox } = await testSandbox({ server: "1.16.1", models: true });
const folder = await temporaryDirectory();
const model = ["--indexing-technique", "high_quality", "--embedding-model", "stub-embed"];

/** Creates a knowledge base in economy with a text, a text without an extension, and a file. */
async function newBase(name: string): Promise<void> {
  await done(["kb", "create", name, "--indexing-technique", "economy"]);
  await done(["kb", "doc", "add", name, "leave", "--text", "Paid leave is 30 days."]);
  await done(["kb", "doc", "add", name, "b.txt", "--text", "Naïve 👍🏽 parking."]);
  const file = join(folder, "c.md");
  await writeFile(file, "# Lockers\n\nLockers are upstairs.");
  await done(["kb", "doc", "upload", name, file]);
  await done(["kb", "doc", "wait", name]);
}

const search = (name: string) =>
  cli(["kb", "search", name, "paid leave", "--search-method", "semantic_search", "--top-k", "1"]);
const contents = async (name: string) =>
  JSON.parse((await done(["kb", "chunk", "list", name, "leave", "-o", "json"])).out) as unknown;

test("kb update says what happened and how to mend it, and --rewrite mends it", async () => {
  await newBase("Handbook");
  const before = await contents("Handbook");
  const broken = await cli(["kb", "update", "Handbook", ...model]);
  expect(broken.exit).toBe(9);
  expect(broken.err).toContain("; the server probably indexed with the earlier settings");
  const [, command = ""] =
    /write each document again: `kb (update .* --rewrite)`/.exec(broken.err) ?? [];
  expect((await search("Handbook")).exit).toBe(5);

  const sent = seen.length;
  await done(["kb", ...command.split(" ")]);
  const writes = seen
    .slice(sent)
    .filter(({ method, path }) => method !== "GET" && !/retrieve|zip/.test(path));
  expect(writes.map(({ method, path }) => `${method} ${path.replace(/.*\//, "")}`).sort()).toEqual([
    expect.stringMatching(/^PATCH [0-9a-f-]{36}$/),
    "POST update-by-text",
    "POST update-by-text",
  ]);
  expect((await search("Handbook")).out).toContain("Paid leave is 30 days.");
  expect(await contents("Handbook")).toMatchObject([{ content: "Paid leave is 30 days." }]);
  expect(before).toMatchObject([{ content: "Paid leave is 30 days." }]);
  await done(["kb", "doc", "download", "Handbook", "b.txt", "--dir", folder]);
  expect(await readFile(join(folder, "b.txt"), "utf8")).toBe("Naïve 👍🏽 parking.");
});

test("the same change again, which the server ignores, finds the broken index, too", async () => {
  await newBase("Rules");
  await cli(["kb", "update", "Rules", ...model]);
  const again = await cli(["kb", "update", "Rules", ...model]);
  expect([again.exit, again.err]).toEqual([9, expect.stringContaining("searches fail")]);
  expect(again.err).toMatch(/write each document again: `kb update .* --rewrite`/);
  await done(["kb", "update", "Rules", ...model, "--rewrite"]);
  expect((await done(["kb", "update", "Rules", ...model])).err).toBe("");
  expect((await search("Rules")).out).toContain("Paid leave is 30 days.");
});

test("--rewrite with the change mends an index whose vectors have other dimensions", async () => {
  const other = ["--embedding-model", "stub-embed-64"];
  const broken = await cli(["kb", "update", "Rules", ...other]);
  expect([broken.exit, broken.err]).toEqual([9, expect.stringContaining("dimensions 64 and 256")]);
  await done(["kb", "update", "Rules", "--rewrite"]);
  expect((await search("Rules")).out).toContain("Paid leave is 30 days.");
});

rareTest("--rewrite names chunks changed by hand, and needs --yes to lose them", async () => {
  const kb = "Edited";
  await newBase(kb);
  const [id = ""] = (await done(["kb", "chunk", "list", kb, "leave", "-o", "name"])).out.split(
    "\n",
  );
  await done(["kb", "chunk", "update", kb, "leave", id, "--content", "Paid leave is 31 days."]);
  await cli(["kb", "update", kb, ...model]);
  const update = async (...more: string[]) => {
    const sent = seen.length;
    const ran = await cli(["kb", "update", kb, ...more]);
    const writes = seen
      .slice(sent)
      .filter(({ method, path }) => method !== "GET" && !/retrieve|zip/.test(path));
    return { ...ran, writes: writes.map(({ path }) => path.replace(/.*\//, "")) };
  };
  const lines = join(folder, "each.csv");
  await writeFile(lines, `kb\n${kb}\n`);
  const asked = "Write each document again and lose leave: chunk 1 (edited)?";
  const refused = await update("--rewrite");
  expect([refused.exit, refused.writes]).toEqual([2, []]);
  expect(refused.err).toContain(
    `confirmation required: cannot prompt without a terminal: ${asked}`,
  );
  expect(refused.err).toContain("pass --yes");
  const each = await cli(["kb", "update", "--each", lines, "--rewrite"]);
  expect([each.exit, each.out]).toEqual([10, expect.stringContaining(asked.slice(0, -1))]);
  expect(await contents(kb)).toMatchObject([{ content: "Paid leave is 31 days." }]);

  const document = (await done(["kb", "doc", "show", kb, "leave", "--jq", ".id"])).out.trim();
  sandbox.setFaults([parseFault(`GET *${document}/segments* status=400`)]);
  const unread = await update("--rewrite", "--yes");
  sandbox.setFaults([]);
  expect([unread.exit, unread.writes]).toEqual([10, []]);
  expect(unread.err).toContain("no document was written again: leave: its chunks cannot be read: ");

  const questions: string[] = [];
  const terminal = { tty: true, answers: ["n"], questions };
  const declined = await cli(["kb", "update", kb, ...model], terminal);
  expect([declined.exit, questions]).toEqual([2, [`${asked} [y/N] `]]);
  expect(declined.err).toContain(
    "the settings are stored, and searches fail; write each document again",
  );
  expect(await contents(kb)).toMatchObject([{ content: "Paid leave is 31 days." }]);

  const rewritten = await update("--rewrite", "--yes");
  expect([rewritten.exit, rewritten.writes.length]).toEqual([0, 3]);
  expect(rewritten.err).toContain("loses leave: chunk 1 (edited)");
  expect(await contents(kb)).toMatchObject([{ content: "Paid leave is 30 days." }]);
});

test("kb update offers to write documents again on a terminal", async () => {
  const kb = "Offered";
  await newBase(kb);
  const questions: string[] = [];
  const terminal = { tty: true, answers: ["y"], questions };
  await done(["kb", "update", kb, ...model], terminal);
  expect(questions).toEqual(["Write each document again? [y/N] "]);
  expect((await search(kb)).out).toContain("Paid leave is 30 days.");
});

test("a working index is left alone by --rewrite", async () => {
  const sent = seen.length;
  await done(["kb", "update", "Handbook", "--rewrite"]);
  expect(seen.slice(sent).filter(({ method }) => method === "PATCH")).toEqual([]);
});

rareTest(
  "plan finds an index that an earlier change broke, and apply mends it with --rewrite",
  async () => {
    await newBase("Policies");
    await cli(["kb", "update", "Policies", ...model]);
    const file = join(folder, "policies.yml");
    const settings = "knowledge_base: Policies\nindexing_technique: high_quality\n";
    await writeFile(file, settings);
    const found = "write each document again: `kb update Policies --rewrite`";
    for (const command of ["plan", "apply"])
      expect((await done(["kb", command, file])).err).toContain(found);
    // Beside a change of another setting, too.
    await writeFile(file, `${settings}description: Rules of the house\n`);
    for (const command of ["plan", "apply"])
      expect((await done(["kb", command, file])).err).toContain(found);
    await done(["kb", "apply", file, "--rewrite"]);
    expect((await search("Policies")).out).toContain("Paid leave is 30 days.");
    expect((await done(["kb", "plan", file])).err).not.toContain("searches fail");
  },
);

test("a document that was disabled cannot be enabled for up to ten minutes, and the hint says so", async () => {
  await done(["kb", "doc", "disable", "Handbook", "leave"]);
  const ran = await cli(["kb", "doc", "enable", "Handbook", "leave"]);
  expect(ran.exit).toBe(5);
  expect(ran.err).toMatch(/is being indexed/);
  expect(ran.err).toMatch(/ten minutes|10 minutes/);
});
