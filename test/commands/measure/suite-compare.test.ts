/** Answers that are compared with expected ones, in suites against the sandbox. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { openComparison } from "../../../src/commands/measure/suites/answers/compare-answer.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { write } from "../../lib/directory.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const sandbox = await testSandbox();
const folder = await temporaryDirectory();

interface Result {
  readonly status: string;
  readonly checks: readonly Record<string, unknown>[];
}
interface Printed {
  readonly tests: readonly { readonly results: readonly Result[] }[];
}

/** Runs tests of the application `echo`, each of which answers what it is asked. */
async function run(tests: readonly Readonly<Record<string, unknown>>[]) {
  const named = tests.map((test, index) => ({ name: `test ${index}`, ...test }));
  await write(folder, { "suite.yaml": JSON.stringify({ app: "echo", tests: named }) });
  const line = ["wf", "test", "run", join(folder, "suite.yaml"), "-o", "json"];
  const ran = await sandbox.cli(line);
  const printed = ran.out === "" ? { tests: [] } : (JSON.parse(ran.out) as Printed);
  return { ...ran, results: printed.tests.flatMap(({ results }) => results) };
}

const errorIn = (text: string) =>
  (JSON.parse(text) as { readonly error: { readonly message: string } }).error.message;

type Case = readonly [
  compare: string,
  said: string,
  answer: string | readonly string[],
  passed: boolean,
  actual: string,
  more?: { readonly similarity: number; readonly score?: number; readonly facts?: boolean },
];

const cases: readonly Case[] = [
  ["exact", "30 days\n", " 30 days", true, "it is equal"],
  ["exact", "a\r\nb", "a\nb", true, "it is equal"],
  ["exact", "30 days", "30 Days", false, 'it is "30 days" instead of "30 Days"'],
  [
    "exact",
    "You have thirty days of leave a year.",
    "You have thirty days of leave a month.",
    false,
    'it is "…rty days of leave a year." instead of "…rty days of leave a month."',
  ],
  ["exact", "a", ["b", "a"], true, "it is equal"],
  ["contains", "You have 30 days.", "30 days", true, 'it is "You have 30 days."'],
  ["contains", "You have 30 Days.", "30 days", false, 'it is "You have 30 Days."'],
  ["contains", "a", ["x", "y", "z", "a"], true, 'it is "a"'],
  ["regex", "You have 30 Days.", "/\\b\\d+ days/i", true, 'it is "You have 30 Days."'],
  ["regex", "You have no days.", "/\\d+ days/", false, 'it is "You have no days."'],
  ["regex", `${"a".repeat(40)}!`, "/^(a+)+$/", false, "/^(a+)+$/ timed out after 1000 ms"],
  ["json", '{"b": [1, 2.0], "a": null}', '{"a":null,"b":[1,2]}', true, "it is equal"],
  ["json", 'Here:\n```json\n{"days": 30}\n```\nBye', '{"days": 30}', true, "it is equal"],
  ["json", '"a"', ['{"a": 1}', '"a"'], true, "it is equal"],
  ["json", '```\nno\n```\nBut:\n```json\n{"days": 30}\n```', '{"days": 30}', true, "it is equal"],
  ["json", "30 days", "30", false, 'it is not JSON: "30 days"'],
  [
    "json",
    '{"leave": {"days": [30, 5]}}',
    '{"leave": {"days": [30, 6], "paid": true}}',
    false,
    '"leave.days.1" is 5 instead of 6, "leave.paid" is nothing instead of true',
  ],
  ["json", "[1]", "{}", false, "it is [1] instead of {}"],
  [
    "json",
    "[1,2,3,4,5]",
    "[]",
    false,
    '"0" is 1 instead of nothing, "1" is 2 instead of nothing, "2" is 3 instead of nothing, 2 more differences',
  ],
  [
    "similar",
    "you have 30 days",
    "You have 30 days.",
    true,
    "similarity 1",
    { similarity: 0.8, score: 1 },
  ],
  [
    "similar",
    "You have fourteen weeks of leave",
    "You have thirty days of leave",
    true,
    // The number and its unit are two words, and both units are of time.
    'similarity 0.833; from word 3 "fourteen weeks of leave" instead of "thirty days of leave"',
    { similarity: 0.5, score: 5 / 6, facts: false },
  ],
  [
    "similar",
    "You have",
    "You have 30 days",
    false,
    'similarity 0.5; number "30 days" is missing',
    { similarity: 0.8 },
  ],
  [
    "similar",
    "You have 30 days of leave a year.",
    "You have 13 days of leave a year.",
    false,
    'similarity 0.875; number "13 days" is missing (found: "30 days")',
    { similarity: 0.8 },
  ],
  [
    "similar",
    "You have 30 days of leave a year.",
    "You have 13 days of leave a year.",
    true,
    'similarity 0.875; from word 3 "30 days of leave" instead of "13 days of leave"',
    { similarity: 0.8, score: 7 / 8, facts: false },
  ],
  [
    "similar",
    "a b c d",
    "a b c d e",
    true,
    'similarity 0.8; from word 5 the end instead of "e"',
    { similarity: 0.8, score: 0.8 },
  ],
  [
    "similar",
    "thirty days of leave",
    ["one two", "thirty days of", "thirty"],
    false,
    'similarity 0.75; from word 4 "leave" instead of the end',
    { similarity: 0.8, score: 0.75 },
  ],
];

const { results: checked } = await run(
  cases.map(([compare, query, answer, , , more]) => ({
    inputs: { query },
    compare,
    answer,
    ...(more && { similarity: more.similarity, facts: more.facts }),
  })),
);

test.each(cases.map((each, index) => [...each.slice(0, 3), index] as const))(
  "%s: %j and %j",
  (...at) => {
    const index = Number(at.at(-1));
    const [, , , passed, actual, more] = cases[index] ?? [];
    // The first check is that the run succeeded.
    expect(checked[index]?.checks[1]).toEqual({
      turn: 1,
      kind: "answer",
      check: expect.any(String),
      passed,
      actual,
      ...(more?.score && { score: expect.closeTo(more.score, 12) }),
    });
  },
);

test("a check says what is expected", () => {
  expect(checked.map(({ checks }) => checks[1]?.["check"])).toEqual(
    expect.arrayContaining([
      'answer is "30 Days"',
      'answer is "b" or "a"',
      'answer contains "x" or "y" or "z" or 1 other',
      "answer matches /\\b\\d+ days/i",
      'answer is the JSON {"a":1} or "a"',
      'answer is similar to "You have 30 days." (at least 0.8)',
      'answer is similar to "one two" or "thirty days of" or "thirty" (at least 0.8)',
    ]),
  );
});

test("the report names the tests that compare wording only", async () => {
  const ran = await run([
    { inputs: { query: "a b c d" }, answer: "a b c d" },
    { inputs: { query: "a" }, answer: "a", compare: "exact" },
  ]);
  const { tests } = JSON.parse(ran.out) as { tests: readonly { wording: boolean }[] };
  expect(tests.map(({ wording }) => wording)).toEqual([true, false]);
  const shown = await sandbox.cli(["wf", "test", "run", join(folder, "suite.yaml")]);
  expect(shown.out).toContain("1 test of 2 compares the wording of answers (similar): ");
  expect(shown.out).toContain("what they mean: suite: test 0\n");
});

test("a test is failed by its answer alone: 14", async () => {
  const ran = await run([{ inputs: { query: "a" }, compare: "exact", answer: "b" }]);
  expect(ran.exit).toBe(14);
  expect(ran.results).toMatchObject([{ status: "failed" }]);
});

test("a run that failed has no answer to compare", async () => {
  const text = "app: broken\ntests: [{ name: a, inputs: { query: hello }, answer: hello }]";
  await write(folder, { "broken.yaml": text });
  const ran = await sandbox.cli(["wf", "test", "run", join(folder, "broken.yaml"), "-o", "tsv"]);
  expect(ran.exit).toBe(14);
  expect(ran.out).toContain('answer is similar to "hello" (at least 0.8)\tthe run has none\t');
});

test.each([
  ["regex", "days", 'line 1: answer "days", position 1: days is not a pattern such as /refund/i'],
  ["regex", "/(/", "invalid pattern"],
  ["json", "{days: 30}", 'line 1: answer "{days: 30}" is not valid JSON'],
])("%s: %j is refused before anything is asked", async (compare, answer, problem) => {
  const before = sandbox.seen.length;
  const ran = await run([{ inputs: { query: "a" }, compare, answer }]);
  expect(ran.exit).toBe(2);
  expect(errorIn(ran.err)).toContain(problem);
  expect(sandbox.seen.slice(before).filter(({ method }) => method === "POST")).toEqual([]);
});

test("an interrupt ends the comparisons with further expected answers", async () => {
  const expected = {
    compare: "similar",
    similarity: 0.8,
    facts: true,
    from: { path: "a.yaml", line: 1 },
  } as const;
  const { compare } = openComparison({ ...expected, answer: ["a", "b", "c"] });
  let paused = 0;
  const pause = () =>
    ++paused === 2 ? Promise.reject(new Error("interrupted")) : Promise.resolve();
  await expect(compare("d", pause)).rejects.toThrow("interrupted");
  expect(paused).toBe(2);
});
