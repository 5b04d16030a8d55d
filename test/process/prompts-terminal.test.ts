import { expect, test } from "vitest";
import { onPty } from "../lib/pty.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const env = { ...server.env, HOME: await temporaryDirectory() };

const done = async (...argv: string[]) => (await server.done(["kb", ...argv])).out.trim();

test("a new knowledge base asks for its technique", async () => {
  const run = onPty("kb", ["create", "Asked", "--columns", "name,indexing_technique"], env);
  await run.shows(/\[economy\]:/);
  run.type("5\r");
  await run.shows(/is not one of them[^]*\[economy\]:/);
  run.type("\r");
  expect(await run.exit).toBe(0);
  expect(await run.lines()).toEqual([
    "How should documents be indexed?",
    "  1  economy: keyword search, without a model",
    "  2  high_quality: needs an embedding model; none is active",
    "Indexing technique (1-2) [economy]: 5",
    '"5" is not one of them: type a number from 1 to 2, or a name',
    "Indexing technique (1-2) [economy]: ",
    "name                Asked",
    "indexing_technique  economy",
  ]);
});

test("Ctrl-C at the technique creates nothing", async () => {
  const run = onPty("kb", ["create", "Left"], env);
  await run.shows(/\[economy\]:/);
  run.type("\u0003");
  expect(await run.exit).toBe(130);
  expect((await server.cli(["kb", "show", "Left"])).exit).toBe(3);
});

test("a knowledge base with documents is deleted by its typed name alone", async () => {
  await done("create", "Handbuch für alle", "--indexing-technique", "economy");
  await done("doc", "add", "Handbuch für alle", "a.md", "--text", "word ".repeat(300));
  await done("doc", "wait", "Handbuch für alle");
  // Of 1,500 characters: three chunks of 499 and one of 149, which repeat 50.
  const question = [
    "Delete knowledge base Handbuch für alle: 1 document, 1,646 words? This cannot be",
    "    undone.",
  ];
  const no = onPty("kb", ["delete", "Handbuch für alle"], env);
  await no.shows(/Type Handbuch für alle to delete, or b to back up first:/);
  no.type("y\r");
  expect(await no.exit).toBe(2);
  expect(await no.lines()).toEqual([
    ...question,
    "Type Handbuch für alle to delete, or b to back up first: y",
    "nothing was deleted",
  ]);
  expect(no.written()).not.toContain("\u001b[31m");
  const yes = onPty("kb", ["delete", "Handbuch für alle"], env);
  await yes.shows(/Type Handbuch für alle to delete, or b to back up first:/);
  yes.type("Handbuch für alle\r");
  expect(await yes.exit).toBe(0);
  expect((await server.cli(["kb", "show", "Handbuch für alle"])).exit).toBe(3);
});

test("a rename names the changes that it would lose", async () => {
  await done("create", "Edited", "--indexing-technique", "economy");
  await done("doc", "add", "Edited", "a.md", "--text", "one");
  await done("doc", "wait", "Edited");
  const chunk = await done("chunk", "list", "Edited", "a.md", "--jq", ".[0].id");
  await done("chunk", "update", "Edited", "a.md", chunk, "--content", "two");
  const run = onPty("kb", ["doc", "rename", "Edited", "a.md", "b.md"], env);
  await run.shows(/\[y\/N, b to/);
  run.type("n\r");
  expect(await run.exit).toBe(2);
  expect((await run.lines()).at(-1)).toBe("nothing was changed");
  expect(await done("doc", "list", "Edited", "--jq", ".[].name")).toBe("a.md");
});
