import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { tamperWith } from "../../lib/manifests.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();
let number = 0;
let name = "";
let folder = "";

beforeEach(() => {
  server.sandbox.setFaults([]);
  name = `Handbook ${++number}`;
  folder = join(home, `export ${number}`);
});

const kb = (...argv: readonly string[]) => server.cli(["kb", ...argv], { folder: home });

/** Runs a command that must succeed and returns its output. */
const done = async (...argv: string[]) =>
  (await server.done(["kb", ...argv], { folder: home })).out.replace(/\n$/, "");

/** Creates a knowledge base with documents, metadata and tags. */
async function filled(): Promise<void> {
  await done("create", name, "--indexing-technique", "economy", "--description", "Rules");
  await done("doc", "add", name, "people/leave.md", "--text", "30 days — dreißig\r\n");
  await done("doc", "add", name, "notes.txt", "--text", "plain");
  const csv = join(home, "prices.csv");
  await writeFile(csv, "item,price\npen,2\n");
  await done("doc", "upload", name, csv);
  await done("doc", "wait", name);
  await done("metadata", "create", name, "team", "--type", "string");
  await done("metadata", "create", name, "pages", "--type", "number");
  await done(
    "metadata",
    "set",
    name,
    "people/leave.md",
    "--set",
    "team=people",
    "--set",
    "pages=2",
  );
  await done("doc", "disable", name, "notes.txt");
  await done("tag", "create", `tag ${number}`);
  await done("tag", "bind", name, `tag ${number}`);
}

const zips = () => server.seen.filter(({ path }) => path.endsWith("/download-zip")).length;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("an export has the exact bytes of every document, and a manifest of the rest", async () => {
  await filled();
  const rows = await done("export", name, folder);
  expect(rows.split("\n")).toEqual([
    "written\tpeople/leave.md\tdocuments/people/leave.md\t22",
    "written\tnotes.txt\tdocuments/notes.txt\t5",
    "written\tprices.csv\tdocuments/prices.csv\t17",
  ]);
  expect(await readFile(join(folder, "documents/people/leave.md"), "utf8")).toBe(
    "30 days — dreißig\r\n",
  );
  const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as {
    state: Record<string, unknown> & { documents: unknown[] };
  };
  expect(manifest.state).toMatchObject({
    settings: { name, description: "Rules", indexing_technique: "economy" },
    tags: [`tag ${number}`],
    fields: [
      { name: "pages", type: "number" },
      { name: "team", type: "string" },
    ],
    built_in_fields: false,
  });
  expect(manifest.state.documents).toMatchObject([
    {
      name: "people/leave.md",
      from_text: true,
      enabled: true,
      metadata: { team: "people", pages: 2 },
      sha256: sha256("30 days — dreißig\r\n"),
    },
    { name: "notes.txt", enabled: false },
    { name: "prices.csv", from_text: false, bytes: 17 },
  ]);
  const chunks = await readFile(join(folder, "chunks/prices.csv.jsonl"), "utf8");
  expect(chunks).toContain("pen");
});

test("an imported export has no differences", async () => {
  await filled();
  await done("export", name, folder);
  expect((await kb("import", folder)).exit).toBe(5); // the name is taken
  const made = await kb("import", folder, "--name", `${name} copy`);
  expect(made.err).toContain(`imported to ${name} copy; to compare: `);
  const verified = await kb("verify", folder, `${name} copy`);
  expect(verified.exit, verified.out).toBe(0);
  expect(verified.err).toContain("no differences; compared 3 and 3 documents");
  expect((await kb("verify", name, `${name} copy`)).exit).toBe(0);
});

rareTest(
  "names that objects of JavaScript treat in their own way are exported and imported",
  async () => {
    const names = ["b.md", "__proto__", "2", "constructor", "1"];
    await done("create", name, "--indexing-technique", "economy");
    for (const each of names) await done("doc", "add", name, each, "--text", `text of ${each}`);
    await done("doc", "wait", name);
    for (const field of ["__proto__", "constructor", "valueOf"])
      await done("metadata", "create", name, field, "--type", "string");
    await done("metadata", "set", name, "2", "--set", "__proto__=x", "--set", "valueOf=y");
    await done("metadata", "set", name, "1", "--set", "constructor=z");
    const set =
      '[.[] | .name as $name | .doc_metadata[]? | select(.id != "built-in" and .value != null) | [$name, .name, .value]] | sort';
    expect(JSON.parse(await done("doc", "list", name, "--jq", set))).toEqual([
      ["1", "constructor", "z"],
      ["2", "__proto__", "x"],
      ["2", "valueOf", "y"],
    ]);
    await done("export", name, folder);
    for (const each of names)
      expect(await readFile(join(folder, "documents", each), "utf8")).toBe(`text of ${each}`);
    await done("import", folder, "--name", `${name} copy`);
    await done("verify", folder, `${name} copy`);
    await done("verify", name, `${name} copy`);
  },
);

test("a copy to another profile has no differences", async () => {
  await filled();
  await done("copy", name, "--name", `${name} copy`, "--to-profile", "sandbox");
  expect((await kb("verify", name, `${name} copy`, "--to-profile", "sandbox")).exit).toBe(0);
});

test("a copy lists nothing on a terminal that its source has as well", async () => {
  await filled();
  await done("tag", "create", "copied");
  await done("tag", "bind", name, "copied");
  await done("metadata", "built-in", "enable", name);
  const world = { folder, tty: true, columns: 80 };
  const ran = await server.cli(["kb", "copy", name, "--name", `${name} copy`], world);
  expect(ran).toMatchObject({ exit: 0, out: "" });
  expect(ran.err.replaceAll("\n    ", " ")).toMatch(
    /(^|\n)3 documents: 3 created; 44 bytes indexed\ncopied (.+) to \2 copy; to compare: `kb verify .+ 'name:.+ copy'`\nnot copied: edited chunks\n$/,
  );
});

test("verify reports each difference", async () => {
  await filled();
  await done("export", name, folder);
  const changes: readonly (readonly [string, () => Promise<unknown>, string])[] = [
    [
      "a deleted document",
      () => done("doc", "delete", name, "prices.csv", "--yes"),
      "document\tprices.csv\texists\t",
    ],
    [
      "one byte of content",
      async () => {
        await done("doc", "update", name, "people/leave.md", "--text", "30 days - dreißig\r\n");
        await done("doc", "wait", name);
      },
      `content\tpeople/leave.md\t${sha256("30 days — dreißig\r\n")}\t${sha256("30 days - dreißig\r\n")}`,
    ],
    [
      "a metadata value",
      () => done("metadata", "set", name, "people/leave.md", "--set", "team=hr"),
      "metadata\tpeople/leave.md: team\tpeople\thr",
    ],
    [
      "an enabled document",
      () => done("doc", "enable", name, "notes.txt"),
      "status\tnotes.txt\tdisabled\tenabled",
    ],
    [
      "a setting",
      () => done("update", name, "--description", "Other rules"),
      "setting\tdescription\tRules\tOther rules",
    ],
    [
      "a field",
      () => done("metadata", "create", name, "year", "--type", "number"),
      "field\tyear\t\tnumber",
    ],
    [
      "a file of the export",
      () => writeFile(join(folder, "documents/notes.txt"), "plane"),
      `content\tnotes.txt\t${sha256("plane")}\t${sha256("plain")}`,
    ],
  ];
  const reported: string[] = [];
  for (const [what, change, row] of changes) {
    await change();
    reported.push(row);
    const ran = await kb("verify", folder, name);
    expect(ran.out.split("\n").toSorted(), what).toEqual(["", ...reported].toSorted());
    expect(ran.exit).toBe(14);
  }
});

describe("unchanged documents are not downloaded again", () => {
  test("in a second export", async () => {
    await filled();
    await done("export", name, folder);
    const before = zips();
    expect(await done("export", name, folder)).toBe("");
    expect(zips()).toBe(before);
  });

  rareTest("beside a changed, a new and a deleted document", async () => {
    await filled();
    await done("export", name, folder);
    await done("doc", "update", name, "people/leave.md", "--text", "31 days");
    await done("doc", "add", name, "new.md", "--text", "new");
    await done("doc", "delete", name, "prices.csv", "--yes");
    await done("doc", "wait", name);
    expect(await done("export", name, folder)).toBe(
      [
        "written\tpeople/leave.md\tdocuments/people/leave (1).md\t7",
        "written\tnew.md\tdocuments/new.md\t3",
        "removed\tpeople/leave.md\tdocuments/people/leave.md\t22",
        "removed\tprices.csv\tdocuments/prices.csv\t17",
      ].join("\n"),
    );
    expect(await readdir(join(folder, "documents"))).toEqual(["new.md", "notes.txt", "people"]);
    expect((await kb("verify", folder, name)).exit).toBe(0);
  });

  rareTest("in an export that resumes an interrupted one", async () => {
    await done("create", name, "--indexing-technique", "economy");
    const rows = Array.from({ length: 105 }, (_, index) => `d${index}.md,text ${index}\n`);
    const file = join(home, "many.csv");
    await writeFile(file, `name,text\n${rows.join("")}`);
    await done("doc", "add", name, "--each", file);
    await done("doc", "wait", name);
    server.sandbox.setFaults([parseFault("POST */download-zip status=400 skip=1")]);
    const interrupted = await kb("export", name, folder, "--retries", "0");
    expect(interrupted.exit).toBe(5);
    expect((await readdir(join(folder, "documents"))).length).toBe(100);
    server.sandbox.setFaults([]);
    const rest = await done("export", name, folder);
    expect(rest.split("\n")).toHaveLength(5);
    expect((await kb("verify", folder, name)).exit).toBe(0);
  });
});

rareTest("an interrupted import resumes without duplicates", async () => {
  await filled();
  await done("export", name, folder);
  server.sandbox.setFaults([parseFault("POST */create-by-file status=500")]);
  const interrupted = await kb("import", folder, "--name", `${name} copy`, "--retries", "0");
  expect(interrupted.exit).not.toBe(0);
  server.sandbox.setFaults([]);
  const again = await kb("import", folder, "--name", `${name} copy`);
  expect(again.exit, again.err).toBe(0);
  expect(again.err).toContain("resuming the import into");
  expect((await kb("verify", folder, `${name} copy`)).exit).toBe(0);
});

rareTest(
  "an import with --no-wait is completed by a second one, which sends no document again",
  async () => {
    await filled();
    await done("export", name, folder);
    const copy = `${name} copy`;
    const words = (out: string) =>
      out.split("\n").map((line) => line.split("\t").slice(0, 3).join(" "));
    const planned = words(await done("import", folder, "--name", copy, "--dry-run"));
    expect(words(await done("import", folder, "--name", copy, "--no-wait"))).toEqual(planned);
    expect(planned).toEqual([
      `create knowledge base ${copy}`,
      `bind tag tag ${number}`,
      "create field pages",
      "create field team",
      "create document people/leave.md",
      "create document notes.txt",
      "create document prices.csv",
    ]);
    await done("doc", "wait", copy);
    const before = server.seen.length;
    expect(words(await done("import", folder, "--name", copy))).toEqual([
      "metadata document notes.txt",
    ]);
    expect(server.seen.slice(before).filter(({ path }) => /create-by/.test(path))).toEqual([]);
    expect((await kb("verify", folder, copy)).exit).toBe(0);
  },
);

describe("a damaged export is rejected before anything is sent", () => {
  test.each<[string, (folder: string) => Promise<unknown>, string]>([
    [
      "a changed byte",
      (at) => writeFile(join(at, "documents/notes.txt"), "plane"),
      "documents/notes.txt is changed",
    ],
    [
      "a missing file",
      (at) => rm(join(at, "documents/notes.txt")),
      "documents/notes.txt is missing",
    ],
    [
      "a truncated manifest",
      async (at) => {
        const path = join(at, "manifest.json");
        await writeFile(path, (await readFile(path, "utf8")).slice(0, 300));
      },
      "not valid JSON",
    ],
    [
      "a modified manifest",
      async (at) => {
        const path = join(at, "manifest.json");
        await writeFile(path, (await readFile(path, "utf8")).replace("people", "hr"));
      },
      "modified after the export",
    ],
  ])("%s", async (_, damage, message) => {
    await filled();
    await done("export", name, folder);
    await damage(folder);
    const before = server.seen.length;
    const ran = await kb("import", folder, "--name", `${name} copy`);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(message);
    expect(server.seen.length).toBe(before);
  });

  test("a manifest with a file outside the directory", async () => {
    await filled();
    await done("export", name, folder);
    const path = join(folder, "manifest.json");
    const { sum: _, ...manifest } = JSON.parse(
      (await readFile(path, "utf8")).replaceAll("documents/notes.txt", "../secret.txt"),
    ) as Record<string, unknown>;
    const sum = sha256(JSON.stringify(manifest));
    await writeFile(path, JSON.stringify({ ...manifest, sum }));
    const ran = await kb("import", folder, "--name", `${name} copy`);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("file outside the directory: ../secret.txt");
  });
});

describe("a sync of the files of an export", () => {
  const long = `${"漢".repeat(80)}.md`;
  const names = [".hidden/a b.md", "100%.md", "CON.md", long, "plain.md"];
  const synced = async (directory: string) =>
    (await done("sync", `${name} again`, directory, "--dry-run", "--columns", "action,path"))
      .split("\n")
      .toSorted();
  const creates = (...paths: readonly string[]) =>
    paths.map((path) => `create\t${path}`).toSorted();

  beforeEach(async () => {
    await done("create", name, "--indexing-technique", "economy");
    await done("create", `${name} again`, "--indexing-technique", "economy");
    for (const each of names) await done("doc", "add", name, each, "--text", each);
    await done("doc", "wait", name);
    const ran = await kb("export", name, folder);
    expect(ran.err).toContain("\n4 names encoded in paths: documents/%2Ehidden/a b.md, ");
    // The user's own file: only what the export wrote is decoded.
    await writeFile(join(folder, "documents/50%25 off.md"), "mine");
  });

  test("gives documents their own names", async () => {
    const all = [...names, "50%25 off.md"];
    expect(await synced(join(folder, "documents"))).toEqual(creates(...all));
    const same = await done("sync", name, join(folder, "documents"), "--adopt", "-o", "json");
    const { length } = (JSON.parse(same) as { action: string }[]).filter(
      ({ action }) => action === "adopt",
    );
    expect(length).toBe(names.length);
    const below = [...all.map((each) => `documents/${each}`), "skip"];
    expect((await synced(folder)).filter((line) => line.startsWith("create"))).toEqual(
      creates(...below.filter((each) => each !== "skip")),
    );
  });

  rareTest("keeps a document whose directory is excluded", async () => {
    const documents = join(folder, "documents");
    await done("sync", `${name} again`, documents);
    const pruned = [
      "--prune",
      "--max-delete",
      "9",
      "--exclude",
      "%2Ehidden",
      "--exclude",
      ".hidden",
    ];
    const rows = await done("sync", `${name} again`, documents, "--dry-run", ...pruned);
    expect(rows).not.toContain("delete");
  });

  test("takes the names of files where no export wrote them", async () => {
    const files = await readdir(join(folder, "documents"));
    const own = creates(...files.filter((file) => file !== "%2Ehidden"), "%2Ehidden/a b.md");
    const manifest = join(folder, "manifest.json");
    await writeFile(manifest, '{"manifest_version": 3, "name": "extension"}');
    expect(await synced(join(folder, "documents"))).toEqual(own);
    await rm(manifest);
    await mkdir(manifest);
    expect(await synced(join(folder, "documents"))).toEqual(own);
  });
});

test("an export with names of the former kind is read, and gets those of today", async () => {
  await done("create", name, "--indexing-technique", "economy");
  await done("doc", "add", name, "CON.md", "--text", "text");
  await done("doc", "wait", name);
  await done("export", name, folder);
  const path = join(folder, "manifest.json");
  const { sum: _, ...manifest } = JSON.parse(
    (await readFile(path, "utf8")).replaceAll("documents/%43ON.md", "documents/_CON.md"),
  ) as Record<string, unknown>;
  await writeFile(path, JSON.stringify({ ...manifest, sum: sha256(JSON.stringify(manifest)) }));
  await rename(join(folder, "documents/%43ON.md"), join(folder, "documents/_CON.md"));
  await done("verify", folder, name);
  await done("import", folder, "--name", `${name} copy`);
  await done("verify", folder, `${name} copy`);
  expect(await done("export", name, folder)).toBe(
    "written\tCON.md\tdocuments/%43ON.md\t4\nremoved\tCON.md\tdocuments/_CON.md\t4",
  );
});

rareTest("a manifest with a part removed or replaced is rejected or read correctly", async () => {
  await filled();
  await done("export", name, folder);
  let seen = 0;
  const some = await tamperWith(server, home, folder, () => seen++ % 53 === 0);
  expect(some).toBeGreaterThan(15);
});

describe("an export does not write into a directory with", () => {
  test("an export of another knowledge base", async () => {
    await filled();
    await done("export", name, folder);
    await done("create", `${name} other`, "--indexing-technique", "economy");
    const ran = await kb("export", `${name} other`, folder);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain(`is an export of another knowledge base, ${name}`);
  });

  test("other files", async () => {
    await filled();
    const other = await temporaryDirectory();
    await writeFile(join(other, "mine.txt"), "mine");
    const ran = await kb("export", name, other);
    expect(ran.exit).toBe(2);
    expect(await readdir(other)).toEqual(["mine.txt"]);
  });
});

test("a link in the place of the journal is not written through", async () => {
  await filled();
  const other = join(home, `other ${number}`);
  await writeFile(other, "theirs");
  await mkdir(folder);
  await symlink(other, join(folder, "manifest.part.jsonl"));
  const { exit, err } = await kb("export", name, folder);
  expect([exit, err]).toEqual([
    2,
    `error: ${folder} has a link that no export made, manifest.part.jsonl\nhint: choose another directory\n`,
  ]);
  expect(await readFile(other, "utf8")).toBe("theirs");
});

test("on a terminal, verify groups differences by what and why", async () => {
  const base = "Many";
  await done("create", base, "--indexing-technique", "economy");
  for (let each = 1; each <= 12; each++)
    await done("doc", "add", base, `${each}.md`, "--text", String(each));
  await done("doc", "wait", base);
  const empty = "Empty";
  await done("create", empty, "--indexing-technique", "economy", "--description", "Rules");
  const ran = await server.cli(["kb", "verify", base, empty], { tty: true, columns: 100 });
  expect(ran.exit).toBe(14);
  expect(ran.out).toBe(
    [
      "setting   description: none → Rules",
      "setting   doc_form: text_model → none",
      "document  12 × only in Many: 1.md, 2.md, 3.md, 4.md, 5.md, … (all: -o tsv)",
      "",
    ].join("\n"),
  );
});
