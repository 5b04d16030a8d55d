/** Suites of tests against the sandbox. */
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasResult, interruptedWhen } from "../../lib/after-append.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { write } from "../../lib/directory.ts";
import type { RawHost } from "../../../src/host/host.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const requests: string[] = [];
const sandbox = await testSandbox({
  onRequest: ({ method, path }) => void requests.push(`${method} ${path}`),
});
const folder = await temporaryDirectory();
await write(folder, {
  "echo.yaml": `
name: Echo
defaults:
  expect: [run succeeded within 20s]
tests:
  - name: says hello
    inputs: { query: hello }
    tags: [smoke]
    expect: [output query is "hello"]
  - name: knows holidays
    inputs: { query: leave }
    expect: ['output "query" contains "holiday"']
  - name: is not ready
    inputs: { query: later }
    skip: true
`,
  "chat.yaml": `
app: chat
tests:
  - name: two turns
    turns:
      - query: hello
      - query: again
        expect: ['text contains "again"', not cited leave.md, no citations]
`,
  "paused.yaml": `
app: review
tests:
  - { name: waits, inputs: { query: hello } }
  - { name: is expected to wait, inputs: { query: hello }, expect: [run paused] }
`,
  "broken.yaml": `
app: broken
tests:
  - { name: fails, inputs: { query: hello } }
  - { name: is expected to fail, inputs: { query: hello }, expect: [run failed] }
`,
});

/** Words that name a file are below the directory of this file's tests. */
const line = (args: readonly string[]) =>
  ["wf", "--app", "echo", "test", "run"].concat(
    args.map((word) => (/\.(yaml|json|xml)$/.test(word) ? join(folder, word) : word)),
  );
const wf = (...args: readonly string[]) => sandbox.cli(line(args), { folder });

interface Printed {
  readonly tests: readonly Record<string, unknown>[];
}
const testsOf = (text: string) => (JSON.parse(text) as Printed).tests;

test("unmet expectations are shown beside the actual values, and the exit code is 14", async () => {
  const ran = await wf("echo.yaml", "-o", "tsv");
  expect(ran.exit).toBe(14);
  expect(ran.out).toContain("# 1 of 2 tests passed\nresult\ttest\ttime\ttokens\n");
  expect(ran.out).toContain("passed\tEcho: says hello\t");
  expect(ran.out).toContain("# 1 test skipped\n");
  expect(ran.out).toContain(
    'Echo: knows holidays\toutput "query" contains "holiday"\tit is "leave"\t\n',
  );
  expect(ran.err).toContain("error: 1 test failed: Echo: knows holidays\n");
});

test("a terminal is told once how many tests passed", async () => {
  const words = ["echo.yaml", "--only", "smoke", "--repeat", "2"];
  const ran = await sandbox.cli(line(words), { folder, tty: true, columns: 500 });
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.out).toContain("1 of 1 test passed");
  expect(ran.err).not.toContain("Ran");
});

test("only tests with a tag are run", async () => {
  const ran = await wf("echo.yaml", "--only", "smoke");
  expect(ran.exit, ran.err).toBe(0);
  expect(ran.out).toContain("# 1 of 1 test passed");
});

const hello = "Echo: says hello";
const holidays = "Echo: knows holidays";
test.each<[words: readonly string[], names: readonly string[]]>([
  [["says hello"], [hello]],
  [["Says HELLO"], [hello]],
  [["echo: *ho"], [holidays]],
  [
    ["knows", "smoke"],
    [hello, holidays],
  ],
])("--only %j selects by tag or name", async (words, names) => {
  const flags = words.flatMap((word) => ["--only", word]);
  const ran = await wf("echo.yaml", "-o", "json", ...flags);
  expect(testsOf(ran.out).map(({ name }) => name)).toEqual(names);
});

test("--only names no test: 2", async () => {
  const ran = await wf("echo.yaml", "--only", "smoke", "--only", "says helo");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain('error: --only: no test has the tag or name "says helo"\n');
  expect(ran.err).toContain('hint: did you mean "says hello"?\n');
  expect((await wf("echo.yaml", "--only", "ready")).err).toContain("error: no test is selected");
});

test("--first runs the first of the selected tests, over all suites", async () => {
  const run = async (...flags: readonly string[]) =>
    (await wf("echo.yaml", "broken.yaml", "-o", "json", ...flags)).out;
  const names = (text: string) => testsOf(text).map(({ name }) => name);
  expect(names(await run("--first", "3"))).toEqual([hello, holidays, "broken: fails"]);
  expect(names(await run("--only", "k", "--first", "1"))).toEqual([holidays]);
});

test("--failed-from runs the tests that did not pass", async () => {
  await wf("echo.yaml", "--save", "all.json");
  const ran = await wf("echo.yaml", "--failed-from", "all.json", "-o", "json");
  expect(ran.exit).toBe(14);
  expect(testsOf(ran.out).map(({ name }) => name)).toEqual([holidays]);
  await wf("echo.yaml", "--only", "smoke", "--save", "good.json");
  const none = await wf("echo.yaml", "--failed-from", "good.json");
  expect(none.exit).toBe(2);
  expect(none.err).toMatch(/^error: no test of these suites failed in .*good\.json\n/);
});

test("JUnit has the skipped tests, also after a merge", async () => {
  await wf("echo.yaml", "--save", "all.json", "--junit", "tests.xml");
  const merge = ["wf", "test", "merge", join(folder, "all.json"), "--junit", join(folder, "m.xml")];
  await sandbox.cli(merge);
  for (const name of ["tests.xml", "m.xml"]) {
    const xml = await readFile(join(folder, name), "utf8");
    expect(xml).toContain('<testsuite name="Echo" tests="3" failures="1" errors="0" skipped="1"');
    expect(xml).toContain(
      '<testcase classname="Echo" name="is not ready" time="0.000">\n      <skipped/>',
    );
  }
});

test("the turns of a test are one conversation", async () => {
  const ran = await wf("chat.yaml", "-o", "json");
  expect(ran.exit, ran.err).toBe(0);
  expect(testsOf(ran.out)).toMatchObject([
    {
      name: "chat: two turns",
      status: "passed",
      results: [{ answer: "You said: again. This is a fixed answer.", cited: [] }],
    },
  ]);
  const { out } = await sandbox.cli(["wf", "--app", "chat", "conversation", "list", "-o", "json"]);
  expect(JSON.parse(out)).toHaveLength(1);
});

test("the documents that a reply cites can be expected, and its tokens limited", async () => {
  const models = await testSandbox({ models: true });
  const done = async (words: string) => {
    const ran = await models.cli(words.split(" "));
    expect(ran.exit, ran.err).toBe(0);
  };
  await done("kb create Handbook --indexing-technique high_quality");
  await write(folder, { "leave.md": "Thirty days of leave a year.\n" });
  await done(`kb doc upload Handbook ${join(folder, "leave.md")}`);
  await done("kb doc wait Handbook");
  await write(folder, {
    "cited.yaml": `
app: assistant
tests:
  - name: cites
    query: How many days of leave?
    expect: [cited leave.md, not cited parking.md, run used at most 5000 tokens]
  - name: cites another one
    query: How many days of leave?
    expect: [cited parking.md, run used at most 1 tokens]
  - name: cites nothing
    query: How many days of leave?
    expect: [no citations]
`,
  });
  const ran = await models.cli(["wf", "test", "run", join(folder, "cited.yaml"), "-o", "tsv"]);
  expect(ran.exit, ran.err).toBe(14);
  expect(ran.out).toContain("passed\tcited: cites\t");
  expect(ran.out).toContain('cited: cites another one\tcited parking.md\tcited: "leave.md"\t\n');
  expect(ran.out).toContain('cited: cites nothing\tno citations\tcited: "leave.md"\t\n');
  expect(ran.out).toMatch(/cites another one\trun used at most 1 tokens\tit used \d+ tokens\t\n/);
});

test("an answer that cannot be judged is an error: 10", async () => {
  const ran = await wf("paused.yaml", "-o", "json");
  expect(ran.exit).toBe(10);
  expect(testsOf(ran.out)).toMatchObject([
    { status: "error", runs: 0, results: [{ error: "the run is waiting for human input" }] },
    { status: "passed", runs: 1 },
  ]);
});

test("a run that fails is a test that failed, unless that is expected", async () => {
  const ran = await wf("broken.yaml", "-o", "json");
  expect(ran.exit).toBe(14);
  expect(testsOf(ran.out)).toMatchObject([{ status: "failed" }, { status: "passed" }]);
});

test("a test that failed before does not fail a run with a baseline; a broken one does", async () => {
  const saved = await wf("echo.yaml", "--repeat", "3", "--save", "before.json");
  expect(saved.exit).toBe(14);
  const again = await wf("echo.yaml", "--repeat", "3", "--baseline", "before.json", "-o", "json");
  expect(again.exit, again.err).toBe(0);
  expect(testsOf(again.out)).toMatchObject([
    { name: "Echo: says hello", passes: 3, verdict: "passes" },
    { name: "Echo: knows holidays", passes: 0, verdict: "fails as before" },
  ]);
  // The same question to an application that fails.
  const worse = await wf(
    "echo.yaml",
    "--repeat",
    "3",
    "--baseline",
    "before.json",
    "--app",
    "broken",
  );
  expect(worse.exit).toBe(14);
  expect(worse.out).toMatch(/failed\tEcho: says hello\t0\/3\t.*\t3\/3\t0\/20\tbroken\n/);
  expect(worse.err).toContain("1 broken: Echo: says hello");
});

test("the same command continues after an interrupt and asks nothing twice", async () => {
  const args = ["echo.yaml", "--repeat", "5", "--concurrency", "1"];
  const starts = () => requests.filter((line) => line === "POST /v1/workflows/run").length;
  const before = starts();
  const interrupted = await sandbox.cli(line(args), {
    folder,
    ...interruptedWhen((text) => hasResult(text) && starts() - before === 4),
  });
  expect(interrupted.exit).toBe(130);
  const asked = starts() - before;
  expect(asked).toBeLessThan(10);
  const again = await wf(...args);
  expect(again.exit).toBe(14);
  expect(again.err).toMatch(/^resuming: \d of 10 runs of tests already done; delete /);
  const done = Number(/resuming: (\d)/.exec(again.err)?.[1]);
  expect(done).toBeGreaterThanOrEqual(4);
  expect(starts() - before).toBe(asked + 10 - done);
  const left = await readdir(folder, { recursive: true });
  expect(left.filter((name) => name.includes("suite-"))).toEqual([]);
});

test("a query for a workflow names the application and how to choose another one", async () => {
  await write(folder, { "wrong.yaml": "tests: [{ name: a, query: hello }]\n" });
  const ran = await wf("wrong.yaml");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain('line 1: test "a" has a query\n');
  expect(ran.err.replaceAll(/\s+/g, " ")).toContain(
    'hint: application "echo" has mode workflow, which takes inputs: { NAME: … } instead; another one is chosen with app: NAME in the suite, or --app NAME',
  );
});

test("a comment about tests that have all passed has one heading", async () => {
  const ran = await wf("chat.yaml", "-o", "md");
  expect(ran.out.match(/^### .*/gm)).toEqual(["### 1 of 1 test passed"]);
  expect(ran.out).toMatch(/^### 1 of 1 test passed\n\n\| result \| test \| time \| tokens \|\n/);
});

test("what a chat without nodes cannot meet is said so", async () => {
  const expectations = [
    "no errors",
    "node Start did not run",
    "run used at most 3 steps",
    "node Start ran",
  ];
  await write(folder, {
    "basic.yaml": `app: answers\ntests: [{ name: a, query: hi, expect: ${JSON.stringify(expectations)} }]`,
  });
  const ran = await wf("basic.yaml", "-o", "json");
  expect(ran.exit, ran.err).toBe(14);
  const none = "this application has no nodes, so no steps";
  const [{ results = [] } = {}] = testsOf(ran.out) as { results: { checks: object[] }[] }[];
  expect(results[0]?.checks.slice(1)).toMatchObject([
    { check: "no errors", passed: true },
    { check: "node Start did not run", passed: true },
    { passed: false, actual: none },
    { passed: false, actual: none },
  ]);
});

test("--fail-fast asks nothing more", async () => {
  const ran = await wf(
    "broken.yaml",
    "echo.yaml",
    "--fail-fast",
    "--concurrency",
    "1",
    "-o",
    "json",
  );
  expect(ran.exit).toBe(14);
  expect(testsOf(ran.out).map(({ status }) => status)).toEqual([
    "failed",
    "not run",
    "not run",
    "not run",
  ]);
});

test("a JUnit report has a case for each test", async () => {
  await wf("echo.yaml", "--junit", "tests.xml");
  const xml = await readFile(join(folder, "tests.xml"), "utf8");
  expect(xml).toContain('tests="3" failures="1"');
  expect(xml).toContain(
    '<failure message="output &quot;query&quot; contains &quot;holiday&quot;: it is &quot;leave&quot;">',
  );
});

test.each([
  ["tests: [{name: a, quer: hello}]", 'line 1: "quer" is not one of', "did you mean query?"],
  ["tests: [{query: hello}]", "line 1: the test has no name", ""],
  ["tests: [{name: a}, {name: a}]", 'line 1: another test is named "a"', ""],
  ["tests: [{name: a, repeat: 0}]", "line 1: expected a whole number from 1 to 1000", ""],
  ["tests: [{name: a, similarity: 2}]", "line 1: expected a number from 0 to 1", ""],
  [
    "tests: [{name: a, compare: simlar}]",
    'line 1: "simlar" is not one of',
    "did you mean similar?",
  ],
  ["tests: [{name: a, judge: {criteria: b}}]", "line 1: judge has no app", ""],
  ["tests: [{name: a, turns: []}]", "line 1: the test has no turns", ""],
  ["tests: [{name: a, query: b, turns: [{query: c}]}]", "so query belongs to a turn", ""],
  ["tests:\n  - name: a\n    expect: [run is]", "line 3", ""],
  ["name: x", "line 1: the suite has no tests", ""],
  ["app: chat\ntests: [{name: a}]", 'line 2: test "a" has no query', ""],
])("%j is refused before anything is asked", async (text, problem, hint) => {
  await write(folder, { "bad.yaml": text });
  requests.length = 0;
  const ran = await wf("bad.yaml");
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(problem);
  expect(ran.err).toContain(hint);
  expect(requests.filter((line) => line.startsWith("POST"))).toEqual([]);
});

test("a long run that no terminal shows says how far it is", async () => {
  const tests = ["a", "b", "c"].map((name) => ({ name, inputs: { query: name } }));
  await write(folder, { "three.yaml": JSON.stringify({ tests }) });
  let now = 0;
  const around = (host: RawHost): RawHost => ({ ...host, elapsed: () => (now += 11_000) });
  const { err } = await sandbox.cli(line(["three.yaml"]), { folder, around });
  expect(err).toMatch(/^Running +1\/3 tests$/m);
});
