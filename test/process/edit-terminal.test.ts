import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { onPty } from "../lib/pty.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const home = await temporaryDirectory();
const server = await testSandbox({ speed: 1000 });
await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
await server.done(["kb", "doc", "add", "Handbook", "leave.md", "--text", "Thirty days"]);
await server.done(["kb", "doc", "wait", "Handbook"]);

/** Edits the document on a terminal with an editor that is a shell script. */
async function editing(script: string) {
  const editor = join(home, "my editor");
  await writeFile(editor, `#!/bin/sh\n${script}\n`);
  await chmod(editor, 0o700);
  const env = { ...server.env, HOME: home, NO_COLOR: "1", EDITOR: `'${editor}' --wait` };
  return onPty("kb", ["doc", "edit", "Handbook", "leave.md"], env, 200);
}

test("the editor has the terminal, and its command line may have arguments", async () => {
  const run = await editing(`echo "$1: $(cat "$2")"; read line; echo "$line" > "$2"`);
  await run.shows(/^--wait: Thirty days$/m);
  run.type("Forty days\r");
  expect(await run.exit).toBe(0);
  expect((await server.done(["kb", "cat", "Handbook", "leave.md"])).out).toBe("Forty days");
});

test("Ctrl-C ends the editor and keeps the file", async () => {
  await server.done(["kb", "doc", "wait", "Handbook"]);
  const run = await editing(`echo mine > "$2"; echo ready; read line`);
  await run.shows(/^ready$/m);
  run.type("\u0003");
  expect(await run.exit).toBe(130);
  const [, file = ""] = /^editing (.*)$/m.exec((await run.lines()).join("\n")) ?? [];
  expect(await readFile(file, "utf8")).toBe("mine\n");
  expect((await server.done(["kb", "cat", "Handbook", "leave.md"])).out).toBe("Forty days");
});
