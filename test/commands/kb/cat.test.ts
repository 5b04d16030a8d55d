import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox({ models: true });
const home = await temporaryDirectory();
const cat = (args: readonly string[], world: World = {}) =>
  server.cli(["kb", "cat", ...args], { folder: home, ...world });

const text = "Thirty \u001b[31mdays\u001b[0m of leave.\n\nThirty more, naïve.";
const parents = {
  mode: "hierarchical",
  rules: {
    parent_mode: "paragraph",
    pre_processing_rules: [],
    segmentation: { separator: "\n\n", max_tokens: 500 },
    subchunk_segmentation: { separator: " ", max_tokens: 50 },
  },
};

beforeAll(async () => {
  const create = (name: string, ...flags: readonly string[]) =>
    server.done(["kb", "create", name, "--indexing-technique", ...flags]);
  await create("Plain", "economy");
  await write(home, { "leave.md": text, "page.bin.pdf": "" });
  await server.done(["kb", "doc", "upload", "Plain", join(home, "leave.md")]);
  await server.done(["kb", "doc", "add", "Plain", "more.md", "--text", "No line end"]);
  await server.done(["kb", "doc", "wait", "Plain"]);
  await create("Parents", "high_quality");
  const add = ["kb", "doc", "add", "Parents", "tree.md", "--doc-form", "hierarchical_model"];
  const rule = ["--process-rule", JSON.stringify(parents)];
  await server.done([...add, "--text", "one two\n\nthree", ...rule]);
  await create("Questions", "high_quality");
  const pairs = ["kb", "doc", "add", "Questions", "faq.md", "--doc-form", "qa_model"];
  await server.done([...pairs, "--text", "Lunch is at noon."]);
  for (const name of ["Parents", "Questions"]) await server.done(["kb", "doc", "wait", name]);
});

test("prints the content byte for byte, of several documents one after the other", async () => {
  const { exit, out } = await cat(["Plain", "leave.md", "more.md"]);
  expect(exit).toBe(0);
  expect(out).toBe(`${text}No line end`);
  await cat(["Plain", "leave.md", "--output-file", join(home, "copy.md")]);
  expect(await readFile(join(home, "copy.md"), "utf8")).toBe(text);
});

test("a terminal shows escapes instead of obeying them", async () => {
  const { out } = await cat(["Plain", "leave.md"], { tty: true });
  expect(out).toBe("Thirty ␛[31mdays␛[0m of leave.\n\nThirty more, naïve.\n");
});

test.each([
  ["Plain", "leave.md", "Thirty [31mdays[0m of leave.\n\nThirty more, nave.\n"],
  ["Parents", "tree.md", "one two\n\nthree\n"],
])("--chunks of %s: each text once, in order", async (name, document, printed) => {
  expect((await cat([name, document, "--chunks"])).out).toBe(printed);
});

test("a question is followed by its answer", async () => {
  const { out } = await cat(["Questions", "faq.md", "--chunks"]);
  expect(out).toMatch(/^[^\n]+\n[^\n]*Lunch is at noon\.[^\n]*\n$/);
});

test("a document without a file is printed as its chunks, which is said", async () => {
  server.sandbox.setFaults([parseFault("POST /datasets/*/documents/download-zip status=404")]);
  const { exit, out, err } = await cat(["Plain", "more.md"]);
  server.sandbox.setFaults([]);
  expect([exit, out]).toEqual([0, "No line end\n"]);
  expect(err).toBe("no file of document more.md: these are its chunks\n");
});

test("a binary file stays away from the terminal", async () => {
  await write(home, { "dot.pdf": Uint8Array.from([0x25, 0x50, 0x44, 0x46, 0, 0xff]) });
  await server.done(["kb", "doc", "upload", "Plain", join(home, "dot.pdf")]);
  const { exit, out, err } = await cat(["Plain", "dot.pdf"], { tty: true });
  expect([exit, out]).toEqual([2, ""]);
  expect(err).toContain("refusing to write binary output to a terminal");
  expect(err).toContain("add --chunks to print the text");
});
