import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFiles } from "../../src/host/node-files.ts";
import { isBelow, pathInside, safePath, uniquePath } from "../../src/host/safe-path.ts";
import { temporaryDirectory } from "../lib/support.ts";

test.each([
  ["notes/a.md", "notes/a.md"],
  ["../a/./b.md", "a/b.md"],
  ["/etc/passwd", "etc/passwd"],
  ["C:\\x\\aux.txt", "C_/x/_aux.txt"],
  ["what?.md. ", "what_.md"],
  ["com1", "_com1"],
  ["a\u202eb.md", "a_b.md"],
  ["...", "document"],
  ["", "document"],
  [`${"ä".repeat(150)}.md`, `${"ä".repeat(98)}.md`],
])("the safe path of %j is %j", (name, path) => {
  expect(safePath(name)).toBe(path);
});

test("unique paths differ in more than case, and none leads through a file", () => {
  const taken = new Set<string>();
  const paths = ["a.md", "A.md", "a.md", "a.md/b", "c/d", "c"];
  expect(paths.map((path) => uniquePath(path, taken))).toEqual([
    "a.md",
    "A (1).md",
    "a (2).md",
    "a (3).md/b",
    "c/d",
    "c (1)",
  ]);
});

test.each([
  ["a/b.md", true],
  ["../a", false],
  ["a//b", false],
  ["/a", false],
  ["a\\b", false],
  ["C:a", false],
])("isBelow(%j) is %j", (path, expected) => {
  expect(isBelow(path)).toBe(expected);
});

test("no link leads out of a directory that is removed meanwhile", async () => {
  const directory = join(await temporaryDirectory(), "export");
  await mkdir(directory);
  const files = {
    ...diskFiles,
    async realPath(path: string) {
      const real = await diskFiles.realPath(path);
      await rm(directory, { recursive: true, force: true });
      return real;
    },
  };
  expect(await pathInside(directory, "a/b.md", files)).toBe(join(directory, "a/b.md"));
});
