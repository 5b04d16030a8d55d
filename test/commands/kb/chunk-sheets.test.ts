import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const sheet = join(home, "chunks.csv");
const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });

const rule =
  '{"mode":"custom","rules":{"pre_processing_rules":[],"segmentation":{"separator":"\\n\\n","max_tokens":50,"chunk_overlap":0}}}';
const contents = async (name = "Sheet") =>
  JSON.parse((await done("chunk", "list", name, "a.md", "--jq", "[.[].content]")).out) as string[];
/** Replaces a text of the sheet, as somebody does in a spreadsheet, and imports it. */
async function edited(from: string, to: string, ...flags: string[]) {
  const text = await readFile(sheet, "utf8");
  expect(text).toContain(from);
  await writeFile(sheet, text.replace(from, to));
  return kb("chunk", "import", "Sheet", sheet, ...flags);
}

beforeAll(async () => {
  await done("create", "Sheet", "--indexing-technique", "high_quality");
  const text = "First one\n\nSecond one\n\nPlain one\n\nPlain two\n\nThe end is here";
  await done("doc", "add", "Sheet", "a.md", "--text", text, "--process-rule", rule);
  await done("doc", "wait", "Sheet");
  const ids = (await done("chunk", "list", "Sheet", "a.md", "-o", "name")).out.split("\n");
  const change = (at: number, ...flags: string[]) =>
    done("chunk", "update", "Sheet", "a.md", ids[at] ?? "", ...flags);
  await change(0, "--content", "=1+1 and more", "--keyword", "one, two", "--keyword", "@x");
  await change(1, "--content", '\'=quoted, "twice"\n-and a line');
});

const chunkWrites = (since: number) =>
  server.seen
    .slice(since)
    .filter(({ method, path }) => method === "POST" && path.includes("/segments")).length;

test("a sheet runs nothing, and imported unchanged changes nothing", async () => {
  const ran = await done("chunk", "export", "Sheet", sheet, "--doc", "a.md");
  expect(ran.err).toContain(`wrote 5 chunks of 1 document to ${sheet}`);
  const bytes = await readFile(sheet);
  expect([...bytes.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  const text = bytes.toString();
  expect(text).toContain(",'=1+1 and more,");
  for (const cell of text.split(/,|\r\n/)) expect(cell).not.toMatch(/^"?[=+@\t]/);
  const before = server.seen.length;
  const again = await done("chunk", "import", "Sheet", sheet);
  expect(again.err).toContain("5 rows: 5 unchanged\n");
  // As a spreadsheet in German or French saves it.
  const { parse } = await import("csv-parse/sync");
  const { stringify } = await import("csv-stringify/sync");
  const cells = parse(text, { bom: true });
  const other = join(home, "semicolons.csv");
  const format = { bom: true, delimiter: ";", record_delimiter: "\r\n", quoted_match: /[\r\n]/ };
  await writeFile(other, stringify(cells, format));
  const third = await done("chunk", "import", "Sheet", other);
  expect(third.err).toContain("5 rows: 5 unchanged\n");
  expect(chunkWrites(before)).toBe(0);
});

test("only rows that differ are sent, and IDs stay", async () => {
  const ids = (await done("chunk", "list", "Sheet", "a.md", "-o", "name")).out;
  const before = server.seen.length;
  const planned = await edited("Plain one", "Plain and edited", "--dry-run");
  expect(planned.out).toMatch(/^update\ta\.md\t3\tcontent\t/);
  expect(chunkWrites(before)).toBe(0);
  const ran = await done("chunk", "import", "Sheet", sheet);
  expect(ran.err).toContain("5 rows: 1 to update, 4 unchanged; up to 16 characters to index\n");
  expect(chunkWrites(before)).toBe(1);
  expect((await contents())[2]).toBe("Plain and edited");
  expect((await done("chunk", "list", "Sheet", "a.md", "-o", "name")).out).toBe(ids);
});

test("a row changed on both sides is a conflict until it is overwritten", async () => {
  const ran = await edited("Plain and edited", "Third text");
  expect(ran.exit).toBe(10);
  expect(ran.out).toMatch(/^conflict\ta\.md\t3\tchanged since the export\t/);
  await done("chunk", "import", "Sheet", sheet, "--overwrite");
  expect((await contents())[2]).toBe("Third text");
});

test("a row without a chunk_id adds a chunk once, also after a lost response", async () => {
  const [document] = (await done("doc", "list", "Sheet", "-o", "name")).out.split("\n");
  const head = "\uFEFFdocument_id,content,enabled,keywords\r\n";
  await writeFile(sheet, `${head}${document},Added here,no,"a\nb"\r\n`);
  server.sandbox.setFaults([parseFault("POST *segments cut-bytes=3 times=1")]);
  await done("chunk", "import", "Sheet", sheet);
  server.sandbox.setFaults([]);
  const again = await done("chunk", "import", "Sheet", sheet);
  expect(again.err).toContain("1 row: 1 unchanged\n");
  expect((await contents()).filter((content) => content === "Added here")).toHaveLength(1);
  const last = await done(
    "chunk",
    "list",
    "Sheet",
    "a.md",
    "--jq",
    ".[-1] | [.enabled, .keywords]",
  );
  expect(JSON.parse(last.out)).toEqual([false, ["a", "b"]]);
});

test("one row that the server refuses keeps no other from being imported", async () => {
  await done("chunk", "export", "Sheet", sheet);
  const [document] = (await done("doc", "list", "Sheet", "-o", "name")).out.split("\n");
  const [first, second] = (await done("chunk", "list", "Sheet", "a.md", "-o", "name")).out.split(
    "\n",
  );
  const rows = [
    `${first},[[embed-error:rate]] bad`,
    `${second},Good`,
    ",[[embed-error:rate]] new",
    ",New",
  ];
  await writeFile(
    sheet,
    `document_id,chunk_id,content\n${rows.map((row) => `${document},${row}\n`).join("")}`,
  );
  const ran = await kb("chunk", "import", "Sheet", sheet);
  expect(ran.exit).toBe(10);
  expect(ran.out.split("\n").map((row) => row.split("\t").slice(0, 3).join(" "))).toEqual([
    "failed a.md 1",
    "update a.md 2",
    "failed a.md 3",
    "create a.md 4",
    "",
  ]);
  expect(await contents()).toEqual(expect.arrayContaining(["Good", "New"]));
});

test("a sheet that does not exist is an error of usage, and a document named twice is exported once", async () => {
  const ran = await kb("chunk", "import", "Sheet", join(home, "none.csv"), "--dry-run");
  expect(ran.err).toContain(`${join(home, "none.csv")}: `);
  expect(ran.err).not.toContain("internal error");
  expect(ran.exit).toBe(2);
  const twice = await done("chunk", "export", "Sheet", sheet, "--doc", "a.md", "--doc", "a.md");
  expect(twice.err).toContain(" of 1 document to ");
});

test.each([
  ["document_id,content\nx,y\n", '"x" is not a valid document_id'],
  ["content\ny\n", "column document_id is missing"],
  [`document_id,chunk_id,content\nID,ID,\n`, "a chunk cannot be empty"],
  [`document_id,content\nID,\n`, "a chunk cannot be empty"],
  [`document_id,content,enabled\nID,y,maybe\n`, 'enabled is "maybe", not yes or no'],
  [`document_id,chunk_id,content\nID,ID,a\nID,ID,b\n`, "several rows have the chunk_id"],
])("a sheet %j is rejected before anything is sent", async (text, message) => {
  await writeFile(sheet, text.replaceAll("ID", "11111111-1111-4111-8111-111111111111"));
  const before = server.seen.length;
  const ran = await kb("chunk", "import", "Sheet", sheet);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(message);
  expect(server.seen.length - before).toBeLessThan(2); // the name of the knowledge base
});

test("rows of a document or a chunk that was deleted fail, and say so", async () => {
  const [document] = (await done("doc", "list", "Sheet", "-o", "name")).out.split("\n");
  const gone = "11111111-1111-4111-8111-111111111111";
  await writeFile(sheet, `document_id,chunk_id,content\n${gone},,a\n${document},${gone},b\n`);
  const ran = await kb("chunk", "import", "Sheet", sheet);
  expect(ran.exit).toBe(10);
  expect(ran.out).toContain(`failed\t${gone}\t1\tdocument not found\t`);
  expect(ran.out).toContain(`failed\ta.md\t2\tthe chunk was deleted\t${gone}`);
});
