/** The JSON Schema of a suite says of a file what the command says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { readSuite } from "../../../src/commands/measure/suite-file/read-suite.ts";
import { diskFiles } from "../../../src/host/node-files.ts";
import { write } from "../../lib/directory.ts";
import { root } from "../../lib/paths.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";

const folder = await temporaryDirectory();
const printed = await cli(["wf", "test", "schema", "-o", "json"]);
const schema = JSON.parse(printed.out) as object;
const isValid = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);

/** Whether the command reads the text as a suite. */
async function isRead(text: string): Promise<boolean> {
  await write(folder, { "suite.yaml": text });
  return readSuite(join(folder, "suite.yaml"), diskFiles).then(
    () => true,
    (error: unknown) => {
      expect(error).toMatchObject({ kind: "usage" });
      return false;
    },
  );
}

const example = readFileSync(join(root, "examples/suite.yaml"), "utf8");

/** The first test has this value. */
const having = (value: string) => `tests: [{ name: a, ${value} }]`;

test.each([
  example,
  "tests: [{ name: a }]",
  "{ name: 1, app: chat, user: 2, tests: [{ name: true }] }",
  having("query: 42, inputs: { a: [1] }, tags: smoke, repeat: 1000, skip: true, only: false"),
  having("answer: [a, 1], compare: json, similarity: 0, judge: grader"),
  having("judge: { app: a, criteria: b, at_least: 1 }"),
  having("inputs: { a: 1 }, repeat: 2, judge: a, turns: [{ query: a, expect: [run failed] }, {}]"),
  having("query: a, search: { kb: b, top: 100, documents: c, text: [d] }"),
  having("search: { kb: b, query: a, documents: [c, d] }"),
  having("facts: false, supported: true, schema: a.json, max_tokens: 5, max_seconds: 0.5"),
  having("supported: { judge: a, at_least: 0.5, share: 1 }, check: { run: [a, b], timeout: 5 }"),
  having(
    "context_recall: { at_least: 1, documents: a }, score_at_least: 0.5, weights: { judge: 2 }",
  ),
  "defaults: { supported: true }\nbudget: { tokens: 5 }\ntests: [{ name: a, supported: false }]",
  "defaults: { search: { kb: a } }\ntests: [{ name: a, query: a, search: { text: b } }]",
  having("expect: run failed"),
  having("expect: []"),
  having("expect: {}"),
  having("expect: { checks: [run failed, no gaps] }"),
  `
defaults:
  inputs: &inputs { a: 1 }
  expect: { checks: [node a ran] }
  compare: exact
  similarity: 0.5
  judge: { app: a, criteria: b }
  tags: [a, b]
  repeat: 3
tests:
  - { name: a, inputs: *inputs, judge: { criteria: c } }
`,
  `
x-one: &one { judge: { app: a }, tags: [b] }
x-two: &two { tags: [c], repeat: 2 }
description: a
metadata: { owner: [b] }
tests:
  - { <<: *one, name: a, description: b, metadata: { c: d } }
  - { <<: [*one, *two], name: b, inputs: { <<: { a: 1 } } }
`,
])("right: %s", async (text) => {
  expect(isValid(parse(text, { merge: true })), JSON.stringify(isValid.errors)).toBe(true);
  expect(await isRead(text)).toBe(true);
});

test.each([
  "",
  "[]",
  "a",
  "tests: []",
  "tests: {}",
  "tests: [a]",
  "tests: [{ query: a }]",
  "tests: [{ name: a }]\nuser: null",
  "tests: [{ name: a }]\ntitle: a",
  "tests: [{ name: a }]\ndefaults: { query: a }",
  "tests: [{ name: a }]\ndefaults: { answer: a }",
  "tests: [{ name: a }]\ndefaults: [a]",
  having("quer: a"),
  having("x-a: a"),
  having("metadata: a"),
  "tests: [{ <<: { quer: a }, name: a }]",
  having("query: [a]"),
  having("query: { a: b }"),
  having("inputs: [a]"),
  having("inputs: a"),
  having("repeat: 0"),
  having("repeat: 1.5"),
  having("repeat: 1001"),
  having("repeat: '3'"),
  having("skip: yes"),
  having("only: 1"),
  having("tags: [[a]]"),
  having("tags: { a: b }"),
  having("answer: { a: b }"),
  having("compare: Similar"),
  having("compare: [json]"),
  having("similarity: 1.1"),
  having("similarity: -0.1"),
  having("similarity: high"),
  having("judge: [a]"),
  having("facts: 1"),
  having("supported: a"),
  having("context_recall: { documents: a, share: 1 }"),
  having("check: a"),
  having("schema: [a]"),
  having("weights: { judges: 1 }"),
  having("weights: { judge: -1 }"),
  having("weights: { judge: 1001 }"),
  having("max_tokens: -1"),
  having("max_seconds: .inf"),
  "budget: { tokens: -1 }\ntests: [{ name: a }]",
  having("budget: { tokens: 1 }"),
  having("judge: { app: a, score: 1 }"),
  having("judge: { app: a, at_least: 2 }"),
  having("query: a, search: { kb: b, documents: c, tops: 1 }"),
  having("query: a, search: { kb: b, documents: c, top: 101 }"),
  having("query: a, search: { kb: b, documents: { c: d } }"),
  having("query: a, search: b"),
  having("app: a"),
  having("turns: []"),
  having("turns: { query: a }"),
  having("turns: [{ name: a }]"),
  having("turns: [{ repeat: 2 }]"),
  having("query: a, turns: [{ query: a }]"),
  having("expect: [run failed], turns: [{ query: a }]"),
  having("answer: a, turns: [{ query: a }]"),
  having("expect: [[run failed]]"),
  having("expect: { check: [run failed] }"),
  having("expect: { name: a }"),
  having("expect: { checks: run failed }"),
  having("expect: { checks: [[run failed]] }"),
  having("expect: { required: [a] }"),
])("wrong: %s", async (text) => {
  expect(isValid(parse(text, { merge: true }))).toBe(false);
  expect(await isRead(text)).toBe(false);
});

/** What a schema cannot say. */
test.each([
  "tests: [{ name: a }, { name: a }]",
  "tests: [{ name: a }, { name: 'a' }]",
  having("judge: { criteria: a }"),
  having("query: a, search: { documents: b }"),
  having("query: a, search: { kb: b }"),
  having("search: { kb: b, documents: c }"),
  having("expect: [run is]"),
  having("expect: { checks: [output a matches /(/] }"),
])("only the command knows: %s", async (text) => {
  expect(isValid(parse(text))).toBe(true);
  expect(await isRead(text)).toBe(false);
});

test("examples/suite.schema.json is the schema that the command prints", () => {
  const stored = readFileSync(join(root, "examples/suite.schema.json"), "utf8");
  expect(stored).toBe(`${JSON.stringify(schema, null, 2)}\n`);
  expect(example).toMatch(/^# yaml-language-server: \$schema=suite\.schema\.json\n/);
});
