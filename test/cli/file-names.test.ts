import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const home = await temporaryDirectory();
const ran = (line: string) => server.cli(line.split(" "), { folder: home });

/** Syncs three files: an uploaded one, whose name has U+2215 for the slash, and two with the same base. */
beforeAll(async () => {
  const docs = join(home, "docs");
  for (const folder of ["hr", "it"]) await mkdir(join(docs, folder), { recursive: true });
  await writeFile(join(docs, "hr", "salary.csv"), "name,amount\nA,1\n");
  for (const folder of ["hr", "it"]) await writeFile(join(docs, folder, "start.md"), folder);
  await writeFile(join(docs, "hr", "leave_days.md"), "thirty");
  await server.done(["kb", "create", "H", "--indexing-technique", "economy"]);
  await server.done(["kb", "sync", "H", docs]);
});

test.each([
  ["hr∕salary.csv", "hr∕salary.csv"],
  ["hr/salary.csv", "hr∕salary.csv"],
  ["salary.csv", "hr∕salary.csv"],
  ["hr∕leave_days.md", "hr/leave_days.md"],
  ["leave_days.md", "hr/leave_days.md"],
])("kb doc show finds %s as %s", async (typed, name) => {
  const { exit, out, err } = await ran(`kb doc show H ${typed} --jq .name`);
  expect({ exit, out, err }).toEqual({ exit: 0, out: `${name}\n`, err: "" });
});

test("a base name of several documents is ambiguous", async () => {
  const { exit, err } = await ran("kb doc show H start.md");
  expect(exit).toBe(5);
  expect(err).toContain('document name "start.md" is ambiguous (2 matches)');
  expect(err).toContain("hr/start.md");
  expect(err).toContain("it/start.md");
  expect(err).toContain("hint: use the whole name, or the ID");
});

test("a write takes either slash, but only suggests the name of a base", async () => {
  const wrong = await ran("kb doc disable H leave_days.md");
  expect(wrong.exit).toBe(3);
  expect(wrong.err).toBe(
    'error: document "leave_days.md" not found\nhint: did you mean "hr/leave_days.md"?\n',
  );
  expect((await ran("kb doc disable H hr/salary.csv")).exit).toBe(0);
  const kept = await ran("kb doc delete H salary.csv --if-exists --yes");
  expect(kept.err).toContain("not found; nothing to delete");
  expect((await ran("kb doc show H salary.csv --jq .enabled")).out).toBe("false\n");
});

test("rows of a file take either slash", async () => {
  const rows = join(home, "rows.csv");
  await writeFile(rows, "doc\nhr/salary.csv\n");
  const { exit, err } = await ran(`kb doc enable H --each ${rows}`);
  expect(exit, err).toBe(0);
  expect((await ran("kb doc show H salary.csv --jq .enabled")).out).toBe("true\n");
});
