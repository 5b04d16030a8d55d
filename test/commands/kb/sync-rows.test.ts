import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { rowsWithKills } from "../../lib/row-kills.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const sheet = join(home, "faq.csv");
const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });
beforeEach(() => server.sandbox.setFaults([]));

let number = 0;
/** Creates an empty knowledge base; returns its name. */
async function base(technique = "high_quality"): Promise<string> {
  const name = `FAQ ${++number}`;
  await done("create", name, "--indexing-technique", technique);
  return name;
}

interface Row {
  readonly id: string;
  readonly content: string;
  readonly answer: string | null;
  readonly keywords: readonly string[] | null;
  readonly enabled: boolean;
}
const chunks = async (name: string, document = "faq.csv") =>
  JSON.parse((await done("chunk", "list", name, document, "--all", "-o", "json")).out) as Row[];
const pairs = async (name: string) =>
  Object.fromEntries((await chunks(name)).map(({ content, answer }) => [content, answer]));
const idOf = async (name: string, content: string) =>
  (await chunks(name)).find((each) => each.content === content)?.id ?? "";

/** Writes the sheet: `line("1", "Why?", "Because.")` is a row. */
const write = (...lines: readonly (readonly string[])[]) =>
  writeFile(
    sheet,
    lines
      .map((cells) => `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",")}\r\n`)
      .join(""),
  );
const head = ["question", "answer"] as const;
const sync = (name: string, ...flags: string[]) => kb("sync", name, sheet, "--rows", ...flags);
/** Requests that write, since a number of requests. */
const writes = (since: number) =>
  server.seen
    .slice(since)
    .filter(({ method, path }) => method !== "GET" && !path.endsWith("download-zip"))
    .map(({ method, path }) => `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, "ID").slice(12)}`);

test("each row is one chunk, and the model's own are deleted", async () => {
  const name = await base();
  await write(head, ["Why?", "Because."], ["How, exactly?", 'Like "this".\nAnd that.'], ["", ""]);
  const planned = await sync(name, "--dry-run");
  expect(planned.exit).toBe(0);
  expect(planned.err).toContain(
    "faq.csv is created with one word as its text; the chunks that the server makes of it, also by asking its model, are deleted once the rows are stored",
  );
  expect(planned.err).toContain("2 rows: 2 to create; 47 characters to index");
  expect(planned.out).toBe("create\trow 1: Why?\t\t\ncreate\trow 2: How, exactly?\t\t\n");
  const ran = await sync(name);
  expect(ran.err).toContain("2 rows: 2 created; ");
  expect(ran.exit).toBe(0);
  expect(await pairs(name)).toEqual({
    "Why?": "Because.",
    "How, exactly?": 'Like "this".\nAnd that.',
  });
});

test("again nothing is sent, and a row that differs is one update that keeps its ID", async () => {
  const name = await base();
  await write(head, ["Why?", "Because."], ["How?", "So."], ["When?", "Now."]);
  await sync(name);
  const before = server.seen.length;
  const again = await sync(name);
  expect(again.err).toBe("3 rows: 3 unchanged\n");
  expect([again.exit, again.out, writes(before)]).toEqual([0, "", []]);
  const id = await idOf(name, "How?");
  // Rows in another order, one with another answer, one new.
  await write(
    head,
    ["When?", "Now."],
    ["How?", "Like this."],
    ["Who?", "You."],
    ["Why?", "Because."],
  );
  const since = server.seen.length;
  const ran = await sync(name);
  expect(ran.out).toMatch(/^update\trow 2: How\?\tanswer\t\S+\ncreate\trow 3: Who\?\t\t\S+\n$/);
  expect(ran.err).toContain("4 rows: 1 created, 1 updated, 2 unchanged; 22 characters indexed\n");
  const ids = "/ID/documents/ID/segments";
  expect(writes(since)).toEqual([`POST ${ids}/ID`, `POST ${ids}`]);
  expect(await idOf(name, "How?")).toBe(id);
  expect(await pairs(name)).toEqual({
    "Why?": "Because.",
    "How?": "Like this.",
    "When?": "Now.",
    "Who?": "You.",
  });
});

test("plain content with keywords, columns by --map, in JSON Lines", async () => {
  const name = await base("economy");
  const folder = join(home, "sheets");
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "notes.jsonl"),
    '{"Text":"Parking is free","Worte":"cars, parking"}\n{"Text":"Lockers","Worte":""}\n{"Text":42}\n',
  );
  const flags = ["--rows", "--map", "content=text,keywords=worte", "--prefix", "hr"];
  const ran = await kb("sync", name, join(folder, "notes.jsonl"), ...flags);
  expect(ran.exit, ran.err).toBe(0);
  const stored = await chunks(name, "hr/notes.jsonl");
  expect(stored.map(({ content }) => content).sort()).toEqual(["42", "Lockers", "Parking is free"]);
  expect(stored.find(({ content }) => content.startsWith("P"))?.keywords?.toSorted()).toEqual([
    "cars",
    "parking",
  ]);
  const since = server.seen.length;
  await kb("sync", name, join(folder, "notes.jsonl"), ...flags);
  expect(writes(since)).toEqual([]);
});

test("content and keywords that change are stored together", async () => {
  const name = await base();
  await write(["content", "keywords"], ["One", "a; b"], ["Two", ""]);
  await sync(name);
  await write(["content", "keywords"], ["One", "b\nc"], ["Two", "x"]);
  expect((await sync(name)).out).toMatch(
    /^update\trow 1: One\tkeywords\t.*\nupdate\trow 2: Two\tkeywords\t/,
  );
  const words = async () =>
    Object.fromEntries(
      (await chunks(name)).map((each) => [each.content, each.keywords?.toSorted()]),
    );
  expect(await words()).toEqual({ One: ["b", "c"], Two: ["x"] });
  await write(["content", "keywords"], ["One", ""], ["Two", "x"]);
  const since = server.seen.length;
  const ran = await sync(name);
  expect(ran.err).toContain("faq.csv: the server cannot remove the keywords of row 1 (line 2)");
  expect([ran.exit, writes(since)]).toEqual([5, []]);
});

const long = "x".repeat(32_768);
test.each([
  [[head, ["a", "b"], ["Why?", ""]], [], "1 row cannot be synced: row 2 (line 3): answer is empty"],
  [[head, ["", "b"]], [], "row 1 (line 2): question is empty"],
  [[head, [long, "b"]], [], "question is longer than 32767 characters; is a quote missing?"],
  [[head, ["a", "b\0"]], [], "answer has a NUL character"],
  [
    [head, ["a", "b"], ["c", "d"], ["a", "e"]],
    [],
    "row 3 (line 4): the same question as row 1 (line 2)",
  ],
  [
    [head, ["", "b"], ["a", ""], ["", "c"]],
    [],
    "3 rows cannot be synced: row 1 (line 2): question is empty, row 2 (line 3): answer is empty, row 3",
  ],
  [
    [
      ["id", ...head],
      ["1", "a", "b"],
      ["1", "c", "d"],
    ],
    ["--id-column", "ID"],
    "row 2 (line 3): the same id as row 1 (line 2)",
  ],
  [
    [
      ["id", ...head],
      ["", "a", "b"],
    ],
    ["--id-column", "id"],
    "row 1 (line 2): id is empty",
  ],
  [[head, ["a", "b"]], ["--id-column", "Nr"], 'has no column "Nr"'],
  [
    [
      ["Frage", "answer"],
      ["a", "b"],
    ],
    [],
    "has neither columns question and answer nor a column content",
  ],
  [[head, ["a", "b"]], ["--map", "frage=x"], 'invalid --map "frage=x"'],
  [[head, ["", ""]], [], "has no rows"],
  [[head, ["a", "b"]], ["--watch"], "--watch is about files"],
] as const)("a sheet %# is refused before anything is sent", async (lines, flags, message) => {
  await write(...lines);
  const since = server.seen.length;
  const ran = await sync("FAQ 1", ...flags);
  expect(ran.err).toContain(message);
  expect([ran.exit, writes(since)]).toEqual([2, []]);
});

test("--map and --id-column need --rows, and a base of another form is refused", async () => {
  await write(head, ["a", "b"]);
  expect((await kb("sync", "FAQ 1", sheet, "--map", "question=a")).err).toContain("need --rows");
  expect((await kb("status", "FAQ 1", sheet, "--id-column", "a")).err).toContain("need --rows");
  await write(["content"], ["a"]);
  const ran = await sync("FAQ 1");
  expect(ran.err).toContain("faq.csv needs the form text_model, not qa_model");
  expect(ran.exit).toBe(5);
});

describe("with an ID column", () => {
  const idHead = ["id", ...head];
  const flags = ["--id-column", "id"];
  const edit = async (name: string, content: string, ...change: string[]) =>
    done("chunk", "update", name, "faq.csv", await idOf(name, content), ...change);

  test("another question is an update; an edit on the server is a conflict until --adopt", async () => {
    const name = await base();
    await write(idHead, ["1", "Why?", "Because."], ["2", "How?", "So."], ["3", "Who?", "You."]);
    await sync(name, ...flags);
    const id = await idOf(name, "Why?");
    await edit(name, "How?", "--content", "How?", "--answer", "By hand.");
    await write(idHead, ["1", "Why not?", "Because."], ["2", "How?", "So."], ["3", "Who?", "You."]);
    const ran = await sync(name, ...flags);
    expect(ran.exit).toBe(10);
    expect(ran.out).toBe(
      `update\trow 1: Why not?\tcontent\t${id}\nconflict\trow 2: How?\tthe chunk was changed on the server since it was sent\t${await idOf(name, "How?")}\n`,
    );
    expect(ran.err).toContain("to overwrite the chunks in conflict: `kb sync");
    expect(await pairs(name)).toEqual({
      "Why not?": "Because.",
      "How?": "By hand.",
      "Who?": "You.",
    });
    expect((await sync(name, ...flags, "--adopt")).exit).toBe(0);
    expect((await pairs(name))["How?"]).toBe("So.");
    expect((await sync(name, ...flags)).err).toBe("3 rows: 3 unchanged\n");
  });

  test("--prune deletes chunks of rows that are gone, but none of someone else, unless taken over", async () => {
    const name = await base();
    await write(idHead, ["1", "Why?", "Because."], ["2", "How?", "So."], ["3", "Who?", "You."]);
    await sync(name, ...flags);
    await done("chunk", "add", name, "faq.csv", "--content", "Mine?", "--answer", "Yes.");
    await edit(name, "Who?", "--content", "Who?", "--answer", "By hand.");
    await write(idHead, ["1", "Why?", "Therefore."]);
    const kept = await sync(name, ...flags);
    expect(kept.err).toContain("1 chunk without a row: How?; --prune deletes it");
    expect(Object.keys(await pairs(name))).toHaveLength(4);
    const ran = await sync(name, ...flags, "--prune", "--max-delete", "1");
    expect(ran.err).toContain("2 chunks without a row: Who?, Mine?; no sync here left them so");
    expect(ran.err).toContain("1 row: 1 unchanged; chunks without a row: 1 deleted\n");
    expect(Object.keys(await pairs(name)).sort()).toEqual(["Mine?", "Who?", "Why?"]);
    await sync(name, ...flags, "--prune", "--adopt", "--yes");
    expect(Object.keys(await pairs(name))).toEqual(["Why?"]);
  });

  test("without notes, rows are matched by question, and nothing is guessed", async () => {
    const name = await base();
    await write(idHead, ["1", "Why?", "Because."], ["2", "How?", "So."]);
    await sync(name, ...flags);
    await rm(join(home, "state"), { recursive: true });
    await write(idHead, ["1", "Why?", "Therefore."], ["2", "How, then?", "So."]);
    const ran = await sync(name, ...flags);
    expect(ran.err).toContain("this machine knows no chunks by the ID of their row");
    expect(ran.err).toContain("1 chunk without a row: How?; no sync here left it so");
    expect(ran.out).toMatch(
      /^update\trow 1: Why\?\tanswer\t.*\nconflict\trow 2: How, then\?\tnew, or another content/,
    );
    expect(ran.exit).toBe(10);
    await rm(join(home, "state"), { recursive: true });
    const taken = await sync(name, ...flags, "--adopt", "--prune", "--yes");
    expect(taken.exit, taken.err).toBe(0);
    expect(await pairs(name)).toEqual({ "Why?": "Therefore.", "How, then?": "So." });
  });
});

test("without IDs, a chunk that the sheet has no more is deleted by --prune under the guard", async () => {
  const name = await base();
  await write(head, ...Array.from({ length: 9 }, (_, at) => [`Question ${at}?`, `Answer ${at}.`]));
  await sync(name);
  await write(head, ...Array.from({ length: 5 }, (_, at) => [`Question ${at}?`, `Answer ${at}.`]));
  const since = server.seen.length;
  const asked = await sync(name, "--prune");
  expect(asked.exit).toBe(2);
  expect(asked.err).toContain("Delete 4 of 9 chunks (more than --max-delete): Question 5?, ");
  expect(writes(since)).toEqual([]);
  const ran = await sync(name, "--prune", "--yes");
  expect(ran.err).toContain("5 rows: 5 unchanged; chunks without a row: 4 deleted\n");
  expect(Object.keys(await pairs(name))).toHaveLength(5);
});

test("kb status counts rows", async () => {
  const name = await base();
  await write(head, ["Why?", "Because."], ["How?", "So."]);
  const status = (...flags: string[]) => kb("status", name, sheet, "--rows", ...flags);
  const first = await status("-o", "json", "--exit-code");
  expect(JSON.parse(first.out)).toMatchObject({
    state: "out of date",
    rows: 2,
    actions: { create: 2 },
    changes: "2 to create; 19 characters to index",
  });
  expect(first.exit).toBe(14);
  await sync(name);
  await write(head, ["Why?", "Because."], ["Who?", "You."]);
  const next = await status("-o", "json");
  expect(JSON.parse(next.out)).toEqual({
    state: "out of date",
    rows: 2,
    without_row: 1,
    actions: { unchanged: 1, create: 1 },
    changes: "1 to create; 8 characters to index",
    unchanged: "1 of 2 rows",
    problems: "1 chunk without a row (deleted by --prune only)",
  });
  await sync(name, "--prune", "--max-delete", "1");
  expect((await status("--exit-code")).exit).toBe(0);
});

test("a document that someone else made is refused, and taken over by --adopt", async () => {
  const name = await base("economy");
  await done("doc", "add", name, "faq.csv", "--text", "Old text");
  await done("doc", "wait", name);
  await write(["content"], ["Old text"], ["New text"]);
  const ran = await sync(name);
  expect(ran.err).toContain("document faq.csv exists, and no sync of rows has made it");
  expect(ran.exit).toBe(5);
  const id = await idOf(name, "Old text");
  expect((await sync(name, "--adopt")).exit).toBe(0);
  expect(await idOf(name, "Old text")).toBe(id);
  // Now it is its own.
  expect((await sync(name)).err).toBe("2 rows: 2 unchanged\n");
  await done("doc", "disable", name, "faq.csv");
  expect((await sync(name)).exit).toBe(0);
  await write(["content"], ["Old text"], ["Newer text"]);
  const off = await sync(name);
  expect(off.out).toContain(
    "failed\trow 2: Newer text\tfailed to add chunks: Document is disabled",
  );
  expect(off.exit).toBe(10);
});

test("a row that the server refuses fails by its number, and the others are stored", async () => {
  const name = await base();
  const rows = Array.from({ length: 25 }, (_, at) => [`Question ${at}?`, `Answer ${at}.`]);
  await write(head, ...rows, ["[[embed-error:rate]] bad?", "No."]);
  const ran = await sync(name);
  expect(ran.exit).toBe(10);
  expect(ran.out).toContain("failed\trow 26: [[embed-error:rate]] bad?\t");
  expect(ran.err).toContain("26 rows: 25 created, 1 failed; ");
  expect(ran.err).toContain("failed to sync 1 of 26 rows");
  expect(Object.keys(await pairs(name)).filter((each) => each.startsWith("Question"))).toHaveLength(
    25,
  );
  await write(head, ...rows);
  expect((await sync(name)).err).toContain("25 rows: 25 unchanged");
});

test("a response that is lost makes no row twice", async () => {
  const name = await base();
  await write(head, ["Why?", "Because."], ["How?", "So."]);
  server.sandbox.setFaults([parseFault("POST *segments cut-bytes=3 times=1")]);
  expect((await sync(name)).exit).toBe(0);
  expect(await chunks(name)).toHaveLength(2);
});

rareTest("2,000 rows, 10 changed: at most 40 writes", async () => {
  const name = await base();
  const rows = (changed: string) => [
    ["content", "keywords"],
    ...Array.from({ length: 2000 }, (_, at) => [
      `Text ${at}${at % 200 === 0 ? changed : ""}`,
      `word${at}`,
    ]),
  ];
  await write(...rows(""));
  await sync(name);
  const id = ["--id-column", "keywords"];
  expect((await sync(name, ...id)).exit).toBe(0); // it notes the IDs
  await write(...rows(" anew"));
  const since = server.seen.length;
  const ran = await sync(name, ...id);
  expect(ran.err).toContain("2,000 rows: 10 updated, 1,990 unchanged; ");
  expect(writes(since).length).toBeLessThanOrEqual(40);
  expect(await chunks(name)).toHaveLength(2000);
});

test("a copy of the base as it is has nothing to sync, and undo takes a sync back", async () => {
  const name = await base();
  await write(head, ["Why?", "Because."], ["How?", "So."]);
  await sync(name);
  const copy = `${name} copy`;
  await done("copy", name, "--name", copy, "--as-is", "--yes");
  expect((await kb("verify", name, copy, "--chunks")).exit).toBe(0);
  expect((await sync(copy)).err).toContain("2 rows: 2 unchanged\n");
  await write(head, ["Why?", "Therefore."], ["Who?", "You."]);
  await done("sync", name, sheet, "--rows", "--prune", "--yes", "--backup");
  expect(await pairs(name)).toEqual({ "Why?": "Therefore.", "Who?": "You." });
  await done("undo", "--yes");
  expect(await pairs(name)).toEqual({ "Why?": "Because.", "How?": "So." });
  expect((await kb("verify", name, copy, "--chunks")).exit).toBe(0);
});

test("an interrupted creation leaves nothing that the model wrote", async () => {
  const name = await base();
  await write(head, ["Why?", "Because."]);
  server.sandbox.setFaults([parseFault("POST *segments status=400 times=1")]);
  const ran = await sync(name);
  expect(ran.exit).toBe(10);
  server.sandbox.setFaults([]);
  expect((await sync(name)).exit).toBe(0);
  expect(await pairs(name)).toEqual({ "Why?": "Because." });
  const [notes = ""] = (await import("node:fs"))
    .readdirSync(join(home, "state"))
    .filter((each) => each.startsWith("rows-"));
  expect(await readFile(join(home, "state", notes), "utf8")).toContain('"generated":[]');
});

test("what a kill left of the notes is removed by the next sync, and nothing else", async () => {
  const name = await base("economy");
  await write(["content"], ["One"]);
  const state = join(home, "state");
  const notes = async () => (await readdir(state)).filter((each) => each.startsWith("rows-"));
  const others = await notes();
  await sync(name);
  const [own = ""] = (await notes()).filter((each) => !others.includes(each));
  const [other = ""] = others;
  for (const each of [own, other]) await writeFile(join(state, `${each}.0123abcd.tmp`), "{");
  await sync(name, "--dry-run");
  expect(await notes()).toContain(`${own}.0123abcd.tmp`);
  expect((await sync(name)).exit).toBe(0);
  expect((await notes()).toSorted()).toEqual([...others, own, `${other}.0123abcd.tmp`].toSorted());
});

test("killed syncs and two at once end with the rows of the sheet", () =>
  rowsWithKills(server, home, { seed: 4, rows: 12, kills: 3 }));
