/** Tests of a suite that search knowledge bases, against the sandbox; and kb eval with their questions. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testRun } from "../../../src/commands/measure/suites/command.ts";
import { runWorkflow } from "../../../src/operations/workflows.ts";
import { interruptedWhen } from "../../lib/after-append.ts";
import { write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const requests: string[] = [];
const sandbox = await testSandbox({
  models: true,
  onRequest: ({ method, path }) => void requests.push(`${method} ${path}`),
});
const folder = await temporaryDirectory();
const wf = (...args: readonly string[]) => sandbox.cli(["wf", ...args], { folder });
const done = (line: string) => sandbox.done(line.split(" "), { folder });

await write(folder, {
  "leave.md": "Thirty days of leave a year.\n",
  "parking.md": "Parking is free for guests.\n",
});
await done("kb create Handbook --indexing-technique high_quality");
for (const name of ["leave.md", "parking.md"])
  await done(`kb doc upload Handbook ${join(folder, name)}`);
await done("kb doc wait Handbook");

async function run(text: string, ...flags: readonly string[]) {
  await write(folder, { "suite.yaml": text });
  requests.length = 0;
  return wf("test", "run", join(folder, "suite.yaml"), "-o", "tsv", ...flags);
}
const asked = (pattern: RegExp) => requests.filter((request) => pattern.test(request)).length;
const searches = () => asked(/^POST .*\/retrieve$/);

test("documents that are found and used pass; one search serves all repeats", async () => {
  const ran = await run(
    `
app: assistant
tests:
  - name: leave
    query: How many days of leave?
    search: { kb: Handbook, top: 1, documents: [leave.md], text: Thirty days }
`,
    "--repeat",
    "3",
  );
  expect(ran.exit, ran.out + ran.err).toBe(0);
  expect(ran.out).toContain("passed\tsuite: leave\t3/3\t");
  expect(searches()).toBe(1);
  expect(asked(/chat-messages/)).toBe(3);
});

test("a document that is not found, and one that is found, but not used, are told apart", async () => {
  const ran = await run(`
app: assistant
defaults:
  search: { kb: Handbook, top: 1 }
tests:
  - name: wrong document
    query: How many days of leave?
    search: { documents: [leave.md, parking.md] }
  - name: wrong answer
    query: How many days of leave?
    search: { query: Is parking free for guests?, documents: parking.md }
`);
  expect(ran.exit, ran.out + ran.err).toBe(14);
  expect(ran.out).toContain(
    'suite: wrong document\t"parking.md" is found in Handbook and used\tnot found; found: "leave.md"\t',
  );
  expect(ran.out).not.toContain('wrong document\t"leave.md"');
  expect(ran.out).toContain(
    'suite: wrong answer\t"parking.md" is found in Handbook and used\tfound, but not used; cited: "leave.md"\t',
  );
});

test("a test without a question to the application only searches", async () => {
  const ran = await run(`
tests:
  - name: leave
    search: { kb: Handbook, query: How many days of leave?, documents: leave.md }
  - name: text
    search: { kb: Handbook, query: How many days of leave?, text: Forty days }
`);
  expect(ran.exit, ran.out + ran.err).toBe(14);
  expect(ran.out).toContain("passed\tsuite: leave\t");
  expect(ran.out).toContain(
    'suite: text\t"Forty days" is found in Handbook\tnot found; found: "leave.md", "parking.md"\t',
  );
  expect(asked(/chat-messages|workflows|\/info/)).toBe(0);
});

test("workflows name no sources, so only the search counts", async () => {
  const ran = await run(`
app: echo
tests:
  - name: echo
    inputs: { query: leave }
    search: { kb: Handbook, query: How many days of leave?, documents: leave.md }
`);
  expect(ran.exit, ran.out + ran.err).toBe(0);
});

test("an expected document that is not in the knowledge base is reported, and not found", async () => {
  const ran = await run(`
tests:
  - { name: a, search: { kb: Handbook, query: leave, documents: gone.md } }
`);
  expect(ran.exit).toBe(14);
  expect(ran.err).toContain('not found: "gone.md" (line 3)');
  expect(ran.out).toContain('"gone.md" is found in Handbook\tnot found; found: "');
});

test.each([
  ["query: a, search: { documents: b }", 2, "line 1: search has no kb"],
  ["inputs: { a: 1 }, search: { kb: Handbook, documents: b }", 2, "search has no query"],
  ["query: a, search: { kb: Handbook }", 2, "search expects no documents or text"],
  ["query: a, search: { kb: Handbook, document: b }", 2, "hint: did you mean documents?"],
  ["query: a, search: { kb: Handbook, top: 0, documents: b }", 2, "from 1 to 100"],
  ["query: a, search: Handbook", 2, "expected a mapping"],
  ["answer: b, search: { kb: Handbook, query: a, documents: b }", 2, "the test only searches"],
  ["query: a, search: { kb: Nowhere, documents: b }", 3, 'knowledge base "Nowhere" not found'],
])("%s: exit %d", async (test, exit, problem) => {
  const ran = await run(`tests: [{ name: a, ${test} }]`, "--app", "assistant");
  expect(ran.exit).toBe(exit);
  expect(ran.err).toContain(problem);
  expect(asked(/chat-messages/)).toBe(0);
});

test("without a knowledge key, nothing is asked", async () => {
  await write(folder, {
    "suite.yaml": "tests: [{ name: a, query: a, search: { kb: Handbook, documents: b } }]",
  });
  requests.length = 0;
  const ran = await sandbox.cli(["wf", "test", "run", join(folder, "suite.yaml")], {
    folder: await temporaryDirectory(),
    env: { KB_PROFILE: "", KB_KEY: "", KB_APP_KEY: "app-assistant", DIFY_API_KEY: "" },
  });
  expect(ran.exit, ran.err).toBe(4);
  expect(ran.err).toContain("needs a knowledge key (dataset-…), but none is set");
  expect(requests).toEqual([]);
});

describe("a suite of searches only", () => {
  const onlySearches = `
tests:
  - { name: one, search: { kb: Handbook, query: How many days of leave?, documents: leave.md } }
  - { name: two, search: { kb: Handbook, query: Is parking free?, documents: parking.md } }
`;
  const knowledgeKey = {
    KB_PROFILE: "",
    KB_KEY: "dataset-sandbox",
    KB_APP_KEY: "",
    DIFY_API_KEY: "",
  };

  test("needs no application key", async () => {
    await write(folder, { "suite.yaml": onlySearches });
    const ran = await sandbox.cli(["wf", "test", "run", join(folder, "suite.yaml")], {
      folder: await temporaryDirectory(),
      env: knowledgeKey,
    });
    expect(ran.exit, ran.err).toBe(0);
    expect(ran.out).toContain("# 2 of 2 tests passed\n");
  });

  test("is not sent by a dry run, which writes nothing", async () => {
    const home = await temporaryDirectory();
    await write(folder, { "suite.yaml": onlySearches });
    requests.length = 0;
    const line = ["wf", "test", "run", join(folder, "suite.yaml"), "--dry-run"];
    const ran = await sandbox.cli([...line, "--keep", "all", "--save", join(home, "new/a.json")], {
      folder: home,
    });
    expect([ran.exit, ran.out]).toEqual([0, ""]);
    expect(ran.err).toContain("the suites only search: 2 reads, which --dry-run does not send\n");
    expect(searches()).toBe(0);
    expect(await readdir(home, { recursive: true })).toEqual([]);
  });

  test("can be split into shards, and keeps no recordings", async () => {
    const shard = (index: number) => join(folder, `shard-${index}.json`);
    for (const index of [1, 2]) {
      const ran = await run(
        onlySearches,
        "--shard",
        `${index}/2`,
        "--save",
        shard(index),
        "--keep",
        "all",
        "--keep-to",
        join(folder, "kept"),
      );
      expect(ran.exit, ran.err).toBe(0);
      expect(searches()).toBe(1);
    }
    const merged = await wf("test", "merge", shard(1), shard(2), "-o", "tsv");
    expect(merged.out).toMatch(
      /^# 2 of 2 tests passed\n.*\npassed\tsuite: one\t.*\npassed\tsuite: two\t/,
    );
    expect(await readdir(join(folder, "kept"))).toEqual([]);
  });

  test("continues after an interrupt, but not with another knowledge key", async () => {
    const home = await temporaryDirectory();
    const { id } = JSON.parse((await done("kb show Handbook -o json")).out) as { id: string };
    await write(folder, { "suite.yaml": onlySearches.replaceAll("kb: Handbook", `kb: ${id}`) });
    const line = ["wf", "test", "run", join(folder, "suite.yaml"), "--concurrency", "1"];
    requests.length = 0;
    const world = { folder: home, env: knowledgeKey };
    const interrupted = { ...world, ...interruptedWhen(() => searches() === 1) };
    expect((await sandbox.cli(line, interrupted)).exit).toBe(130);
    const other = { ...world, env: { ...knowledgeKey, KB_KEY: `dataset-bound-${id}` } };
    expect((await sandbox.cli(line, other)).exit).toBe(0);
    expect(searches()).toBe(3);
    const dry = await sandbox.cli([...line, "--dry-run"], world);
    expect(dry.exit, dry.err).toBe(0);
    requests.length = 0;
    const again = await sandbox.cli(line, world);
    expect(again.exit, again.err).toBe(0);
    expect(again.err).toContain("resuming: 1 of 2 runs of tests already done");
    expect(searches()).toBe(1);
  });
});

test("all requests are among the operations that the command names", async () => {
  const ran = await run(`
app: assistant
tests:
  - name: leave
    query: How many days of leave?
    search: { kb: Handbook, documents: [leave.md] }
`);
  expect(ran.exit, ran.err).toBe(0);
  const routes = [runWorkflow, ...(testRun.sends ?? [])].map(
    ({ route }) =>
      new RegExp(`^${route.replace(" /", " /v1/").replaceAll(/\{[^}]*\}/g, "[^/]+")}(\\?.*)?$`),
  );
  expect(requests.filter((request) => !routes.some((route) => route.test(request)))).toEqual([]);
});

test("kb eval measures the searches of a suite", async () => {
  await write(folder, {
    "suite.yaml": `
app: assistant
defaults: { search: { kb: Handbook } }
tests:
  - { name: one, query: How many days of leave?, search: { documents: leave.md } }
  - { name: two, search: { query: Is parking free?, documents: leave.md } }
  - { name: other, search: { kb: Archive, query: a, documents: b } }
  - { name: skipped, skip: true, search: { query: a, documents: gone.md } }
  - { name: no search, query: hello }
`,
  });
  const ran = await sandbox.cli(
    ["kb", "eval", "Handbook", join(folder, "suite.yaml"), "--top-k", "1", "-o", "json"],
    { folder },
  );
  expect(ran.exit, ran.err).toBe(0);
  const { settings } = JSON.parse(ran.out) as { settings: readonly { questions: unknown }[] };
  expect(settings[0]?.questions).toMatchObject([
    { id: "one", question: "How many days of leave?", rank: 1 },
    { id: "two", question: "Is parking free?", rank: null },
  ]);
  const none = await sandbox.cli(["kb", "eval", "Handbook", join(folder, "none.yaml")], { folder });
  expect(none.exit).toBe(2);
});
