import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { diskFiles } from "../../../src/host/node-files.ts";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import { fullAfter } from "../../lib/full-disk.ts";
import { killer } from "../../lib/killed-at.ts";
import { rareTest, sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const world = { folder: home };
const kb = (...argv: string[]) => server.cli(["kb", ...argv], world);
const done = async (...argv: string[]) => (await server.done(["kb", ...argv], world)).out.trim();
const provider = "langgenius/stub/stub";
afterEach(() => server.sandbox.models.withoutCredentials.delete(provider));

const text = (at: number | string) => `First rule ${at}\n\nSecond rule ${at}\n\nThird rule ${at}`;
const rule = JSON.stringify({
  mode: "custom",
  rules: {
    pre_processing_rules: [],
    segmentation: { separator: "\n\n", max_tokens: 50, chunk_overlap: 0 },
  },
});

/** Replaces a content as other programs do: `kb doc add` refuses while chunks cannot be read. */
async function replaceUnread(name: string, document: string): Promise<void> {
  const id = await done("show", name, "--jq", ".id");
  const input = join(home, "request.json");
  const content = {
    name: document,
    text: text(`of new ${document}`),
    process_rule: JSON.parse(rule) as unknown,
    indexing_technique: "high_quality",
  };
  await writeFile(input, JSON.stringify(content));
  await done("api", "POST", `/datasets/${id}/document/create-by-text`, "--input", input);
}

/** A knowledge base in which documents have failed: `fails` when its model had no credentials. */
async function failing(name: string): Promise<void> {
  await done("create", name, "--indexing-technique", "high_quality");
  const split = ["--process-rule", rule];
  for (const document of ["good.md", "fails.md", "off.md"])
    await done("doc", "add", name, document, "--text", text(`of ${document}`), ...split);
  await done("doc", "wait", name);
  await done("metadata", "create", name, "team", "--type", "string");
  await done("metadata", "set", name, "fails.md", "--set", "team=people");
  server.sandbox.models.withoutCredentials.add(provider);
  for (const document of ["fails.md", "off.md"]) await replaceUnread(name, document);
  await kb("doc", "wait", name);
  server.sandbox.models.withoutCredentials.delete(provider);
  await done("doc", "disable", name, "good.md");
}

const problems = async (name: string) => (await kb("check", name)).out;
const writes = (since: number) =>
  server.seen
    .slice(since)
    .filter(
      ({ method, path }) => method !== "GET" && !path.endsWith("zip") && !path.endsWith("retrieve"),
    )
    .map(
      ({ method, path }) =>
        `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, "ID").replace("/v1/datasets/ID", "")}`,
    );

test("documents in error are replaced, and nothing else is changed", async () => {
  await failing("Failing");
  const ids = await done("doc", "list", "Failing", "--all", "-o", "name");
  const from = server.seen.length;
  const planned = await done("heal", "Failing", "--dry-run");
  expect(writes(from)).toEqual([]);
  expect(planned.split("\n").map((row) => row.split("\t").slice(0, 3).join(" "))).toEqual([
    "update document off.md",
    "update document fails.md",
  ]);
  await done("heal", "Failing");
  expect(await problems("Failing")).toBe("");
  expect(await done("doc", "list", "Failing", "--all", "-o", "name")).toBe(ids);
  expect(
    writes(from).filter((line) => line.startsWith("DELETE") || line.includes("status")),
  ).toEqual([]);
  const shown = await done("doc", "show", "Failing", "fails.md", "-o", "json");
  expect(shown).toContain('"people"');
  expect(await done("doc", "show", "Failing", "good.md", "--jq", ".display_status")).toBe(
    "disabled",
  );
  expect(await readdir(join(home, "state", "heal"))).toEqual([]);
  // A second run has nothing to do.
  const again = server.seen.length;
  await done("heal", "Failing");
  expect(writes(again)).toEqual([]);
});

test("a document that fails again stays, and the exit code says so", async () => {
  await done("create", "Again", "--indexing-technique", "high_quality");
  await done("doc", "add", "Again", "bad.md", "--text", "[[embed-error:rate]] x");
  await kb("doc", "wait", "Again");
  const ran = await kb("heal", "Again");
  expect(ran.exit).toBe(10);
  expect(ran.out).toMatch(/^failed\tdocument\tbad\.md\tindexing failed: Rate limit/);
});

test("a disabled document in error is left as it is", async () => {
  await failing("Off");
  const alter = ({ path, json }: { path: string; json: unknown }) => {
    if (!path.includes("/documents?") && !path.endsWith("/documents")) return;
    for (const document of (json as { data: Record<string, unknown>[] }).data ?? [])
      if (document["name"] === "off.md") document["enabled"] = false;
  };
  const url = await alteringProxy(server.sandbox.origin, alter);
  const { out } = await server.done(["kb", "heal", "Off", "--dry-run", "--base-url", url], world);
  expect(out).toMatch(/^skip\tdocument\toff\.md\tdisabled: /m);
});

/** A server on which a chunk is in error until it is deleted. */
const withFailedChunk = (chunk: string, parts: object = {}): Promise<string> =>
  alteringProxy(
    server.sandbox.origin,
    ({ method, path, json }) => {
      if (method !== "GET" || !/\/segments(\?|$)/.test(path)) return;
      const page = json as { data: Record<string, unknown>[]; total: number };
      const failed = page.data.filter(({ id }) => id === chunk);
      for (const row of failed)
        Object.assign(row, { status: "error", enabled: false, error: "was slow", ...parts });
      if (path.includes("status=")) Object.assign(page, { data: failed, total: failed.length });
    },
    (path) => path.replaceAll(/status=[a-z_]+&?/g, ""),
  );

const chunkList = async (name: string, document: string) =>
  JSON.parse(await done("chunk", "list", name, document, "--all", "-o", "json")) as {
    id: string;
    content: string;
    keywords: string[];
  }[];

test("a chunk that is not indexed is added again at the end, and deleted then", async () => {
  await done("create", "Chunks", "--indexing-technique", "high_quality");
  await done("doc", "add", "Chunks", "a.md", "--text", text(1), "--process-rule", rule);
  await done("doc", "wait", "Chunks");
  const [first] = await chunkList("Chunks", "a.md");
  await done(
    "chunk",
    "update",
    "Chunks",
    "a.md",
    first?.id ?? "",
    "--content",
    "[[embed-error:rate]] lost",
    "--keyword",
    "mine",
  ).catch(() => {});
  const failed = await kb("heal", "Chunks");
  expect(failed.out).toMatch(/^failed\tdocument\ta\.md\tchunk 1 failed again/);
  expect(failed.exit).toBe(10);
  expect((await chunkList("Chunks", "a.md")).map(({ content }) => content)).toEqual([
    "[[embed-error:rate]] lost",
    "Second rule 1",
    "Third rule 1",
  ]);
});

test("a chunk that a server since 1.16 stores though it fails again is not doubled", async () => {
  const newest = await testSandbox({ speed: 400, models: true, server: "1.16.1" });
  const run = (...argv: string[]) => newest.cli(["kb", ...argv], { folder: join(home, "newest") });
  await run("create", "Newest", "--indexing-technique", "high_quality");
  await run("doc", "add", "Newest", "a.md", "--text", text(1), "--process-rule", rule);
  await run("doc", "wait", "Newest");
  await run("chunk", "add", "Newest", "a.md", "--content", "[[embed-error:rate]] lost");
  const list = async () => (await run("chunk", "list", "Newest", "a.md", "-o", "name")).out;
  const before = await list();
  expect((await run("heal", "Newest")).out).toMatch(
    /^failed\tdocument\ta\.md\tchunk 4 failed again/,
  );
  expect(before.trim().split("\n")).toHaveLength(4);
  expect(await list()).toBe(before);
});

test("a chunk with a summary or attachments is skipped, since a new one would lack them", async () => {
  await done("create", "Parts", "--indexing-technique", "high_quality");
  await done("doc", "add", "Parts", "a.md", "--text", text(1), "--process-rule", rule);
  await done("doc", "wait", "Parts");
  const [first] = await chunkList("Parts", "a.md");
  const url = await withFailedChunk(first?.id ?? "", { summary: "S", attachments: [{ id: "a" }] });
  const from = server.seen.length;
  const { out } = await server.done(["kb", "heal", "Parts", "--base-url", url], world);
  expect(out).toContain("has what a new one would lack: attachments, its summary");
  expect(writes(from)).toEqual([]);
});

test("a chunk that recovers is the last one then, with its keywords", async () => {
  await done("create", "Recovers", "--indexing-technique", "high_quality");
  await done("doc", "add", "Recovers", "a.md", "--text", text(1), "--process-rule", rule);
  await done("doc", "wait", "Recovers");
  const [first] = await chunkList("Recovers", "a.md");
  await done("chunk", "update", "Recovers", "a.md", first?.id ?? "", "--keyword", "mine");
  const url = await withFailedChunk(first?.id ?? "");
  const line = ["kb", "heal", "Recovers", "--base-url", url];
  const { out } = await server.done(line, world);
  expect(out).toMatch(/^update\tdocument\ta\.md\tchunk 1 added again at the end/);
  const after = await chunkList("Recovers", "a.md");
  expect(after.map(({ content }) => content)).toEqual([
    "Second rule 1",
    "Third rule 1",
    "First rule 1",
  ]);
  expect(after.at(-1)?.keywords).toEqual(["mine"]);
  const from = server.seen.length;
  await server.done(line, world);
  expect(writes(from)).toEqual([]);
});

test("edits of chunks and values are put back after a replacement", async () => {
  await done("create", "Edited", "--indexing-technique", "high_quality");
  await done("doc", "add", "Edited", "a.md", "--text", text(1), "--process-rule", rule);
  await done("doc", "wait", "Edited");
  const [first, second] = await chunkList("Edited", "a.md");
  await done("chunk", "update", "Edited", "a.md", first?.id ?? "", "--content", "By hand");
  await done("chunk", "delete", "Edited", "a.md", second?.id ?? "", "-y");
  await done("chunk", "add", "Edited", "a.md", "--content", "Added by hand");
  // Its content is the one of before, so it is in error until it is replaced.
  const shown = JSON.parse(await done("doc", "list", "Edited", "-o", "json")) as {
    data_source_info: { upload_file_id: string };
  }[];
  const stored = shown[0]?.data_source_info.upload_file_id;
  const url = await alteringProxy(server.sandbox.origin, ({ path, json }) => {
    if (!/\/documents(\?|$)/.test(path)) return;
    for (const row of (json as { data: Record<string, unknown>[] }).data)
      if (JSON.stringify(row).includes(stored ?? "-")) row["indexing_status"] = "error";
  });
  const { out } = await server.done(["kb", "heal", "Edited", "--base-url", url], world);
  expect(out).toMatch(/^update\tdocument\ta\.md\tchunks put back: 3 chunks/m);
  expect((await chunkList("Edited", "a.md")).map(({ content }) => content)).toEqual([
    "By hand",
    "Third rule 1",
    "Added by hand",
  ]);
});

rareTest(
  "content that was written after an interrupted run has saved stays, with its chunks",
  async () => {
    const name = "Written";
    await failing(name);
    const folder = join(home, name);
    await killer(server)(
      (step) => step.startsWith("POST") && step.includes("create-by-text"),
      ["kb", "heal", name],
      folder,
    );
    await done("doc", "add", name, "fails.md", "--text", "Newer text", "--process-rule", rule);
    server.sandbox.models.withoutCredentials.add(provider);
    await done("doc", "add", name, "late.md", "--text", text("late"), "--process-rule", rule);
    await kb("doc", "wait", name);
    server.sandbox.models.withoutCredentials.delete(provider);
    const again = await server.cli(["kb", "heal", name], { folder });
    expect(again.exit, again.err).toBe(0);
    expect(again.out).toMatch(
      /^skip\tdocument\tfails\.md\tits content was changed since it was saved/m,
    );
    // What has failed since is healed by the same command.
    expect(again.out).toMatch(/^update\tdocument\tlate\.md/m);
    expect((await chunkList(name, "fails.md")).map(({ content }) => content)).toEqual([
      "Newer text",
    ]);
  },
);

rareTest("values that somebody has written since an interrupted run stay", async () => {
  const name = "Valued";
  await failing(name);
  const folder = join(home, name);
  const isCreate = (step: string) => step.startsWith("POST") && step.includes("create-by-text");
  const rest = await killer(server)(isCreate, ["kb", "heal", name], folder);
  await (await rest?.())?.body?.dump();
  await kb("doc", "wait", name);
  await done("metadata", "create", name, "more", "--type", "string");
  await done("metadata", "set", name, "fails.md", "--set", "team=others", "--set", "more=added");
  await server.done(["kb", "heal", name], { folder });
  expect(await problems(name)).toBe("");
  const shown = await done("doc", "show", name, "fails.md", "-o", "json");
  expect(shown).toContain('"others"');
  expect(shown).toContain('"added"');
});

describe("a document is not replaced, and the exit code says so,", () => {
  test("if its chunks could not be read", async () => {
    const name = "Unread";
    await failing(name);
    const id = await done("doc", "show", name, "fails.md", "--jq", ".id");
    server.sandbox.setFaults([parseFault(`GET *documents/${id}/segments* status=400 times=9`)]);
    const from = server.seen.length;
    const { exit, out } = await kb("heal", name);
    server.sandbox.setFaults([]);
    expect(exit).toBe(10);
    expect(out).toMatch(/^failed\tdocument\tfails\.md\tits chunks cannot be read: /m);
    expect(writes(from).filter((line) => line.includes("create-by-text"))).toHaveLength(1);
    await done("heal", name);
    expect(await problems(name)).toBe("");
  });

  rareTest("if what an interrupted run has saved of it is damaged", async () => {
    const name = "Damaged";
    await failing(name);
    const folder = join(home, name);
    const isCreate = (step: string) => step.startsWith("POST") && step.includes("create-by-text");
    await killer(server)(isCreate, ["kb", "heal", name], folder);
    const saved = join(folder, "state", "heal");
    for (const entry of await readdir(saved, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && (await readFile(path, "utf8")) === text("of new fails.md"))
        await writeFile(path, text("of anything"));
    }
    const { exit, out } = await server.cli(["kb", "heal", name], { folder });
    expect(out).toMatch(/^failed\tdocument\tfails\.md\tits saved copy is damaged/m);
    expect(exit).toBe(10);
    // The next run saves it anew.
    await server.done(["kb", "heal", name], { folder });
    expect(await problems(name)).toBe("");
    expect((await chunkList(name, "fails.md")).map(({ content }) => content)[0]).toBe(
      "First rule of new fails.md",
    );
  });
});

rareTest("a full disk in the middle loses nothing, and the same command continues", async () => {
  const name = "Full";
  await failing(name);
  const folder = join(home, name);
  let left = 0;
  for (; ; left++) {
    const ran = await server.cli(["kb", "heal", name], { folder, files: fullAfter(left) });
    if (ran.exit === 0) break;
    expect(ran.err).toContain("disk full");
    expect(left).toBeLessThan(30);
  }
  expect(left).toBeGreaterThan(3);
  expect(await problems(name)).toBe("");
  expect(await done("doc", "show", name, "fails.md", "-o", "json")).toContain('"people"');
});

test.each(sampled(6, [0, 1, 2, 3]))(
  "killed when it has removed %i of its saved copies, the same command works again",
  async (number) => {
    const name = `Removing ${number}`;
    await failing(name);
    const folder = join(home, name);
    let removed = 0;
    const remove: typeof diskFiles.remove = (path) =>
      /state.heal./.test(path) && removed++ === number
        ? Promise.reject(new Error("killed"))
        : diskFiles.remove(path);
    const line = ["kb", "heal", name];
    expect((await server.cli(line, { folder, files: { remove } })).exit).not.toBe(0);
    await server.done(line, { folder });
    expect(await problems(name)).toBe("");
    expect(await readdir(join(folder, "state", "heal"))).toEqual([]);
  },
);

/** The steps of an undisturbed run. */
const moments = Array.from({ length: 40 }, (_, at) => at + 1);

test.each(sampled(48, moments))(
  "killed at step %i, the same command ends as an undisturbed one",
  async (number) => {
    const name = `Killed ${number}`;
    await failing(name);
    const folder = join(home, name);
    const argv = ["kb", "heal", name];
    let steps = 0;
    const isStep = (step: string) =>
      /^(GET|POST|PATCH|DELETE|writeAtomic|append|remove) /.test(step) && ++steps === number;
    const from = server.seen.length;
    const rest = await killer(server)(isStep, argv, folder);
    // Half of the time, the step was done after all.
    if (number % 2 === 0) await (await rest?.())?.body?.dump();
    const again = await server.cli(argv, { folder });
    expect(again.exit, again.err).toBe(0);
    expect(await problems(name)).toBe("");
    expect(await readdir(join(folder, "state", "heal"))).toEqual([]);
    const sent = writes(from).filter((line) => line.includes("create-by-text"));
    // Two documents, and at most those that were under way once more.
    expect(sent.length).toBeLessThanOrEqual(4);
    const shown = await done("doc", "show", name, "fails.md", "-o", "json");
    expect(shown).toContain('"people"');
  },
);
