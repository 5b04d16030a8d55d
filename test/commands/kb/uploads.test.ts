import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory, type World } from "../../lib/support.ts";

const server = await testSandbox();
const kb = "Handbook";
let folder = "";

const run = (argv: readonly string[], world: World = {}) =>
  server.cli(["kb", ...argv], { folder, ...world });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder });

const path = (name: string) => join(folder, name);
const upload = (...words: string[]) => run(["doc", "upload", kb, ...words]);
const names = async () =>
  (await done("doc", "list", kb, "--jq", '[.[].name] | sort | join(" ")')).out.trim();
const writesSince = (since: number) =>
  server.seen.slice(since).filter(({ method }) => method !== "GET");

beforeAll(async () => {
  folder = await temporaryDirectory();
  await mkdir(path("more"));
  for (const name of ["a.md", "b.md", "c.exe", "more/a.md"]) await writeFile(path(name), name);
});
beforeEach(async () => {
  server.sandbox.setFaults([]);
  await run(["delete", kb, "--yes", "--if-exists"]);
  await done("create", kb, "--indexing-technique", "economy");
});

describe("kb doc upload", () => {
  test.each([
    ["is retried: the document of its name is replaced", [], [0, 2]],
    [
      "is sent once with --no-duplicate: a second one would add a document",
      ["--no-duplicate"],
      [1, 1],
    ],
  ] as const)("after a 503 of a proxy, it %s", async (_, flags, [exit, requests]) => {
    await upload(path("a.md"));
    const since = server.seen.length;
    server.sandbox.setFaults([
      parseFault("POST /datasets/*/document/create-by-file html=503 times=1"),
    ]);
    const ran = await upload(path("a.md"), ...flags);
    expect(ran.exit, ran.err).toBe(exit);
    expect(writesSince(since)).toHaveLength(requests);
  });

  test("takes several files, the first of an empty knowledge base without a rule", async () => {
    const ran = await upload(path("a.md"), path("b.md"), "-o", "json");
    expect(ran).toMatchObject({ exit: 0, err: "" });
    expect(JSON.parse(ran.out)).toMatchObject([
      { name: path("a.md"), status: "ok", error: null },
      { name: path("b.md"), status: "ok", error: null },
    ]);
    expect(await names()).toBe("a.md b.md");
    await done("doc", "wait", kb);
    const { id } = (JSON.parse(ran.out) as { id: string }[])[0] ?? {};
    const shown = await done("doc", "show", kb, id ?? "", "--jq", ".document_process_rule.mode");
    expect(shown.out).toBe("automatic\n");
  });

  test("on a terminal names the uploaded file", async () => {
    const ran = await server.cli(["kb", "doc", "upload", kb, path("a.md"), path("b.md")], {
      tty: true,
      columns: 400,
    });
    expect(ran).toMatchObject({ exit: 0, out: "" });
    expect(ran.err).toBe(
      `Uploaded documents ${path("a.md")}, ${path("b.md")} to knowledge base ${kb}; not indexed yet: \`kb doc wait ${kb}\`\n`,
    );
  });

  test("a later file takes the newest rule of the knowledge base", async () => {
    const custom = `{"mode":"custom","rules":{"pre_processing_rules":[],"segmentation":{"separator":"\\n","max_tokens":80}}}`;
    await done("doc", "add", kb, "first.md", "--text", "x", "--process-rule", custom);
    await done("doc", "upload", kb, path("a.md"));
    const shown = await done("doc", "show", kb, "a.md", "--jq", ".document_process_rule.mode");
    expect(shown.out).toBe("custom\n");
  });

  test("a rejected file is one of the results, and the exit code is 10", async () => {
    const ran = await upload(path("a.md"), path("c.exe"), path("b.md"), "-o", "json");
    expect(ran.exit).toBe(10);
    expect(JSON.parse(ran.out)).toMatchObject([
      { name: path("a.md"), status: "ok" },
      { name: path("c.exe"), status: "failed", id: null },
      { name: path("b.md"), status: "ok" },
    ]);
    expect(await names()).toBe("a.md b.md");
  });

  test("a dry run prints the request of each file", async () => {
    const before = server.seen.length;
    const ran = await upload(path("a.md"), path("b.md"), "--dry-run");
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out.match(/file "[ab]\.md"/g)).toEqual(['file "a.md"', 'file "b.md"']);
    expect(ran.out.match(/"mode":"automatic"/g)).toHaveLength(2);
    expect(writesSince(before)).toEqual([]);
  });

  test.each<[string, () => string[], RegExp]>([
    [
      "a directory",
      () => [path("a.md"), path("more")],
      /more: is a directory\nhint: .*`kb sync Handbook \S*more`/,
    ],
    [
      "two files of one name",
      () => [path("a.md"), path("more/a.md")],
      /a\.md and \S*more\/a\.md have the same name/,
    ],
    ["a missing file", () => [path("a.md"), path("z.md")], /z\.md.*file not found/],
  ])("%s: nothing is sent", async (name, files, message) => {
    const before = server.seen.length;
    const ran = await upload(...files());
    expect(ran).toMatchObject({ exit: 2, out: "", err: expect.stringMatching(message) as string });
    expect(server.seen.slice(before), name).toEqual([]);
  });
});

describe("kb create asks for the technique", () => {
  const create = (answers: readonly string[], ...flags: string[]) => {
    const questions: string[] = [];
    const line = ["create", "Asked", ...flags];
    return run(line, { tty: true, answers, questions }).then((ran) => ({ ...ran, questions }));
  };
  const technique = async () =>
    (await done("show", "Asked", "--jq", ".indexing_technique")).out.trim();
  beforeEach(() => run(["delete", "Asked", "--yes", "--if-exists"]));

  test.each([
    ["Enter, without an embedding model", [""]],
    ["its number", ["1"]],
    ["its name", ["economy"]],
    ["something else first", ["3", "what?", "1"]],
  ])("%s: economy", async (_, answers) => {
    const ran = await create(answers);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.questions).toEqual(answers.map(() => "Indexing technique (1-2) [economy]: "));
    expect(ran.err).toContain("needs an embedding model; none is active");
    expect(await technique()).toBe("economy");
  });

  test.each([
    ["a given technique", ["--indexing-technique", "economy"]],
    ["--no-input", ["--no-input"]],
    ["a dry run", ["--dry-run"]],
    ["external knowledge", ["--provider", "external", "--external-knowledge-id", "x"]],
  ])("not with %s", async (_, flags) => {
    expect((await create([], ...flags)).questions).toEqual([]);
  });

  test("not if the result is captured", async () => {
    const questions: string[] = [];
    const ran = await run(["create", "Asked", "-o", "name"], {
      tty: true,
      questions,
      around: (host) => ({ ...host, stdout: { ...host.stdout, isTTY: false } }),
    });
    expect(ran.exit).toBe(0);
    expect(questions).toEqual([]);
  });

  test("in a script, a notice says that there is none and how to set it", async () => {
    const ran = await run(["create", "Asked", "-o", "name"]);
    expect(ran.exit).toBe(0);
    expect(ran.err).toBe(
      "it has no indexing technique yet, which files need: `kb update Asked --indexing-technique economy`, or high_quality with a model\n",
    );
    expect((await run(["create", "Asked2", "-q"])).err).toBe("");
    await done("delete", "Asked2", "--yes");
  });
});

test("a dry run of a sync into a knowledge base without a technique fails as the sync does", async () => {
  await run(["delete", "Bare", "--yes", "--if-exists"]);
  await run(["create", "Bare"]);
  for (const flags of [["--dry-run"], []]) {
    const ran = await run(["sync", "Bare", path("more"), ...flags]);
    expect(ran).toMatchObject({ exit: 5, out: "" });
    expect(ran.err).toContain("hint: `kb update Bare --indexing-technique economy`");
  }
});

test("a list of 80 columns shows why documents are not indexed, before their numbers", async () => {
  await writeFile(path("minutes of the weekly meeting.pdf"), "%PDF-1.7");
  await done("doc", "upload", kb, path("minutes of the weekly meeting.pdf"));
  await server.cli(["kb", "doc", "wait", kb]);
  const { out } = await server.cli(["kb", "doc", "list", kb], {
    tty: true,
    columns: 80,
    env: { NO_COLOR: "1" },
  });
  expect(out.split("\n")[0]).toMatch(/^name +status +error +id$/);
  expect(out).toMatch(/^minutes .* error +The sandbox cannot extract text.*… +\w{8}$/m);
});

test("a document that an upload or a text replaces is named as such", async () => {
  const said = async (...argv: string[]) => (await run(["doc", ...argv], { tty: true })).err;
  expect(await said("add", kb, "a.md", "--text", "one")).toMatch(/^Uploaded document a\.md to/);
  await done("doc", "wait", kb);
  const replaced = /^Replaced the content of document a\.md, which existed; not indexed yet/;
  expect(await said("add", kb, "a.md", "--text", "two")).toMatch(replaced);
  await done("doc", "wait", kb);
  expect(await said("upload", kb, path("a.md"))).toMatch(replaced);
});

test("a lost connection ends an upload of several files", async () => {
  server.sandbox.setFaults([parseFault("POST /datasets/*/create-by-file reset skip=1")]);
  const ran = await upload(path("a.md"), path("b.md"), "-o", "json");
  expect(JSON.parse(ran.out)).toMatchObject([{ status: "ok" }, { status: "unknown" }]);
  expect(ran.exit).toBe(10);
  expect(ran.err).toContain('"changed":"unknown"');
});
