/** What answers were made of: chunks in checks and in what judges get, against the sandbox. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { supportedSentences } from "../../../src/commands/measure/suites/answers/check-chunks.ts";
import { write } from "../../lib/directory.ts";
import { chatJudge, requiredField, workflowJudge } from "../../lib/judge-apps.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const applications = [
  workflowJudge("told", { verdict: "pass" }, requiredField("context")),
  workflowJudge("strict", { verdict: "fail", reason: "not stated" }),
  workflowJudge("mute", {}),
  chatJudge("chatting", '{"verdict": "pass"}'),
];
const sandbox = await testSandbox({ models: true, applications });
const names = ["assistant", "echo", "told", "strict", "mute", "chatting"];
const keys = JSON.stringify(Object.fromEntries(names.map((name) => [name, `app-${name}`])));
const folder = await temporaryDirectory();
const done = (line: string) => sandbox.done(line.split(" "), { folder });

await write(folder, {
  "leave.md": "Thirty days of leave a year.\n",
  "parking.md": "Parking is free for guests.\n",
});
await done("kb create Handbook --indexing-technique high_quality");
for (const name of ["leave.md", "parking.md"])
  await done(`kb doc upload Handbook ${join(folder, name)}`);
await done("kb doc wait Handbook");

interface Result {
  readonly status: string;
  readonly checks: readonly Record<string, unknown>[];
  readonly error: string | null;
  readonly answer: string | null;
  readonly found: unknown;
}
type Values = Readonly<Record<string, unknown>>;

async function run(app: string, tests: readonly Values[], flags: readonly string[] = []) {
  const before = sandbox.seen.length;
  const named = tests.map((each, index) => ({ name: `test ${index}`, ...each }));
  await write(folder, { "suite.yaml": JSON.stringify({ app, tests: named }) });
  const line = ["wf", "test", "run", join(folder, "suite.yaml"), "-o", "json", ...flags];
  const ran = await sandbox.cli(line, { folder, env: { KB_SANDBOX_APP_KEYS: keys } });
  const printed = (ran.out === "" ? { tests: [] } : JSON.parse(ran.out)) as {
    readonly tests: readonly { readonly results: readonly Result[] }[];
  };
  const sentTo = (name: string) =>
    sandbox.seen
      .slice(before)
      .filter(
        ({ method, headers }) =>
          method === "POST" && headers["authorization"] === `Bearer app-${name}`,
      )
      .map(({ body }) => JSON.parse(new TextDecoder().decode(body)) as Record<string, Values>);
  return { ...ran, sentTo, results: printed.tests.flatMap(({ results }) => results) };
}

const search = {
  kb: "Handbook",
  query: "How many days of leave?",
  top: 2,
  documents: ["leave.md"],
};
const said = (query: string, more: Values): Values => ({ inputs: { query }, search, ...more });

test("the results have what the search found", async () => {
  const { results } = await run("echo", [said("hello", {})]);
  expect(results[0]?.found).toEqual({
    query: search.query,
    top: 2,
    expected: ["leave.md"],
    names: { "leave.md": "leave.md" },
    documents: ["leave.md", "parking.md"],
    chunks: [
      { document: "leave.md", content: "Thirty days of leave a year." },
      { document: "parking.md", content: "Parking is free for guests." },
    ],
  });
});

test("judges get the chunks: as an input if their form has it, or as marked parts", async () => {
  const query = "How many days of leave?";
  const ran = await run("assistant", [
    { query, judge: "told" },
    { query, judge: "strict" },
    { query, judge: "chatting" },
  ]);
  expect(ran.results.map(({ status }) => status)).toEqual(["passed", "failed", "passed"]);
  const [told] = ran.sentTo("told");
  expect(told?.["inputs"]?.["context"]).toContain("leave.md\nThirty days of leave a year.");
  expect(ran.sentTo("strict")[0]?.["inputs"]).not.toHaveProperty("context");
  const [chat] = ran.sentTo("chatting");
  expect(chat?.["query"]).toMatch(
    /--- begin source (\w+) ---\nleave.md\nThirty days of leave a year.\n--- end source \1 ---/,
  );
});

test("sentences that no chunk has are named, unless the judge supports them", async () => {
  const answer =
    "Thirty days of leave a year. Guests pay nothing for parking. It is 40 days of leave.";
  const ran = await run("echo", [
    said("Thirty days of leave.", { supported: true }),
    said(answer, { supported: true }),
    said(answer, { supported: { at_least: 0.3 } }),
    said(answer, { supported: { judge: "told" } }),
    said(answer, { supported: { judge: "strict" } }),
    said(answer, { supported: { judge: "mute" } }),
    { inputs: { query: "Thirty days." }, supported: { judge: "told" } },
    said("Yes.", { supported: true }),
  ]);
  const open = 'not supported: "Guests pay nothing for parking.", "It is 40 days of leave."';
  const checkOf = ({ checks }: Result) =>
    checks.find(({ check }) => /sentences/.test(String(check)));
  expect(ran.results.map(checkOf)).toMatchObject([
    {
      passed: true,
      score: 1,
      actual: "1 of 1 sentence",
      check: "at least 100 % of the sentences are in the chunks",
    },
    { passed: false, score: 1 / 3, actual: `1 of 3 sentences; ${open}` },
    { passed: true, score: 1 / 3 },
    { passed: true, score: 1, actual: "3 of 3 sentences; judge told: verdict pass" },
    {
      passed: false,
      actual: `1 of 3 sentences; judge strict: verdict fail: "not stated"; ${open}`,
    },
    undefined,
    { actual: '0 of 1 sentence; there are no chunks; not supported: "Thirty days."' },
    { passed: true, score: 1, actual: "0 of 0 sentences" },
  ]);
  expect(ran.results[5]).toMatchObject({
    status: "error",
    error: expect.stringContaining("judge mute"),
  });
  expect(ran.sentTo("told")).toHaveLength(1);
  expect(ran.sentTo("told")[0]?.["inputs"]).toMatchObject({
    answer: "Guests pay nothing for parking.\nIt is 40 days of leave.",
  });
});

test.each([
  ["Thirty days of leave a year.", true],
  ["There are thirty days of leave.", true],
  ["Leave is 30 days.", true],
  ["Leave is 40 days.", false],
  ["There are thirty pens.", false],
  ["You get leave.", true],
  ["There are not thirty days of leave.", false],
  ["休暇は20日です。", true],
  ["休暇は12日です。", false],
])("%j is supported: %j", (sentence, isSupported) => {
  const chunks = ["Parking", "There are thirty days of leave a year.", "休暇は20日です。"];
  const { open } = supportedSentences(sentence, chunks, { share: 0.7 });
  expect(open).toEqual(isSupported ? [] : [sentence]);
});

test("recall and precision compare the documents of the chunks", async () => {
  const query = "How many days of leave?";
  const documents = ["leave.md", "parking.md"];
  const both = { ...search, documents };
  const checksOf = ({ results }: Awaited<ReturnType<typeof run>>) =>
    results.map(({ checks }) => checks[1]);
  // The reply cites one document, and the search finds two.
  expect(
    checksOf(await run("assistant", [{ query, search: both, context_recall: 0.6 }])),
  ).toMatchObject([{ passed: false, score: 0.5, actual: '1 of 2; missing: "parking.md"' }]);
  const ran = await run("echo", [
    said("hello", { context_recall: 0.5 }),
    said("hello", { context_precision: 1 }),
    said("hello", { context_recall: { documents: [...documents, "gone.md"], at_least: 0.7 } }),
    { search: both, context_precision: 0.9 },
    { inputs: { query: "hello" }, context_precision: { documents } },
  ]);
  expect(checksOf(ran).slice(0, 3)).toMatchObject([
    {
      passed: true,
      score: 1,
      actual: "1 of 1",
      check: "chunks are of at least 50 % of the expected documents",
    },
    { passed: false, score: 0.5, actual: '1 of 2; others: "parking.md"' },
    { passed: false, score: 2 / 3, actual: '2 of 3; missing: "gone.md"' },
  ]);
  expect(ran.results[3]?.checks[2]).toMatchObject({ passed: true, score: 1, actual: "2 of 2" });
  expect(ran.results[4]?.checks[1]).toMatchObject({ passed: false, score: 0, actual: "0 of 0" });
});

test.each([
  [{ context_recall: 0.5 }, "context_recall has no documents, and neither has search"],
  [{ context_precision: 2 }, "expected a number from 0 to 1"],
  [{ supported: "yes" }, "expected true or false"],
  [{ supported: { sharing: 1 } }, "is not one of judge, at_least, share"],
  [{ search, supported: true }, "the test only searches, so it has no answer for supported"],
])("%j is refused before anything is asked", async (values, problem) => {
  const ran = await run("echo", [values]);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(problem);
});

test("wf test score judges what the search found, and names the documents as it did", async () => {
  const listed = await sandbox.cli(["kb", "doc", "list", "Handbook", "-o", "json"], { folder });
  const all = JSON.parse(listed.out) as { readonly id: string; readonly name: string }[];
  const documents = all.filter(({ name }) => name === "leave.md").map(({ id }) => id);
  const own = { context_recall: 1, context_precision: 0.9, search: { ...search, documents } };
  const tests = [own, said("hello", { ...own, inputs: { query: "hello" } })];
  const ran = await run("echo", tests, ["--save", join(folder, "found.json")]);
  const score = async () => {
    const line = ["wf", "test", "score", join(folder, "found.json"), "-o", "json"];
    const again = await sandbox.cli(line, { folder, env: { KB_SANDBOX_APP_KEYS: keys } });
    const { tests: all } = JSON.parse(again.out) as { tests: { results: Result[] }[] };
    return all.flatMap(({ results }) => results);
  };
  const checksOf = (results: readonly Result[]) => results.map(({ checks }) => checks);
  expect(checksOf(await score())).toEqual(checksOf(ran.results));
  expect(ran.results.map(({ status }) => status)).toEqual(["failed", "failed"]);
  await write(folder, {
    "suite.yaml": JSON.stringify({
      app: "echo",
      tests: [{ name: "test 0", ...own, search: { ...own.search, query: "Parking?" } }],
    }),
  });
  expect((await score())[0]?.error).toContain("its search has changed");
});
