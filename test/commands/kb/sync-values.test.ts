import { beforeEach, describe, expect, test } from "vitest";
import { join } from "node:path";
import { readFile, writeFile } from "node:fs/promises";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import { actions, contentsOf, write } from "../../lib/directory.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
let number = 0;
let kb = "";
let dir = "";

const run = (...argv: readonly string[]) => server.cli(["kb", ...argv], { folder: home });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });
const sync = (...flags: readonly string[]) => run("sync", kb, dir, ...flags);

/** Responses of servers whose lists have null for no values, and text for numbers. */
const plainLists = () => server.sandbox.setFaults([parseFault("* * plain-metadata")]);

beforeEach(async () => {
  server.sandbox.setFaults([]);
  kb = `Values ${++number}`;
  dir = join(home, `dir ${number}`);
  await done("create", kb, "--indexing-technique", "economy");
});

/** Stored values of a document, without the sync fields. */
async function values(base: string, document: string): Promise<Record<string, unknown>> {
  const shown = await done("doc", "show", base, document, "--metadata", "only", "-o", "json");
  const { doc_metadata } = JSON.parse(shown.out) as {
    doc_metadata: { id: string; name: string; value: unknown }[] | null;
  };
  const own = (doc_metadata ?? []).filter(
    ({ id, name }) => id !== "built-in" && !name.startsWith("kb_"),
  );
  return Object.fromEntries(own.map(({ name, value }) => [name, value]));
}

const fields = async () => {
  await done("metadata", "create", kb, "num", "--type", "number");
  await done("metadata", "create", kb, "when", "--type", "time");
};

test.each([true, 1e308])(
  "a mark of a path that is %j is an invalid answer: no file is created once more, none pruned",
  async (damaged) => {
    await write(dir, { "a.md": "first", "gone.md": "gone" });
    await done("sync", kb, dir);
    await write(dir, { "gone.md": null });
    const origin = await alteringProxy(server.sandbox.origin, ({ method, path, json }) => {
      if (method !== "GET" || !/\/documents\?/.test(path)) return;
      const { data } = json as { data: { doc_metadata: { name: string; value: unknown }[] }[] };
      const marks = data.flatMap(({ doc_metadata }) => doc_metadata);
      for (const mark of marks) if (mark.name === "kb_path") mark.value = damaged;
    });
    server.seen.length = 0;
    const env = { KB_BASE_URL: origin };
    const { exit, err } = await server.cli(
      ["kb", "sync", kb, dir, "--prune", "--max-delete", "100%", "-y"],
      { folder: home, env },
    );
    expect(err).toMatch(/invalid response: kb_path of document (a|gone)\.md is not a text/);
    expect(exit).toBe(1);
    expect(server.seen.filter(({ method }) => method !== "GET")).toEqual([]);
  },
);

describe("a document without values, for which the list has null", () => {
  rareTest("works in sync, pull, export, verify, copy, import, plan, apply and eval", async () => {
    plainLists();
    await write(dir, { "a.md": "first", "b.md": "second" });
    await done("sync", kb, dir);
    await done("doc", "add", kb, "manual.md", "--text", "manual");
    await done("doc", "wait", kb);
    expect((await sync()).err).toContain("2 files: 2 unchanged");
    const folder = join(home, `export ${number}`);
    const file = join(home, `${number}.yml`);
    await writeFile(
      file,
      `${(await done("pull", kb)).out}documents: {directory: ${JSON.stringify(dir)}}\n`,
    );
    expect((await done("plan", file)).out).toBe("");
    await done("apply", file);
    await done("export", kb, folder);
    await done("verify", kb, folder);
    await done("import", folder, "--name", `Into ${number}`);
    await done("import", folder, "--into", `Into ${number}`);
    await done("copy", kb, "--name", `Copy ${number}`);
    await done("verify", kb, `Copy ${number}`);
    const questions = join(home, "questions.jsonl");
    await writeFile(questions, '{"question":"first","documents":["manual.md","a.md"]}\n');
    await done("eval", kb, questions);
  });

  test("is adopted after a sync that was killed before it wrote values", async () => {
    plainLists();
    await write(dir, { "a.md": "first", "b.md": "second" });
    await done("doc", "add", kb, "a.md", "--text", "first");
    const ran = await done("sync", kb, dir);
    expect(actions(ran.out)).toEqual(["adopt a.md", "create b.md"]);
    const found = await contentsOf(
      server.sandbox.origin,
      (await done("show", kb, "--jq", ".id")).out.trim().replaceAll('"', ""),
    );
    expect([...found].map(([name, { text }]) => [name, text]).sort()).toEqual([
      ["a.md", "first"],
      ["b.md", "second"],
    ]);
  });
});

describe.each([
  ["values as they are", () => {}],
  ["numbers as text", plainLists],
])("lists with %s: values are stored with the type of their field", (_, play) => {
  test("by sync --metadata, front matter, import and copy; verify reports a text for a number", async () => {
    play();
    await fields();
    await write(dir, { "a.md": "---\nnum: 7\nwhen: 2026-01-01\n---\nfirst", "b.md": "second" });
    await done(
      "sync",
      kb,
      dir,
      "--metadata-from",
      "front-matter",
      "--metadata",
      "num=5",
      "--match",
      "b.md",
    );
    expect(await values(kb, "a.md")).toEqual({ num: 7, when: 1767225600 });
    expect(await values(kb, "b.md")).toEqual({ num: 5 });
    const again = await sync(
      "--metadata-from",
      "front-matter",
      "--metadata",
      "num=5",
      "--match",
      "b.md",
    );
    expect(again.out).toBe("");

    const folder = join(home, `export ${number}`);
    await done("export", kb, folder);
    expect(await readFile(join(folder, "manifest.json"), "utf8")).toContain('"num": 7');
    for (const line of [
      ["import", folder],
      ["copy", kb],
    ]) {
      const name = `${line[0]} ${number} ${play.name}`;
      await done(...line, "--name", name);
      expect(await values(name, "a.md")).toEqual({ num: 7, when: 1767225600 });
      await done("verify", kb, name);
    }

    const [copy] = [`copy ${number} ${play.name}`];
    const api = async (path: string) => JSON.parse((await done("api", "GET", path)).out) as never;
    const { id } = JSON.parse((await done("show", copy, "-o", "json")).out) as { id: string };
    const { doc_metadata } = (await api(`/datasets/${id}/metadata`)) as {
      doc_metadata: { id: string; name: string }[];
    };
    const doc = JSON.parse((await done("doc", "show", copy, "a.md", "-o", "json")).out) as {
      id: string;
    };
    const num = doc_metadata.find(({ name }) => name === "num")?.id;
    await fetch(`${server.sandbox.origin}/v1/datasets/${id}/documents/metadata`, {
      method: "POST",
      headers: { authorization: "Bearer dataset-sandbox", "content-type": "application/json" },
      body: JSON.stringify({
        operation_data: [
          {
            document_id: doc.id,
            partial_update: true,
            metadata_list: [{ id: num, name: "num", value: "7" }],
          },
        ],
      }),
    });
    const differing = await run("verify", kb, copy);
    expect(differing.exit).toBe(14);
    expect(differing.out).toContain("metadata\ta.md: num\t7 (number)\t7 (text)");
  });

  test("a value that its field cannot hold is rejected before anything is sent", async () => {
    play();
    await fields();
    await write(dir, { "a.md": "---\nnum: many\n---\nfirst", "b.md": "second" });
    const before = server.seen.length;
    const writes = () => server.seen.slice(before).filter(({ method }) => method !== "GET");
    for (const [flags, message] of [
      [["--metadata-from", "front-matter"], 'a.md: num="many" is not a valid number'],
      [["--metadata", "when=soon 1"], 'a.md: when="soon 1" is not a valid time'],
      [["--metadata", "num=abc", "--dry-run"], 'a.md: num="abc" is not a valid number'],
    ] as const) {
      const ran = await sync(...flags);
      expect(ran.exit).toBe(2);
      expect(ran.err).toContain(message);
    }
    expect(writes()).toEqual([]);
    const folder = join(home, `export ${number} ${play.name}`);
    await done("doc", "add", kb, "x.md", "--text", "x");
    await done("doc", "wait", kb);
    await done("metadata", "create", kb, "word", "--type", "string");
    await done("metadata", "set", kb, "x.md", "--set", "word=many");
    await done("export", kb, folder);
    await done("create", `${kb} into`, "--indexing-technique", "economy");
    await done("metadata", "create", `${kb} into`, "word", "--type", "number");
    const from = server.seen.length;
    const into = await run("import", folder, "--into", `${kb} into`);
    expect(into.exit).toBe(2);
    expect(into.err).toContain('manifest.json: x.md: word="many" is not a valid number');
    expect(server.seen.slice(from).every(({ method }) => method === "GET")).toBe(true);

    const file = join(home, `${number}.yml`);
    await writeFile(
      file,
      `knowledge_base: ${kb}\ndocuments: {directory: ${JSON.stringify(dir)}}\n`,
    );
    await done("apply", file);
  });
});

test("a new field has type number only if every value is a number", async () => {
  await write(dir, {
    "a.md": "---\nsize: 7\nrank: 1\n---\nfirst",
    "b.md": "---\nsize: big\nrank: 2\n---\nsecond",
  });
  await done("sync", kb, dir, "--metadata-from", "front-matter");
  expect(await values(kb, "a.md")).toEqual({ size: "7", rank: 1 });
  expect(await values(kb, "b.md")).toEqual({ size: "big", rank: 2 });
});

describe("content changed on the server since the last sync", () => {
  test("by doc update, doc add and doc replace is updated", async () => {
    await write(dir, { "1.md": "one", "2.md": "two", "3.md": "three", "r.csv": "a,b\n" });
    await done("sync", kb, dir);
    await done("doc", "update", kb, "1.md", "--text", "edited by hand");
    await done("doc", "add", kb, "2.md", "--text", "replaced by hand");
    const csv = join(home, "report2.csv");
    await writeFile(csv, "9,neun\n");
    await done("doc", "replace", kb, "r.csv", csv);
    await done("doc", "wait", kb);
    const preview = await done("sync", kb, dir, "--dry-run");
    expect(preview.out).toContain(
      "1.md\t3 characters to index; changed on the server since the last sync",
    );
    const since = server.seen.length;
    const ran = await done("sync", kb, dir);
    expect(actions(ran.out)).toEqual(["update 1.md", "update 2.md", "update r.csv"]);
    expect(ran.out).toContain("changed on the server since the last sync");
    expect(server.seen.slice(since).filter(({ path }) => /download-zip/.test(path))).toHaveLength(
      1,
    );
    const id = (await done("show", kb, "--jq", ".id")).out.trim().replaceAll('"', "");
    const found = await contentsOf(server.sandbox.origin, id);
    expect(Object.fromEntries([...found].map(([name, { text }]) => [name, text]))).toEqual({
      "1.md": "one",
      "2.md": "two",
      "3.md": "three",
      "r.csv": "a,b\n",
    });
    expect((await done("sync", kb, dir)).err).toContain("4 files: 4 unchanged");
  });

  test("to the same content is adopted without an upload", async () => {
    await write(dir, { "1.md": "one" });
    await done("sync", kb, dir);
    await done("doc", "update", kb, "1.md", "--text", "one");
    await done("doc", "wait", kb);
    expect(actions((await done("sync", kb, dir)).out)).toEqual(["adopt 1.md"]);
    expect((await done("sync", kb, dir)).err).toContain("1 file: 1 unchanged");
  });
});

test("disabled, archived and archived documents to prune give exit code 10, in a dry run too", async () => {
  await write(dir, { "a.md": "1", "b.md": "2", "c.md": "3" });
  await done("sync", kb, dir);
  await done("doc", "disable", kb, "a.md");
  await done("doc", "archive", kb, "b.md", "c.md");
  await write(dir, { "a.md": "changed", "c.md": null });
  for (const flags of [["--dry-run"], []]) {
    const disabled = await sync(...flags);
    expect(disabled.exit).toBe(10);
    expect(disabled.out).toContain("\ta.md\tthe document is disabled and its content differs");
    expect(disabled.err).toMatch(/hint: `kb doc enable .* [0-9a-f-]{36}`/);
  }
  await write(dir, { "a.md": "1" });
  for (const flags of [["--dry-run"], []]) {
    const archived = await sync("--prune", "--max-delete", "100%", ...flags);
    expect(archived.exit).toBe(10);
    expect(actions(archived.out)).toEqual(["skip c.md"]);
    expect(archived.out).toContain("an archived document cannot be deleted");
    expect(archived.err).toMatch(/hint: `kb doc unarchive .* [0-9a-f-]{36}`/);
  }
});

test("plan and apply report a conflict with exit code 10", async () => {
  await write(dir, { "a.md": "mine" });
  await done("doc", "add", kb, "a.md", "--text", "somebody's");
  await done("doc", "wait", kb);
  const file = join(home, `${number}.yml`);
  const lines = (adopt: boolean) =>
    `knowledge_base: ${kb}\ndocuments: {directory: ${JSON.stringify(dir)}, adopt: ${adopt}}\n`;
  await writeFile(file, lines(false));
  for (const command of ["plan", "apply"]) {
    const ran = await run(command, file);
    expect(ran.exit).toBe(10);
    expect(ran.out).toMatch(/^conflict\tdocument\ta.md\t/);
  }
  await writeFile(file, lines(true));
  expect((await done("apply", file)).out).toMatch(/^update\tdocument\ta.md\t/);
});

test("a document completed without chunks counts as failed in sync and import", async () => {
  const rule = JSON.stringify({
    mode: "hierarchical",
    rules: {
      pre_processing_rules: [{ id: "remove_urls_emails", enabled: true }],
      segmentation: { separator: "\n\n", max_tokens: 500, chunk_overlap: 0 },
      parent_mode: "paragraph",
      subchunk_segmentation: { separator: ". ", max_tokens: 100, chunk_overlap: 0 },
    },
  });
  const form = ["--doc-form", "hierarchical_model", "--process-rule", rule];
  await done("doc", "add", kb, "first.md", "--text", "one", ...form);
  await done("doc", "wait", kb);
  // This rule removes URLs, so nothing of this text remains.
  await write(dir, { "a.md": "https://example.com/a", "blank.md": " \n" });
  const ran = await sync();
  expect(ran.exit).toBe(10);
  expect(actions(ran.out)).toEqual(["failed a.md", "failed blank.md"]);
  expect(ran.out).toContain("indexing completed without any chunks");
  expect(ran.out).toContain("failed\tblank.md\tthe file contains only whitespace\t");
  const planned = await sync("--dry-run");
  expect(planned.exit).toBe(10);
  expect(actions(planned.out)).toEqual(["failed a.md", "failed blank.md"]);
  const folder = join(home, `export ${number}`);
  await done("export", kb, folder);
  const imported = await run("import", folder, "--name", `${kb} copy`);
  expect(imported.exit).toBe(10);
  expect(imported.out).toContain("\ta.md\tindexing failed: indexing completed without any chunks");
});
