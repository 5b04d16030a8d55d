import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import type { Files } from "../../src/host/host.ts";
import { diskFiles } from "../../src/host/node-files.ts";
import type { ReceivedRequest } from "../../src/sandbox/http/server.ts";
import { parseFault } from "../../src/sandbox/protocol/faults.ts";
import { listening } from "../lib/listening.ts";
import { root } from "../lib/paths.ts";
import { rareTest } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory, withoutProgress } from "../lib/support.ts";
import type { World } from "../lib/support.ts";
import { turns } from "../lib/turns.ts";

const seen: ReceivedRequest[] = [];
let onRequest = () => {};
const { cli, env, sandbox } = await testSandbox({
  onRequest: (request) => {
    seen.push(request);
    onRequest();
  },
});
let folder = "";
beforeAll(async () => {
  folder = await temporaryDirectory();
});

const run = (argv: readonly string[], world: World = {}) => cli(argv, { folder, ...world });

/** A file of rows in the directory of the tests. */
async function file(name: string, text: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** Makes tags and gives their ids by name. */
async function tags(...names: string[]): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  for (const name of names) {
    const { out } = await run(["kb", "tag", "create", name, "-o", "name"]);
    ids[name] = out.trim();
  }
  return ids;
}

const tagNames = async () =>
  (await run(["kb", "tag", "list", "--jq", ".[].name"])).out.trim().split("\n");

/** Requests sent while something was done. */
async function sentBy(work: () => Promise<unknown>): Promise<string[]> {
  const before = seen.length;
  await work();
  return seen
    .slice(before)
    .map(({ method, path, body }) => `${method} ${path} ${new TextDecoder().decode(body)}`.trim());
}

const results = (out: string) =>
  out
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { row: number; status: string; id: string; error: string })
    .sort((a, b) => a.row - b.row);

/** A word that no other test uses. */
const word = () => `w${randomBytes(4).toString("hex")}`;

test("every row of a CSV file is one request, and the list of tags is read once", async () => {
  const [a, b] = [word(), word()];
  const ids = await tags(a, b);
  const path = await file("two.csv", `tag,name\r\n${a},"${a}, new"\r\n${ids[b]},${b}!\r\n`);
  let ran = { exit: -1, out: "", err: "" };
  const sent = await sentBy(async () => {
    ran = await run(["kb", "tag", "rename", "--each", path, "-o", "jsonl"]);
  });
  expect(ran.exit).toBe(0);
  expect(withoutProgress(ran.err)).toBe("Renamed tag: 2 of 2 rows done\n");
  expect(results(ran.out)).toEqual([
    { name: a, row: 1, status: "ok", id: ids[a], error: null },
    { name: ids[b], row: 2, status: "ok", id: ids[b], error: null },
  ]);
  expect(sent[0]).toBe("GET /v1/datasets/tags");
  expect(sent.slice(1).sort()).toEqual(
    [
      `PATCH /v1/datasets/tags {"tag_id":"${ids[a]}","name":"${a}, new"}`,
      `PATCH /v1/datasets/tags {"tag_id":"${ids[b]}","name":"${b}!"}`,
    ].sort(),
  );
  expect(await readdir(join(folder, "state"))).toEqual([]);
});

test.each([
  ["the wire name", "tag_id,name", ","],
  ["a byte order mark and the positional's word", "\uFEFFtag,name", ","],
])("columns go by %s", async (_, header, comma) => {
  const a = word();
  await tags(a);
  const path = await file("columns.csv", `${header}\n${a}${comma}${a}x\n`);
  expect((await run(["kb", "tag", "rename", "--each", path])).exit).toBe(0);
  expect(await tagNames()).toContain(`${a}x`);
});

test("the maximum number of concurrent requests causes no warning", async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error) => void warnings.push(name);
  process.on("warning", note);
  const path = await file("many.csv", `name\n${Array.from({ length: 50 }, word).join("\n")}\n`);
  const ran = await run(["kb", "tag", "create", "--each", path, "--concurrency", "50"]);
  expect(ran.exit).toBe(0);
  expect(ran.err).toMatch(/^Created tag: 50 of 50 rows done\n$/m); // a busy machine prints progress before
  await turns(); // warnings are emitted a turn later
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

test("JSON Lines are known by their first character, null gives nothing", async () => {
  const a = word();
  const path = await file(
    "bases.txt",
    `{"name":"${a}","permission":null,"description":"one"}\n\n{"name":"${a}2"}\n`,
  );
  const sent = await sentBy(() =>
    run(["kb", "create", "--each", path, "--indexing-technique", "economy"]),
  );
  expect(sent.sort()).toEqual([
    `POST /v1/datasets {"name":"${a}","description":"one","indexing_technique":"economy"}`,
    `POST /v1/datasets {"name":"${a}2","indexing_technique":"economy"}`,
  ]);
});

test("stdin is read with - and leaves no journal", async () => {
  const a = word();
  const ran = await run(["kb", "tag", "create", "--each", "-", "--json"], {
    stdin: `name\n${a}\n`,
  });
  expect(ran.exit, ran.err).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject([{ row: 1, status: "ok" }]);
  expect(await tagNames()).toContain(a);
});

test("words of the line fill the positionals that no column fills", async () => {
  const [a, b] = [word(), word()];
  await tags(a, b);
  await run(["kb", "create", `${a} base`, "--indexing-technique", "economy"]);
  const bases = await file("bases.csv", `kb\n${a} base\n`);
  expect((await run(["kb", "tag", "bind", "--each", bases, a, b])).exit).toBe(0);
  const bound = await run(["kb", "tag", "bound", `${a} base`, "--jq", ".[].name"]);
  expect(bound.out.trim().split("\n").sort()).toEqual([a, b].sort());
});

test("a list in a cell is JSON", async () => {
  const [a, b] = [word(), word()];
  await tags(a, b);
  await run(["kb", "create", a, "--indexing-technique", "economy"]);
  const path = await file("lists.csv", `kb,tag\n${a},"[""${a}"",""${b}""]"\n`);
  expect((await run(["kb", "tag", "bind", "--each", path])).exit).toBe(0);
  const bound = await run(["kb", "tag", "bound", a, "--jq", ".[].name"]);
  expect(bound.out.trim().split("\n").sort()).toEqual([a, b].sort());
});

const uuid = "00000000-0000-4000-8000-000000000000";

test.each<[string, string | Uint8Array, RegExp]>([
  ["missing.csv", "tag\na\n", /missing\.csv line 1: column name not found/],
  [
    "ids.txt",
    "first\nsecond\n",
    /line 1: unknown column "first"[^]*first line must name the columns; to put tag there: \(echo tag; cat \S+ids\.txt\) > with-header\.csv/,
  ],
  ["unknown.csv", "tag,nmae\na,b\n", /line 1: unknown column "nmae"[^]*did you mean name\?/],
  ["separators.csv", "tag;name,x\na;b\n", /line 1, column 1: the header has several separators/],
  ["twice.csv", "tag,name,name\na,b,c\n", /line 1: duplicate column name/],
  [
    "same.csv",
    `tag,tag_id,name\n,${uuid},a\na,b,c\n`,
    /same\.csv row 2 \(line 3\), column tag_id: another column of this row also sets <tag>/,
  ],
  [
    "open.csv",
    'tag,name\r\n"a\r\nb",c\r\n\r\nx,"b\r\nc,d\r\n',
    /open\.csv line 5, column name: missing closing quote/,
  ],
  ["inside.csv", 'tag,name\na,b\nx,b"c\n', /line 3, column name: quote inside an unquoted value/],
  ["after.csv", 'tag,name\n"a"b,c\n', /line 2, column tag: text after the closing quote/],
  ["short.csv", "tag,name\na,b\na\n", /line 3, column name: number of cells differs/],
  [
    "bytes.csv",
    Uint8Array.from([...Buffer.from("tag,name\né,"), 0xff, 10]),
    /line 2, column 3: .*UTF-8/,
  ],
  [
    "empty.csv",
    `tag,name\n${uuid},b\n${uuid},\n`,
    /empty\.csv row 2 \(line 3\), column name: is empty/,
  ],
  [
    "long.csv",
    `tag,name\n${uuid},${"x".repeat(51)}\n`,
    /row 1 \(line 2\), column name .*51 characters.*; no changes were made$/m,
  ],
  ["lines.jsonl", `{"tag":"${uuid}","name":"b"}\n{"tag":]\n`, /lines\.jsonl line 2: .*JSON/],
  [
    "object.jsonl",
    `{"tag":"${uuid}","name":{"a":1}}\n`,
    /row 1 \(line 1\), column name .*not a string/,
  ],
  [
    "more.jsonl",
    `{"tag":"${uuid}","name":"b"}\n[1]\n`,
    /line 2: expected one JSON object per line, not an array/,
  ],
])("%s is refused before anything is sent", async (name, text, message) => {
  const path = await file(name, text);
  const sent = await sentBy(async () => {
    const ran = await run(["kb", "tag", "rename", "--each", path]);
    expect(ran).toMatchObject({ exit: 2, out: "", err: expect.stringMatching(message) as string });
  });
  expect(sent).toEqual([]);
});

test.each<[readonly string[], RegExp]>([
  [["--concurrency", "0"], /--concurrency "0" is not a whole number from 1 to 50/],
  [["--concurrency", "51"], /--concurrency/],
  [["word"], /"word" on the command line: unexpected argument/],
  [["--errors-to", "-"], /--errors-to/],
])("a line with %j is refused", async (words, message) => {
  const path = await file("good.csv", `tag,name\n${uuid},b\n`);
  const ran = await run(["kb", "tag", "rename", "--each", path, ...words]);
  expect(ran).toMatchObject({ exit: 2, out: "", err: expect.stringMatching(message) as string });
});

test("--each is not a flag of reads and tasks", async () => {
  expect((await run(["kb", "tag", "list", "--each", "x.csv"])).exit).toBe(2);
  expect((await run(["kb", "search", "--each", "x.csv"])).exit).toBe(2);
});

test("a file that is not there, and one without rows", async () => {
  const gone = await run(["kb", "tag", "rename", "--each", join(folder, "gone.csv")]);
  expect(gone).toMatchObject({ exit: 2, err: expect.stringContaining("file not found") as string });
  const header = await file("header.csv", "tag,name\n");
  expect((await run(["kb", "tag", "rename", "--each", header, "--json"])).out).toBe("[]\n");
  const empty = await file("empty.jsonl", "");
  expect((await run(["kb", "tag", "rename", "--each", empty])).exit).toBe(0);
});

test("unknown names stop the command before the first row and are all reported", async () => {
  const a = word();
  await tags(a);
  const path = await file("names.csv", `tag,name\n${a},x\nnobody,y\nnothing,z\n`);
  const sent = await sentBy(async () => {
    const ran = await run(["kb", "tag", "rename", "--each", path, "--json"]);
    expect(ran).toMatchObject({ exit: 3, out: "" });
    expect(JSON.parse(ran.err)).toMatchObject({
      error: {
        message: expect.stringMatching(
          /names\.csv row 2 \(line 3\), column tag: .*"nobody" not found \(and 1 row more\); no changes were made$/,
        ) as string,
        details: {
          rows: [
            { row: 2, column: "tag" },
            { row: 3, column: "tag" },
          ],
        },
      },
    });
  });
  expect(sent).toEqual(["GET /v1/datasets/tags"]);
});

test("up to 20 names of a noun are looked up by keyword, more by reading the list", async () => {
  const a = word();
  const names = Array.from({ length: 21 }, (_, index) => `${a} ${index}`);
  const bases = await file("made.csv", `name\n${names.join("\n")}\n`);
  await run(["kb", "create", "--each", bases, "--indexing-technique", "economy"]);
  const lists = (some: readonly string[]) =>
    sentBy(async () => {
      const path = await file("described.csv", `kb\n${some.join("\n")}\n${some[0]}\n`);
      const ran = await run(["kb", "update", "--each", path, "--description", "d", "-n"]);
      expect(ran.exit, ran.err).toBe(0);
      expect(ran.out.match(/^PATCH /gm)).toHaveLength(some.length + 1);
    });
  expect(await lists(names.slice(0, 2))).toEqual([
    expect.stringMatching(/keyword=w\w+\+0&/),
    expect.stringMatching(/keyword=w\w+\+1&/),
  ]);
  expect(await lists(names)).toEqual([expect.not.stringContaining("keyword")]);
});

test("a dry run prints every request and sends none", async () => {
  const [a, b] = [word(), word()];
  const ids = await tags(a, b);
  const path = await file("dry.csv", `tag,name\n${a},x\n${b},y\n`);
  const ran = await run(["kb", "tag", "rename", "--each", path, "--dry-run"]);
  expect(ran.exit).toBe(0);
  expect(ran.out.match(/^\{.*/gm)).toEqual([
    `{"tag_id":"${ids[a]}","name":"x"}`,
    `{"tag_id":"${ids[b]}","name":"y"}`,
  ]);
  expect(await tagNames()).toEqual(expect.arrayContaining([a, b]));
  const removed = await run(["kb", "tag", "delete", "--each", path.replace("dry", "ids"), "-n"]);
  expect(removed.exit).toBe(2);
});

test("deletes ask once, with the names", async () => {
  const [a, b] = [word(), word()];
  await tags(a, b);
  const path = await file("gone.jsonl", `{"tag":"${a}"}\n{"tag":"${b}"}\n`);
  const asked = await run(["kb", "tag", "delete", "--each", path]);
  expect(asked).toMatchObject({ exit: 2, out: "" });
  expect(asked.err).toContain(`Delete tags ${a}, ${b}? This cannot be undone.`);
  expect(asked.err).toContain("--yes");
  const ran = await run(["kb", "tag", "delete", "--each", path, "--yes", "-o", "jsonl"]);
  expect(results(ran.out).map(({ status }) => status)).toEqual(["ok", "ok"]);
  expect(await tagNames()).not.toContain(a);
  const again = await run(["kb", "tag", "delete", "--each", path, "-y", "--if-exists", "--json"]);
  expect(again.exit).toBe(0);
  expect(JSON.parse(again.out)).toMatchObject([{ status: "skipped" }, { status: "skipped" }]);
});

test("an existing object is not a failure with --if-not-exists", async () => {
  const a = word();
  const ids = await tags(a);
  const path = await file("there.csv", `name\n${a}\n`);
  const ran = await run(["kb", "tag", "create", "--each", path, "--if-not-exists", "--json"]);
  expect(JSON.parse(ran.out)).toEqual([
    { name: a, row: 1, status: "skipped", id: ids[a], error: null },
  ]);
});

test("failed rows are collected as they stood, and can be given again", async () => {
  const [a, b] = [word(), word()];
  await tags(a, b, `${a}1`);
  const path = await file("some.csv", `name,tag\r\n"${a}1",${a}\r\n${b}1,${b}\r\n`);
  const errors = join(folder, "errors.csv");
  const ran = await run([
    "kb",
    "tag",
    "rename",
    "--each",
    path,
    "--errors-to",
    errors,
    "-o",
    "csv",
  ]);
  expect(ran.exit).toBe(10);
  expect(ran.out).toMatch(/^name,status,row,error,id\r\n/);
  expect(ran.out).toMatch(
    new RegExp(`^${a},failed,1,failed to rename tag: .*already exists.*,[\\w-]{36}\r$`, "m"),
  );
  expect(ran.err).toContain("1 of 2 rows done, 1 failed");
  expect(await readFile(errors, "utf8")).toBe(`name,tag\r\n"${a}1",${a}\r\n`);

  await run(["kb", "tag", "delete", `${a}1`, "--yes"]);
  const left = join(folder, "left.csv");
  const again = await run(["kb", "tag", "rename", "--each", errors, "--errors-to", left]);
  expect(again.exit, again.err).toBe(0);
  expect(await readFile(left, "utf8")).toBe("name,tag\r\n");
});

test("the same command sends only the remaining rows", async () => {
  const [a, b] = [word(), word()];
  await tags(a, b, `${b}1`);
  const path = await file("rest.csv", `tag,name\n${a},${a}1\n${b},${b}1\n`);
  const argv = ["kb", "tag", "rename", "--each", path, "-o", "jsonl"];
  expect((await run(argv)).exit).toBe(10);
  await run(["kb", "tag", "delete", `${b}1`, "--yes"]);
  const sent = await sentBy(async () => {
    const again = await run(argv);
    expect(again.exit, again.err).toBe(0);
    expect(again.err).toMatch(/^resuming: 1 of 2 rows already done/);
    expect(results(again.out).map(({ status }) => status)).toEqual(["skipped", "ok"]);
  });
  expect(sent).toEqual([expect.stringMatching(/^PATCH .*1"}$/)]);
});

test("--stop-on-error sends no further row", async () => {
  const names = [word(), word(), word()];
  await tags(...names, `${names[0]}1`);
  const lines = names.map((name) => `${name},${name}1`).join("\n");
  const path = await file("stop.csv", `tag,name\n${lines}\n`);
  const flags = ["--stop-on-error", "--concurrency", "1", "-o", "jsonl"];
  const ran = await run(["kb", "tag", "rename", "--each", path, ...flags]);
  expect(ran.exit).toBe(10);
  expect(results(ran.out)).toMatchObject([
    { row: 1, status: "failed" },
    { row: 2, status: "not sent" },
    { row: 3, status: "not sent" },
  ]);
  expect(ran.err).toContain("2 not sent");
});

test("a row with an unknown end stays unknown while rows before it stop the run", async () => {
  const [a, b] = [word(), word()];
  await tags(a);
  const path = await file("open.csv", `name\n${a}\n${b}\n`);
  const errors = join(folder, "open-errors.csv");
  const flags = ["--concurrency", "1", "--errors-to", errors, "-o", "jsonl"];
  const argv = ["kb", "tag", "create", "--each", path, ...flags];
  sandbox.setFaults([parseFault("POST /datasets/tags cut-bytes=5 skip=1 times=1")]);
  expect((await run(argv)).exit).toBe(10);
  sandbox.setFaults([]);
  const sent = await sentBy(async () => {
    for (const more of [["--stop-on-error"], []]) {
      const ran = await run([...argv, ...more]);
      expect(results(ran.out)).toMatchObject([{ status: "failed" }, { status: "unknown" }]);
      expect(await readFile(errors, "utf8")).toBe(`name\n${a}\n`);
    }
  });
  expect(sent.filter((line) => line.includes(b))).toEqual([]);
});

test("a refused key stops the run with its own exit code and leaves nothing", async () => {
  const path = await file("key.csv", `tag,name\n${uuid},a\n${uuid},b\n${uuid},c\n`);
  const own = await temporaryDirectory();
  const ran = await run(["kb", "tag", "rename", "--each", path, "--concurrency", "1"], {
    folder: own,
    env: { KB_KEY: "dataset-wrong" },
  });
  expect(ran.exit).toBe(4);
  expect(ran.err).toContain("0 of 3 rows done, 1 failed, 2 not sent");
  // The failure itself is kept; nothing is there to be continued.
  expect(await readdir(join(own, "state"))).toEqual(["failures"]);
});

test("--read-only stops before the first row", async () => {
  const path = await file("read.csv", `tag,name\n${uuid},a\n${uuid},b\n`);
  const sent = await sentBy(async () => {
    const ran = await run(["kb", "tag", "rename", "--each", path, "--read-only", "-o", "jsonl"]);
    expect(ran).toMatchObject({ exit: 2, out: "" });
  });
  expect(sent).toEqual([]);
});

test("an internal error keeps the results of all rows that were sent", async () => {
  await run(["kb", "create", "Bug", "--indexing-technique", "economy"]);
  const ids: string[] = [];
  for (const name of ["one", "two", "three"]) {
    const { out } = await run([
      "kb",
      "metadata",
      "create",
      "Bug",
      name,
      "--type",
      "string",
      "-o",
      "name",
    ]);
    ids.push(out.trim());
  }
  const rows = ids.map((id, index) => `${id},new${index + 1}\n`);
  const path = await file("bug.csv", `field,name\n${rows.join("")}`);
  const rest = join(folder, "bug-rest.csv");
  const flags = ["--errors-to", rest, "-o", "json"];
  const argv = ["kb", "metadata", "rename", "Bug", "--each", path, ...flags];
  sandbox.setFaults([parseFault(`PATCH /datasets/*/metadata/${ids[2]} status=503`)]);
  const ran = await run(argv, {
    around: (host) => ({
      ...host,
      random: () => {
        throw new TypeError("no number"); // between two attempts
      },
    }),
  });
  sandbox.setFaults([]);
  expect(ran.exit, ran.err).toBe(1);
  expect(JSON.parse(ran.out)).toMatchObject([
    { row: 1, status: "ok" },
    { row: 2, status: "ok" },
    { row: 3, status: "unknown" },
  ]);
  expect(ran.err).toContain("2 of 3 rows done, 1 unknown");
  expect(ran.err).toContain('"message":"internal error: no number"');
  expect(ran.err).toContain('"changed":"unknown"');
  expect(await readFile(rest, "utf8")).toBe(`field,name\n${rows[2]}`); // a rename may be repeated
  const sent = await sentBy(async () => {
    const again = await run(argv);
    expect(again.err).toContain("1 of 3 rows done, 2 skipped");
  });
  expect(sent.filter((request) => request.startsWith("PATCH"))).toHaveLength(1);
});

rareTest("Ctrl-C exits with 130, and the same command resumes", async () => {
  const names = Array.from({ length: 30 }, word);
  await tags(...names);
  const lines = names.map((name) => `${name},${name}1`);
  const path = await file("cut.csv", `tag,name\n${lines.join("\n")}\n`);
  const argv = ["kb", "tag", "rename", "--each", path, "-o", "jsonl"];
  const interrupt = new AbortController();
  let renames = 0;
  onRequest = () => {
    if (seen.at(-1)?.method === "PATCH" && ++renames === 5) interrupt.abort("SIGINT");
  };
  const ran = await run(argv, { signal: interrupt.signal });
  onRequest = () => {};
  expect(ran.exit).toBe(130);
  expect(ran.err).toMatch(/not sent\n[^]*run the same command again/);
  const again = await run(argv);
  expect(again.exit, again.err).toBe(0);
  expect(results(again.out)).toHaveLength(30);
  expect(await tagNames()).toEqual(expect.arrayContaining(names.map((name) => `${name}1`)));
});

test("no server ends the run with 11 instead of failing every row", async () => {
  const path = await file("far.csv", `tag,name\n${`${uuid},a\n`.repeat(10)}`);
  const ran = await run(["kb", "tag", "rename", "--each", path, "--concurrency", "1"], {
    env: { KB_BASE_URL: "http://127.0.0.1:9/v1" },
  });
  expect(ran.exit).toBe(11);
  expect(ran.err).toContain("0 of 10 rows done, 1 failed, 9 not sent");
});

test("the journal holds ids, and neither names nor the key", async () => {
  const [a, b] = [word(), word()];
  const ids = await tags(a, b, `${b}1`);
  const path = await file("kept.csv", `tag,name\n${a},${a}1\n${b},${b}1\n`);
  const own = await temporaryDirectory();
  await run(["kb", "tag", "rename", "--each", path, "--concurrency", "1"], { folder: own });
  const [name] = await readdir(join(own, "state"));
  const journal = await readFile(join(own, "state", name ?? ""), "utf8");
  expect(name).toMatch(/^each-[0-9a-f]{32}\.jsonl$/);
  expect(
    journal
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { row: 1, values: { tag_id: ids[a] } },
    { row: 2, values: { tag_id: ids[b] } },
    { resolved: true },
    { sent: 1 },
    { sent: 2 },
    { done: 1, id: ids[a] },
    { failed: 2 },
  ]);
});

test("a row is in the journal before its request is sent", async () => {
  const path = await file("ahead.csv", `name\n${word()}\n${word()}\n`);
  const before = seen.length;
  const posts: number[] = [];
  const append: Files["append"] = async (at, text) => {
    // A request that does not wait for the journal would arrive meanwhile.
    if (text.includes('"sent"')) await turns(2000);
    if (text.includes('"sent"'))
      posts.push(seen.slice(before).filter(({ method }) => method === "POST").length);
    return diskFiles.append(at, text);
  };
  const argv = ["kb", "tag", "create", "--each", path, "--concurrency", "1"];
  expect((await run(argv, { files: { append } })).exit).toBe(0);
  expect(posts).toEqual([0, 1]);
});

test("an interrupted run whose journal cannot be written is not continued", async () => {
  const [a, b] = [word(), word()];
  await tags(b);
  const path = await file("stuck.csv", `name\n${a}\n${b}\n`);
  const argv = ["kb", "tag", "create", "--each", path];
  expect((await run(argv)).exit).toBe(10);
  await run(["kb", "tag", "delete", b, "--yes"]);
  const full = Object.assign(new Error("full"), { code: "ENOSPC" });
  const append = () => Promise.reject(full);
  const sent = await sentBy(async () => {
    const again = await run(argv, { files: { append } });
    expect(again.exit).toBe(1);
    expect(again.err).toContain("failed to write the journal of the interrupted run: ");
  });
  expect(sent).toEqual([]);
});

test("a journal that fails at the end of the last row does not matter", async () => {
  const name = word();
  const path = await file("last.csv", `name\n${name}\n`);
  const append: Files["append"] = (at, text) =>
    /"done"/.test(text)
      ? Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }))
      : diskFiles.append(at, text);
  const argv = ["kb", "tag", "create", "--each", path];
  const ran = await run(argv, { files: { append } });
  expect(ran).toMatchObject({ exit: 0, err: "Created tag: 1 of 1 row done\n" });
  const again = await run([...argv, "--if-not-exists"]);
  expect(again.err).not.toContain("resuming");
});

test("a journal that fails while an earlier row waits for its response does not matter", async () => {
  const created = async () => (await run(["kb", "create", word(), "-o", "name"])).out.trim();
  const [a, b, name] = [await created(), await created(), word()];
  const path = await file("slow-first.csv", `kb,name\n${a},${name}a\n${b},${name}b\n`);
  sandbox.setFaults([parseFault(`PATCH /datasets/${a} delay=20s`)]);
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const append: Files["append"] = (name, text) =>
    /"done":2/.test(text)
      ? Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }))
      : diskFiles.append(name, text);
  const ran = await run(["kb", "update", "--each", path], { files: { append } });
  process.off("unhandledRejection", note);
  sandbox.setFaults([]);
  expect(ran.exit).toBe(0);
  expect(withoutProgress(ran.err)).toBe("Updated knowledge base: 2 of 2 rows done\n");
  expect(unhandled).toEqual([]);
  const { out } = await run(["kb", "list", "--all", "--jq", ".[].name"]);
  expect(out.split("\n")).toEqual(expect.arrayContaining([`${name}a`, `${name}b`]));
});

test("without a writable state directory, the run has no journal", async () => {
  const a = word();
  await tags(a);
  const path = await file("plain.csv", `tag,name\n${a},${a}1\n`);
  const ran = await run(["kb", "tag", "rename", "--each", path], { folder: path });
  expect(ran.exit).toBe(0);
  expect(ran.err).toMatch(/^if this run is interrupted, it cannot resume: not a directory/);
});

test("without a terminal, progress is a line every ten seconds", async () => {
  const names = Array.from({ length: 6 }, word);
  const path = await file("slow.csv", `name\n${names.join("\n")}\n`);
  // Every request takes four seconds.
  const start = Date.parse("2026-05-01T00:00:00Z") - seen.length * 4000;
  const world = { now: () => new Date(start + seen.length * 4000) };
  const argv = ["kb", "tag", "create", "--each", path, "--concurrency", "1"];
  const ran = await run(argv, world);
  expect(ran.err).toMatch(/^Creating {2}3\/6 rows · 0:12 left$/m);
  expect((await run([...argv, "-q", "--if-not-exists"], world)).err).toBe("");
});

test("after status 429, fewer rows are sent at a time", async () => {
  const refused: ServerResponse[] = [];
  const repeated: ServerResponse[] = [];
  let [arrived, whileTwoOpen] = [0, 0];
  const server = createServer(async (request, response) => {
    arrived++;
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer); // no encoding was set
    if (arrived <= 3) {
      // The first three are refused together.
      if (refused.push(response) < 3) return;
      for (const each of refused) {
        each.writeHead(429, { "content-type": "application/json" });
        each.end('{"code":"too_many_requests","message":"Too many"}');
      }
      return;
    }
    const answer = (each: ServerResponse) =>
      each.writeHead(200, { "content-type": "application/json" }).end('{"id":"one"}');
    if (arrived > 6) return answer(response);
    // Of the three that are repeated together, one is answered before the others.
    if (repeated.push(response) < 3) return;
    const [first, ...others] = repeated;
    if (first) answer(first);
    await turns(2000);
    whileTwoOpen = arrived - 6;
    for (const each of others) answer(each);
  });
  const baseUrl = await listening(server);
  const rows = Array.from({ length: 30 }, (_, index) => `${uuid},${index < 3 ? "first" : "later"}`);
  const path = await file("busy.csv", `tag,name\n${rows.join("\n")}\n`);
  const ran = await run(["kb", "tag", "rename", "--each", path], {
    env: { KB_BASE_URL: baseUrl },
  });
  server.close();
  expect(ran.exit, ran.err).toBe(0);
  expect(arrived).toBe(33);
  expect(whileTwoOpen).toBe(0);
});

const bin = join(root, "bin", "kb.js");

/** Runs the built program until `enough`, checked at every line and request; then kills it. */
async function killed(argv: readonly string[], home: string, enough: (lines: number) => boolean) {
  const child = spawn(process.execPath, [bin, ...argv, "-o", "jsonl"], {
    env: { ...env, PATH: process.env["PATH"], HOME: home, KB_STATE_DIR: join(home, "state") },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(child, "close");
  let out = "";
  const check = () => {
    if (enough(out.split("\n").length - 1)) child.kill("SIGKILL");
  };
  onRequest = check;
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
    check();
  });
  expect(await ended).toEqual([null, "SIGKILL"]);
  onRequest = () => {};
  return results(out.slice(0, out.lastIndexOf("\n") + 1));
}

rareTest("a killed run of renames resumes and sends no finished row again", async () => {
  const names = Array.from({ length: 60 }, word);
  const ids = await tags(...names);
  const lines = names.map((name) => `${name},${name} new`);
  const path = await file("killed.csv", `tag,name\n${lines.join("\n")}\n`);
  const argv = ["kb", "tag", "rename", "--each", path, "-o", "jsonl"];
  const home = await temporaryDirectory();
  sandbox.setFaults([parseFault("PATCH /datasets/tags delay=250ms")]); // 5 ms of this clock
  const info = await killed(argv.slice(1), home, (count) => count >= 17);
  const sent = await sentBy(async () => {
    const ran = await run(argv, { folder: home });
    expect(ran.exit, ran.err).toBe(0);
    const skipped = results(ran.out).filter(({ status }) => status === "skipped");
    expect(skipped.map(({ row }) => row)).toEqual(
      expect.arrayContaining(info.map(({ row }) => row)),
    );
  });
  sandbox.setFaults([]);
  expect(info.length).toBeGreaterThanOrEqual(17);
  for (const { id } of info) expect(sent.filter((line) => line.includes(id))).toEqual([]);
  const after = (await run(["kb", "tag", "list", "--json"])).out;
  const byId = new Map(
    (JSON.parse(after) as { id: string; name: string }[]).map(({ id, name }) => [id, name]),
  );
  expect(names.map((name) => byId.get(ids[name] ?? ""))).toEqual(
    names.map((name) => `${name} new`),
  );
});

test("a row in flight that must not be sent twice is reported as unknown", async () => {
  const names = [word(), word(), word()];
  const path = await file("made.csv", `name\n${names.join("\n")}\n`);
  const argv = ["kb", "tag", "create", "--each", path, "--concurrency", "1", "-o", "jsonl"];
  const home = await temporaryDirectory();
  sandbox.setFaults([parseFault("POST /datasets/tags delay=60s skip=1 times=1")]);
  const before = seen.length;
  const info = await killed(
    argv.slice(1),
    home,
    (count) => count === 1 && seen.length === before + 2,
  );
  sandbox.setFaults([]);
  expect(info).toMatchObject([{ row: 1, status: "ok" }]);
  const sent = await sentBy(async () => {
    const ran = await run(argv, { folder: home });
    expect(ran).toMatchObject({
      exit: 10,
      err: expect.stringContaining("1 of 3 rows done, 1 skipped, 1 unknown") as string,
    });
    expect(results(ran.out)).toMatchObject([
      { row: 1, status: "skipped", id: info[0]?.id },
      { row: 2, status: "unknown" },
      { row: 3, status: "ok" },
    ]);
  });
  expect(sent).toEqual([`POST /v1/datasets/tags {"name":"${names[2]}"}`]);
});
