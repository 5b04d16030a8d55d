/** The keys of a suite: what is read, and what the documentation says about them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withSuiteKeys } from "../../../scripts/reference/suites.ts";
import { readSuite } from "../../../src/commands/wf/suite-file/read-suite.ts";
import { diskFiles } from "../../../src/host/node-files.ts";
import { write } from "../../lib/directory.ts";
import { root } from "../../lib/paths.ts";
import { temporaryDirectory } from "../../lib/support.ts";

test("docs/test-suites.md has the table of keys", () => {
  const page = readFileSync(join(root, "docs/test-suites.md"), "utf8");
  expect(page).toBe(withSuiteKeys(page));
  expect(page).toContain("| `skip` | test | leaves the test out |\n");
});

const folder = await temporaryDirectory();

async function read(text: string) {
  await write(folder, { "suite.yaml": text });
  return readSuite(join(folder, "suite.yaml"), diskFiles);
}

test("a test takes over the defaults and adds its own", async () => {
  const { tests } = await read(`
defaults:
  inputs: { a: 1, b: 1 }
  expect: [run succeeded]
  compare: contains
  similarity: 0.9
  judge: { app: grader, at_least: 0.7 }
  tags: all
  repeat: 2
tests:
  - name: one
    inputs: { b: 2 }
    expect: { required: [LLM] }
    answer: 30 days
    judge: { criteria: Names a number. }
    tags: [smoke]
  - name: two
    repeat: 5
    compare: exact
    turns:
      - { query: a, answer: [b, c], judge: other }
      - { query: d, compare: json, inputs: { a: 3 } }
`);
  expect(tests).toMatchObject([
    {
      from: { line: 11 },
      tags: ["all", "smoke"],
      repeat: 2,
      turns: [
        {
          inputs: { a: 1, b: 2 },
          expectations: [{ name: "run succeeded" }, { name: 'node "LLM" ran' }],
          answer: ["30 days"],
          compare: "contains",
          similarity: 0.9,
          judge: { app: "grader", criteria: "Names a number.", atLeast: 0.7 },
        },
      ],
    },
    {
      repeat: 5,
      turns: [
        { from: { line: 21 }, answer: ["b", "c"], compare: "exact", judge: { app: "other" } },
        { inputs: { a: 3, b: 1 }, answer: [], compare: "json", judge: { app: "grader" } },
      ],
    },
  ]);
});

test("without defaults, answers are compared by similarity and nothing judges", async () => {
  const { tests } = await read("tests: [{ name: a }, { name: b, judge: grader }]");
  expect(tests).toMatchObject([
    {
      repeat: undefined,
      skip: false,
      only: false,
      turns: [{ answer: [], compare: "similar", similarity: 0.8, judge: undefined }],
    },
    { turns: [{ judge: { app: "grader", criteria: undefined, atLeast: 0.5 } }] },
  ]);
});
