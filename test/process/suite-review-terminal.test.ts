/** `wf test review` on a terminal. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../lib/directory.ts";
import { onPty } from "../lib/pty.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();
const env = { ...server.env, HOME: folder };
const file = (name: string) => join(folder, name);
const suite = `app: echo
tests:
  - { name: one, inputs: { query: You have thirty days. }, answer: You have twenty days. }
  - name: two
    inputs: { query: b }
    answer: [0-9]
    compare: contains
  - { name: three, inputs: { query: c }, answer: z }
`.replace("[0-9]", "'9'");
await write(folder, { "suite.yaml": suite });
await server.cli(["wf", "test", "run", file("suite.yaml"), "--save", file("results.json")]);

const question = "Accept this answer? (a = accept, s = skip, q = quit): ";

test("each changed answer is accepted or skipped", async () => {
  await write(folder, { "suite.yaml": suite });
  const run = onPty("wf", ["test", "review", file("results.json"), "--color", "never"], env);
  await run.shows(/1 of 3: [^]*quit\):\s*$/);
  run.type("x\r");
  await run.shows(/type one of: [^]*quit\):\s*$/);
  run.type("a\r");
  await run.shows(/2 of 3: [^]*\(s = skip, q = quit\):\s*$/);
  run.type("s\r");
  await run.shows(/3 of 3: [^]*quit\):\s*$/);
  run.type("q\r");
  expect(await run.exit).toBe(0);
  expect((await run.lines()).map((line) => line.replace(folder, "DIR"))).toEqual([
    "1 of 3: suite: one",
    "expected:",
    "  You have [-twenty-] days.",
    "answer:",
    "  You have {+thirty+} days.",
    `${question}x`,
    "type one of: a = accept, s = skip, q = quit",
    `${question}a`,
    "accepted: DIR/suite.yaml line 3",
    "2 of 3: suite: two",
    "expected:",
    "  [-9-]",
    "answer:",
    "  {+b+}",
    "cannot be accepted: its expected answer is a part of a text (compare: contains)",
    "Accept this answer? (s = skip, q = quit): s",
    "3 of 3: suite: three",
    "expected:",
    "  [-z-]",
    "answer:",
    "  {+c+}",
    `${question}q`,
    "1 answer accepted",
  ]);
  expect(await readFile(file("suite.yaml"), "utf8")).toBe(
    suite.replace("answer: You have twenty days.", 'answer: "You have thirty days."'),
  );
});

test("Ctrl-C ends the review and keeps the accepted answers; Ctrl-D is quit", async () => {
  await write(folder, { "suite.yaml": suite });
  const interrupted = onPty("wf", ["test", "review", file("results.json")], env, 130);
  await interrupted.shows(/1 of 3: [^]*│[^]*quit\):\s*$/);
  interrupted.type("a\r");
  await interrupted.shows(/2 of 3: [^]*quit\):\s*$/);
  interrupted.type("\u0003");
  expect(await interrupted.exit).toBe(130);
  expect(await readFile(file("suite.yaml"), "utf8")).toContain('answer: "You have thirty days."');
  const ended = onPty("wf", ["test", "review", file("results.json"), "--test", "three"], env);
  await ended.shows(/quit\):\s*$/);
  ended.type("\u0004");
  expect(await ended.exit).toBe(0);
  expect(await readFile(file("suite.yaml"), "utf8")).toContain("answer: z }");
});
