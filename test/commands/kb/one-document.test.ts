// Single documents of a backup: read, compared and put back, without touching anything else.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { formsOfChunks, handEditedBase } from "../../lib/as-is-bases.ts";
import { rareTest, sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const directory = join(home, "backup");
beforeEach(() => server.sandbox.setFaults([]));

const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home });
const done = async (...argv: string[]) =>
  (await server.done(["kb", ...argv], { folder: home })).out.trim();
const json = async (...argv: string[]): Promise<unknown> =>
  JSON.parse(await done(...argv, "-o", "json"));
/** Requests that change something, since one was the next. */
const writes = (since: number) =>
  server.seen
    .slice(since)
    .filter(({ method, path }) => method !== "GET" && !path.endsWith("/download-zip"))
    .map(({ method, path }) => `${method} ${path}`);

const chunksOf = (name: string, document: string) =>
  json("chunk", "list", name, document, "--all", "--jq", "[.[] | [.content, .enabled]]");
const idOf = (name: string, document: string) => done("doc", "show", name, document, "--jq", ".id");
const shown = "{name, description, tags, retrieval_model_dict, built_in_field_enabled}";
const kept = "{id, name, enabled, archived, doc_metadata, created_at}";
/** Everything of a knowledge base beside one document. */
const others = async (name: string, document: string) => ({
  kb: await json("show", name, "--jq", shown),
  fields: await json("metadata", "list", name, "--jq", "[.[] | {id, name, type}]"),
  documents: await json(
    "doc",
    "list",
    name,
    "--jq",
    `[.[] | select(.name != "${document}") | ${kept}]`,
  ),
});
const restore = (...flags: string[]) => ["backup", "restore", directory, "Source", ...flags];

beforeAll(async () => {
  await handEditedBase(server, "Source", formsOfChunks[1]);
  await done("metadata", "create", "Source", "team", "--type", "string");
  await done("metadata", "create", "Source", "unused", "--type", "number");
  await done("metadata", "set", "Source", "edited.md", "--set", "team=people");
  await done("metadata", "built-in", "enable", "Source");
  await done("tag", "create", "handbooks");
  await done("tag", "bind", "Source", "handbooks");
  await done("backup", directory, "Source");
});

describe("--only --into", () => {
  const status = {
    "edited.md": { enabled: true, archived: false },
    "disabled.md": { enabled: false, archived: false },
    "archived.md": { enabled: true, archived: true },
  };

  test.each(sampled(3, Object.entries(status)))(
    "puts %s back as it was, and nothing else",
    async (name, is) => {
      const target = `Without ${name}`;
      await done("copy", "Source", "--name", target, "--as-is", "-y");
      if (is.archived) await done("doc", "unarchive", target, name);
      await done("doc", "delete", target, name, "-y");
      await done("tag", "unbind", target, "handbooks");
      await done("metadata", "delete", target, "unused", "-y");
      await done("metadata", "built-in", "disable", target);
      await done("doc", "add", target, "newer.md", "--text", "Not in the backup");
      await done("doc", "wait", target);
      const before = await others(target, name);
      const from = server.seen.length;
      const planned = await done(...restore("--only", name, "--into", target, "-n"));
      expect(planned).toMatch(new RegExp(`^create\tdocument\t${name}\t[\\d,]+ bytes to index$`));
      expect(writes(from)).toEqual([]);
      const ran = await kb(...restore("--only", name, "--into", target, "-y"));
      expect(ran.exit, ran.err).toBe(0);
      expect(ran.out).toMatch(new RegExp(`^create\tdocument\t${name}\t.*\n$`));
      expect(ran.err).toContain(`restored ${name} of Source as of `);
      expect(await others(target, name)).toEqual(before);
      expect(await chunksOf(target, name)).toEqual(await chunksOf("Source", name));
      const shown = await json("doc", "show", target, name, "--jq", "{enabled, archived}");
      expect(shown).toEqual(is);
      const values = name === "edited.md" ? [["team", "people"]] : [];
      const own = '[.doc_metadata[]? | select(.id != "built-in") | [.name, .value]]';
      expect(await json("doc", "show", target, name, "--jq", own)).toEqual(values);
    },
  );

  rareTest("adds the fields that its values need, and no others", async () => {
    await done("create", "Empty", "--indexing-technique", "high_quality");
    await done(...restore("--only", "edited.md", "--into", "Empty", "-y"));
    expect(await json("metadata", "list", "Empty", "--jq", "[.[].name]")).toEqual(["team"]);
    expect(await json("show", "Empty", "--jq", "[.tags[].name]")).toEqual([]);
    expect(await json("show", "Empty", "--jq", ".built_in_field_enabled")).toBe(false);
    expect(await chunksOf("Empty", "edited.md")).toEqual(await chunksOf("Source", "edited.md"));
    const from = server.seen.length;
    await done(...restore("--only", "edited.md", "--into", "Empty", "-y"));
    expect(writes(from)).toEqual([]);
  });

  rareTest(
    "replaces another content of the name, and asks before chunks made by hand are lost",
    async () => {
      await done("create", "Newer", "--indexing-technique", "high_quality");
      await done("doc", "add", "Newer", "edited.md", "--text", "A newer text");
      await done("doc", "wait", "Newer");
      await done("chunk", "add", "Newer", "edited.md", "--content", "By hand");
      const id = await idOf("Newer", "edited.md");
      const line = restore("--only", "edited.md", "--into", "Newer");
      const from = server.seen.length;
      const planned = await done(...line, "-n");
      expect(planned).toMatch(/^update\tdocument\tedited.md\t.*; loses chunk 2 \(added\)/m);
      expect((await kb(...line)).exit).toBe(2);
      expect(writes(from)).toEqual([]);
      await done(...line, "-y");
      expect(await json("doc", "list", "Newer", "--jq", "[.[] | .id]")).toEqual([id]);
      expect(await chunksOf("Newer", "edited.md")).toEqual(await chunksOf("Source", "edited.md"));
    },
  );

  test("never makes a second document beside a disabled one", async () => {
    await done("create", "Off", "--indexing-technique", "high_quality");
    await done("doc", "add", "Off", "edited.md", "--text", "Another text");
    await done("doc", "wait", "Off");
    await done("doc", "disable", "Off", "edited.md");
    const line = restore("--only", "edited.md", "--into", "Off");
    expect((await kb(...line, "-n")).exit).toBe(10);
    const from = server.seen.length;
    const ran = await kb(...line, "-y");
    const id = await idOf("Off", "edited.md");
    expect([ran.exit, ran.out]).toEqual([
      10,
      `skip\tdocument\tedited.md\tthe document is disabled and its content differs\t${id}\n`,
    ]);
    expect(writes(from)).toEqual([]);
    const [, hint = ""] = /hint: `kb ([^`]+)`/.exec(ran.err) ?? [];
    await done(...hint.split(" "));
    await done(...line, "-y");
    expect(await json("doc", "list", "Off", "--jq", "length")).toBe(1);
    expect(await chunksOf("Off", "edited.md")).toEqual(await chunksOf("Source", "edited.md"));
  });
});

rareTest(
  "--only --name makes a knowledge base with the settings of the snapshot and these documents",
  async () => {
    const some = ["--only", "edited.md", "--only", "disabled.md"];
    await done(...restore(...some, "--name", "Some", "-y"));
    expect(await json("doc", "list", "Some", "--jq", "[.[].name] | sort")).toEqual([
      "disabled.md",
      "edited.md",
    ]);
    expect(await json("show", "Some", "--jq", "[.indexing_technique, (.tags[].name)]")).toEqual([
      "high_quality",
      "handbooks",
    ]);
    expect(await chunksOf("Some", "edited.md")).toEqual(await chunksOf("Source", "edited.md"));
  },
);

test("--only needs a place, and the hint names one", async () => {
  const from = server.seen.length;
  const ran = await kb(...restore("--only", "edited.md"));
  expect([ran.exit, ran.err]).toEqual([
    2,
    `error: --only needs --into or --name\nhint: to put it back: \`kb backup restore ${directory} Source --only edited.md --into Source\`\n`,
  ]);
  expect(server.seen.length).toBe(from);
});

describe("which document", () => {
  const at = join(home, "named");
  let first = "";

  beforeAll(async () => {
    await done("create", "Named", "--indexing-technique", "economy");
    await done("doc", "add", "Named", "leave.md", "--text", "Thirty days");
    await done("doc", "add", "Named", "gone.md", "--text", "Deleted later");
    await done("doc", "wait", "Named");
    first = await done("backup", at, "Named", "--columns", "snapshot");
    await done("doc", "delete", "Named", "gone.md", "-y");
    for (const text of ["one", "two"]) {
      await writeFile(join(home, "twice.md"), `Text ${text}`);
      await done("doc", "upload", "Named", join(home, "twice.md"), "--no-duplicate");
    }
    await done("doc", "wait", "Named");
    await done("backup", at, "Named");
  });

  const lines = {
    cat: ["backup", "cat", at, "Named"],
    restore: ["backup", "restore", at, "Named", "--into", "Named", "--only"],
  };

  test.each(Object.entries(lines))(
    "%s: a name that no snapshot has is not found",
    async (_, line) => {
      const from = server.seen.length;
      const ran = await kb(...line, "laeve.md");
      expect(ran.exit).toBe(3);
      expect(ran.err).toMatch(/error: snapshot [0-9a-f]{8} of \S+ has no document "laeve.md"/);
      expect(ran.err).toContain('hint: did you mean "leave.md"?');
      expect(writes(from)).toEqual([]);
    },
  );

  test.each(Object.entries(lines))(
    "%s: a name of an older snapshot names that",
    async (_, line) => {
      const ran = await kb(...line, "gone.md");
      expect(ran.exit).toBe(3);
      const [, hint = ""] = /has it: `kb ([^`]+)`/.exec(ran.err) ?? [];
      expect(hint).toContain(`--snapshot ${first}`);
      const again = await kb(...hint.split(" "), ...(line === lines.cat ? [] : ["-y"]));
      expect(again.exit, again.err).toBe(0);
      if (line === lines.cat) expect(again.out).toBe("Deleted later");
      else expect(await done("cat", "Named", "gone.md")).toBe("Deleted later");
    },
  );

  test.each(Object.entries(lines))(
    "%s: a name of two is refused with their IDs",
    async (_, line) => {
      const ran = await kb(...line, "twice.md");
      expect(ran.exit).toBe(5);
      expect(ran.err).toContain('has 2 documents called "twice.md"\nhint: use an ID: ');
      const list = '[.[] | select(.name == "twice.md") | .id] | sort';
      const ids = [...ran.err.matchAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)].map(
        ([id]) => id,
      );
      expect(ids.toSorted()).toEqual(await json("doc", "list", "Named", "--jq", list));
    },
  );

  test("an ID brings one of two back, and leaves the other", async () => {
    const list = '[.[] | select(.name == "twice.md") | .id]';
    const ids = (await json("doc", "list", "Named", "--jq", list)) as string[];
    // The later one stands beside the other, and so does the first, once it is the one that was deleted.
    for (const lost of ids.toReversed()) {
      const [kept] = ids.filter((each) => each !== lost);
      const text = await done("cat", "Named", lost);
      const rest = await done("cat", "Named", kept ?? "");
      expect([text, rest].toSorted()).toEqual(["Text one", "Text two"]);
      await done("doc", "delete", "Named", lost, "-y");
      await done(...lines.restore, lost, "-y");
      expect(await done("cat", "Named", kept ?? "")).toBe(rest);
      const now = (await json("doc", "list", "Named", "--jq", list)) as string[];
      expect(now).toHaveLength(2);
      const back = now.find((each) => each !== kept) ?? "";
      expect(await done("cat", "Named", back)).toBe(text);
      ids.splice(ids.indexOf(lost), 1, back);
    }
  });
});

test("damage elsewhere does not keep a document from coming back; its own does", async () => {
  const at = join(home, "damaged");
  await done("create", "Damaged", "--indexing-technique", "economy");
  for (const name of ["whole.md", "broken.md"])
    await done("doc", "add", "Damaged", name, "--text", `Text of ${name}`);
  await done("doc", "wait", "Damaged");
  await done("backup", at, "Damaged");
  for (const entry of await readdir(join(at, "objects"), {
    recursive: true,
    withFileTypes: true,
  })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && (await readFile(path, "utf8")) === "Text of broken.md")
      await writeFile(path, "Text of nobody at");
  }
  await done("doc", "delete", "Damaged", "whole.md", "-y");
  const line = ["backup", "restore", at, "Damaged", "--into", "Damaged", "-y"];
  expect((await kb(...line)).exit).toBe(2);
  await done(...line, "--only", "whole.md");
  expect(await done("cat", "Damaged", "whole.md")).toBe("Text of whole.md");
  expect(await done("backup", "cat", at, "Damaged", "whole.md")).toBe("Text of whole.md");
  const from = server.seen.length;
  for (const own of [
    [...line, "--only", "broken.md"],
    ["backup", "cat", at, "Damaged", "broken.md"],
  ]) {
    const ran = await kb(...own);
    expect([ran.exit, ran.out]).toEqual([2, ""]);
  }
  expect(writes(from)).toEqual([]);
});

describe("cat", () => {
  test("writes the bytes as they are, without a server", async () => {
    const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0x61, 0x0d, 0x0a, 0, 0xff]);
    await writeFile(join(home, "bytes.txt"), bytes);
    await done("create", "Bytes", "--indexing-technique", "economy");
    await done("doc", "upload", "Bytes", join(home, "bytes.txt"));
    await kb("doc", "wait", "Bytes");
    const at = join(home, "bytes");
    await kb("backup", at, "Bytes");
    const [out, from] = [join(home, "out.txt"), server.seen.length];
    const nowhere = { KB_BASE_URL: "", KB_KEY: "", KB_PROFILE: "" };
    const line = ["kb", "backup", "cat", at, "Bytes", "bytes.txt", "--output-file", out];
    const ran = await server.cli(line, { folder: await temporaryDirectory(), env: nowhere });
    expect(ran.exit, ran.err).toBe(0);
    expect(new Uint8Array(await readFile(out))).toEqual(bytes);
    expect(ran.err).toMatch(/^taking snapshot [0-9a-f]{8} of /);
    expect(server.seen.length).toBe(from);
  });

  rareTest("of a document without a file prints its chunks, which is said", async () => {
    await done("create", "Pages", "--indexing-technique", "economy");
    await done("doc", "add", "Pages", "page", "--text", "First part\n\nSecond part");
    await done("doc", "wait", "Pages");
    await done("chunk", "add", "Pages", "page", "--content", "By hand");
    const at = join(home, "pages");
    const text = await done("cat", "Pages", "page", "--chunks");
    expect(text).toMatch(/Second part\n\nBy hand$/);
    server.sandbox.setFaults([parseFault("POST /datasets/*/documents/download-zip status=404")]);
    await done("backup", at, "Pages");
    const ran = await kb("backup", "cat", at, "Pages", "page");
    expect([ran.exit, ran.out]).toEqual([0, `${text}\n`]);
    expect(ran.err).toContain("no file of document page: these are its chunks\n");
    await done("backup", at, "Pages", "--no-chunks");
    const none = await kb("backup", "cat", at, "Pages", "page");
    expect([none.exit, none.err]).toEqual([
      3,
      expect.stringContaining("has no chunks of document page"),
    ]);
  });

  test("--chunks prints the text as it is indexed", async () => {
    const { out } = await kb("backup", "cat", directory, "Source", "edited.md", "--chunks");
    expect(out).toContain("=1+1 is a formula — edited\n");
    expect(await done("backup", "cat", directory, "Source", "edited.md")).not.toContain("formula");
  });
});

describe("diff", () => {
  const at = join(home, "compared");
  const diff = (...words: string[]) => kb("backup", "diff", at, ...words);
  const ids: string[] = [];

  beforeAll(async () => {
    await done("create", "Compared", "--indexing-technique", "economy");
    for (const name of ["a.md", "b.md", "c.md"]) {
      await done("doc", "add", "Compared", name, "--text", name);
      await done("doc", "wait", "Compared");
      ids.push(await done("backup", at, "Compared", "--columns", "snapshot"));
    }
  });

  test("compares the last two snapshots, or a given one with the last", async () => {
    const last = await diff();
    expect([last.exit, last.out]).toEqual([0, `document\tc.md\tonly in ${ids[2]}\t\texists\n`]);
    expect(last.err).toContain(`comparing snapshots ${ids[1]} and ${ids[2]} of Compared`);
    const from = await diff(ids[0] ?? "");
    expect(from.out.split("\n").map((row) => row.split("\t")[1])).toEqual([
      "b.md",
      "c.md",
      undefined,
    ]);
  });

  rareTest("passes over a snapshot that lacks something", async () => {
    const name = "GET /datasets/*/documents/*/segments status=400";
    server.sandbox.setFaults([parseFault(name)]);
    expect((await kb("backup", at, "Compared")).exit).toBe(10);
    expect((await diff()).err).toContain(`comparing snapshots ${ids[1]} and ${ids[2]} of Compared`);
  });

  test("of several knowledge bases compares the one of the last snapshot, or a named one", async () => {
    await done("create", "Single", "--indexing-technique", "economy");
    await done("backup", at, "Single");
    const ran = await diff();
    expect([ran.exit, ran.err]).toEqual([
      3,
      expect.stringContaining("fewer than two complete snapshots of Single to compare"),
    ]);
    const named = await diff("--kb", "Compared");
    expect([named.exit, named.out]).toEqual([0, expect.stringContaining("c.md")]);
    expect(named.err).toContain(" of Compared\n");
  });
});

const forms = formsOfChunks.filter(([form]) => form !== "vectors");
test.each(
  sampled(
    5,
    forms.map((form) => [form[0], form] as const),
  ),
)("a document of the form %s comes back with its chunks", async (name, form) => {
  await handEditedBase(server, name, form);
  const [at, whole] = [join(home, `${name} backup`), join(home, `${name} export`)];
  await done("export", name, whole);
  await done("backup", at, name);
  await done("doc", "delete", name, "edited.md", "-y");
  await done("backup", "restore", at, name, "--only", "edited.md", "--into", name, "-y");
  await done("verify", whole, `name:${name}`, "--chunks");
});
