/** Numbers of any length, through every way into the program and out of it: the digits stay, or the line is refused. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import type { TestSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

let server: TestSandbox;
let folder = "";
beforeAll(async () => {
  server = await testSandbox();
  folder = await temporaryDirectory();
  await base("H");
});
beforeEach(() => {
  server.seen.length = 0;
});

async function base(name: string) {
  await server.done(["kb", "create", name, "--indexing-technique", "economy"]);
  await server.done(["kb", "doc", "add", name, "a.md", "--text", "hello"]);
  await server.done(["kb", "metadata", "create", name, "n", "--type", "number"]);
  await server.done(["kb", "metadata", "create", name, "due", "--type", "time"]);
}

/** The bodies of all writes. */
const sent = (): string =>
  server.seen
    .filter(({ method }) => method !== "GET")
    .map(({ body }) => new TextDecoder().decode(body))
    .join("\n");

/** The value of the field in the response for the document, as the server sent it. */
async function stored(kb: string, field = "n"): Promise<string> {
  const filter = `[.doc_metadata[] | select(.name == "${field}") | .value][0]`;
  return (await server.done(["kb", "doc", "show", kb, "a.md", "--jq", filter])).out.trim();
}

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

/**
 * Numbers as they are typed, as JSON that means the same, and as a server returns them if it rounds them.
 * Those without JSON are refused.
 */
const numbers: readonly (readonly [typed: string, json?: string, returned?: string])[] = [
  ["1790123456789012345", "1790123456789012345"],
  ["-1790123456789012345", "-1790123456789012345"],
  ["9007199254740993", "9007199254740993"],
  ["123456789012345678901234567890", "123456789012345678901234567890"],
  ["0.1234567890123456789", "0.1234567890123456789", "0.12345678901234568"],
  ["0.12345678901234567", "0.12345678901234567", "0.12345678901234566"],
  ["0.30000000000000004", "0.30000000000000004"],
  ["1.0", "1"],
  ["1e3", "1000"],
  ["-0", "0"],
  // Infinite to a server, and JSON has no such number.
  ["1e400"],
];

/** Lines that set n of a.md in H to a number. */
const ways: readonly (readonly [string, (typed: string) => Promise<readonly string[]>])[] = [
  ["--set", async (typed) => ["metadata", "set", "H", "a.md", "--set", `n=${typed}`]],
  [
    "--each with CSV",
    async (typed) => {
      const rows = await file("each.csv", `document,n\na.md,${typed}\n`);
      return ["metadata", "set", "H", "--each", rows];
    },
  ],
  [
    "--each with JSON Lines",
    async (typed) => {
      const rows = await file("each.jsonl", `{"document":"a.md","n":${typed}}\n`);
      return ["metadata", "set", "H", "--each", rows];
    },
  ],
];

describe.each(ways)("%s", (_, line) => {
  test.each(numbers)("%s", async (typed = "", json?: string, returned = json) => {
    const ran = await server.cli(["kb", ...(await line(typed))]);
    if (json === undefined) {
      expect([ran.exit, sent()], ran.err).toEqual([2, ""]);
      return;
    }
    expect(ran.exit, ran.err).toBe(0);
    expect(sent()).toContain(`"value":${json}}`);
    expect(await stored("H")).toBe(returned);
  });
});

const long = "1790123456789012345";

test.each<[string, () => Promise<readonly string[]>]>([
  ["kb api -F", async () => ["api", "POST", "/x", "-F", `n=${long}`]],
  [
    "kb api --input",
    async () => ["api", "POST", "/x", "--input", await file("n.json", `{"n":${long}}`)],
  ],
  ["--body", async () => ["create", "B", "--body", `{"n":${long}}`]],
  ["--body-set", async () => ["create", "B", "--body-set", `n=${long}`]],
])("%s sends all digits", async (_, line) => {
  await server.cli(["kb", ...(await line())]);
  expect(sent()).toMatch(new RegExp(`"n": ?${long}[,}]`));
});

test.each([
  [long, 0],
  [".inf", 2],
  [".nan", 2],
])("the plan of a file with %s exits with %d", async (number, exit) => {
  const path = await file(
    "kb.yaml",
    `knowledge_base: Y\nindexing_technique: economy\nretrieval_model:\n  top_k: ${number}\n`,
  );
  const ran = await server.cli(["kb", "plan", path]);
  expect([ran.exit, ran.out.includes(long)], ran.err).toEqual([exit, exit === 0]);
});

const dump = async (kb: string) => {
  await server.done(["kb", "metadata", "set", "H", "a.md", "--set", "n=1790123456789012345"]);
  const directory = join(folder, kb);
  await server.done(["kb", "export", "H", directory]);
  return directory;
};

test("front matter is stored digit by digit, and a second sync changes nothing", async () => {
  const directory = join(folder, "site");
  await mkdir(directory);
  await server.done(["kb", "create", "S", "--indexing-technique", "economy"]);
  const text =
    "---\nn: 1790123456789012345\nf: 0.1234567890123456789\none: 1.0\nt: '1790123456789012345'\n---\nHi\n";
  await writeFile(join(directory, "a.md"), text);
  const line = ["kb", "sync", "S", directory, "--metadata-from", "front-matter", "-o", "json"];
  await server.done(line);
  expect(await stored("S")).toBe("1790123456789012345");
  expect(await stored("S", "f")).toBe("0.12345678901234568");
  server.seen.length = 0;
  await server.done(line);
  expect(sent()).toBe("");
  await writeFile(join(directory, "a.md"), text.replaceAll("6789012345", "6789012346"));
  await server.done(line);
  expect(await stored("S")).toBe("1790123456789012346");
  await writeFile(join(directory, "a.md"), text.replace("1790123456789012345", "1e400"));
  server.seen.length = 0;
  expect([(await server.cli(line)).exit, sent()]).toEqual([2, ""]);
});

test("an export, its import and a copy have all digits, and verify compares them", async () => {
  const directory = await dump("I");
  expect(await readFile(join(directory, "manifest.json"), "utf8")).toContain("1790123456789012345");
  await server.done(["kb", "import", directory, "--name", "I", "--yes"]);
  await server.done(["kb", "copy", "H", "--name", "C", "--yes"]);
  expect([await stored("I"), await stored("C")]).toEqual([
    "1790123456789012345",
    "1790123456789012345",
  ]);
  await server.done(["kb", "verify", directory, "I"]);
  await server.done(["kb", "metadata", "set", "I", "a.md", "--set", "n=1790123456789012346"]);
  const { exit, out } = await server.cli(["kb", "verify", "H", "I", "-o", "jsonl"]);
  expect([exit, out.split("\n").length]).toEqual([14, 2]);
  expect(out).toContain('"a":1790123456789012345,"b":1790123456789012346,');
});

test("a backup is restored digit by digit, and undo brings back the former digits", async () => {
  const directory = join(folder, "backups");
  await server.done(["kb", "metadata", "set", "H", "a.md", "--set", "n=1790123456789012345"]);
  await server.done(["kb", "backup", directory, "H"]);
  await server.done(["kb", "backup", "restore", directory, "H", "--name", "R", "--yes"]);
  expect(await stored("R")).toBe("1790123456789012345");
  const line = ["kb", "metadata", "set", "H", "a.md", "--set", "n=1790123456789012346"];
  await server.done([...line, "--backup"]);
  await server.done(["kb", "undo", "--yes"]);
  expect(await stored("H")).toBe("1790123456789012345");
});

test.each([
  ["1790123456789012345", "n=1790123456789012345", true],
  ["1790123456789012345", "n=1790123456789012346", false],
  ["1790123456789012345", "n<1790123456789012346", true],
  ["1790123456789012345", "n>=1790123456789012346", false],
  ["1790123456789012345", "n!=1790123456789012344", true],
  // Servers hold it as a double.
  ["0.1234567890123456789", "n=0.1234567890123456789", true],
  ["0.1234567890123456789", "n!=0.1234567890123456789", false],
  ["0.1234567890123456789", "n<=0.1234567890123456789", true],
  ["0.1234567890123456789", "n=0.12345678901234569", false],
  ["1", "n=1.0", true],
  ["1", "n!=1.0", false],
  ["1000", "n>=1000.0", true],
])("a document with %s and the condition %s: %s", async (value, condition, isFound) => {
  await server.done(["kb", "metadata", "set", "H", "a.md", "--set", `n=${value}`]);
  const line = ["kb", "doc", "list", "H", "--where", condition, "--jq", ".[].name"];
  expect((await server.done(line)).out).toBe(isFound ? "a.md\n" : "");
});
