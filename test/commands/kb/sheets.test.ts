// Where `kb sync --rows` reads a sheet: workbooks (xlsx), sources, and files of sources.
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { spawnChild } from "../../../src/host/child-process.ts";
import { archive, xlsx } from "../../lib/office-files.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home, spawn: spawnChild });
const done = (...argv: string[]) =>
  server.done(["kb", ...argv], { folder: home, spawn: spawnChild });
const at = (...names: string[]) => join(home, ...names);

const writes = (since: number) => server.seen.slice(since).filter(({ method }) => method !== "GET");

let number = 0;
async function base(): Promise<string> {
  const name = `Base ${++number}`;
  await done("create", name, "--indexing-technique", "economy");
  return name;
}
const contents = async (name: string, document: string) =>
  JSON.parse(
    (await done("chunk", "list", name, document, "--jq", "[.[].content]")).out,
  ) as string[];

const text = (place: string, words: string) =>
  `<c r="${place}" t="inlineStr"><is><t>${words}</t></is></c>`;
const head = `<row r="1">${text("A1", "content")}${text("B1", "seen")}</row>`;
/** A workbook with a header and these cells below it, whose styles are General, a date, 0.00 and a percentage. */
const workbook = (cells: string, more: Readonly<Record<string, string>> = {}) => {
  const codes =
    '<numFmt numFmtId="164" formatCode="General"/><numFmt numFmtId="165" formatCode="dd/mm/yyyy"/>';
  const styles = [164, 165, 2, 10, 14].map((id) => `<xf numFmtId="${id}"/>`).join("");
  return xlsx({ Sheet1: `${head}${cells}`, ...more }, ["Shared &amp; more"], {
    "xl/styles.xml": `<styleSheet><numFmts>${codes}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${styles}</cellXfs></styleSheet>`,
  });
};
const row = (place: number, cell: string) => `<row r="${place}">${cell}</row>`;

describe("a workbook", () => {
  const sheet = at("faq.xlsx");

  test.each([
    ["a text in the sheet", text("A2", " One\nline "), "One\nline"],
    ["a shared text", '<c r="A2" t="s"><v>0</v></c>', "Shared & more"],
    [
      "a text in runs",
      '<c r="A2" t="inlineStr"><is><r><t>Par</t></r><r><t>king</t></r></is></c>',
      "Parking",
    ],
    ["a line break of Windows", text("A2", "One_x000D_\ntwo"), "One\ntwo"],
    ["a number", '<c r="A2"><v>42</v></c>', "42"],
    ["a long number", '<c r="A2" s="0"><v>12345678901234567890</v></c>', "12345678901234567890"],
    ["a fraction", '<c r="A2" s="2"><v>1.1000000000000001</v></c>', "1.1"],
    ["a truth value", '<c r="A2" t="b"><v>1</v></c>', "True"],
    [
      "the result of a formula",
      '<c r="A2" t="str"><f>A1&amp;"!"</f><v>content!</v></c>',
      "content!",
    ],
  ])("%s is read", async (_, cell, expected) => {
    await writeFile(sheet, workbook(row(2, cell)));
    const ran = await kb("sync", name, sheet, "--rows", "--prune", "--yes");
    expect(ran.exit, ran.err).toBe(0);
    expect(await contents(name, "faq.xlsx")).toEqual([expected]);
  });

  const format = "content is a date, an error or a number with a format";
  test.each([
    ["a date", row(4, '<c r="A4" s="1"><v>45413</v></c>'), `row 1 (line 4): ${format}: 45413`],
    ["a date of the standard", row(2, '<c r="A2" s="4"><v>45413</v></c>'), `${format}: 45413`],
    ["a date as text", row(2, '<c r="A2" t="d"><v>2024-05-01</v></c>'), `${format}: 2024-05-01`],
    ["a percentage", row(2, '<c r="A2" s="3"><v>0.15</v></c>'), `${format}: 0.15`],
    ["an error", row(2, '<c r="A2" t="e"><v>#N/A</v></c>'), `${format}: #N/A`],
    ["no content", row(2, text("B2", "x")), "row 1 (line 2): content is empty"],
    ["no row", "", "faq.xlsx has no rows"],
  ])("with %s is refused before anything is sent", async (_, cells, message) => {
    await writeFile(sheet, workbook(cells));
    const since = server.seen.length;
    const ran = await kb("sync", name, sheet, "--rows");
    expect(ran.err).toContain(message);
    expect([ran.exit, writes(since)]).toEqual([2, []]);
  });

  test.each<[string, Uint8Array, string]>([
    [
      "a damaged one",
      workbook(row(2, text("A2", "x"))).subarray(0, 400),
      "it is not a complete ZIP archive",
    ],
    ["no workbook", archive({ "word/document.xml": "<a/>" }), "it has no text of its kind"],
    [
      "a ZIP bomb",
      xlsx({ A: `<row>${" ".repeat(65 * 2 ** 20)}</row>` }),
      "it unpacks to more than 64 MB",
    ],
    ["elements in elements", xlsx({ A: "<c>".repeat(600) }), "its elements are nested too deeply"],
    [
      "an older one",
      Buffer.from("d0cf11e0a1b11ae1", "hex"),
      "it is encrypted, or a file of an older Office version",
    ],
  ])("%s is an error of the line", async (_, bytes, reason) => {
    await writeFile(sheet, bytes);
    const ran = await kb("sync", name, sheet, "--rows");
    expect(ran.err).toContain(`faq.xlsx cannot be read: ${reason}`.slice(0, 60));
    expect(ran.err).toContain("hint: save it as CSV (UTF-8)");
    expect(ran.exit).toBe(2);
  });

  test("dates beside the columns that count do no harm, and two of a name are refused", async () => {
    await writeFile(
      sheet,
      workbook(row(2, text("A2", "One") + '<c r="B2" s="1"><v>45413</v></c>')),
    );
    expect((await kb("sync", name, sheet, "--rows", "--prune", "--yes")).exit).toBe(0);
    const two = `<row r="1">${text("A1", "content")}${text("B1", "content")}</row>`;
    await writeFile(sheet, xlsx({ A: `${two}${row(2, text("A2", "x"))}` }));
    const ran = await kb("sync", name, sheet, "--rows");
    expect(ran.err).toContain("faq.xlsx has two columns of a name");
    expect(ran.exit).toBe(2);
  });

  test("with several sheets, the first is read and named", async () => {
    const other = `<row>${text("A1", "content")}</row><row>${text("A2", "of the second")}</row>`;
    await writeFile(sheet, workbook(row(2, text("A2", "of the first")), { Second: other }));
    const ran = await kb("sync", name, sheet, "--rows", "--prune", "--yes");
    expect(ran.err).toContain("faq.xlsx: only its first sheet is read: Sheet1\n");
    expect(await contents(name, "faq.xlsx")).toEqual(["of the first"]);
  });

  test("an older workbook is refused by its name", async () => {
    await writeFile(at("faq.ods"), "");
    const ran = await kb("sync", name, at("faq.ods"), "--rows");
    expect(ran.err).toContain("faq.ods is a workbook that is not read");
    expect(ran.exit).toBe(2);
  });

  let name = "";
  beforeAll(async () => void (name = await base()));
});

describe("a sheet of a source", () => {
  const git = (...argv: string[]) =>
    execFileSync("git", [
      "-C",
      at("repository"),
      "-c",
      "user.name=A",
      "-c",
      "user.email=a@b",
      ...argv,
    ]);
  const commit = async (rows: string) => {
    await writeFile(at("repository", "sheets", "faq.csv"), `content\n${rows}`);
    git("add", ".");
    git("commit", "-qm", "rows");
  };
  const address = `git+file://${at("repository")}#main`;

  beforeAll(async () => {
    await mkdir(at("repository", "sheets"), { recursive: true });
    git("init", "-q", "-b", "main");
    await writeFile(at("repository", "other.csv"), "content\nOther\n");
    await commit("One\nTwo\n");
  });

  test("is planned, synced, compared and undone as a file is", async () => {
    const name = await base();
    const line = [name, address, "--rows", "--include", "sheets/faq.csv"];
    const planned = await kb("sync", ...line, "--dry-run");
    expect(planned.out).toBe("create\trow 1: One\t\t\ncreate\trow 2: Two\t\t\n");
    expect((await kb("sync", ...line)).err).toContain("2 rows: 2 created");
    expect((await kb("status", ...line, "--exit-code")).exit).toBe(0);
    await commit("One\nThree\n");
    expect((await kb("status", ...line, "--exit-code")).exit).toBe(14);
    await done("sync", ...line, "--prune", "--yes", "--backup");
    expect((await contents(name, "faq.csv")).toSorted()).toEqual(["One", "Three"]);
    await done("undo", "--yes");
    expect((await contents(name, "faq.csv")).toSorted()).toEqual(["One", "Two"]);
    // The same document, from a file.
    expect(
      (await kb("status", name, at("repository", "sheets", "faq.csv"), "--rows")).out,
    ).toContain("1 of 2 rows");
  });

  test.each([
    [
      "exec",
      `exec:${process.execPath} ${join(process.cwd(), "examples/sources/directory.mjs")} ${at("repository")}`,
    ],
    ["a directory", at("repository")],
  ])("is one of %s, too", async (_, source) => {
    const name = await base();
    const ran = await kb("sync", name, source, "--rows", "--include", "other.csv");
    expect(ran.exit, ran.err).toBe(0);
    expect(await contents(name, "other.csv")).toEqual(["Other"]);
  });

  test.each([
    [[], 2, "--rows needs --include with the path of one sheet in the source"],
    [
      ["--include", "a.csv", "--include", "b.csv"],
      2,
      "--rows needs --include with the path of one",
    ],
    [["--include", "none.csv"], 3, `${address} has no file none.csv`],
    [["--include", "other.csv", "--exclude", "x"], 2, "--exclude is about files"],
  ])("with %j is refused before anything is sent", async (flags, exit, message) => {
    const since = server.seen.length;
    const ran = await kb("sync", "Base 1", address, "--rows", ...flags);
    expect(ran.err).toContain(message);
    expect([ran.exit, writes(since)]).toEqual([exit, []]);
  });

  test("is an entry of a file of sources", async () => {
    const name = await base();
    const config = at("sources.yaml");
    await mkdir(at("sheets"), { recursive: true });
    await writeFile(at("sheets", "de.csv"), "Text,Nr\nEins,1\nZwei,2\n");
    const write = (german: object) =>
      writeFile(
        config,
        JSON.stringify({
          sources: {
            english: { kb: name, source: address, rows: true, include: ["sheets/faq.csv"] },
            german: { kb: name, source: "sheets/de.csv", id_column: "Nr", ...german },
          },
        }),
      );
    await write({ map: ["content=Text"], rows: true });
    const run = (...flags: string[]) => kb("sync", "run", "--config", config, ...flags);
    const planned = await run("--dry-run", "-q");
    expect(planned.out).toBe(
      "english\tcreate\trow 1: One\t\t\nenglish\tcreate\trow 2: Three\t\t\n" +
        "german\tcreate\trow 1: Eins\t\t\ngerman\tcreate\trow 2: Zwei\t\t\n",
    );
    expect((await run()).exit).toBe(0);
    expect((await contents(name, "de.csv")).toSorted()).toEqual(["Eins", "Zwei"]);
    const since = server.seen.length;
    expect((await run()).err).toMatch(
      /^english: 2 rows: 2 unchanged.german: 2 rows: 2 unchanged\n$/s,
    );
    expect(writes(since)).toEqual([]);
    await write({ map: ["content=Text"] });
    const wrong = await run();
    expect(wrong.err).toContain("sources.yaml: german: map and id_column need rows: true");
    expect(wrong.exit).toBe(2);
  });
});
