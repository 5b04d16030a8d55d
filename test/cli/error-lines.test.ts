// Lines that people type by mistake, in their order: how they end, and the commands that their hints show.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";
import { mapCommands } from "../../src/lib/command-line.ts";
import { write } from "../lib/directory.ts";
import { hintedCommands } from "../lib/hinted.ts";
import { root } from "../lib/paths.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import type { World } from "../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();

/**
 * `<exit code>  <line>`, and behind a tab the command that the line should lead to, `-` for none. `./` is the
 * directory of the test, and variables may come before a program.
 */
const lines = readFileSync(join(root, "test/cli/error-lines.txt"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => {
    const [typed = "", command = "-"] = line.split("\t");
    return [typed.slice(typed.search(/\D/)).trim(), Number.parseInt(typed), command] as const;
  });

/** Lines whose output names the command that they should lead to. */
const led: string[] = [];

/** What readers put in for the words in capitals. */
const meant = (word: string): string =>
  ({ KB: "H", DOC: "a.md", FILE: join(folder, `file-${files++}`) })[word] ?? word;
let files = 0;

/** Hinted commands that cannot succeed as they are printed. */
const cannot: readonly (readonly [command: RegExp, exit: number, why: string])[] = [
  [/^kb login nosuch$/, 2, "asks for the address of the server and for a key"],
  [/^kb doctor$/, 4, "finds the wrong key, which is what it says"],
  [/^kb copy H --name H$/, 5, "the name is taken, which was what was asked for"],
  [/^kb export H \S+\/d$/, 2, "the directory is not empty, which the line did not know"],
  [/^wf login sandbox --app nosuch$/, 2, "asks for a key"],
  [/^wf text create --query (hi|hello)$/, 6, "the application is a workflow"],
  [/^wf audio transcribe \S+nofile$/, 2, "there is no such file"],
  [/^wf message feedback MESSAGE/, 2, "the message is not known"],
  [/^wf conversation list$/, 4, "the application is a workflow"],
  [/^wf form show last$/, 3, "no run waits for a form"],
  [/^wf test init --from (feedback|annotations) /, 3, "there is nothing to make tests of"],
];

const run = (words: readonly string[], world: World = {}) =>
  server.cli(words, { folder, ...world, env: { KB_KEEP_ERRORS: "0", ...world.env } });

/** The words of a line, and the variables before them. */
function read(line: string) {
  const [variables = ""] = /^(?:[A-Z_]+=\S+ )*/.exec(line) ?? [];
  const env = Object.fromEntries(
    variables
      .trim()
      .split(" ")
      .filter(Boolean)
      .map((each) => each.split("=") as [string, string]),
  );
  const [words = []] = hintedCommands(`\`${line.slice(variables.length)}\``);
  return { env, words: words.map((word) => word.replace(/^\.\//, `${folder}/`)) };
}

/** Runs the commands of hints, on a terminal where deletes are confirmed. Returns those that fail. */
async function failing(text: string, env: World["env"] = {}): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const words of hintedCommands(text)) {
    const signal = AbortSignal.timeout(20_000);
    const { exit, err } = await run(words.map(meant), {
      env,
      tty: true,
      answers: ["y", "y"],
      signal,
    });
    const line = words.map(meant).join(" ");
    const known = cannot.find(([command]) => command.test(line));
    if (exit !== (known?.[1] ?? 0)) failed.push(`${line}: ${exit} ${err}`);
  }
  return failed;
}

beforeAll(async () => {
  await write(folder, {
    "d/leave.md": "Thirty days of leave.",
    "a.md": "A text.",
    "empty.md": "",
    "b.xyz": "x",
  });
  for (const line of [
    "kb create H --indexing-technique economy",
    "kb doc upload H ./a.md",
    "kb doc wait H",
    "kb metadata create H team --type string",
    "kb tag create t1",
  ])
    await server.done(read(line).words, { folder });
});

/** A hint creates it. */
afterEach(() => server.cli(["kb", "tag", "delete", "nosuch", "--yes", "--if-exists"]));

test.each(lines)("%s", async (line, expected, command) => {
  const { env, words } = read(line);
  const { exit, out, err } = await run(words, { env });
  expect(exit, err).toBe(expected);
  if (`${out}${err}`.replaceAll(/\s+/g, " ").includes(command)) led.push(line);
  expect(await failing(out + err, env)).toEqual([]);
});

test("at least four of five lines lead to the command that they are about", () => {
  const wanted = lines.filter(([, , command]) => command !== "-").map(([line]) => line);
  const missed = wanted.filter((line) => !led.includes(line));
  expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(wanted.length / 5);
});

test("there are no fewer lines than were collected", () => {
  expect(lines.length).toBeGreaterThanOrEqual(121);
});

test("a hint that is broken on purpose is found", async () => {
  const { err } = await run(["kb", "doc", "show", "H", "nosuch.md"]);
  expect(await failing(err)).toEqual([]);
  const other = mapCommands(err, (words) => words.map((word) => (word === "H" ? "K" : word)));
  expect(await failing(other)).toEqual([expect.stringMatching(/^kb doc list K: 3 /)]);
});
