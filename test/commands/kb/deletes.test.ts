import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { cannedServer, ok } from "../../lib/canned-server.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox();
const kb = "Handbook";
let folder = "";

const run = (argv: readonly string[], world: World = {}) =>
  server.cli(["kb", ...argv], { folder, ...world });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder });

/** Runs a command on a terminal and returns what it said and asked. */
async function asked(argv: readonly string[], ...answers: string[]) {
  const questions: string[] = [];
  const ran = await run(argv, { tty: true, columns: 200, answers, questions });
  return { ...ran, questions };
}

const exists = async (...argv: string[]) => (await run(["show", ...argv])).exit === 0;
const seven = ["1.md", "2.md", "3.md", "4.md", "5.md", "6.md", "7.md"];

beforeAll(async () => {
  folder = await temporaryDirectory();
  await done("create", kb, "--indexing-technique", "economy");
  await done("create", "Empty", "--indexing-technique", "economy");
  for (const name of seven)
    await done("doc", "add", kb, name, "--text", "five words of plain text");
  await done("doc", "wait", kb);
  for (const name of ["team", "kb_hash"]) {
    await done("metadata", "create", kb, name, "--type", "string");
    await done("metadata", "set", kb, "1.md", "2.md", "--set", `${name}=x`);
  }
  await done("create", "Bare", "--indexing-technique", "economy");
  await writeFile(join(folder, "empty.md"), " ");
  await done("doc", "upload", "Bare", join(folder, "empty.md"));
  await done("tag", "create", "draft");
  await done("tag", "bind", kb, "draft");
});

describe("the prompt before a delete", () => {
  test("a knowledge base with documents wants its name", async () => {
    const wrong = await asked(["delete", kb], "handbook");
    expect(wrong.err).toBe(
      "Delete knowledge base Handbook: 7 documents, 168 words? This cannot be undone.\nnothing was deleted\n",
    );
    expect(wrong.questions).toEqual(["Type Handbook to delete, or b to back up first: "]);
    expect(wrong.exit).toBe(2);
    expect((await asked(["delete", kb], "y")).exit).toBe(2);
    expect(await exists(kb)).toBe(true);
    await done("create", "Goes", "--indexing-technique", "economy");
    await done("doc", "add", "Goes", "a.md", "--text", "a");
    await done("doc", "wait", "Goes");
    const deleted = await asked(["delete", "Goes"], " Goes ");
    expect(deleted.exit).toBe(0);
    expect(deleted.err).toContain("\nDeleted knowledge base Goes (1 document, 1 word)\n");
    expect(await exists("Goes")).toBe(false);
  });

  test.each<[string, string[], string]>([
    [
      "an empty knowledge base",
      ["delete", "Empty"],
      "Delete knowledge base Empty: no documents? This cannot be undone. [y/N, b to back up first] ",
    ],
    [
      "a document",
      ["doc", "delete", kb, "1.md"],
      "Delete document 1.md from knowledge base Handbook: 1 chunk? This cannot be undone. [y/N, b to back up first] ",
    ],
    [
      "a document without chunks",
      ["doc", "delete", "Bare", "empty.md"],
      "Delete document empty.md from knowledge base Bare? This cannot be undone. [y/N, b to back up first] ",
    ],
    [
      "several documents",
      ["doc", "delete", kb, ...seven],
      "Delete documents 1.md, 2.md, 3.md, 4.md, 5.md and 2 more from knowledge base Handbook? This cannot be undone. [y/N, b to back up first] ",
    ],
    [
      "a field",
      ["metadata", "delete", kb, "team"],
      "Delete metadata field team: values of 2 documents? This cannot be undone. [y/N, b to back up first] ",
    ],
    [
      "a field of kb sync",
      ["metadata", "delete", kb, "kb_hash"],
      "Delete metadata field kb_hash: values of 2 documents, which kb sync needs to find them again? This cannot be undone. [y/N, b to back up first] ",
    ],
    [
      "a tag",
      ["tag", "delete", "draft"],
      "Delete tag draft: bound to 1 knowledge base? This cannot be undone. [y/N] ",
    ],
  ])("%s", async (_, line, question) => {
    const ran = await asked(line, "n");
    expect(ran).toMatchObject({ exit: 2, out: "", err: "nothing was deleted\n" });
    expect(ran.questions).toEqual([question]);
  });

  test("a dry run of several of which one is missing changes nothing", async () => {
    const ran = await run(["doc", "delete", kb, "1.md", "nope.md", "-n", "-o", "json"]);
    expect(ran.exit).toBe(10);
    expect(ran.err.split("\n")[1]).toContain('"changed":"nothing"');
  });

  test("without a terminal, nothing is deleted without --yes", async () => {
    const ran = await run(["delete", "Empty"]);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("hint: pass --yes to skip the prompt");
    expect((await run(["show", "Empty"])).exit).toBe(0);
  });

  test("an answer of no is an error in JSON", async () => {
    const ran = await run(["delete", "Empty"], {
      tty: true,
      answers: ["n"],
      env: { KB_ERROR_FORMAT: "json" },
    });
    expect(JSON.parse(ran.err)).toMatchObject({
      error: { code: "declined", exit: 2, message: "nothing was deleted", changed: "nothing" },
    });
  });

  test("applications that use a knowledge base are named, and large numbers are grouped", async () => {
    const id = "11111111-1111-4111-8111-111111111111";
    const canned = await cannedServer();
    const questions: string[] = [];
    const ran = await canned.run(
      {
        "GET /datasets/*": ok({
          id,
          name: "Handbook",
          document_count: 297,
          word_count: 480574,
          app_count: 2,
        }),
      },
      ["kb", "delete", id],
      { tty: true, answers: ["n"], questions },
    );
    expect(ran.err).toContain(
      `Delete knowledge base ${id}: 297 documents,\n    480,574 words, used by 2 applications? This cannot be undone.\n`,
    );
    expect(questions).toEqual(["Type Handbook to delete, or b to back up first: "]);
    expect(canned.lines()).toEqual([`GET /datasets/${id}`]);
  });

  test("a prompt has only the counts that the server reports", async () => {
    const id = "11111111-1111-4111-8111-111111111111";
    const canned = await cannedServer();
    const questions: string[] = [];
    const world = { tty: true, answers: ["n"], questions };
    await canned.run({ "GET /datasets/*": ok({ id, name: "A" }) }, ["kb", "delete", id], world);
    expect(questions).toEqual([
      `Delete knowledge base ${id}? This cannot be\n    undone. [y/N, b to back up first] `,
    ]);
  });

  test("several documents are named, and only the deleted ones after it", async () => {
    await done("create", "Three", "--indexing-technique", "economy");
    for (const name of ["a.md", "b.md", "c.md"]) {
      await done("doc", "add", "Three", name, "--text", "a");
    }
    await done("doc", "wait", "Three");
    const all = await asked(["doc", "delete", "Three", "a.md", "b.md"], "y");
    expect(all).toMatchObject({
      exit: 0,
      out: "",
      err: "Deleted documents a.md, b.md from knowledge base Three\n",
    });
    const some = await asked(["doc", "delete", "Three", "a.md", "c.md", "--if-exists"], "y");
    expect(some).toMatchObject({ exit: 0, out: "\u001b[33mskipped\u001b[39m  a.md\n" });
    expect(some.err).toBe("Deleted document c.md from knowledge base Three\n");
    const none = await asked(["doc", "delete", "Three", "a.md", "c.md", "--if-exists"]);
    expect(none).toMatchObject({
      exit: 0,
      out: "\u001b[33mskipped\u001b[39m  2: a.md, c.md\n",
      err: "",
    });
  });

  test("--each names the first five rows", async () => {
    const path = join(folder, "gone.csv");
    await writeFile(path, `doc\n${seven.join("\n")}\n`);
    const ran = await asked(["doc", "delete", kb, "--each", path], "n");
    expect(ran).toMatchObject({ exit: 2, out: "", err: "nothing was deleted\n" });
    expect(ran.questions).toEqual([
      "Delete documents 1.md, 2.md, 3.md, 4.md, 5.md and 2 more from knowledge base Handbook? This cannot be undone. [y/N] ",
    ]);
  });

  test("--each over knowledge bases wants their number", async () => {
    const path = join(folder, "bases.csv");
    await writeFile(path, `kb\n${kb}\nEmpty\n`);
    const ran = await asked(["delete", "--each", path], "y");
    expect(ran.err).toBe(
      "Delete knowledge bases Handbook, Empty? This cannot be undone.\nnothing was deleted\n",
    );
    expect(ran.questions).toEqual(["Type 2 to delete: "]);
    expect(await exists("Empty")).toBe(true);
  });

  test("with --yes nothing is read for the prompt", async () => {
    await done("create", "Quick", "--indexing-technique", "economy");
    const before = server.seen.length;
    await done("delete", "Quick", "--yes");
    const sent = server.seen
      .slice(before)
      .map(({ method, path }) => `${method} ${path.split("?")[0]}`);
    expect(sent).toHaveLength(2); // the list, for the name
  });
});

describe("a dry run of a delete", () => {
  test.each<[string, string[], string]>([
    ["kb", ["delete", kb], "would delete knowledge base Handbook: 7 documents, 168 words\n"],
    [
      "documents",
      ["doc", "delete", kb, "1.md", "2.md"],
      "would delete documents 1.md, 2.md from knowledge base Handbook\n",
    ],
  ])("%s: says what would be deleted", async (_, line, notice) => {
    const ran = await run([...line, "--dry-run"]);
    expect(ran).toMatchObject({ exit: 0, err: notice });
    expect(ran.out).toMatch(/^DELETE http/);
  });

  test("rows of a file", async () => {
    const path = join(folder, "two.csv");
    await writeFile(path, "doc\n1.md\n2.md\n");
    const ran = await run(["doc", "delete", kb, "--each", path, "--dry-run"]);
    expect(ran.err).toBe("would delete documents 1.md, 2.md from knowledge base Handbook\n");
  });

  test("needs no server where it has an id", async () => {
    const id = "11111111-1111-4111-8111-111111111111";
    const env = { KB_BASE_URL: "http://127.0.0.1:1/v1" };
    const ran = await run(["delete", id, "--dry-run"], { env });
    expect(ran).toMatchObject({ exit: 0, err: `would delete knowledge base ${id}\n` });
  });
});

test("a sync that deletes too many names them, in a dry run as well", async () => {
  const { mkdir, rm } = await import("node:fs/promises");
  const dir = join(folder, "docs");
  await mkdir(dir);
  for (const name of ["a.md", "b.md", "c.md"]) await writeFile(join(dir, name), name);
  await done("create", "Synced", "--indexing-technique", "economy");
  await done("sync", "Synced", dir);
  await rm(join(dir, "a.md"));
  await rm(join(dir, "b.md"));
  const line = ["sync", "Synced", dir, "--prune"];
  const ran = await asked(line, "n");
  expect(ran.questions).toEqual([
    "Delete 2 of 3 documents (more than --max-delete): a.md, b.md? [y/N, b to back up first] ",
  ]);
  expect(ran).toMatchObject({ exit: 2, out: "" });
  const dry = await run([...line, "--dry-run"]);
  expect(dry.exit).toBe(0);
  expect(dry.err).toContain(
    "would ask before deleting 2 of 3 documents (more than --max-delete): a.md, b.md",
  );
});

test("a document that is named twice is deleted once", async () => {
  await done("create", "Twice", "--indexing-technique", "economy");
  await done("doc", "add", "Twice", "x.md", "--text", "x");
  const ran = await run(["doc", "delete", "Twice", "x.md", "x.md", "--yes", "-o", "json"]);
  expect(ran.exit, ran.err).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject([{ name: "x.md", status: "ok" }]);
});
