/** What somebody reads to follow one request (npm run walk). */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";

// A slow machine enters the files that show progress, too. A suite's report has an interval of the pass rate, and its
// results the version of the server and a hash of each test.
test.each([
  ["renaming a tag", ["kb tag create a", "kb tag rename a b"], 60, 18],
  ["running a suite", ["wf test run examples/suite.yaml --app answers"], 110, 20],
])("%s enters few files, and fewer are on its way", (_, lines, most, mostRead) => {
  const script = join(root, "scripts", "walk.mjs");
  const { stdout, stderr } = spawnSync(process.execPath, [script, ...lines], { encoding: "utf8" });
  const [, entered, read] = /(\d+) entered, (\d+) to read\n/.exec(stdout) ?? [];
  expect(Number(entered), `${stdout}${stderr}`).toBeLessThanOrEqual(most);
  expect(Number(read), stdout).toBeLessThanOrEqual(mostRead);
  expect(Number(read), stdout).toBeGreaterThan(10);
});
