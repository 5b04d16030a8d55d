import { chmod, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { spawnChild } from "../../../src/host/child-process.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 1000 });
const folder = await temporaryDirectory();
await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);

/** A document of this text. */
async function added(name: string, text: string): Promise<void> {
  await writeFile(join(folder, "text"), text);
  await server.done(["kb", "doc", "add", "Handbook", name, "--text-file", join(folder, "text")]);
  await server.done(["kb", "doc", "wait", "Handbook", name]);
}

const content = async (name: string) => (await server.done(["kb", "cat", "Handbook", name])).out;
const writes = () => server.seen.filter(({ path }) => /update-by|segments\/[\w-]+$/.test(path));
const sent = () => writes().filter(({ method }) => method !== "GET").length;

/** Runs a command at a terminal with an editor that is this shell script; its file is $1. */
async function edited(args: readonly string[], script: string) {
  const home = await temporaryDirectory();
  const editor = join(home, "editor");
  await writeFile(editor, `#!/bin/sh\n${script}\n`);
  await chmod(editor, 0o700);
  const before = sent();
  const env = { PATH: process.env["PATH"], VISUAL: editor, EDITOR: "false" };
  const ran = await server.cli(["kb", ...args], {
    tty: true,
    spawn: spawnChild,
    folder: home,
    columns: 1000,
    env,
  });
  const file = /^editing (.*)$/m.exec(ran.err)?.[1] ?? "";
  const kept = await readFile(file, "utf8").catch(() => undefined);
  return { ...ran, file, kept, home, writes: sent() - before };
}

const doc = (name: string, ...more: readonly string[]) => [
  "doc",
  "edit",
  "Handbook",
  name,
  ...more,
];

test("an edited text is sent, and nothing is left behind", async () => {
  await added("leave.md", "Thirty days.\n");
  const ran = await edited(doc("leave.md"), `sed -i s/Thirty/Forty/ "$1"`);
  expect(ran).toMatchObject({ exit: 0, kept: undefined, writes: 1 });
  expect(ran.file).toMatch(/\/leave\.md$/);
  expect(await readdir(join(ran.home, "state", "edits"))).toEqual([]);
  expect(await content("leave.md")).toBe("Forty days.\n");
});

test("only its owner can read the file", async () => {
  await added("modes.md", "a");
  const ran = await edited(doc("modes.md"), "exit 3");
  expect((await stat(ran.file)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(ran.file))).mode & 0o777).toBe(0o700);
});

test.each([
  ["no line end", "a"],
  ["line ends at the end", "a\n\n\n"],
  ["line ends of Windows", "a\r\nb\r\n"],
  ["characters of several bytes", "日本語 \u{1F600}\n"],
])("a text with %s that is not changed sends nothing", async (_, text) => {
  await added("same.md", text);
  const ran = await edited(doc("same.md"), "true");
  expect(ran).toMatchObject({ exit: 0, kept: undefined, writes: 0 });
  expect(ran.err).toContain("nothing was changed or sent");
});

test("an editor that only ends the last line changes nothing", async () => {
  await added("line.md", "a");
  expect(await edited(doc("line.md"), `echo >> "$1"`)).toMatchObject({ exit: 0, writes: 0 });
});

/** Edits a document; the editor is open until the work is done. */
async function editedWhile(name: string, script: string, work: () => Promise<unknown>) {
  const open = join(await temporaryDirectory(), "open");
  const wait = `touch ${open}; while [ -e ${open} ]; do sleep 0.01; done`;
  const running = edited(doc(name), `${script}; ${wait}`);
  await expect.poll(() => stat(open).catch(() => null), { timeout: 60_000 }).not.toBeNull();
  await work();
  await rm(open);
  return running;
}

test("a text that was changed meanwhile is refused, and the kept file can be sent", async () => {
  await added("both.md", "one\n");
  const ran = await editedWhile("both.md", `echo mine > "$1"`, () => added("both.md", "theirs"));
  expect(ran).toMatchObject({ exit: 5, kept: "mine\n" });
  expect(ran.err).toContain("both.md was changed on the server meanwhile; the text is kept in ");
  expect(ran.err).toContain(`\`kb doc edit Handbook both.md --from ${ran.file}\``);
  expect(await content("both.md")).toBe("theirs");
  await server.done(["kb", "doc", "edit", "Handbook", "both.md", "--from", ran.file]);
  expect(await content("both.md")).toBe("mine\n");
});

test("a write that the server refuses keeps the file", async () => {
  await added("refused.md", "one\n");
  const disable = ["kb", "doc", "disable", "Handbook", "refused.md"];
  const ran = await editedWhile("refused.md", `echo two > "$1"`, () => server.done(disable));
  expect(ran).toMatchObject({ exit: 5, kept: "two\n" });
  expect(ran.err).toContain("Document is not available");
});

test.each([
  ["an editor that fails", `echo new > "$1"; exit 7`, "ended with exit code 7", "new\n"],
  ["an empty text", `printf ' \\n' > "$1"`, "the text is empty or not UTF-8", " \n"],
  ["a text with NUL", `printf 'a\\0' > "$1"`, "the text is empty or not UTF-8", "a\0"],
])("%s sends nothing and keeps the file", async (_, script, problem, kept) => {
  await added("kept.md", "one\n");
  const ran = await edited(doc("kept.md"), script);
  expect(ran).toMatchObject({ exit: 2, writes: 0, kept });
  expect(ran.err).toContain(problem);
  expect(ran.err).toContain(`the text is kept in ${ran.file}`);
});

test("chunks that were changed by hand are named before they are lost", async () => {
  await added("chunks.md", "one\n");
  const ids = await server.done(["kb", "chunk", "list", "Handbook", "chunks.md", "-o", "name"]);
  const id = ids.out.trim();
  await server.done(["kb", "chunk", "update", "Handbook", "chunks.md", id, "--content", "two"]);
  const ran = await edited(doc("chunks.md"), "true");
  expect(ran.err).toContain("chunks.md loses chunk 1 (edited)");
});

test("a file is sent as a file of the same name", async () => {
  const path = join(folder, "page.html");
  await writeFile(path, "<p>one</p>\n");
  await server.done(["kb", "doc", "upload", "Handbook", path]);
  await server.done(["kb", "doc", "wait", "Handbook", "page.html"]);
  const ran = await edited(doc("page.html"), `sed -i s/one/two/ "$1"`);
  expect(ran).toMatchObject({ exit: 0, kept: undefined });
  expect(await content("page.html")).toBe("<p>two</p>\n");
});

test("a document without text is refused with a way to its chunks", async () => {
  const path = join(folder, "plan.txt");
  await writeFile(path, Buffer.from("caf\xe9 naïve", "latin1"));
  await server.done(["kb", "doc", "upload", "Handbook", path]);
  await server.done(["kb", "doc", "wait", "Handbook", "plan.txt"]);
  const ran = await edited(doc("plan.txt"), "true");
  expect(ran).toMatchObject({ exit: 6, file: "", writes: 0 });
  expect(ran.err).toContain("the text of plan.txt cannot be read");
  expect(ran.err).toContain("`kb chunk list Handbook plan.txt`");
});

test("without a terminal, the hint is the command that needs none", async () => {
  await added("quiet.md", "one\n");
  const ran = await server.cli(["kb", ...doc("quiet.md")]);
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toBe(
    "error: an editor needs a terminal\nhint: `kb doc update Handbook quiet.md --text-file FILE`\n",
  );
});

test("a dry run opens no editor", async () => {
  const ran = await edited(doc("quiet.md", "--dry-run"), "exit 1");
  expect(ran).toMatchObject({ exit: 0, out: "", file: "", writes: 0 });
  expect(ran.err).toBe("would open quiet.md in an editor\n");
});

/** A document with one chunk, and its ID. */
async function chunkOf(name: string, text: string): Promise<string> {
  await added(name, text);
  return (await server.done(["kb", "chunk", "list", "Handbook", name, "-o", "name"])).out.trim();
}

const parking = await chunkOf("b.md", "Parking");

test("a chunk is edited as YAML, and its keywords follow its content", async () => {
  const id = await chunkOf("a.md", "Parking is free.");
  const line = ["chunk", "edit", "Handbook", "a.md", id];
  const ran = await edited(line, `sed -i s/free/cheap/ "$1"`);
  expect(ran).toMatchObject({ exit: 0, kept: undefined });
  const show = [
    "kb",
    "chunk",
    "show",
    "Handbook",
    "a.md",
    id,
    "--jq",
    ".data.content, (.data.keywords|sort)",
  ];
  expect((await server.done(show)).out).toBe('Parking is cheap.\n["Parking","cheap"]\n');
  expect(await edited(line, "true")).toMatchObject({ exit: 0, writes: 0 });
});

test.each([
  ["content: [", "it is not a chunk: "],
  ["answer: a", "it is not a chunk: content is missing"],
  ["content: ''", "it is not a chunk: content is empty"],
  ["content: a\nkeywords: b", "it is not a chunk: keywords "],
])("a chunk of the YAML %j is refused", async (text, problem) => {
  const ran = await edited(
    ["chunk", "edit", "Handbook", "b.md", parking],
    `printf '%s' '${text.replaceAll("'", `'\\''`)}' > "$1"`,
  );
  expect(ran).toMatchObject({ exit: 2, writes: 0, kept: text });
  expect(ran.err).toContain(problem);
});

test.each(["a\tb\r\nc  \n\n", "\ufeff# a", "- a: 'b'\n  c", " a", "a\u2028b\u0085c", "'", "1.0"])(
  "the text %j of a chunk is read back exactly",
  async (text) => {
    const line = ["Handbook", "b.md", parking];
    await server.done(["kb", "chunk", "update", ...line, "--content", text]);
    const before = (await server.done(["kb", "chunk", "show", ...line, "--json"])).out;
    const ran = await edited(["chunk", "edit", ...line], `echo '# comment' >> "$1"`);
    expect(ran).toMatchObject({ exit: 0 });
    const after = (await server.done(["kb", "chunk", "show", ...line, "--json"])).out;
    const of = (json: string) => (JSON.parse(json) as { data: { content: string } }).data.content;
    expect(of(after)).toBe(of(before));
  },
);
