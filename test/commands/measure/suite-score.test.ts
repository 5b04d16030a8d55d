/** `wf test score`: changed suites applied to stored answers, against the sandbox. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const sandbox = await testSandbox();
const folder = await temporaryDirectory();
const file = (name: string) => join(folder, name);
const env = {
  KB_SANDBOX_APP_KEYS: JSON.stringify({ echo: "app-echo", chat: "app-chat", grader: "app-grader" }),
};
const wf = (...args: readonly string[]) => sandbox.cli(["wf", "test", ...args], { folder, env });
const score = (...args: readonly string[]) => wf("score", file("results.json"), ...args);

interface Printed {
  readonly tests: readonly {
    readonly test: string;
    readonly status: string;
    readonly results: readonly {
      readonly error: string | null;
      readonly checks: readonly Readonly<Record<string, unknown>>[];
    }[];
  }[];
}
const testsIn = (out: string) =>
  (JSON.parse(out) as Printed).tests.map(({ test: name, status, results: [first] }) => ({
    name,
    status,
    error: first?.error,
    checks: first?.checks.map(({ passed }) => passed),
  }));

const query = "You have thirty days of leave.";
const first = `{ name: first, inputs: { query: ${query} }, expect: [no retries, EXPECT] }`;
const suite = (expected: string, ...tests: readonly string[]) =>
  `name: Suite\napp: echo\ntests: [${[first.replace("EXPECT", expected), ...tests].join(", ")}]\n`;
const asked = suite(
  "run succeeded within 20s",
  "{ name: second, inputs: { query: hello }, answer: hello, repeat: 2 }",
  "{ name: third, inputs: { query: gone } }",
);
await write(folder, { "suite.yaml": asked });
const ran = await wf("run", file("suite.yaml"), "--save", file("results.json"), "-o", "json");
const results = await readFile(file("results.json"), "utf8");

/** Judges the answers by a changed suite; nothing but the application `grader` may be asked. */
async function judgedBy(changed: string, ...args: readonly string[]) {
  await write(folder, { "suite.yaml": changed });
  const before = sandbox.seen.length;
  const again = await score("-o", "json", ...args);
  const sent = sandbox.seen.slice(before);
  expect(sent.filter(({ headers }) => headers["authorization"] !== "Bearer app-grader")).toEqual(
    [],
  );
  return { ...again, sent, tests: again.out === "" ? [] : testsIn(again.out) };
}

test("the suite as it was gives the results as they were, with the same files", async () => {
  expect(ran.exit, ran.err).toBe(0);
  const again = await judgedBy(asked, "--save", file("again.json"), "--junit", file("again.xml"));
  expect(again.exit, again.err).toBe(0);
  expect(again.sent).toEqual([]);
  const expected: unknown = JSON.parse(ran.out.replaceAll(/"reused": ?false/g, '"reused":true'));
  expect(JSON.parse(again.out)).toEqual(expected);
  expect(JSON.parse(await readFile(file("again.json"), "utf8"))).toEqual(expected);
  expect(await readFile(file("again.xml"), "utf8")).toContain('name="Suite" tests="3"');
});

test("changed conditions, answers and judges decide about the stored answers", async () => {
  const again = await judgedBy(
    suite(
      'text contains "weeks"',
      "{ name: second, inputs: { query: hello }, answer: bye, judge: { app: grader, at_least: 0.9 } }",
      '{ name: third, inputs: { query: gone }, expect: [output query is "gone", tokens < 99] }',
    ),
  );
  expect(again.exit).toBe(14);
  expect(again.tests).toEqual([
    { name: "first", status: "failed", error: null, checks: [true, true, false] },
    { name: "second", status: "failed", error: null, checks: [true, false] },
    { name: "third", status: "passed", error: null, checks: [true, true, true] },
  ]);
  expect(again.sent.filter(({ method }) => method === "POST")).toHaveLength(2);
});

test.each([
  ["expect: [no pauses]", "the results do not decide no pauses"],
  ["expect: ['node \"Start\" ran']", 'the results do not decide node "Start" ran'],
  ["query: hello", "its questions have changed"],
  ["inputs: { query: bye }", "its questions have changed"],
  ["turns: [{ inputs: { query: hello } }, { inputs: { query: hello } }]", "turn 2 has no stored"],
  [
    "search: { kb: Handbook, query: a, documents: [leave.md] }, inputs: { query: hello }",
    'no search tells whether "leave.md" is found in Handbook',
  ],
])("what needs more than is stored is an error: %s", async (values, problem) => {
  const inputs = /inputs|query:/.test(values) ? "" : "inputs: { query: hello }, ";
  const again = await judgedBy(
    `name: Suite\napp: echo\ntests: [{ name: second, ${inputs}${values} }]`,
  );
  expect(again.exit).toBe(10);
  expect(again.tests).toMatchObject([{ status: "error" }]);
  expect(again.tests[0]?.error).toContain(`cannot be judged again: ${problem}`);
});

test("another suite is applied by the names of its tests, and what has no counterpart is named", async () => {
  await write(folder, {
    "other.yaml": "tests: [{ name: third, inputs: { query: gone } }, { name: new, query: a }]",
  });
  const again = await judgedBy(asked, "--suite", file("other.yaml"));
  expect(again.exit, again.err).toBe(0);
  expect(again.tests).toMatchObject([{ name: "third", status: "passed" }]);
  expect(again.err).toContain("skipped, without stored answers: new");
  expect(again.err).toContain("not in the suites: Suite: first, Suite: second");
});

test("the citations and the turns of a chat are judged again", async () => {
  const turns = (cited: string) =>
    `app: chat\ntests: [{ name: a, turns: [{ query: b }, { query: c, expect: [cited ${cited}, 'text contains "c"'] }] }]`;
  await write(folder, { "chat.yaml": turns("leave.md") });
  const saved = file("chat.json");
  const chat = await wf("run", file("chat.yaml"), "--save", saved, "-o", "json");
  const again = await wf("score", saved, "-o", "json");
  expect(testsIn(again.out)).toEqual(testsIn(chat.out));
  expect(again.exit).toBe(chat.exit);
});

test("programs run as in a run: allowed, and near the suite", async () => {
  const checked = (program: string) =>
    suite("run succeeded").replace("expect:", `check: { run: [node, ${program}] }, expect:`);
  await write(folder, {
    "suite.yaml": checked("check.mjs"),
    "other/suite.yaml": checked("../a.mjs"),
  });
  await write(folder, { "a.mjs": "" });
  const refused = await score("--suite", file("suite.yaml"));
  expect(refused.err).toContain(
    `\`wf test score ${file("results.json")} --suite ${file("suite.yaml")} --allow-run\``,
  );
  expect(refused.exit).toBe(2);
  const outside = await score("--suite", file("other/suite.yaml"), "--allow-run");
  expect(outside.err).toContain("which is outside the directory of that file");
  expect(outside.exit).toBe(2);
});

test("results without a test of the suites name them", async () => {
  await write(folder, { "other.yaml": "tests: [{ name: gone, inputs: { query: a } }]" });
  const again = await score("--suite", file("other.yaml"));
  expect(again.err).toContain(`no test of these suites is in ${file("results.json")}`);
  expect(again.exit).toBe(2);
});

test.each<[string, (run: object) => object, number, string]>([
  [
    "turns that store no answers",
    (run) => ({ ...run, turns: [{ query: null }] }),
    2,
    "wf test run",
  ],
  ["no turns", (run) => ({ ...run, turns: undefined }), 2, "has no answers that can be"],
  [
    "damaged turns",
    (run) => ({ ...run, turns: [{ end: { status: 1 }, inputs: 3 }] }),
    2,
    "no answers",
  ],
  [
    "chunks of another type",
    (run) => ({ ...run, found: { chunks: [null, { content: 3 }], names: 1 } }),
    0,
    "",
  ],
  [
    "the wrong question",
    (run) => ({ ...run, turns: [{ end: { status: "succeeded" } }] }),
    10,
    "1 test could not",
  ],
])("results with %s", async (_, change, exit, problem) => {
  const data = JSON.parse(results) as { tests: { results: object[] }[] };
  const [one] = data.tests;
  const changed = { ...data, tests: [{ ...one, results: one?.results.map(change) }] };
  await writeFile(file("old.json"), JSON.stringify(changed));
  const supported = "supported: { at_least: 0 }, expect:";
  await write(folder, { "suite.yaml": suite("run succeeded").replace("expect:", supported) });
  const again = await wf("score", file("old.json"));
  expect(again.err).toContain(problem);
  expect(again.exit).toBe(exit);
});

test("results without tests say which command stores answers", async () => {
  await write(folder, { "suite.yaml": suite("run succeeded") });
  await writeFile(file("none.json"), JSON.stringify({ ...JSON.parse(results), tests: [] }));
  const none = await wf("score", file("none.json"), "--suite", file("suite.yaml"));
  expect(none.exit).toBe(2);
  expect(none.err).toContain("none.json has no answers that can be judged again");
  expect(none.err).toContain(
    `run \`wf test run ${file("suite.yaml")} --save ${file("none.json")}\` once more`,
  );
});

test("a dry run asks the judges of sentences, too", async () => {
  const supported = "supported: { judge: grader }, expect:";
  await write(folder, { "suite.yaml": suite("run succeeded").replace("expect:", supported) });
  const dry = await score("--dry-run");
  expect(dry.err).not.toContain("no judge is asked");
});

test("a dry run writes nothing", async () => {
  await write(folder, { "suite.yaml": asked });
  const dry = await score("--dry-run", "--save", file("dry.json"));
  expect(dry.exit, dry.err).toBe(0);
  expect(dry.err).toContain("no judge is asked: nothing is sent");
  await expect(readFile(file("dry.json"))).rejects.toThrow("ENOENT");
});

test("--reuse asks only what has no stored answer", async () => {
  const questions = (count: string) =>
    `app: echo\ntests: [{ name: a, inputs: { query: one }, expect: [${count}] }, { name: b, inputs: { query: two } }]`;
  await write(folder, { "reuse.yaml": questions("run used 3 steps") });
  const saved = file("reuse.json");
  await wf("run", file("reuse.yaml"), "--repeat", "2", "--save", saved);
  const starts = () => sandbox.seen.filter(({ path }) => path === "/v1/workflows/run").length;
  const asked = starts();
  const changed = questions("'output query is \"one\"'").replace("query: two", "query: three");
  await write(folder, { "reuse.yaml": changed });
  const run = (...args: readonly string[]) =>
    wf("run", file("reuse.yaml"), "--repeat", "3", "--reuse", saved, "-o", "json", ...args);
  const again = await run();
  expect(again.err).toContain("reused 2 of 6 answers");
  expect(starts() - asked).toBe(4);
  const { tests } = JSON.parse(again.out) as {
    tests: { status: string; results: { reused: boolean }[] }[];
  };
  expect(tests[0]?.status).toBe("passed");
  expect(tests[0]?.results.map(({ reused }) => reused)).toEqual([true, true, false]);
  expect((await run("--baseline", saved)).exit).toBe(2);
  const damaged = (await readFile(saved, "utf8")).replaceAll('"inputs":{', '"input":{');
  await writeFile(saved, damaged);
  expect((await run()).err).toContain("reused 0 of 6 answers");
});
