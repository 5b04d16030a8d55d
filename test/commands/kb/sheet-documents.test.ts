// The document of a sheet beside other syncs and checks of its knowledge base.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();
const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder: home });
const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });
const at = (...names: string[]) => join(home, ...names);
const rows = ["content", "Lockers are free", "Parking costs five"];
const contents = async () =>
  (await done("chunk", "list", "Base", "faq.csv", "--jq", ".[].content")).out;

beforeAll(async () => {
  for (const name of ["docs", "same", "sheets"]) await mkdir(at(name));
  for (const name of ["docs", "same"]) await writeFile(at(name, "a.md"), "Text of a.");
  await writeFile(at("same", "faq.csv"), "a,b\n1,2\n");
  await writeFile(at("sheets", "faq.csv"), rows.join("\n"));
  await writeFile(at("sheets", "other.csv"), rows.join("\n"));
  await done("create", "Base", "--indexing-technique", "economy");
  await done("sync", "Base", at("sheets", "faq.csv"), "--rows");
  await done("sync", "Base", at("sheets", "other.csv"), "--rows");
  await done("sync", "Base", at("docs"));
});

const unchanged = /^1 file: 1 unchanged\n$/;
const conflict = /conflict\tfaq\.csv\tsynced from rows:faq\.csv\t/;

test.each<[command: string, line: string[], exit: number, output: RegExp]>([
  ["status", ["status", "Base", at("docs"), "--exit-code"], 0, /problems\tnone\n/],
  ["sync", ["sync", "Base", at("docs")], 0, unchanged],
  ["sync --prune", ["sync", "Base", at("docs"), "--prune", "--yes"], 0, unchanged],
  ["status, same name", ["status", "Base", at("same")], 0, /1 in conflict: faq\.csv\n/],
  ["sync, same name", ["sync", "Base", at("same"), "--prune", "--yes"], 10, conflict],
  ["check", ["check", "Base"], 0, /0 problems|no problems/],
  ["export", ["export", "Base", at("export"), "-q"], 0, /faq\.csv/],
  ["verify", ["verify", at("export"), "Base", "-q"], 0, /^$/],
  [
    "the sheet again",
    ["sync", "Base", at("sheets", "faq.csv"), "--rows"],
    0,
    /^2 rows: 2 unchanged\n$/,
  ],
])("%s: the document of a sheet is that of its source", async (_, line, exit, output) => {
  const ran = await kb(...line);
  expect(ran.out + ran.err).toMatch(output);
  expect(ran.exit, ran.err).toBe(exit);
  expect((await contents()).split("\n").toSorted()).toEqual(["", ...rows.slice(1)]);
});

test("its text is one word: cat prints the rows, and no edit replaces them", async () => {
  const printed = await kb("cat", "Base", "faq.csv");
  expect(
    printed.out
      .split("\n\n")
      .map((text) => text.trim())
      .toSorted(),
  ).toEqual(rows.slice(1));
  expect(printed.err).toBe("no text of document faq.csv: these are its chunks\n");
  const ran = await server.cli(["kb", "doc", "edit", "Base", "faq.csv"], {
    folder: home,
    tty: true,
    columns: 1000,
    env: { VISUAL: "false", NO_COLOR: "1" },
  });
  expect(ran.err).toBe(
    "error: the chunks of faq.csv are not made of its text, which would replace them\nhint: edit the sheet and sync it again, or a chunk: `kb chunk list Base faq.csv`\n",
  );
  expect(ran.exit).toBe(6);
});

test("another machine knows it by its mark, also after a rename that lost the rows", async () => {
  await rm(at("state"), { recursive: true });
  const sync = () => kb("sync", "Base", at("sheets", "other.csv"), "--rows");
  expect((await sync()).err).toBe("2 rows: 2 unchanged\n");
  await done("doc", "rename", "Base", "other.csv", "renamed.csv", "--yes");
  await done("doc", "wait", "Base");
  await rm(at("state"), { recursive: true });
  expect((await sync()).err).toContain("2 rows: 2 created");
  const names = await done("doc", "list", "Base", "--jq", ".[].name");
  expect(names.out.trim().split("\n").toSorted()).toEqual(["a.md", "faq.csv", "renamed.csv"]);
});

test("one that another source has taken over is refused", async () => {
  await done("sync", "Base", at("same"), "--adopt", "--yes");
  const ran = await kb("sync", "Base", at("sheets", "faq.csv"), "--rows");
  expect(ran.err).toContain("document faq.csv exists, and no sync of rows has made it");
  expect(ran.exit).toBe(5);
  const taken = await kb("sync", "Base", at("sheets", "faq.csv"), "--rows", "--adopt");
  expect(taken.exit, taken.err).toBe(0);
  expect((await kb("sync", "Base", at("same"))).out).toMatch(conflict);
});
