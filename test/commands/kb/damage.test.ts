// Damage of each kind is found by one of check, verify --chunks and drill, and an undamaged base gives no alarm.
import { readFile, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { formsOfChunks, handEditedBase } from "../../lib/as-is-bases.ts";
import { alteringProxy } from "../../lib/altering-proxy.ts";
import type { Altered } from "../../lib/altering-proxy.ts";
import { fileForm } from "../../lib/sandbox-client.ts";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { rareTest, sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const world = { folder: home };
const kb = (...argv: string[]) => server.cli(["kb", ...argv], world);
const done = async (...argv: string[]) => (await server.done(["kb", ...argv], world)).out.trim();

const forms = { text: formsOfChunks[1], questions: formsOfChunks[3], parents: formsOfChunks[4] };
type Form = keyof typeof forms;
for (const [form, given] of Object.entries(forms)) {
  await handEditedBase(server, form, given);
  await done("metadata", "create", form, "team", "--type", "string");
  await done("metadata", "set", form, "edited.md", "--set", "team=people");
  await done("tag", "create", `of ${form}`);
  await done("tag", "bind", form, `of ${form}`);
  await done("export", form, join(home, form));
}
const backup = join(home, "backup");
await done("backup", backup, "text");

const provider = "langgenius/stub/stub";
let number = 0;
let name = "";
/** A copy of a base, to damage. */
async function copied(form: Form): Promise<void> {
  name = `Copy ${++number}`;
  await done("import", join(home, form), "--name", name, "--as-is", "-y");
}

afterEach(() => {
  server.sandbox.models.disabled.clear();
  server.sandbox.models.withoutCredentials.delete(provider);
});

const chunks = async (document = "edited.md") =>
  JSON.parse(await done("chunk", "list", name, document, "-o", "json")) as {
    id: string;
    content: string;
    enabled: boolean;
  }[];
const chunk = async (at: number) => (await chunks()).at(at)?.id ?? "";
const disabledChunk = async () => (await chunks()).find(({ enabled }) => !enabled);
const child = async (at: number) => {
  const place = [name, "edited.md", await chunk(0)];
  const all = JSON.parse(await done("chunk", "child", "list", ...place, "-o", "json")) as {
    id: string;
  }[];
  return [...place, all.at(at)?.id ?? ""];
};

type Damage = readonly [what: string, form: Form, damage: () => Promise<unknown>];
const on = (what: string, form: Form, ...words: string[]): Damage => [
  what,
  form,
  () => done(...words.map((word) => (word === "$" ? name : word))),
];
const text = "Another text that nobody has written";

/** What two sides differ in. */
const differences: readonly Damage[] = [
  on("a document has another content", "text", "doc", "add", "$", "edited.md", "--text", text),
  on("a document is gone", "text", "doc", "delete", "$", "edited.md", "-y"),
  on("a document was added", "text", "doc", "add", "$", "added.md", "--text", text),
  on("a document has another name", "text", "doc", "rename", "$", "edited.md", "other.md", "-y"),
  on("a document is disabled", "text", "doc", "disable", "$", "edited.md"),
  on("a document is enabled", "text", "doc", "enable", "$", "disabled.md"),
  on("a document is archived", "text", "doc", "archive", "$", "edited.md"),
  on("a document is not archived", "text", "doc", "unarchive", "$", "archived.md"),
  on("a value differs", "text", "metadata", "set", "$", "edited.md", "--set", "team=sales"),
  on("a value is gone", "text", "metadata", "set", "$", "edited.md", "--unset", "team"),
  on("a value was added", "text", "metadata", "set", "$", "disabled.md", "--set", "team=people"),
  on("a field is gone", "text", "metadata", "delete", "$", "team", "-y"),
  on("a field was added", "text", "metadata", "create", "$", "more", "--type", "time"),
  on("a field has another name", "text", "metadata", "rename", "$", "team", "group"),
  on("built-in fields are enabled", "text", "metadata", "built-in", "enable", "$"),
  on("a tag is gone", "text", "tag", "unbind", "$", "of text"),
  on("a tag was added", "text", "tag", "bind", "$", "of parents"),
  on("the description differs", "text", "update", "$", "--description", "Other"),
  on("the permission differs", "text", "update", "$", "--permission", "all_team_members"),
  on(
    "the search settings differ",
    "text",
    "update",
    "$",
    "--retrieval-model",
    '{"search_method":"full_text_search","reranking_enable":false,"top_k":9,"score_threshold_enabled":false}',
  ),
  [
    "a chunk was edited",
    "text",
    async () => done("chunk", "update", name, "edited.md", await chunk(0), "--content", text),
  ],
  [
    "a chunk has other keywords",
    "text",
    async () => done("chunk", "update", name, "edited.md", await chunk(0), "--keyword", "wrong"),
  ],
  [
    "a chunk is gone",
    "text",
    async () => done("chunk", "delete", name, "edited.md", await chunk(-2), "-y"),
  ],
  on("a chunk was added", "text", "chunk", "add", "$", "edited.md", "--content", text),
  [
    "a chunk is disabled",
    "text",
    async () => done("chunk", "update", name, "edited.md", await chunk(0), "--no-enabled"),
  ],
  [
    "a chunk is enabled",
    "text",
    async () =>
      done("chunk", "update", name, "edited.md", (await disabledChunk())?.id ?? "", "--enabled"),
  ],
  [
    "chunks are in another order",
    "text",
    async () => {
      const [first, second] = await chunks();
      await done(
        "chunk",
        "update",
        name,
        "edited.md",
        first?.id ?? "",
        "--content",
        second?.content ?? "",
      );
    },
  ],
  on("a text was split again", "text", "doc", "add", "$", "edited.md", "--text", "Split again"),
  [
    "an answer was edited",
    "questions",
    async () => {
      const [first] = await chunks();
      await done(
        "chunk",
        "update",
        name,
        "edited.md",
        first?.id ?? "",
        "--content",
        first?.content ?? "",
        "--answer",
        text,
      );
    },
  ],
  [
    "a child chunk was edited",
    "parents",
    async () => done("chunk", "child", "update", ...(await child(0)), "--content", text),
  ],
  [
    "a child chunk is gone",
    "parents",
    async () => done("chunk", "child", "delete", ...(await child(-1)), "-y"),
  ],
  [
    "a child chunk was added",
    "parents",
    async () => done("chunk", "child", "add", ...(await child(0)).slice(0, 3), "--content", text),
  ],
];

test.each(sampled(12, differences))("verify --chunks finds that %s", async (_, form, damage) => {
  await copied(form);
  const verify = ["verify", join(home, form), `name:${name}`, "--chunks"];
  expect((await kb(...verify)).exit, "an undamaged copy").toBe(0);
  await damage();
  await kb("doc", "wait", name);
  const ran = await kb(...verify);
  expect(ran.exit, ran.err).toBe(14);
  expect(ran.out).not.toBe("");
});

/** What is wrong with a base by itself: the problem that check names, and the document. */
const problems: readonly (readonly [problem: string, document: string, ...Damage])[] = [
  [
    "error",
    "bad.md",
    ...on(
      "an embedding failed",
      "text",
      "doc",
      "add",
      "$",
      "bad.md",
      "--text",
      "[[embed-error:rate]]",
    ),
  ],
  [
    "no chunks",
    "blank.md",
    ...on("a document has no chunks", "text", "doc", "add", "$", "blank.md", "--text", " "),
  ],
  [
    "empty",
    "empty.csv",
    "a file is empty",
    "text",
    // A program of others: our own refuses to upload it.
    async () => {
      const { id } = JSON.parse(await done("show", name, "-o", "json")) as { id: string };
      const sent = await fetch(
        `${server.sandbox.origin}/v1/datasets/${id}/document/create-by-file`,
        {
          method: "POST",
          headers: { authorization: "Bearer dataset-sandbox" },
          body: fileForm("empty.csv", ""),
        },
      );
      expect(sent.status, await sent.text()).toBe(200);
    },
  ],
  [
    "duplicate",
    "twice.md",
    "two documents have one content",
    "text",
    async () => {
      await done("doc", "download", name, "edited.md", "--dir", join(home, `down ${number}`));
      await done(
        "doc",
        "add",
        name,
        "twice.md",
        "--text-file",
        join(home, `down ${number}`, "edited.md"),
      );
    },
  ],
  [
    "unindexed chunks",
    "edited.md",
    "a chunk is not indexed",
    "text",
    async () =>
      kb("chunk", "update", name, "edited.md", await chunk(0), "--content", "[[embed-error:rate]]"),
  ],
  [
    "model",
    "",
    "the embedding model is not active",
    "text",
    () => {
      server.sandbox.models.disabled.add("stub-embed");
      return Promise.resolve();
    },
  ],
  [
    "model",
    "",
    "the rerank model is not active",
    "text",
    async () => {
      const reranking_model = {
        reranking_provider_name: "langgenius/stub/stub",
        reranking_model_name: "gone",
      };
      const settings = {
        search_method: "semantic_search",
        reranking_enable: true,
        reranking_model,
        top_k: 2,
        score_threshold_enabled: false,
      };
      await done("update", name, "--retrieval-model", JSON.stringify(settings));
    },
  ],
  [
    "sync",
    "a.md",
    "a synced document was written by others",
    "text",
    async () => {
      await synced();
      await done("doc", "add", name, "a.md", "--text", text);
    },
  ],
  [
    "sync",
    "b.md",
    "two documents have the path of one file",
    "text",
    async () => {
      await synced();
      await marked("b.md", { kb_path: "a.md" });
    },
  ],
  [
    "sync",
    "a.md",
    "a sync did not end",
    "text",
    async () => {
      await synced();
      await marked("a.md", { kb_hash: "pending:1" });
    },
  ],
  [
    "sync",
    "a.md",
    "a mark is of another content",
    "text",
    async () => {
      await synced();
      await marked("a.md", { kb_hash: "0".repeat(64) });
    },
  ],
];

/** Syncs two files into the base. */
async function synced(): Promise<void> {
  const folder = join(home, "synced");
  await rm(folder, { recursive: true, force: true });
  await done("pull", name, "--output-file", join(folder, ".kb.yaml"));
  // One after the other: of two documents for one path, check names the newer.
  for (const file of ["a.md", "b.md"]) {
    await writeFile(join(folder, file), `Text of ${file}`);
    await done("sync", name, folder);
  }
}

/** Changes marks, which no command does. */
async function marked(document: string, values: Readonly<Record<string, string>>): Promise<void> {
  const id = await done("show", name, "--jq", ".id");
  const document_id = await done("doc", "show", name, document, "--jq", ".id");
  const fields = JSON.parse(await done("metadata", "list", name, "-o", "json")) as {
    id: string;
    name: string;
  }[];
  const metadata_list = Object.entries(values).map(([field, value]) => ({
    id: fields.find((each) => each.name === field)?.id,
    name: field,
    value,
  }));
  const operation_data = [{ document_id, metadata_list, partial_update: true }];
  const body = join(home, "body.json");
  await writeFile(body, JSON.stringify({ operation_data }));
  await done("api", "POST", `/datasets/${id}/documents/metadata`, "--input", body);
}

test.each(sampled(12, problems))(
  "check finds %s %s: %s",
  async (problem, document, _, form, damage) => {
    await copied(form);
    const clean = await kb("check", name, "--fail-if", "problems>0");
    expect(clean, "an undamaged base").toMatchObject({ exit: 0, out: "" });
    await damage();
    await kb("doc", "wait", name);
    const ran = await kb("check", name, "--fail-if", "problems>0");
    expect(ran.exit, ran.err).toBe(14);
    const row = ran.out
      .split("\n")
      .find((line) => line.startsWith(`${problem}\t${name}\t${document}`));
    expect(row, ran.out).toBeDefined();
    // Its repair is a command that parses.
    const repair = (row?.split("\t")[4] ?? "").split(" ").slice(1);
    expect((await kb(...repair, "--help")).exit).toBe(0);
  },
);

const hours = (count: number) => Math.floor(Date.now() / 1000) - count * 3600;
/** What only a server with a fault of its own shows. */
const shown: readonly (readonly [
  problem: string,
  change: (document: Record<string, unknown>) => void,
])[] = [
  [
    "stuck",
    (document) => {
      const upload_file = { extension: "txt", size: 9, created_at: hours(3) };
      Object.assign(document, {
        indexing_status: "indexing",
        data_source_detail_dict: { upload_file },
      });
    },
  ],
  [
    "stuck",
    (document) =>
      Object.assign(document, {
        indexing_status: "waiting",
        created_at: hours(2),
        data_source_detail_dict: null,
      }),
  ],
  ["paused", (document) => Object.assign(document, { indexing_status: "paused" })],
  ["error", (document) => Object.assign(document, { indexing_status: "error", error: null })],
];

test.each(shown)("check finds a document that is %s", async (problem, change) => {
  await copied("text");
  const alter = (response: Altered) => {
    const { path, json } = response;
    if (!/\/documents\?/.test(path) && !path.endsWith("/documents")) return;
    for (const document of (json as { data: Record<string, unknown>[] }).data)
      if (document["name"] === "edited.md") change(document);
  };
  const url = await alteringProxy(server.sandbox.origin, alter);
  const ran = await server.cli(["kb", "check", name, "--base-url", url], world);
  expect(ran.out.split("\n").map((line) => line.split("\t").slice(0, 3))).toContainEqual([
    problem,
    name,
    "edited.md",
  ]);
  expect(ran.out).toContain(`--base-url ${url}`);
});

test("check finds that a change of the technique left searches broken", async () => {
  const newer = await testSandbox({ speed: 400, models: true, server: "1.16.1" });
  await newer.done(["kb", "create", "Switched", "--indexing-technique", "economy"], world);
  await newer.done(["kb", "doc", "add", "Switched", "a.md", "--text", text], world);
  await newer.done(["kb", "doc", "wait", "Switched"], world);
  const line = ["--indexing-technique", "high_quality", "--embedding-model", "stub-embed"];
  expect((await newer.cli(["kb", "update", "Switched", ...line], world)).exit).toBe(9);
  const { out } = await newer.cli(["kb", "check", "Switched"], world);
  expect(out).toMatch(/^search\tSwitched\t.*searches fail: .*\tkb update Switched --rewrite\t/);
});

test("check says what it could not check", async () => {
  await copied("text");
  server.sandbox.models.withoutCredentials.add(provider);
  const { out } = await kb("check", name, "--fail-if", "unchecked>0");
  expect(out).toMatch(/^not checked\t.*\tedited\.md\t.*provider_not_initialize/m);
  expect(out).toMatch(/^model\t/m);
});

rareTest(
  "check --all continues after a knowledge base whose documents or models cannot be listed",
  async () => {
    const all = (await done("list", "-o", "name")).trim().split("\n");
    server.sandbox.setFaults([
      parseFault(`GET */datasets/${all[0]}/documents status=400`),
      parseFault("GET *models/model-types/* status=400"),
    ]);
    const ran = await kb("check", "--all", "--no-chunks", "--no-content");
    server.sandbox.setFaults([]);
    expect(ran.exit, ran.err).toBe(0);
    const rows = ran.out
      .trim()
      .split("\n")
      .map((line) => line.split("\t"));
    expect(rows.map((row) => row.at(-1))).toEqual(expect.arrayContaining(all));
    const notes = rows.filter((row) => row.at(-1) === all[0]).map((row) => row[3]);
    expect(notes).toContainEqual(expect.stringMatching(/^failed to list documents/));
    expect(notes).toContainEqual(expect.stringMatching(/^models: /));
  },
);

rareTest(
  "a synced content that is stored in another file, as after an undo, is not a problem",
  async () => {
    await copied("text");
    await synced();
    await marked("a.md", { kb_file: "another" });
    expect((await kb("check", name)).out).toBe("");
  },
);

test("a repair names a document by its ID where two have its name", async () => {
  name = "Twins";
  await done("create", name, "--indexing-technique", "economy");
  for (const each of ["one", "two"]) {
    await done("doc", "add", name, `${each}.md`, "--text", "The same text");
    await done("doc", "wait", name);
  }
  await done("doc", "update", name, "two.md", "--name", "one.md", "--text", "The same text");
  await done("doc", "wait", name);
  const { out } = await kb("check", name, "--no-chunks");
  const [, repair = "", id = ""] = /\t(kb doc delete .*)\t(\S+)\n/.exec(out) ?? [];
  expect(repair, out).toBe(`kb doc delete Twins ${id}`);
});

test("check keeps the copy that searches find, and does not delete an archived one", async () => {
  name = "Copies";
  await done("create", name, "--indexing-technique", "economy");
  const add = async (document: string, status?: string) => {
    await done("doc", "add", name, document, "--text", "The same text");
    await done("doc", "wait", name);
    if (status) await done("doc", status, name, document);
  };
  await add("off.md", "disable");
  await add("archived.md", "archive");
  await add("live.md");
  const { out } = await kb("check", name, "--no-chunks");
  const rows = out
    .trim()
    .split("\n")
    .map((line) => line.split("\t"));
  expect(rows.filter(([problem]) => problem === "duplicate").map((row) => row.slice(2, 5))).toEqual(
    [
      ["archived.md", "same content as live.md", "kb doc show Copies archived.md"],
      ["off.md", "same content as live.md", "kb doc delete Copies off.md"],
    ],
  );
});

/** Damage of the files of a backup. */
const files: readonly (readonly [
  what: string,
  damage: (paths: Record<string, string>) => Promise<void>,
])[] = [
  ["a content was changed", ({ content }) => writeFile(content ?? "", "changed")],
  ["a content is gone", ({ content }) => rm(content ?? "")],
  ["a content was cut", ({ content }) => truncate(content ?? "", 3)],
  ["chunks were changed", ({ chunks: path }) => writeFile(path ?? "", "{}\n")],
  ["chunks are gone", ({ chunks: path }) => rm(path ?? "")],
  ["the manifest was changed", ({ manifest }) => writeFile(manifest ?? "", "{}")],
  ["the manifest is gone", ({ manifest }) => rm(manifest ?? "")],
  [
    "the snapshot was changed",
    async ({ snapshot }) => {
      const before = await readFile(snapshot ?? "", "utf8");
      await writeFile(snapshot ?? "", before.replace(/"documents":\d+/, '"documents":2'));
    },
  ],
  ["the snapshot was cut", ({ snapshot }) => truncate(snapshot ?? "", 40)],
  ["the mark is gone", ({ mark }) => rm(mark ?? "")],
];

test.each(sampled(5, files))("a drill finds that %s", async (what, damage) => {
  const directory = join(home, `damaged ${what}`);
  await done("backup", directory, "text");
  const drill = () => kb("backup", "drill", directory, "text", "-y");
  if (what === files[0]?.[0])
    expect(await drill(), "undamaged").toMatchObject({ exit: 0, out: "" });
  const [id = ""] = await readdir(join(directory, "snapshots"));
  const [file = ""] = await readdir(join(directory, "snapshots", id));
  const snapshot = join(directory, "snapshots", id, file);
  const object = (hash: string) => join(directory, "objects", hash.slice(0, 2), hash);
  const { manifest: hash } = JSON.parse(await readFile(snapshot, "utf8")) as { manifest: string };
  const { state } = JSON.parse(await readFile(object(hash), "utf8")) as {
    state: { documents: { sha256: string; chunks: { sha256: string } }[] };
  };
  const [document] = state.documents;
  await damage({
    snapshot,
    manifest: object(hash),
    content: object(document?.sha256 ?? ""),
    chunks: object(document?.chunks.sha256 ?? ""),
    mark: join(directory, "kb-backup.json"),
  });
  const ran = await drill();
  expect(ran.exit, ran.err).not.toBe(0);
  expect(ran.err).not.toContain("internal error");
});

test("at least 40 kinds of damage are tried", () => {
  expect(differences.length + problems.length + shown.length + files.length).toBeGreaterThan(55);
});
