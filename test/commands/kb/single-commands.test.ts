import { existsSync } from "node:fs";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { cannedServer, ok, pageOf } from "../../lib/canned-server.ts";
import type { CannedRequest } from "../../lib/canned-server.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { testSandbox, type TestSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const nobody = "00000000-0000-4000-8000-000000000000";

let server: TestSandbox;
let canned: Awaited<ReturnType<typeof cannedServer>>;
let folder = "";
let kb = "";
beforeAll(async () => {
  server = await testSandbox();
  canned = await cannedServer();
  folder = await temporaryDirectory();
  kb = await made("kb", "create", "Handbook", "--indexing-technique", "economy");
  for (const name of ["a.md", "b.md", "c.md"])
    await made("kb", "doc", "add", kb, name, "--text", `text of ${name}`);
  await made("kb", "doc", "wait", kb);
});

/** Runs a command that must succeed and returns the ID in its output. */
const made = async (...argv: string[]) => (await server.done([...argv, "-o", "name"])).out.trim();

const writes = () => server.seen.filter(({ method }) => method !== "GET");

describe("requests without an effect are not sent", () => {
  const file = () => join(folder, `${"n".repeat(201)}.md`);
  test.each<[string, () => string[], string]>([
    [
      "a knowledge base without changes",
      () => ["kb", "update", kb],
      "specify at least one of --name, --description",
    ],
    [
      "a document without changes",
      () => ["kb", "doc", "update", kb, "a.md"],
      "specify at least one of --text, --text-file, --process-rule",
    ],
    [
      "a document with only a new name",
      () => ["kb", "doc", "update", kb, "a.md", "--name", "new"],
      "specify at least one of --text, --text-file, --process-rule",
    ],
    [
      "a chunk without changes",
      () => ["kb", "chunk", "update", kb, "a.md", nobody],
      "specify at least one of --content, --answer",
    ],
    [
      "no chunk",
      () => ["kb", "chunk", "add", kb, "a.md"],
      "specify at least one of --segments, --content",
    ],
    [
      "two missing flags",
      () => ["kb", "pipeline", "run-node", kb, "n1"],
      "--datasource-type and --is-published are required",
    ],
    ["a missing text", () => ["kb", "doc", "add", kb, "x"], "--text or --text-file is required"],
    ["a blank name", () => ["kb", "create", "   "], '<name> "   " is blank'],
    ["a blank tag name", () => ["kb", "tag", "create", " "], '<name> " " is blank'],
    [
      "a name that is too long",
      () => ["kb", "doc", "add", kb, "n".repeat(201), "--text", "x"],
      "has 201 characters; 1 to 200 are allowed",
    ],
    [
      "a file whose name is too long",
      () => ["kb", "doc", "upload", kb, file()],
      "has a name of 204 characters; 200 are allowed",
    ],
    [
      "high_quality on an economy knowledge base",
      () => ["kb", "doc", "add", kb, "x.md", "--text", "x", "--indexing-technique", "high_quality"],
      "--indexing-technique has no effect: the knowledge base already has the indexing technique economy",
    ],
    [
      "the same by upload",
      () => [
        "kb",
        "doc",
        "upload",
        kb,
        join(folder, "a.md"),
        "--indexing-technique",
        "high_quality",
      ],
      "already has the indexing technique economy",
    ],
    [
      "search settings for a knowledge base with a technique",
      () => [
        "kb",
        "doc",
        "add",
        kb,
        "x.md",
        "--text",
        "x",
        "--retrieval-model",
        '{"search_method":"keyword_search","reranking_enable":false,"top_k":3,"score_threshold_enabled":false}',
      ],
      "--retrieval-model has no effect",
    ],
    [
      "--curl for a command with a plan",
      () => ["kb", "sync", kb, folder, "--dry-run", "--curl"],
      "--curl",
    ],
  ])("%s", async (_, line, message) => {
    await writeFile(join(folder, "a.md"), "text");
    await writeFile(file(), "text");
    server.seen.length = 0;
    const ran = await server.cli(line());
    expect(ran.err).toContain(message);
    expect(ran.exit).toBe(2);
    expect(writes()).toEqual([]);
  });

  test("the row of --each without changes is reported", async () => {
    const rows = join(folder, "rows.csv");
    await writeFile(rows, "kb,name,description\nHandbook,,\n");
    server.seen.length = 0;
    const ran = await server.cli(["kb", "update", "--each", rows], { folder });
    expect(ran).toMatchObject({ exit: 2 });
    expect(ran.err).toContain("row 1 (line 2): specify at least one of");
    expect(writes()).toEqual([]);
  });
});

describe("output files", () => {
  test("- is stdout for --zip and --output-file", async () => {
    const zip = await server.cli(["kb", "doc", "download", kb, "a.md", "b.md", "--zip", "-"]);
    expect(zip.exit, zip.err).toBe(0);
    expect(zip.out.startsWith("PK")).toBe(true);
    const text = await server.cli(["kb", "pull", kb, "--output-file", "-"]);
    expect(text.out).toContain("knowledge_base: Handbook");
    expect(existsSync("-")).toBe(false);
  });

  test("missing directories are created", async () => {
    const zip = join(folder, "new", "deep", "z.zip");
    expect(await server.cli(["kb", "doc", "download", kb, "a.md", "--zip", zip])).toMatchObject({
      exit: 0,
    });
    expect(existsSync(zip)).toBe(true);
    const rows = join(folder, "tags.csv");
    await writeFile(rows, "name\nfresh\nfresh\n");
    const failed = join(folder, "new too", "failed.csv");
    const line = ["kb", "tag", "create", "--each", rows, "--errors-to", failed];
    expect((await server.cli(line, { folder })).exit).toBe(10);
    expect(await readFile(failed, "utf8")).toBe("name\nfresh\n");
    const pulled = join(folder, "new as well", "kb.yml");
    expect((await server.cli(["kb", "pull", kb, "--output-file", pulled])).exit).toBe(0);
  });

  test("a download does not overwrite a file with other content", async () => {
    const dir = join(folder, "downloads");
    const line = ["kb", "doc", "download", kb, "a.md", "b.md", "--dir", dir];
    expect((await server.cli(line)).exit).toBe(0);
    expect((await server.cli(line)).exit).toBe(0);
    await writeFile(join(dir, "b.md"), "edited by hand");
    const refused = await server.cli(line);
    expect(refused.exit).toBe(2);
    expect(refused.err).toContain(`${dir}/b.md already exists with other content`);
    expect(refused.err).toContain("--overwrite");
    expect(await readFile(join(dir, "b.md"), "utf8")).toBe("edited by hand");
    expect((await server.cli([...line, "--overwrite"])).exit).toBe(0);
    expect(await readFile(join(dir, "b.md"), "utf8")).toBe("text of b.md");
  });

  test("a changed file name is reported", async () => {
    await made("kb", "doc", "add", kb, 'q"?.md', "--text", "quoted");
    const dir = join(folder, "names");
    const ran = await server.cli(["kb", "doc", "download", kb, 'q"?.md', "--dir", dir]);
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toContain(`wrote document q"?.md to ${dir}/`);
    expect(await readdir(dir)).toHaveLength(1);
  });
});

test("chunks of --each are added in the order of their rows", async () => {
  const document = await made("kb", "doc", "add", kb, "order.md", "--text", "first");
  await made("kb", "doc", "wait", kb, document);
  const rows = join(folder, "chunks.csv");
  const texts = Array.from({ length: 12 }, (_, at) => `row ${String(at).padStart(2, "0")}`);
  await writeFile(rows, `content\n${texts.join("\n")}\n`);
  // The first response is delayed, so that a concurrent second request would overtake it.
  server.sandbox.setFaults([parseFault("POST /datasets/*/segments delay=100ms times=1")]);
  const ran = await server.cli(["kb", "chunk", "add", kb, document, "--each", rows], { folder });
  server.sandbox.setFaults([]);
  expect(ran.exit, ran.err).toBe(0);
  const listed = await server.cli([
    "kb",
    "chunk",
    "list",
    kb,
    document,
    "--all",
    "--jq",
    ".[].content",
  ]);
  expect(listed.out.trim().split("\n").slice(1)).toEqual(texts);
});

test("a list includes knowledge bases of selected members, like name resolution", async () => {
  const id = await made("kb", "create", "Some members");
  const given = await server.cli(["kb", "update", id, "--permission", "partial_members"]);
  expect(given.exit, given.err).toBe(0);
  server.seen.length = 0;
  await server.cli(["kb", "list"]);
  expect(server.seen[0]?.path).toContain("include_all=true");
  await server.cli(["kb", "list", "--no-include-all"]);
  expect(server.seen[1]?.path).toContain("include_all=false");
});

describe("success is printed only for changes", () => {
  const unknown = `"${nobody}" not found`;
  test.each<[string, () => string[]]>([
    ["doc disable", () => ["kb", "doc", "disable", kb, "a.md", nobody]],
    ["doc enable", () => ["kb", "doc", "enable", kb, nobody]],
    ["doc archive", () => ["kb", "doc", "archive", kb, nobody]],
    ["doc unarchive", () => ["kb", "doc", "unarchive", kb, nobody]],
    ["tag bind", () => ["kb", "tag", "bind", kb, nobody]],
    ["tag unbind", () => ["kb", "tag", "unbind", kb, nobody]],
    ["metadata delete", () => ["kb", "metadata", "delete", kb, nobody, "--yes"]],
    ["metadata rename", () => ["kb", "metadata", "rename", kb, nobody, "X"]],
    ["metadata set", () => ["kb", "metadata", "set", kb, nobody, "--set", "num=7"]],
  ])("%s of an unknown id ends with 3, names it and changes nothing", async (_, line) => {
    server.seen.length = 0;
    const ran = await server.cli(line());
    expect(ran.err).toContain(unknown);
    expect(ran.exit).toBe(3);
    expect(ran.out).toBe("");
    expect(writes()).toEqual([]);
  });

  test("--if-exists treats an unknown field as deleted", async () => {
    const ran = await server.cli(["kb", "metadata", "delete", kb, nobody, "--yes", "--if-exists"]);
    expect(ran).toMatchObject({ exit: 0, out: "" });
  });

  test("an ID needs one read, a name only its lookup", async () => {
    const id = (
      await server.cli(["kb", "doc", "list", kb, "--keyword", "a.md", "-o", "name"])
    ).out.trim();
    server.seen.length = 0;
    expect((await server.cli(["kb", "doc", "disable", kb, id])).exit).toBe(0);
    expect(server.seen.map(({ method }) => method)).toEqual(["GET", "PATCH"]);
    server.seen.length = 0;
    expect((await server.cli(["kb", "doc", "enable", kb, "a.md"])).exit).toBe(0);
    expect(server.seen.map(({ method }) => method)).toEqual(["GET", "PATCH"]);
    server.seen.length = 0;
    // A dry run makes the same checks.
    expect((await server.cli(["kb", "doc", "enable", kb, nobody, "--dry-run"])).exit).toBe(3);
    expect(server.seen.map(({ method }) => method)).toEqual(["GET"]);
  });

  test("more than twenty IDs need one list", async () => {
    const ids = Array.from({ length: 21 }, (_, at) => `${nobody.slice(0, -2)}${at + 10}`);
    server.seen.length = 0;
    const ran = await server.cli(["kb", "doc", "enable", kb, ...ids]);
    expect(ran.exit).toBe(3);
    expect(server.seen).toHaveLength(1);
  });
});

describe("several documents in one command", () => {
  const add = (...names: string[]) =>
    Promise.all(names.map((name) => made("kb", "doc", "add", kb, name, "--text", name)));
  const left = async () =>
    (await server.cli(["kb", "doc", "list", kb, "--all", "--jq", ".[].name"])).out;

  test("are all processed and listed, with exit code 10 if some fail", async () => {
    await add("x1.md", "x2.md");
    const ran = await server.cli([
      "kb",
      "doc",
      "delete",
      kb,
      "x1.md",
      nobody,
      "nowhere.md",
      "x2.md",
      "--yes",
    ]);
    expect(ran.exit).toBe(10);
    const rows = ran.out
      .trim()
      .split("\n")
      .map((line) => line.split("\t").slice(0, 2));
    expect(rows).toEqual([
      ["x1.md", "ok"],
      [nobody, "failed"],
      ["nowhere.md", "failed"],
      ["x2.md", "ok"],
    ]);
    expect(ran.err).toContain(`2 of 4 failed: doc "${nobody}": `);
    expect(await left()).not.toMatch(/x1|x2/);
  });

  test("that all fail the same way give that exit code; JSON lists each", async () => {
    const ran = await server.cli([
      "kb",
      "doc",
      "delete",
      kb,
      nobody,
      "nowhere.md",
      "--yes",
      "-o",
      "json",
    ]);
    expect(ran.exit).toBe(3);
    expect(JSON.parse(ran.out)).toMatchObject([
      { name: nobody, status: "failed" },
      { name: "nowhere.md", status: "failed" },
    ]);
    expect(JSON.parse(ran.err)).toMatchObject({ error: { changed: "nothing" } });
  });

  test("a single one fails without output", async () => {
    const ran = await server.cli(["kb", "doc", "delete", kb, nobody, "--yes"]);
    expect(ran).toMatchObject({ exit: 3, out: "" });
    await add("y0.md");
    expect(await server.cli(["kb", "doc", "delete", kb, "y0.md", "--yes"])).toMatchObject({
      exit: 0,
      out: "",
    });
  });

  test("--if-exists skips only missing ones", async () => {
    await add("y1.md", "y2.md");
    const line = [
      "kb",
      "doc",
      "delete",
      kb,
      "y1.md",
      "nowhere.md",
      nobody,
      "y2.md",
      "--yes",
      "--if-exists",
    ];
    const ran = await server.cli(line);
    expect(ran.exit, ran.err).toBe(0);
    const words = ran.out
      .trim()
      .split("\n")
      .map((row) => row.split("\t")[1]);
    expect(words).toEqual(["ok", "skipped", "skipped", "ok"]);
    expect(await left()).not.toMatch(/y1|y2/);
  });

  test("a fatal error ends the command", async () => {
    await add("z1.md", "z2.md");
    server.sandbox.setFaults([parseFault("DELETE * status=401")]);
    const ran = await server.cli(["kb", "doc", "delete", kb, "z1.md", "z2.md", "--yes"]);
    server.sandbox.setFaults([]);
    expect(ran.exit).toBe(4);
    expect(ran.out.trim().split("\n")).toHaveLength(1);
    expect(ran.err).toContain("1 not sent");
  });
});

describe("chunks", () => {
  const base = "11111111-1111-4111-8111-111111111111";
  const doc = "22222222-2222-4222-8222-222222222222";
  const chunk = "55555555-5555-4555-8555-555555555555";
  const one = `/datasets/${base}/documents/${doc}/segments/${chunk}`;
  const all = `/datasets/${base}/documents/${doc}/segments`;
  const stored = {
    id: chunk,
    content: "Old question?",
    answer: "Old answer.",
    status: "completed",
  };
  const line = (...flags: string[]) => ["kb", "chunk", "update", base, doc, chunk, ...flags];
  const asQa = {
    [`GET ${one}`]: ok({ data: stored, doc_form: "qa_model" }),
    [`POST ${one}`]: ({ body }: CannedRequest) =>
      ok({ data: { ...stored, ...(body as { readonly segment: object }).segment } }),
  };
  const sent = () => canned.seen.at(-1)?.body;

  test.each([
    ["a question", ["--content", "New?"], { content: "New?", answer: "Old answer." }],
    ["an answer", ["--answer", "New."], { answer: "New." }],
    ["a keyword", ["--keyword", "k"], { answer: "Old answer.", keywords: ["k"] }],
    ["the status on", ["--enabled"], { answer: "Old answer.", enabled: true }],
    ["the status off", ["--no-enabled"], { enabled: false }],
  ])("%s of a Q&A chunk is sent so that it keeps its answer", async (_, flags, segment) => {
    const ran = await canned.run(asQa, line(...flags));
    expect(ran.exit, ran.err).toBe(0);
    expect(sent()).toEqual({ segment });
  });

  test("a Q&A chunk without an answer requires --answer", async () => {
    const lost = {
      ...asQa,
      [`GET ${one}`]: ok({ data: { ...stored, answer: null }, doc_form: "qa_model" }),
    };
    const ran = await canned.run(lost, line("--content", "New?"));
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("--answer is required");
    expect(canned.lines()).toEqual([`GET ${one}`]);
  });

  test("other chunks are sent unchanged", async () => {
    const text = {
      ...asQa,
      [`GET ${one}`]: ok({ data: { ...stored, answer: null }, doc_form: "text_model" }),
    };
    await canned.run(text, line("--keyword", "k"));
    expect(sent()).toEqual({ segment: { keywords: ["k"] } });
  });

  const broken = {
    id: chunk,
    position: 2,
    content: "bad",
    status: "error",
    error: "Rate limit reached",
    enabled: false,
  };

  test("a changed chunk in error gives exit code 9 and its error", async () => {
    const ran = await canned.run(
      { ...asQa, [`POST ${one}`]: ok({ data: broken }) },
      line("--answer", "x"),
    );
    expect(ran.exit).toBe(9);
    expect(ran.out).toContain("error");
    expect(ran.err).toContain("Rate limit reached");
  });

  test("an added chunk in error gives exit code 9 and the number of stored chunks", async () => {
    const add = [
      "kb",
      "chunk",
      "add",
      base,
      doc,
      "--segments",
      '[{"content":"good"},{"content":"bad"}]',
      "-o",
      "json",
    ];
    const good = { ...broken, content: "good", status: "completed", error: null };
    const ran = await canned.run({ [`POST ${all}`]: ok({ data: [good, broken] }) }, add);
    expect(ran.exit).toBe(9);
    expect(JSON.parse(ran.out)).toHaveLength(2);
    expect(JSON.parse(ran.err)).toMatchObject({ error: { code: "remote-failed", changed: "yes" } });
    expect(ran.err).toContain("1 of 2 chunks were not stored: Rate limit reached");
    const none = await canned.run({ [`POST ${all}`]: ok({ data: [broken] }) }, add);
    expect(JSON.parse(none.err)).toMatchObject({ error: { exit: 9, changed: "nothing" } });
  });

  test("an added chunk that the response does not have may be stored", async () => {
    const add = ["kb", "chunk", "add", base, doc, "--content", "good"];
    const ran = await canned.run({ [`POST ${all}`]: ok({ data: [] }) }, add);
    expect(ran).toMatchObject({ exit: 1, out: "" });
    expect(ran.err).toContain("invalid response: no chunk was returned");
    expect(ran.err).toContain("the change may have been applied");
  });

  test("a chunk in error is a failed row in --each", async () => {
    const rows = join(folder, "bad.csv");
    await writeFile(rows, "content\nbad\n");
    const add = ["kb", "chunk", "add", base, doc, "--each", rows];
    const ran = await canned.run({ [`POST ${all}`]: ok({ data: [broken] }) }, add, { folder });
    expect(ran.exit).toBe(10);
    expect(ran.out).toContain("Rate limit reached");
  });

  test("a document that is being indexed rejects chunks: exit code 5 and a hint to wait", async () => {
    const refused = {
      status: 404,
      json: { code: "not_found", message: "Document is not completed.", status: 404 },
    };
    const ran = await canned.run({ [`POST ${all}`]: refused }, [
      "kb",
      "chunk",
      "add",
      base,
      doc,
      "--content",
      "x",
    ]);
    expect(ran.exit).toBe(5);
    expect(ran.err).toContain(`kb doc wait ${base} ${doc}`);
  });
});

describe("parent-child documents", () => {
  const text = "One. Two.\n\nThree. Four.";
  const rules = () =>
    writes().map(({ body, parts }) => {
      const data = parts.find(({ name }) => name === "data")?.bytes ?? body;
      return (JSON.parse(new TextDecoder().decode(data)) as { process_rule?: { mode: string } })
        .process_rule?.mode;
    });

  test("get a hierarchical rule if the stored one is of another mode", async () => {
    const base = await made("kb", "create", "Parents", "--indexing-technique", "economy");
    const file = join(folder, "parents.md");
    await writeFile(file, text);
    server.seen.length = 0;
    const add = [
      "kb",
      "doc",
      "add",
      base,
      "p.md",
      "--text",
      text,
      "--doc-form",
      "hierarchical_model",
    ];
    const doc = await made(...add);
    await made("kb", "doc", "wait", base, doc);
    // Now the newest rule is hierarchical, and the server applies it.
    await made("kb", "doc", "upload", "Parents", file);
    await made("kb", "doc", "update", base, doc, "--text", `${text} Five.`);
    expect(rules()).toEqual(["hierarchical", undefined, undefined]);
    await made("kb", "doc", "wait", base, doc);
    const listed = await server.cli(["kb", "chunk", "list", base, doc, "-o", "name"]);
    expect(listed.out).toMatch(/^([0-9a-f-]{36}\n)+$/);
    const refused = await server.cli([...add, "--process-rule", '{"mode":"automatic"}']);
    expect(refused).toMatchObject({ exit: 2, out: "" });
    expect(refused.err).toContain("--process-rule requires the mode hierarchical");
  });

  test("get a hierarchical rule even if the newest document has another one", async () => {
    const base = "11111111-1111-4111-8111-111111111111";
    const newest = "22222222-2222-4222-8222-222222222222";
    const routes = {
      [`GET /datasets/${base}`]: ok({
        id: base,
        name: "Base",
        indexing_technique: "high_quality",
        doc_form: "hierarchical_model",
      }),
      [`GET /datasets/${base}/documents`]: pageOf({ id: newest, name: "x.md" }),
      [`GET /datasets/${base}/documents/${newest}/segments`]: pageOf(),
      [`GET /datasets/${base}/documents/*`]: ok({
        id: newest,
        doc_form: "hierarchical_model",
        dataset_process_rule: { mode: "automatic" },
        document_process_rule: { mode: "automatic" },
      }),
      [`POST /datasets/${base}/document/create-by-text`]: ok({
        document: { id: newest, name: "x.md" },
        batch: "b",
      }),
      [`POST /datasets/${base}/document/create-by-file`]: ok({
        document: { id: newest, name: "x.md" },
        batch: "b",
      }),
      [`POST /datasets/${base}/documents/*/update-by-text`]: ok({
        document: { id: newest, name: "x.md" },
        batch: "b",
      }),
    };
    for (const line of [
      ["kb", "doc", "add", base, "x.md", "--text", text],
      ["kb", "doc", "upload", base, join(folder, "parents.md")],
      ["kb", "doc", "update", base, newest, "--name", "x.md", "--text", text],
    ]) {
      const ran = await canned.run(routes, line);
      expect(ran.exit, ran.err).toBe(0);
      expect(canned.seen.at(-1)?.body).toMatchObject({
        process_rule: { mode: "hierarchical", rules: { parent_mode: "paragraph" } },
      });
    }
  });
});

describe("columns of searches and chunk lists", () => {
  const base = "11111111-1111-4111-8111-111111111111";
  const doc = "22222222-2222-4222-8222-222222222222";
  const segment = (more: object) => ({
    id: nobody,
    position: 1,
    status: "completed",
    word_count: 3,
    hit_count: 0,
    document: { id: doc, name: "a.md" },
    child_chunks: [],
    ...more,
  });
  const search = (...records: object[]) => ({
    [`GET /datasets/${base}`]: ok({
      id: base,
      name: "Base",
      retrieval_model_dict: { search_method: "semantic_search", top_k: 3 },
    }),
    [`POST /datasets/${base}/retrieve`]: ok({ records }),
  });
  const line = ["kb", "search", base, "leave"];

  test("the answer of a question and the matching child chunk", async () => {
    const qa = {
      segment: segment({ content: "How long?", answer: "30 days." }),
      child_chunks: [],
      score: 0.9,
    };
    const parent = {
      segment: segment({ content: "A long parent", answer: null }),
      child_chunks: [
        { id: "1", content: "not this", position: 1, score: 0.1 },
        { id: "2", content: "this child", position: 2, score: 0.8 },
      ],
      score: 0.8,
    };
    const both = await canned.run(search(qa, parent), line);
    expect(both.err).toBe("");
    expect(both.out).toBe(
      "a.md\t0.9\tHow long?\t30 days.\t\t00000000-0000-4000-8000-000000000000\na.md\t0.8\tA long parent\t\tthis child\t00000000-0000-4000-8000-000000000000\n",
    );
    // A grid has no empty columns.
    const grid = await canned.run(search(qa), [...line, "-o", "grid"], { tty: true });
    expect(grid.out).toContain("answer");
    expect(grid.out).not.toContain("child");
  });

  test("chunks of a document with their answers", async () => {
    const routes = {
      [`GET /datasets/${base}/documents/${doc}/segments`]: pageOf(
        segment({ content: "How long?", answer: "30 days." }),
      ),
    };
    const ran = await canned.run(routes, ["kb", "chunk", "list", base, doc, "-o", "csv"]);
    expect(ran.out.split(/\r?\n/)[0]).toBe(
      "position,content,answer,status,words,hits,child_chunks,id",
    );
    expect(ran.out).toContain("How long?,30 days.,");
  });

  test("models of all types by default, with a notice for unsupported types", async () => {
    const routes = {
      "GET /workspaces/current/models/model-types/moderation": {
        status: 400,
        json: { code: "invalid_param", message: "invalid origin model type", status: 400 },
      },
      "GET /workspaces/current/models/model-types/tts": ok({ data: [] }),
      "GET /workspaces/current/models/model-types/*": ({
        line: asked,
      }: {
        readonly line: string;
      }) =>
        ok({
          data: [
            {
              provider: "p",
              status: "active",
              models: [{ model: "m", model_type: asked.split("/").at(-1) }],
            },
          ],
        }),
    };
    const all = await canned.run(routes, ["kb", "model", "list"]);
    expect(all.exit, all.err).toBe(0);
    expect(all.out.split("\n").map((row) => row.split("\t")[3])).toEqual([
      "text-embedding",
      "rerank",
      "llm",
      "speech2text",
      undefined,
    ]);
    expect(all.err).toContain("moderation");
    const one = await canned.run(routes, ["kb", "model", "list", "rerank"]);
    expect(one.out).toBe("p\tm\tactive\trerank\n");
    expect(canned.seen).toHaveLength(1);
  });
});

test("tag unbind reports each tag by the name that was entered", async () => {
  const hr = await made("kb", "tag", "create", "hr");
  await made("kb", "tag", "create", "it");
  expect((await server.cli(["kb", "tag", "bind", kb, "hr", "it"])).exit).toBe(0);
  const ran = await server.cli(["kb", "tag", "unbind", kb, "hr", "it", "-o", "jsonl"]);
  const rows = ran.out.trim().split("\n");
  expect(rows.map((row) => JSON.parse(row) as unknown)).toMatchObject([
    { name: "hr", status: "ok", id: hr },
    { name: "it", status: "ok" },
  ]);
});
