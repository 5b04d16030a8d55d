/** Cells that a spreadsheet would interpret as formulas. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { http, keys, rawServer, say } from "../lib/raw-server.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

const id = "0190f2b4-5f6a-7c31-9d2e-3f4a5b6c7d8e";
const names = ["=cmd|'/c calc'!A0", "+1+1", "@SUM(1)", "-2+3", "\t=1", "\r=1", "-", "-5", "a=1"];
const said = "some cells start like formulas";

async function printed(line: readonly string[], body: unknown) {
  const { baseUrl } = await rawServer([say(http(200, JSON.stringify(body)))]);
  return cli(line, { env: { ...keys, KB_BASE_URL: baseUrl }, folder: await temporaryDirectory() });
}

const list = (format: string, ...flags: readonly string[]) =>
  printed(
    ["kb", "list", "-o", format, "--columns", "name,document_count", "--no-headers", ...flags],
    {
      data: names.map((name, at) => ({ id: `${id.slice(0, -1)}${at}`, name, document_count: -3 })),
      has_more: false,
      total: names.length,
    },
  );

test("--safe-cells puts an apostrophe before them in csv; numbers stay", async () => {
  expect(await list("csv", "--safe-cells")).toEqual({
    exit: 0,
    out: [
      "'=cmd|'/c calc'!A0,-3",
      "'+1+1,-3",
      "'@SUM(1),-3",
      "'-2+3,-3",
      "'\t=1,-3",
      `"'\r=1",-3`,
      "-,-3",
      "-5,-3",
      "a=1,-3",
      "",
    ].join("\r\n"),
    err: "",
  });
});

test("--safe-cells does the same in tsv and for one object", async () => {
  const { out } = await list("tsv", "--safe-cells");
  expect(out.split("\n").slice(0, 5)).toEqual([
    "'=cmd|'/c calc'!A0\t-3",
    "'+1+1\t-3",
    "'@SUM(1)\t-3",
    "'-2+3\t-3",
    "'\\t=1\t-3",
  ]);
  const one = ["kb", "show", id, "-o", "tsv", "--columns", "name", "--safe-cells"];
  expect((await printed(one, { id, name: "=1" })).out).toBe("name\t'=1\n");
});

test.each(["csv", "tsv"])(
  "without it -o %s keeps formulas and prints one notice",
  async (format) => {
    const { exit, out, err } = await list(format);
    expect([exit, out.startsWith("=cmd|"), err.split(said).length]).toEqual([0, true, 2]);
    expect(err).toContain("--safe-cells");
    expect((await list(format, "-q")).err).toBe("");
  },
);

test.each([
  ["md", "| =cmd|'/c calc'!A0 | -3 |".replace("|'", "\\|'")],
  ["json", `"=cmd|'/c calc'!A0"`],
])("-o %s has no formulas", async (format, cell) => {
  const { out, err } = await list(format, "--safe-cells");
  expect([out.includes(cell), err]).toEqual([true, ""]);
  expect((await list(format)).err).toBe("");
});

test("a list without formulas prints no notice", async () => {
  const body = { data: [{ id, name: "a", document_count: -3 }], has_more: false, total: 1 };
  const ran = await printed(["kb", "list", "-o", "csv", "--columns", "document_count"], body);
  expect([ran.exit, ran.err]).toEqual([0, ""]);
});

test("results of --each are escaped, too", async () => {
  const rows = join(await temporaryDirectory(), "rows.csv");
  await writeFile(rows, "name\nA\n");
  const line = ["kb", "create", "--each", rows, "-o", "csv", "--columns", "id", "--no-headers"];
  const made = { id: "=1+1", name: "A", created_at: 1 };
  const safe = await printed([...line, "--safe-cells"], made);
  expect([safe.exit, safe.out, safe.err.includes(said)]).toEqual([0, "'=1+1\r\n", false]);
  const plain = await printed(line, made);
  expect([plain.out, plain.err.split(said).length]).toEqual(["=1+1\r\n", 2]);
});

test.each([
  [["--safe-cells"], "'=1+1", 1],
  [[], "=1+1", 2],
])("a log that is exported as csv with %j holds %s", async (flags, cell, parts) => {
  const log = {
    id,
    workflow_run: { id, status: "succeeded", version: "=1+1" },
    created_at: 1795219617,
  };
  const target = join(await temporaryDirectory(), "runs.csv");
  const body = { data: [log], has_more: false, total: 1, page: 1, limit: 100 };
  const ran = await printed(["wf", "logs", "export", target, ...flags], body);
  expect([ran.exit, ran.err.split(said).length], ran.err).toEqual([0, parts]);
  expect((await readFile(target, "utf8")).split("\r\n")[1]?.split(",")).toContain(cell);
});
