// A byte order mark at the start of a text is never sent, and no reason to send a document again.
import { createHash } from "node:crypto";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { actions, write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { syncedBases } from "../../lib/synced-base.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
const newBase = syncedBases(server, home);
const text = "# Title\n\nSome text.\n";
const marked = `\uFEFF${text}`;
const sha256 = (content: string) => createHash("sha256").update(content).digest("hex");
let kb = "";
let dir = "";

beforeEach(async () => {
  ({ kb, dir } = await newBase());
  await write(dir, { "a.md": marked });
});

const done = (...argv: readonly string[]) => server.done(["kb", ...argv], { folder: home });
const sync = (...flags: readonly string[]) => done("sync", kb, dir, ...flags);
const file = () => join(dir, "a.md");

const bodies = (from: number): Record<string, unknown>[] =>
  server.seen
    .slice(from)
    .filter(({ method, path }) => method !== "GET" && !/download-zip/.test(path))
    .map(({ body }) => JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>);
/** The texts that were sent since a request. */
const sentTexts = (from: number) => bodies(from).flatMap(({ text: sent }) => sent ?? []);

describe.each([
  ["with", marked],
  ["without", text],
])("a file %s the mark", (_, content) => {
  beforeEach(() => write(dir, { "a.md": content }));

  test.each([
    ["kb sync", () => sync()],
    ["kb doc add --text-file", () => done("doc", "add", kb, "a.md", "--text-file", file())],
  ])("%s sends the text, and a sync has nothing to upload", async (_command, send) => {
    const before = server.seen.length;
    await send();
    await done("doc", "wait", kb);
    expect(sentTexts(before)).toEqual([text]);
    await sync();
    expect((await sync("--dry-run")).err).toContain("1 file: 1 unchanged");
    expect(sentTexts(before)).toEqual([text]);
  });

  test("kb doc update --text-file sends the same text: the next sync uploads nothing", async () => {
    await sync();
    const before = server.seen.length;
    await done("doc", "update", kb, "a.md", "--text-file", file());
    await done("doc", "wait", kb);
    expect(sentTexts(before)).toEqual([text]);
    expect(actions((await sync("--dry-run")).out)).toEqual(["adopt a.md"]);
    await sync();
    expect((await sync()).err).toContain("1 file: 1 unchanged");
    expect(sentTexts(before)).toEqual([text]);
  });

  test("preview and --show have the text that a sync sends", async () => {
    const { out } = await done("chunk", "preview", file(), "-o", "json");
    expect(JSON.parse(out)).toMatchObject([{ content: "Title\n\nSome text." }]);
    expect((await sync("--dry-run", "--show", "a.md")).out).toBe(text);
  });
});

test("the server keeps a mark that is sent: signs behind it stay, too", async () => {
  await done("doc", "add", kb, "b.md", "--text", marked);
  await done("doc", "wait", kb);
  const { out } = await done("chunk", "list", kb, "b.md", "--jq", ".[].content");
  expect(out.trimEnd()).toContain("# Title");
});

async function api(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { authorization: "Bearer dataset-sandbox", "content-type": "application/json" };
  const url = `${server.sandbox.origin}/v1/datasets/${kb}${path}`;
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

/** Makes the document and the marks of an earlier version, which sent the mark. */
async function madeEarlier(marks: Readonly<Record<string, string>> | null): Promise<void> {
  const made = await api("POST", "/document/create-by-text", {
    name: "a.md",
    text: marked,
    indexing_technique: "economy",
    process_rule: { mode: "automatic" },
  });
  const { id, data_source_info: stored } = made["document"] as {
    readonly id: string;
    readonly data_source_info: { readonly upload_file_id: string };
  };
  await done("doc", "wait", kb);
  if (marks === null) return;
  const values = { kb_path: "a.md", kb_source: ".", kb_file: stored.upload_file_id, ...marks };
  const list: object[] = [];
  for (const [name, value] of Object.entries(values)) {
    const created = await done("metadata", "create", kb, name, "--type", "string", "-o", "name");
    list.push({ id: created.out.trim(), name, value });
  }
  const data = [{ document_id: id, metadata_list: list, partial_update: true }];
  await api("POST", "/documents/metadata", { operation_data: data });
}

/** What an earlier version has left, and what a sync of the same file does. */
const earlier: readonly (readonly [string, Readonly<Record<string, string>> | null, string[]])[] = [
  ["all of its marks", { kb_hash: sha256(marked) }, []],
  ["a hash that is not confirmed", { kb_hash: `pending:${sha256(marked)}` }, ["adopt a.md"]],
  ["the file of another write", { kb_hash: sha256(marked), kb_file: "other" }, ["adopt a.md"]],
  ["no marks", null, ["adopt a.md"]],
];

describe("a document that an earlier version sent with the mark", () => {
  test.each(earlier)("is not sent again if it has %s", async (_, marks, expected) => {
    await madeEarlier(marks);
    const before = server.seen.length;
    expect(actions((await sync()).out)).toEqual(expected);
    const again = server.seen.length;
    expect((await sync()).err).toContain("1 file: 1 unchanged");
    expect(sentTexts(before)).toEqual([]);
    expect(bodies(again)).toEqual([]);
    expect(JSON.parse((await done("check", kb, "-o", "json")).out)).toEqual([]);
  });

  test("is updated from a file that was changed, and from its file after a change by hand", async () => {
    await madeEarlier({ kb_hash: sha256(marked) });
    await done("doc", "update", kb, "a.md", "--text", "By hand.", "--name", "a.md");
    await done("doc", "wait", kb);
    const before = server.seen.length;
    expect(actions((await sync()).out)).toEqual(["update a.md"]);
    await write(dir, { "a.md": `${marked}More.` });
    expect(actions((await sync()).out)).toEqual(["update a.md"]);
    expect(sentTexts(before)).toEqual([text, `${text}More.`]);
  });

  test("keeps its ID if the file is renamed", async () => {
    await madeEarlier({ kb_hash: sha256(marked) });
    await rename(file(), join(dir, "b.md"));
    const ran = await sync("--prune", "-o", "json");
    expect(JSON.parse(ran.out)).toMatchObject([
      { action: "update", path: "b.md", note: "renamed from a.md" },
    ]);
  });

  test("has the content of one that is sent now, for kb verify", async () => {
    await madeEarlier({ kb_hash: sha256(marked) });
    const first = kb;
    ({ kb } = await newBase());
    await sync();
    const ran = await server.cli(["kb", "verify", first, kb, "-o", "json"], { folder: home });
    const found = JSON.parse(ran.out) as readonly { readonly what: string }[];
    expect(found.map(({ what }) => what)).not.toContain("content");
  });

  test("comes out of an export and an import as it is", async () => {
    await madeEarlier(null);
    const place = join(dir, "..", `export ${kb}`);
    await done("export", kb, place);
    const before = server.seen.length;
    await done("import", place, "--name", "Copied");
    expect(sentTexts(before)).toEqual([marked]);
    await done("import", place, "--into", "Copied");
    expect(sentTexts(before)).toEqual([marked]);
  });
});
