import { mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { formsOfChunks, handEditedBase } from "../../lib/as-is-bases.ts";
import { rareTest, sampled } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const backups = join(home, "backups");

const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home });
const done = async (...argv: string[]) =>
  (await server.done(["kb", ...argv], { folder: home })).out.trim();

await handEditedBase(server, "Base", formsOfChunks[1]);
await done("doc", "add", "Base", "plain.md", "--text", "Plain text\n\nIn two paragraphs");
await done("doc", "wait", "Base");
await done("metadata", "create", "Base", "team", "--type", "string");
await done("metadata", "create", "Base", "size", "--type", "number");
await done(
  "metadata",
  "set",
  "Base",
  "plain.md",
  "edited.md",
  "--set",
  "team=people",
  "--set",
  "size=7",
);
await done("tag", "create", "bound");
await done("tag", "create", "free");
await done("tag", "bind", "Base", "bound");
await done("export", "Base", join(home, "before"));
await mkdir(join(home, "docs"));
await writeFile(join(home, "docs", "plain.md"), "Another text");
await writeFile(join(home, "docs", "new.md"), "A new file");
await writeFile(
  join(home, "base.yaml"),
  "knowledge_base: Base\ndescription: From a file\ntags: [free]\n",
);

const chunk = async (document: string, at = 0) =>
  (JSON.parse(await done("chunk", "list", "Base", document, "-o", "json")) as { id: string }[])[at]
    ?.id ?? "";

test("without a record the list says that there is none", async () => {
  const ran = await kb("undo", "--list");
  expect(ran).toMatchObject({ exit: 0, out: "" });
  expect(ran.err).toContain("only commands that were run with --backup are recorded");
});

/** Each command that can be taken back; `$0` is the first chunk of plain.md. */
const commands: readonly (readonly string[])[] = [
  ["doc", "delete", "Base", "plain.md", "-y"],
  ["doc", "delete", "Base", "edited.md", "-y"],
  ["doc", "add", "Base", "plain.md", "--text", "Replaced"],
  ["doc", "add", "Base", "another.md", "--text", "Added"],
  ["doc", "update", "Base", "plain.md", "--name", "plain.md", "--text", "Updated"],
  ["doc", "rename", "Base", "plain.md", "renamed.md"],
  ["doc", "disable", "Base", "plain.md"],
  ["doc", "enable", "Base", "disabled.md"],
  ["doc", "archive", "Base", "plain.md"],
  ["chunk", "update", "Base", "plain.md", "$0", "--content", "Edited"],
  ["chunk", "update", "Base", "plain.md", "$0", "--no-enabled"],
  ["chunk", "delete", "Base", "plain.md", "$0", "-y"],
  ["chunk", "add", "Base", "plain.md", "--content", "Added"],
  ["metadata", "set", "Base", "plain.md", "--set", "team=sales", "--unset", "size"],
  ["metadata", "delete", "Base", "team", "-y"],
  ["metadata", "rename", "Base", "team", "group"],
  ["metadata", "create", "Base", "more", "--type", "string"],
  ["metadata", "built-in", "enable", "Base"],
  ["tag", "unbind", "Base", "bound"],
  ["tag", "bind", "Base", "free"],
  ["update", "Base", "--description", "Other", "--permission", "all_team_members"],
  ["update", "Base", "--name", "Renamed"],
  ["sync", "Base", join(home, "docs"), "--adopt"],
  ["delete", "Base", "-y"],
];

test.each(
  sampled(
    3,
    commands.map((line) => [line.slice(0, 5).join(" "), line] as const),
  ),
)("%s is taken back", async (_, line) => {
  const first = await chunk("plain.md");
  const argv = line.map((word) => (word === "$0" ? first : word));
  await done(...argv, "--backup-dir", backups);
  const changed = await kb(
    "verify",
    join(home, "before"),
    line[1] === "Base" && line[0] === "delete"
      ? "name:Gone"
      : `name:${line.at(-1) === "Renamed" ? "Renamed" : "Base"}`,
    "--chunks",
  );
  if (line.at(-1) !== "Renamed") expect(changed.exit).not.toBe(0);
  const plan = await done("undo", "--dry-run");
  expect(plan).not.toBe("");
  await done("undo", "-y");
  const { exit, out } = await kb("verify", join(home, "before"), "name:Base", "--chunks");
  expect(out).toBe("");
  expect(exit).toBe(0);
  expect((await kb("undo", "-y")).exit).toBe(3);
});

describe("what others have changed since", () => {
  const changes: readonly [string, string[], string[], string][] = [
    [
      "the same chunk",
      ["chunk", "update", "Base", "plain.md", "$0", "--content", "Mine"],
      ["chunk", "update", "Base", "plain.md", "$0", "--content", "Theirs"],
      "plain.md\tchanged since: chunks",
    ],
    [
      "the same value",
      ["metadata", "set", "Base", "plain.md", "--set", "team=a"],
      ["metadata", "set", "Base", "plain.md", "--set", "team=b"],
      "plain.md\tchanged since: metadata",
    ],
    [
      "the same setting",
      ["update", "Base", "--description", "a"],
      ["update", "Base", "--description", "b"],
      'description\tis now "b"',
    ],
    [
      "the added document",
      ["doc", "add", "Base", "theirs.md", "--text", "a"],
      ["doc", "add", "Base", "theirs.md", "--text", "b"],
      "theirs.md\tchanged since: content, chunks",
    ],
    [
      "the values of a field that was created",
      ["metadata", "create", "Base", "theirs", "--type", "string"],
      ["metadata", "set", "Base", "edited.md", "--set", "theirs=a"],
      "conflict\tfield\ttheirs\thas values that were set since",
    ],
  ];
  test.each(sampled(2, changes))(
    "%s: it is listed, and nothing is changed",
    async (_, mine, theirs, row) => {
      const first = await chunk("plain.md");
      const words = (line: readonly string[]) => line.map((word) => (word === "$0" ? first : word));
      await done(...words(mine), "--backup-dir", backups);
      await done(...words(theirs));
      await done("doc", "wait", "Base");
      const from = server.seen.length;
      const ran = await kb("undo", "-y");
      expect(ran.exit).toBe(5);
      expect(ran.out).toContain(row);
      expect(ran.err).toContain("nothing was undone");
      expect(ran.err).toMatch(/`kb backup restore .* --name 'Base before'`/);
      const sent = server.seen
        .slice(from)
        .filter(({ method, path }) => method !== "GET" && !path.endsWith("zip"));
      expect(sent).toEqual([]);
    },
  );

  test("a document that somebody has put back already has no row", async () => {
    await done("doc", "disable", "Base", "plain.md", "--backup-dir", backups);
    await done("doc", "enable", "Base", "plain.md");
    const ran = await kb("undo", "-y");
    expect(ran).toMatchObject({ exit: 0, out: "" });
  });

  test("a change of something else does not matter, and stays", async () => {
    await done("doc", "add", "Base", "mine.md", "--text", "Mine", "--backup-dir", backups);
    await done("metadata", "set", "Base", "edited.md", "--set", "team=theirs");
    await done("undo", "-y");
    expect((await kb("doc", "show", "Base", "mine.md")).exit).toBe(3);
    expect(await done("doc", "show", "Base", "edited.md", "-o", "json")).toContain("theirs");
  });
});

rareTest(
  "two deleted documents of one name each get their own content and chunks back",
  async () => {
    for (const text of ["One text", "Another text"]) {
      await writeFile(join(home, "twin.md"), text);
      const rule = ["--process-rule", '{"mode":"automatic"}', "--no-duplicate"];
      await done("doc", "upload", "Base", join(home, "twin.md"), ...rule);
      await done("doc", "wait", "Base");
    }
    const isTwin = '[.[]|select(.name=="twin.md").id]';
    const twins = JSON.parse(await done("doc", "list", "Base", "--jq", isTwin)) as string[];
    expect(twins).toHaveLength(2);
    for (const id of twins)
      await done("chunk", "update", "Base", id, await chunk(id), "--content", `Edited in ${id}`);
    await done("export", "Base", join(home, "twins"));
    await done("doc", "delete", "Base", ...twins, "-y", "--backup-dir", backups);
    await done("undo", "-y");
    expect((await kb("verify", join(home, "twins"), "name:Base", "--chunks")).out).toBe("");
    await done(
      "doc",
      "delete",
      "Base",
      ...(JSON.parse(await done("doc", "list", "Base", "--jq", isTwin)) as string[]),
      "-y",
    );
  },
);

describe("what a backup lacks", () => {
  const base = ["doc", "add", "Base", "lacking.md", "--text"];
  const faulty = async (fault: string, ...line: string[]) => {
    await done(...base, "Text");
    await done("doc", "wait", "Base");
    server.sandbox.setFaults([parseFault(fault)]);
    const ran = await kb(...line, "--backup-dir", join(home, "lacking"));
    server.sandbox.setFaults([]);
    return ran;
  };

  test("without the chunks of a document, the command is not carried out", async () => {
    const first = "GET /datasets/*/documents/*/segments status=400 times=1";
    const ran = await faulty(first, "doc", "delete", "Base", "lacking.md", "-y");
    expect(ran.exit).toBe(5);
    expect(ran.err).toContain("the backup lacks the chunks of");
    expect((await kb("doc", "show", "Base", "lacking.md")).exit).toBe(0);
  });

  test("a document without a file is named before, and an undo says that it is not back", async () => {
    const none = "POST /datasets/*/documents/download-zip status=404 times=99";
    const ran = await faulty(none, "doc", "delete", "Base", "lacking.md", "-y");
    expect(ran.err).toMatch(/not stored: without a file on the server: .*lacking\.md/);
    for (const [flag, exit] of [
      ["-n", 0],
      ["-y", 10],
    ] as const) {
      const undo = await kb("undo", flag);
      expect(undo.out).toContain("skip\tdocument\tlacking.md\tthe server had no file of it");
      expect(undo.exit, undo.err).toBe(exit);
    }
    expect(await done("undo", "--list")).not.toContain("lacking.md");
  });

  test("when the backup after a command fails, the command is known to have been carried out", async () => {
    const none = "GET /datasets/*/documents status=500 skip=3";
    const ran = await faulty(none, "doc", "disable", "Base", "lacking.md");
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain("the command was carried out, but the backup after it failed");
    expect(ran.err).toContain("do not run the command again");
    expect(await done("undo", "--list")).toContain("did not end");
    await rm(join(home, "state", "undo"), { recursive: true });
    await done("doc", "delete", "Base", "lacking.md", "-y");
  });
});

describe("chunks that the server does not have yet", () => {
  test("a delete right after an upload waits for them, and is taken back with them", async () => {
    const slow = await testSandbox({ speed: 3 });
    const run = (...argv: string[]) => slow.done(["kb", ...argv], { folder: join(home, "slow") });
    await run("create", "Fresh", "--indexing-technique", "economy");
    for (const name of ["a.md", "b.md"])
      await run("doc", "add", "Fresh", name, "--text", `Text of ${name}`);
    const { err } = await run("delete", "Fresh", "-y", "--backup-dir", join(home, "fresh"));
    expect(err).not.toContain("not stored");
    await run("undo", "-y");
    const chunks = await run("chunk", "list", "Fresh", "b.md", "--jq", ".[].content");
    expect(chunks.out).toBe("Text of b.md\n");
  });

  test("a snapshot without them is restored by the line of the hint", async () => {
    await done("create", "Bare", "--indexing-technique", "economy");
    await done("doc", "add", "Bare", "bare.md", "--text", "Bare text");
    await done("backup", join(home, "bare"), "Bare", "--no-chunks");
    const ran = await kb("backup", "restore", join(home, "bare"), "Bare", "--name", "Again", "-y");
    expect(ran).toMatchObject({ exit: 2, out: "" });
    expect(ran.err).toContain("no chunks are stored of 1 document: bare.md");
    const [, line = ""] = /texts again: `kb (.*)`/.exec(ran.err) ?? [];
    expect(line).toMatch(/--name Again --snapshot [0-9a-f]{8} --split-again$/);
    await done(...line.split(" "), "-y");
    expect(await done("chunk", "list", "Again", "bare.md", "--jq", ".[].content")).toBe(
      "Bare text",
    );
  });
});

test("of two undos at once, one works and the other changes nothing", async () => {
  await done("doc", "delete", "Base", "plain.md", "-y", "--backup-dir", backups);
  const ran = await Promise.all([1, 2].map(() => kb("undo", "-y")));
  expect(ran.map(({ exit }) => exit).toSorted()).toEqual([0, 1]);
  expect(ran.find(({ exit }) => exit === 1)?.err).toContain("another kb undo is at work");
});

describe("records", () => {
  const records = join(home, "state", "undo");
  test("a command that failed before it sent anything leaves none", async () => {
    const before = await readdir(records);
    const ran = await kb("doc", "delete", "Base", "missing.md", "-y", "--backup-dir", backups);
    expect(ran.exit).toBe(3);
    expect(await readdir(records)).toEqual(before);
  });

  test("one that did not end is not taken back: what it left is not known", async () => {
    const stop = new AbortController();
    const line = ["kb", "doc", "add", "Base", "cut.md", "--text", "x", "--backup-dir", backups];
    const around = { folder: home, signal: stop.signal };
    const ran = await server.cli(line, {
      ...around,
      around: (host) => ({
        ...host,
        dispatcher: async (options) => {
          const dispatcher = await host.dispatcher(options);
          const request = (given: { path: string }) => {
            if (given.path.endsWith("create-by-text")) stop.abort("SIGINT");
            return dispatcher.request(given as never);
          };
          return Object.assign(Object.create(dispatcher) as typeof dispatcher, { request });
        },
      }),
    });
    expect(ran.exit).toBe(130);
    const undo = await kb("undo", "-y");
    expect(undo.exit).toBe(5);
    expect(undo.err).toContain("did not finish, so it is unknown what it changed");
    expect(await done("undo", "--list")).toMatch(
      /^[0-9a-f]{8}\tkb doc add Base cut.md\t\S+\tBase\tdid not end$/m,
    );
  });

  test("one that did not end blocks no other: it can be forgotten, or another be chosen", async () => {
    const ids = async () =>
      [...(await done("undo", "--list")).matchAll(/^([0-9a-f]{8})\t/gm)].map(([, id]) => id ?? "");
    await done("doc", "disable", "Base", "edited.md", "--backup-dir", backups);
    const [mine = "", ...others] = await ids();
    const late = await readFile(join(records, (await readdir(records)).toSorted().at(-1) ?? ""));
    const unended = { ...(JSON.parse(String(late)) as object), after: null, before: "ffffffff" };
    const at = new Date(Date.now() + 60_000).toISOString();
    await writeFile(join(records, "late.json"), JSON.stringify({ ...unended, at }));
    expect(await ids()).toEqual(["ffffffff", mine, ...others]);
    expect((await kb("undo", "--record", "0000", "-y")).exit).toBe(3);
    const shown = await done("doc", "show", "Base", "edited.md", "--jq", ".display_status");
    expect(shown).toBe("disabled");
    await done("undo", "--record", mine.slice(0, 6), "-y");
    const now = await done("doc", "show", "Base", "edited.md", "--jq", ".display_status");
    expect(now).toBe("available");
    await done("undo", "--forget", "--dry-run");
    expect(await ids()).toEqual(["ffffffff", ...others]);
    expect((await kb("undo", "--forget")).exit).not.toBe(0);
    await done("undo", "--forget", "-y");
    expect(await ids()).toEqual(others);
  });

  test("are for this user only, and a file that lacks something is none", async () => {
    await done("doc", "disable", "Base", "edited.md", "--backup-dir", backups);
    const last = join(records, (await readdir(records)).toSorted().at(-1) ?? "");
    expect((await stat(last)).mode & 0o777).toBe(0o600);
    const record = JSON.parse(await readFile(last, "utf8")) as object;
    for (const damage of [{ after: 5 }, { command: 5 }]) {
      const path = join(records, "damaged.json");
      await writeFile(path, JSON.stringify({ ...record, ...damage }));
      const ran = await kb("undo", "--list");
      expect([ran.exit, ran.err]).toEqual([
        10,
        expect.stringContaining(`not readable as a record: ${path}`),
      ]);
      await rm(path);
    }
    await done("undo", "-y");
  });

  test("with --each, a backup is refused: rows can name several knowledge bases", async () => {
    const ran = await kb("doc", "delete", "--each", "rows.csv", "-y", "--backup-dir", backups);
    expect(ran).toMatchObject({ exit: 2 });
    expect(ran.err).toContain("--backup is for one knowledge base");
  });
});

describe("the prompt before a delete", () => {
  test("b backs up first, so that it can be taken back", async () => {
    await done("doc", "add", "Base", "asked.md", "--text", "x");
    await done("doc", "wait", "Base");
    const questions: string[] = [];
    const terminal = { folder: join(home, "asked"), tty: true, questions };
    const ran = await server.cli(["kb", "doc", "delete", "Base", "asked.md"], {
      ...terminal,
      answers: ["b"],
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(questions).toEqual([
      expect.stringMatching(/This cannot be\s+undone\. \[y\/N, b to back up first\] $/),
    ]);
    expect((await kb("doc", "show", "Base", "asked.md")).exit).toBe(3);
    await server.done(["kb", "undo", "-y"], { folder: join(home, "asked") });
    expect((await kb("doc", "show", "Base", "asked.md")).exit).toBe(0);
    // The flag takes no word that follows it.
    for (const words of [
      ["--backup", "Base", "asked.md"],
      ["Base", "--backup", "asked.md"],
    ]) {
      const own = { folder: join(home, "asked") };
      const deleted = await server.cli(["kb", "doc", "delete", ...words, "-y"], own);
      expect(deleted.err).toContain(/to (\S+) \(snapshot/.exec(ran.err)?.[0]?.slice(0, -10));
      await server.done(["kb", "undo", "-y"], own);
    }
  });

  test("nothing is stored for a delete that cannot be confirmed", async () => {
    await server.done(["kb", "doc", "add", "Base", "kept.md", "--text", "x"]);
    const own = { folder: join(home, "unconfirmed") };
    const ran = await server.cli(["kb", "doc", "delete", "Base", "kept.md", "--backup"], own);
    expect(ran.exit).toBe(2);
    expect(ran.err).toContain("confirmation required");
    expect(ran.err).not.toContain("backed up");
    expect((await kb("doc", "show", "Base", "kept.md")).exit).toBe(0);
  });
});
