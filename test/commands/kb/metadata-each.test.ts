import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox();
const kb = "Handbook";
let folder = "";

const run = (...argv: string[]) => server.cli(["kb", ...argv], { folder });
const set = (path: string, ...flags: string[]) =>
  run("metadata", "set", kb, "--each", path, ...flags);
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder });

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** The values of a document by field. */
async function valuesOf(name: string): Promise<Record<string, unknown>> {
  const filter =
    '.doc_metadata // [] | map(select(.id != "built-in")) | map({(.name): .value}) | add';
  return JSON.parse((await done("doc", "show", kb, name, "--jq", filter)).out) as Record<
    string,
    unknown
  >;
}

const writesSince = (since: number) =>
  server.seen.slice(since).filter(({ method }) => method !== "GET");

beforeAll(async () => {
  folder = await temporaryDirectory();
});
beforeEach(async () => {
  await run("delete", kb, "--yes", "--if-exists");
  await done("create", kb, "--indexing-technique", "economy");
  for (const name of ["a.md", "b.md"]) await done("doc", "add", kb, name, "--text", name);
  await done("doc", "wait", kb);
  for (const [name, type] of [
    ["team", "string"],
    ["pages", "number"],
    ["reviewed", "time"],
  ] as const)
    await done("metadata", "create", kb, name, "--type", type);
});

describe("kb metadata set --each", () => {
  test("has a column for each field, typed by the field; an empty cell keeps the value", async () => {
    await done("metadata", "set", kb, "b.md", "--set", "team=sales", "--set", "pages=1");
    const path = await file(
      "values.csv",
      "document,team,pages,reviewed\na.md,people,7,2026-05-01T00:00:00Z\nb.md,,9,\n",
    );
    const before = server.seen.length;
    const ran = await set(path, "-o", "json");
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.err).toMatch(/^Set metadata: 2 of 2 rows done$/m);
    expect(JSON.parse(ran.out)).toMatchObject([
      { row: 1, status: "ok" },
      { row: 2, status: "ok" },
    ]);
    expect(writesSince(before)).toHaveLength(2);
    expect(await valuesOf("a.md")).toEqual({ team: "people", pages: 7, reviewed: 1777593600 });
    expect(await valuesOf("b.md")).toEqual({ team: "sales", pages: 9 });
  });

  test("a column unset clears fields, and JSON Lines has values of their types", async () => {
    await done("metadata", "set", kb, "a.md", "--set", "team=sales", "--set", "pages=1");
    const rows = [
      { document: "a.md", unset: ["team"], pages: 3 },
      { document: "b.md", team: "people", pages: null },
    ];
    const path = await file("values.jsonl", rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    expect((await set(path)).exit).toBe(0);
    expect(await valuesOf("a.md")).toEqual({ pages: 3 });
    expect(await valuesOf("b.md")).toEqual({ team: "people" });
  });

  test("values of the line hold for all rows, and a row without any is skipped", async () => {
    const path = await file("shared.csv", "document,pages\na.md,1\nb.md,2\n");
    expect((await set(path, "--set", "team=people")).exit).toBe(0);
    expect(await valuesOf("b.md")).toEqual({ team: "people", pages: 2 });
    const empty = await file("empty.csv", "document,pages\na.md,\n");
    const ran = await set(empty, "-o", "json");
    expect(ran.exit, ran.err).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject([{ row: 1, status: "skipped" }]);
  });

  test.each<[string, string, number, RegExp]>([
    [
      "text in a number",
      "document,pages\nb.md,2\na.md,many\n",
      2,
      /row 2.*pages="many" is not a valid number/,
    ],
    [
      "text in a time",
      "document,reviewed\na.md,soon\n",
      2,
      /row 1.*reviewed="soon" is not a valid time/,
    ],
    [
      "a list",
      '{"document":"a.md","team":["x"]}\n',
      2,
      /row 1.*column team: \["x"\] is not a text/,
    ],
    [
      "an unknown field",
      "document,tema\na.md,x\n",
      3,
      /row 1.*metadata field "tema" not found[^]*hint: existing fields: .*team.*; to add it: `kb metadata create \w+ tema --type string`/,
    ],
    [
      "an unknown document",
      "document,team\na.md,x\nz.md,y\n",
      3,
      /row 2 \(line 3\), column document: .*not found; no changes were made$/m,
    ],
    ["no document", "team\nx\n", 2, /column doc not found/],
  ])("%s: nothing is sent", async (name, text, exit, message) => {
    const path = await file(text.startsWith("{") ? "bad.jsonl" : "bad.csv", text);
    const before = server.seen.length;
    const ran = await set(path);
    expect(ran).toMatchObject({ exit, out: "", err: expect.stringMatching(message) as string });
    expect(writesSince(before), name).toEqual([]);
  });

  test("a mistake that all rows have is printed once", async () => {
    const { err } = await set(await file("all.csv", "document,tema\na.md,x\nb.md,y\na.md,z\n"));
    expect(err.match(/metadata field "tema" not found/g)).toHaveLength(1);
    expect(err).toContain("(and 2 rows more)");
  });

  test("a dry run shows the request of each row", async () => {
    const path = await file("dry.csv", "document,team\na.md,x\nb.md,y\n");
    const before = server.seen.length;
    const ran = await set(path, "--dry-run");
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out.match(/"value":"[xy]"/g)).toEqual(['"value":"x"', '"value":"y"']);
    expect(writesSince(before)).toEqual([]);
  });
});
