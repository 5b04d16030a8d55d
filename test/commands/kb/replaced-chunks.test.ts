/** Whatever replaces a document reads its chunks first, in every status: changes by hand stay, or are named. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import { formsOfChunks, handEditedBase } from "../../lib/as-is-bases.ts";
import { sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const folder = await temporaryDirectory();
/** A day later: what is unfinished then is stuck. */
const world = { folder, now: () => new Date(Date.now() + 864e5) };
const kb = (...argv: string[]) => server.cli(["kb", ...argv], world);
const done = async (...argv: string[]) => (await server.done(["kb", ...argv], world)).out.trim();

const rule = JSON.stringify({
  mode: "custom",
  rules: {
    pre_processing_rules: [],
    segmentation: { separator: "\n\n", max_tokens: 50, chunk_overlap: 0 },
  },
});
const paragraphs = (words: string) =>
  ["First", "Second", "Third", "Fourth"].map((each) => `${each} ${words}`).join("\n\n");

const idOf = (name: string, document = "a.md") =>
  done("doc", "show", name, document, "--jq", ".id");
const abandon = async (name: string, status: string, document = "a.md") => {
  const body = JSON.stringify({ document: await idOf(name, document), status });
  const { ok } = await fetch(`${server.sandbox.origin}/_sandbox/abandon`, { method: "POST", body });
  expect(ok).toBe(true);
};
const chunksOf = async (name: string, document = "a.md") => {
  const list = await done("chunk", "list", name, document, "--all", "-o", "json");
  return (JSON.parse(list) as Record<string, unknown>[]).map((chunk) => [
    chunk["content"],
    chunk["answer"],
    chunk["enabled"],
    chunk["keywords"],
    (chunk["child_chunks"] as { content: string }[]).map(({ content }) => content),
  ]);
};
const contents = async (name: string, document = "a.md") =>
  (await chunksOf(name, document)).map(([content]) => content);

/** What people change, what it is called, and the chunks that there are then. */
const changes = {
  edited: [["update", "2", "--content", "By hand"], "chunk 2 (edited)"],
  disabled: [["update", "2", "--no-enabled"], "chunk 2 (disabled)"],
  deleted: [["delete", "2", "-y"], "chunk 2 (removed)"],
  added: [["add", "", "--content", "Added by hand"], "chunk 5 (added)"],
} as const;
type Change = keyof typeof changes;

/** A knowledge base with one document whose chunks somebody has changed. */
async function changedBase(name: string, change: Change | "none"): Promise<void> {
  await done("create", name, "--indexing-technique", "economy");
  await done("doc", "add", name, "a.md", "--text", paragraphs("rule"), "--process-rule", rule);
  await done("doc", "wait", name);
  if (change !== "none") await changeBy(name, change);
}

async function changeBy(name: string, change: Change): Promise<void> {
  const [[verb, at, ...flags]] = changes[change];
  const ids = (await done("chunk", "list", name, "a.md", "-o", "name")).split("\n");
  const chunk = at === "" ? [] : [ids[Number(at) - 1] ?? ""];
  await done("chunk", verb, name, "a.md", ...chunk, ...flags);
}

const creates = (since: number) =>
  server.seen.slice(since).filter(({ path }) => /create-by|update-by/.test(path));

const unfinished = ["waiting", "parsing", "cleaning", "splitting", "indexing", "error"];
const moments = unfinished.flatMap((status) =>
  (Object.keys(changes) as Change[]).map((change) => [status, change] as const),
);

describe("kb heal keeps the chunks of a document that is", () => {
  test.each(sampled(26, moments))("%s, one %s", async (status, change) => {
    const name = `Heal ${status} ${change}`;
    await changedBase(name, change);
    const before = await chunksOf(name);
    await abandon(name, status);
    const line = ["heal", name, "--stuck-after", "1h"];
    const planned = await done(...line, "--dry-run");
    expect(planned).toContain(`; puts back ${changes[change][1]}`);
    const healed = await kb(...line);
    expect([healed.exit, healed.out]).toEqual([0, expect.stringContaining("chunks put back: ")]);
    expect(await chunksOf(name)).toEqual(before);
    expect(await done("doc", "show", name, "a.md", "--jq", ".display_status")).toBe("available");
    // A second run has nothing to do.
    const from = server.seen.length;
    await done(...line);
    expect(creates(from)).toEqual([]);
  });

  test.each(
    sampled(
      9,
      formsOfChunks.map((form) => [form[0], form] as const),
    ),
  )("indexing, of the form %s", async (form, made) => {
    const name = `Heal of ${form}`;
    await handEditedBase(server, name, made);
    const before = await chunksOf(name, "edited.md");
    await abandon(name, "indexing", "edited.md");
    const healed = await kb("heal", name, "--stuck-after", "1h");
    expect(healed.exit, healed.err).toBe(0);
    expect(await chunksOf(name, "edited.md")).toEqual(before);
  });

  test.each(sampled(6, ["paused", "disabled", "archived", "completed"]))(
    "%s: it is left alone",
    async (status) => {
      const name = `Left ${status}`;
      await changedBase(name, "edited");
      const before = await chunksOf(name);
      if (status === "paused") await abandon(name, status);
      else if (status !== "completed") await done("doc", status.slice(0, -1), name, "a.md");
      const from = server.seen.length;
      await done("heal", name, "--stuck-after", "1h");
      expect(creates(from)).toEqual([]);
      expect(await chunksOf(name)).toEqual(before);
    },
  );
});

test.each(sampled(12, unfinished))(
  "a document that is %s is not replaced if its chunks cannot be read",
  async (status) => {
    const name = `Unread ${status}`;
    await changedBase(name, "edited");
    const before = await chunksOf(name);
    await abandon(name, status);
    const fault = `GET *documents/${await idOf(name)}/segments* status=400`;
    const line = ["heal", name, "--stuck-after", "1h"];
    server.sandbox.setFaults([parseFault(fault)]);
    const from = server.seen.length;
    const planned = await kb(...line, "--dry-run");
    const healed = await kb(...line);
    server.sandbox.setFaults([]);
    expect(planned.out).toMatch(/^failed\tdocument\ta\.md\tits chunks cannot be read: /);
    expect([healed.exit, healed.out]).toEqual([10, planned.out]);
    expect(creates(from)).toEqual([]);
    expect(await chunksOf(name)).toEqual(before);
    await done(...line);
    expect(await chunksOf(name)).toEqual(before);
  },
);

test("chunks of a replaced document whose content does not arrive again are kept for the next run", async () => {
  const name = "Not arrived";
  await changedBase(name, "edited");
  const before = await chunksOf(name);
  await abandon(name, "indexing");
  // The snapshot is taken, and then no transfer arrives.
  server.sandbox.setFaults([parseFault("POST *download-zip reset skip=1")]);
  const line = ["heal", name, "--stuck-after", "1h", "--retries", "0"];
  const ran = await kb(...line);
  expect(ran.out).toMatch(/^failed\tdocument\ta\.md\tits content does not arrive/m);
  expect(ran.exit).toBe(10);
  server.sandbox.setFaults([]);
  await done(...line);
  expect(await chunksOf(name)).toEqual(before);
});

test("chunks of a content from before that were changed by hand are named, and nothing is replaced", async () => {
  const name = "Former";
  await changedBase(name, "edited");
  await abandon(name, "waiting");
  // The worker died before it has deleted them: the stored file is newer.
  const url = await alteringProxy(server.sandbox.origin, ({ path, json }) => {
    if (!/\/documents(\?|$)/.test(path)) return;
    type Row = { data_source_detail_dict: { upload_file: { created_at: number } } };
    for (const row of (json as { data: Row[] }).data)
      row.data_source_detail_dict.upload_file.created_at += 20_000;
  });
  const from = server.seen.length;
  const line = ["heal", name, "--stuck-after", "1h", "--base-url", url];
  const { exit, out } = await kb(...line);
  expect(out).toMatch(
    /^failed\tdocument\ta\.md\tits chunks are of its former content: chunk 2 \(edited\); to drop them, add/,
  );
  expect([exit, creates(from)]).toEqual([10, []]);
});

/** A directory that was synced, and then changed by hand: a chunk in the knowledge base, and the file. */
async function syncedBase(name: string, change: Change): Promise<string> {
  await changedBase(name, "none");
  const directory = join(folder, name);
  await mkdir(directory);
  await writeFile(join(directory, "a.md"), paragraphs("rule"));
  await done("sync", name, directory, "--adopt");
  await changeBy(name, change);
  return directory;
}

test.each(sampled(6, Object.entries(changes)))(
  "kb sync of a changed file says that a chunk is lost that was %s",
  async (change, [, named]) => {
    const name = `Sync ${change}`;
    const directory = await syncedBase(name, change as Change);
    await writeFile(join(directory, "a.md"), paragraphs("other rule"));
    const id = await idOf(name);
    const loses = `loses ${named}`;
    expect((await kb("sync", name, directory, "--dry-run")).out).toContain(loses);
    server.sandbox.setFaults([parseFault(`GET *documents/${id}/segments* status=400`)]);
    const from = server.seen.length;
    const unread = await kb("sync", name, directory);
    server.sandbox.setFaults([]);
    expect([unread.exit, unread.out]).toEqual([
      10,
      expect.stringContaining("failed\ta.md\tits chunks cannot be read: "),
    ]);
    expect(creates(from)).toEqual([]);
    const synced = await kb("sync", name, directory);
    expect([synced.exit, synced.out]).toEqual([0, expect.stringContaining(loses)]);
    expect(await contents(name)).toContain("First other rule");
  },
);

test("kb sync --rewrite with --yes names what it loses", async () => {
  const directory = await syncedBase("Again", "edited");
  const { exit, out, err } = await kb("sync", "Again", directory, "--rewrite", "--yes");
  expect([exit, out]).toEqual([
    0,
    expect.stringContaining("indexed again; loses chunk 2 (edited)"),
  ]);
  expect(err).toContain("loses a.md: chunk 2 (edited)");
});

/** Commands that replace the content or the chunking of one document. */
const replacing = {
  "doc add": (name) => ["doc", "add", name, "a.md", "--text", paragraphs("newer")],
  "doc add of another": (name) => [
    "doc",
    "add",
    name,
    "b.md",
    "--text",
    "B",
    "--original-document-id",
    "a.md",
  ],
  "doc update of its text": (name) => [
    "doc",
    "update",
    name,
    "a.md",
    "--text",
    paragraphs("newer"),
  ],
  "doc update of its chunking": (name) => ["doc", "update", name, "a.md", "--process-rule", rule],
  "doc upload": (name, file) => ["doc", "upload", name, file],
  "doc upload of several": (name, file, other) => ["doc", "upload", name, file, other],
  "doc replace": (name, file) => ["doc", "replace", name, "a.md", file],
  "doc add --each": (name, _, __, table) => ["doc", "add", name, "--each", table],
} satisfies Record<string, (name: string, ...files: readonly [string, string, string]) => string[]>;

const writes = (since: number) => server.seen.slice(since).filter(({ method }) => method !== "GET");

describe("a command that replaces one document names the chunks that it loses", () => {
  const directory = join(folder, "sent");
  const files = ["a.md", "b.md", "rows.csv"].map((each) => join(directory, each));
  const moved = new Set(["doc add", "doc upload", "doc upload of several", "doc add --each"]);
  const rows = Object.keys(replacing).flatMap((command) =>
    (moved.has(command) ? ["available", ...unfinished] : ["available"]).map(
      (status) => [command as keyof typeof replacing, status] as const,
    ),
  );
  test.each(sampled(18, rows))("kb %s while it is %s", async (command, status) => {
    const name = `${command} ${status}`;
    const change = (Object.keys(changes) as Change[])[name.length % 4] as Change;
    const named = changes[change][1];
    await mkdir(directory, { recursive: true });
    const [file = "", other = "", table = ""] = files;
    await writeFile(file, paragraphs("newer"));
    await writeFile(other, "B");
    await writeFile(table, `name,text\na.md,"${paragraphs("newer")}"\nb.md,B\n`);
    await changedBase(name, change);
    if (status !== "available") await abandon(name, status);
    const before = await chunksOf(name);
    const line = replacing[command](name, file, other, table);
    let from = server.seen.length;
    const planned = await kb(...line, "--dry-run");
    expect([planned.exit, planned.err]).toEqual([
      0,
      expect.stringContaining(`a.md would lose ${named}`),
    ]);
    const fault = `GET *documents/${await idOf(name)}/segments* status=400`;
    server.sandbox.setFaults([parseFault(fault)]);
    const unread = await kb(...line);
    server.sandbox.setFaults([]);
    const isOfSeveral = /several|each/.test(command);
    expect([unread.exit, unread.err + unread.out]).toEqual([
      isOfSeveral ? 10 : 5,
      expect.stringContaining("a.md was not replaced, as its chunks cannot be read: "),
    ]);
    // Others of the same command are made.
    expect(writes(from)).toHaveLength(isOfSeveral ? 1 : 0);
    expect(await chunksOf(name)).toEqual(before);
    from = server.seen.length;
    const replaced = await kb(...line);
    expect([replaced.exit, replaced.err]).toEqual([
      0,
      expect.stringContaining(`a.md loses ${named}`),
    ]);
    expect(writes(from).length).toBeGreaterThan(0);
  });

  test.each([
    ["of a new name", ["b.md"], []],
    ["of a name of which this is a part", ["a"], []],
    ["of the name of a disabled document", ["a.md"], ["disable"]],
  ] as const)("kb doc add %s loses none", async (title, [added], [verb]) => {
    await changedBase(title, "edited");
    if (verb) await done("doc", verb, title, "a.md");
    const ran = await kb("doc", "add", title, added, "--text", "New");
    expect([ran.exit, ran.err]).toEqual([0, expect.not.stringContaining("loses")]);
  });

  test("kb doc upload beside it loses none", async () => {
    const name = "Beside";
    await changedBase(name, "edited");
    const file = join(folder, "a.md");
    await writeFile(file, "Beside");
    const ran = await kb("doc", "upload", name, file, "--no-duplicate");
    expect([ran.exit, ran.err]).toEqual([0, expect.not.stringContaining("loses")]);
  });
});

describe("kb backup restore --into a document of another content", () => {
  test("names the chunks that it loses, and asks", async () => {
    const name = "Into";
    await changedBase(name, "none");
    const backups = join(folder, "backups");
    await done("backup", backups, name);
    await done("doc", "add", name, "a.md", "--text", paragraphs("newer"));
    await done("doc", "wait", name);
    await changeBy(name, "added");
    const before = await chunksOf(name);
    const line = ["backup", "restore", backups, name, "--into", name];
    const loses = "replaces another content; loses chunk 5 (added)";
    expect((await kb(...line, "--dry-run")).out).toContain(loses);
    const asked = await kb(...line);
    expect([asked.exit, asked.err]).toEqual([2, expect.stringContaining("a.md: chunk 5 (added)")]);
    const fault = `GET *documents/${await idOf(name)}/segments* status=400`;
    server.sandbox.setFaults([parseFault(fault)]);
    const unread = await kb(...line, "--yes");
    server.sandbox.setFaults([]);
    expect([unread.exit, unread.out]).toEqual([10, expect.stringContaining("cannot be read: ")]);
    expect(await chunksOf(name)).toEqual(before);
    const restored = await kb(...line, "--yes");
    expect([restored.exit, restored.out]).toEqual([0, expect.stringContaining(loses)]);
    expect((await contents(name))[0]).toBe("First rule");
  });

  test.each(
    sampled(
      3,
      Object.entries(changes).filter(([change]) => change !== "deleted"),
    ),
  )("or of the same one: the chunk that was %s since", async (change, [, named]) => {
    const name = `Since ${change}`;
    await changedBase(name, "none");
    const backups = join(folder, `backups of ${name}`);
    await done("backup", backups, name);
    const before = await chunksOf(name);
    await changeBy(name, change as Change);
    const line = ["backup", "restore", backups, name, "--into", name];
    expect((await kb(...line, "--dry-run")).out).toContain(
      `chunks\tdocument\ta.md\tloses ${named}`,
    );
    expect((await kb(...line)).exit).toBe(2);
    const restored = await kb(...line, "--yes");
    expect([restored.exit, restored.err]).toEqual([
      0,
      expect.stringContaining(`loses a.md: ${named}`),
    ]);
    expect((await chunksOf(name)).map(([content]) => content)).toEqual(
      before.map(([content]) => content),
    );
    // What equals the snapshot is not lost: nothing is asked.
    expect((await kb(...line)).exit).toBe(0);
  });
});
