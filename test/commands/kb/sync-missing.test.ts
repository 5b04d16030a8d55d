import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import type { World } from "../../lib/support.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox();
const home = await temporaryDirectory();
const docs = join(home, "docs");
const kb = (line: string, world: World = {}) =>
  server.cli(["kb", ...line.split(" ")], { folder: home, ...world });
const names = async () => (await kb("list --columns name --no-headers")).out.trim().split("\n");

beforeAll(async () => {
  await mkdir(docs);
  await writeFile(join(docs, "leave.md"), "Thirty days");
});
beforeEach(async () => {
  for (const name of ["Newbase", "Company"]) await kb(`delete ${name} --if-exists --yes`);
  await server.done(["kb", "create", "Company", "--indexing-technique", "economy"]);
});

test("a write names the command that creates the knowledge base, a read and a delete do not", async () => {
  const list = "names are case-sensitive; run `kb list` to see them";
  const missing = 'error: knowledge base "Newbase" not found\n';
  expect(await kb(`sync Newbase ${docs}`)).toMatchObject({
    exit: 3,
    err: `${missing}hint: ${list}, or create it: \`kb create Newbase\`\n`,
  });
  expect((await kb("doc list Newbase")).err).toBe(`${missing}hint: ${list}\n`);
  expect((await kb("delete Newbase --yes")).err).toBe(`${missing}hint: ${list}\n`);
  expect((await kb(`sync Compani ${docs}`)).err).toContain('hint: did you mean "Company"?\n');
});

test("on a terminal, sync creates the knowledge base after a yes", async () => {
  const questions: string[] = [];
  const line = `sync Newbase ${docs}`;
  const made = await kb(line, { tty: true, answers: ["y", "economy"], questions });
  expect(made.exit, made.err).toBe(0);
  expect(questions[0]).toBe('knowledge base "Newbase" not found. Create it? [y/N] ');
  expect((await kb("show Newbase --jq .indexing_technique")).out).toBe("economy\n");
  expect((await kb("doc list Newbase --columns name --no-headers")).out).toBe("leave.md\n");
});

test("on a terminal, anything but a yes creates nothing, and a near name is asked about", async () => {
  const questions: string[] = [];
  const typo = await kb(`sync Compani ${docs}`, {
    tty: true,
    columns: 200,
    answers: ["n"],
    questions,
  });
  expect(typo.exit).toBe(3);
  expect(questions).toEqual([
    'knowledge base "Compani" not found; did you mean "Company"? Create Compani? [y/N] ',
  ]);
  const refused = await kb(`sync Newbase ${docs}`, { tty: true, answers: [""] });
  expect(refused.exit).toBe(3);
  expect(refused.err).toContain("`kb create Newbase`");
  expect(await names()).not.toContain("Newbase");
});
