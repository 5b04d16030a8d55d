/** The planted bugs can be planted; `npm run planted` tells whether they are found. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bugs, fileOf, planted } from "../../scripts/planted/bugs.mjs";
import { root } from "../lib/paths.ts";

test("there are as many as the documentation says, each with a name of its own", () => {
  const text = readFileSync(join(root, "docs", "reliability.md"), "utf8");
  expect(text).toContain(`plants ${bugs.length} bugs`);
  expect(new Set(bugs.map(({ name }) => name)).size).toBe(bugs.length);
});

test.each(bugs)("$name", (bug) => {
  const code = readFileSync(fileOf(bug), "utf8"); // throws unless the text is there once
  expect(planted(bug, code)).not.toBe(code);
  expect(bug.promise).toMatch(/\.$/);
  expect(bug.tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
