/** Schemas, programs, limits and mean scores of answers, against the sandbox. */
import { chmod, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SuiteTest } from "../../../src/commands/measure/suite-file/index.ts";
import { storedRun, storedSelection } from "../../../src/commands/measure/suites/answers/index.ts";
import { checkLimits, overBudget } from "../../../src/commands/measure/suites/runs/run-tests.ts";
import { spawnChild } from "../../../src/host/child-process.ts";
import { write } from "../../lib/directory.ts";
import { workflowJudge } from "../../lib/judge-apps.ts";
import { listening } from "../../lib/listening.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const outputs = { data: '{"days": 30}', text: "30 days", object: { days: "many" } };
const sandbox = await testSandbox({
  applications: [workflowJudge("typed", outputs), workflowJudge("half", { score: 0.5 })],
});
const names = ["echo", "typed", "half"];
const keys = JSON.stringify(Object.fromEntries(names.map((name) => [name, `app-${name}`])));
const folder = await temporaryDirectory();

interface Result {
  readonly status: string;
  readonly checks: readonly Record<string, unknown>[];
  readonly error: string | null;
  readonly score: number | null;
}
type Values = Readonly<Record<string, unknown>>;

async function run(suite: Values, flags: readonly string[] = [], world: World = {}) {
  const tests = (suite["tests"] as Values[]).map((each, index) => ({ name: `t${index}`, ...each }));
  await write(folder, { "suite.yaml": JSON.stringify({ app: "echo", ...suite, tests }) });
  const line = ["wf", "test", "run", join(folder, "suite.yaml"), "-o", "json", ...flags];
  const before = sandbox.seen.length;
  const env = { PATH: process.env["PATH"], KB_SANDBOX_APP_KEYS: keys, ...world.env };
  const ran = await sandbox.cli(line, { spawn: spawnChild, ...world, env });
  const printed = (ran.out === "" ? { tests: [] } : JSON.parse(ran.out)) as {
    readonly tests: readonly { readonly results: readonly Result[] }[];
  };
  const sent = sandbox.seen.slice(before).filter(({ method }) => method === "POST").length;
  return { ...ran, sent, results: printed.tests.flatMap(({ results }) => results) };
}

const said = (query: string, more: Values): Values => ({ inputs: { query }, ...more });
const days = { type: "object", properties: { days: { type: "integer" } }, required: ["days"] };

test("the JSON of an answer or an output fits a schema, of the suite or of a file", async () => {
  await write(folder, {
    "days.json": JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...days }),
  });
  const answers = await run({
    tests: [
      said('```json\n{"days": 30}\n```', { schema: days }),
      said('{"days": "30"}', { schema: "days.json" }),
      said("{}", { schema: { file: "days.json" } }),
      said("30 days", { schema: days }),
      said(`"${"a".repeat(40)}!"`, { schema: { pattern: "^(a+)+$" } }),
      said(`"${"a".repeat(40)}!"`, { schema: { not: { pattern: "^(a+)+$" } } }),
    ],
  });
  expect(answers.results.map(({ checks }) => checks[1])).toMatchObject([
    { kind: "schema", check: "the answer fits the schema", passed: true, actual: "it fits" },
    { passed: false, actual: "/days must be integer" },
    { passed: false, actual: "it must have required property 'days'" },
    { passed: false, actual: 'it is not JSON: "30 days"' },
    { passed: false, actual: "it takes too long to compare" },
    { passed: false, actual: "it takes too long to compare" },
  ]);
  const of = (name: string, schema: Values) => ({
    inputs: { answer: "a" },
    schema: { of: name, ...schema },
  });
  const typed = await run({
    app: "typed",
    tests: [of("data", days), of("text", { type: "string" }), of("object", days), of("gone", days)],
  });
  expect(typed.results.map(({ checks }) => checks[1])).toMatchObject([
    { check: 'output "data" fits the schema', passed: true },
    { passed: true },
    { passed: false, actual: "/days must be integer" },
    { passed: false, actual: 'it is not JSON: ""' },
  ]);
});

test.each([
  [{ schema: "none.json" }, "schema none.json cannot be read: file not found"],
  [{ schema: { type: "integral" } }, "schema is not valid"],
  [{ schema: { $async: true } }, "schema is not valid: it has $async"],
  [{ schema: { $ref: "http://127.0.0.1/s.json" } }, "schema is not valid: can't resolve reference"],
  [{ schema: { file: "days.json", type: "object" } }, "schema has a file"],
  [{ schema: { of: 1 } }, "of and file of schema are texts"],
  [{ schema: "/etc/hostname" }, "outside the directory of that file"],
  [{ check: { timeout: 1 } }, "check has no program to run"],
  [{ check: { run: "../check" } }, "which needs --allow-run"],
  [{ weights: { judges: 1 } }, "is not one of expect, answer, judge"],
  [{ weights: { judge: -1 } }, "expected a number from 0 to 1000"],
])("%j is refused before anything is asked", async (values, problem) => {
  const ran = await run({ tests: [said("a", values)] });
  expect(ran.exit).toBe(2);
  expect(ran.err.replaceAll(`${folder}/`, "")).toContain(problem);
  expect(ran.sent).toBe(0);
});

/** A program for Node.js beside the suite. */
async function program(code: string): Promise<readonly string[]> {
  await write(folder, {
    "check.mjs": `let input = "";
for await (const part of process.stdin) input += part;
const given = JSON.parse(input);
${code}`,
  });
  return ["node", "check.mjs"];
}

const allowed = ["--allow-run"];

test("a program runs only with --allow-run, and the refusal names it and the line", async () => {
  const line = await program('console.log("ran");');
  const suite = { tests: [said("a", { check: { run: line } })] };
  const world: World = {
    spawn: () => {
      throw new Error("it ran");
    },
  };
  const ran = await run(suite, [], world);
  expect(ran.exit).toBe(2);
  expect(ran.err).toContain(`check runs the program ${line.join(" ")}, which needs --allow-run`);
  expect(ran.err).toContain(`\`wf test run ${join(folder, "suite.yaml")} --allow-run\``);
  expect(ran.sent).toBe(0);
  const skipped = await run({
    tests: [...suite.tests.map((each) => ({ ...each, skip: true })), said("a", {})],
  });
  expect(skipped.exit).toBe(0);
});

test("a program gets the answer, in its directory and without keys, and decides", async () => {
  const line = await program(`
const { KB_KEY, KB_APP_KEY, KB_SANDBOX_APP_KEYS } = process.env;
const keys = [KB_KEY, KB_APP_KEY, KB_SANDBOX_APP_KEYS].filter(Boolean);
const isHere = (await import("node:fs")).existsSync("suite.yaml");
const reason = JSON.stringify([given.question, given.answer, given.outputs, given.expected, given.turns.length, isHere, keys.length]);
console.log(JSON.stringify(given.answer === "good" ? { pass: true, score: 1, reason } : { pass: false, reason: "no" }));`);
  const check = { run: line };
  const { results } = await run(
    {
      tests: [said("good", { check, answer: "good" }), said("bad", { check })],
    },
    allowed,
    { env: { KB_APP_KEY: "app-echo" } },
  );
  expect(results.map(({ checks }) => checks.at(-1))).toMatchObject([
    { kind: "check", passed: true, score: 1, actual: expect.stringContaining("score 1: ") },
    { passed: false, actual: 'verdict fail: "no"' },
  ]);
  expect(String(results[0]?.checks.at(-1)?.["actual"])).toContain(
    String.raw`["good","good",{"query":"good"},["good"],1,true,0]`.replaceAll('"', String.raw`\"`),
  );
});

/** A shell script that prints these lines. */
const prints = (...lines: readonly string[]) =>
  `printf '%s\\n' ${lines.map((line) => `'${line.replaceAll("'", String.raw`'\''`)}'`).join(" ")}; `;

const decisions: readonly (readonly [code: string, status: string, actual: string])[] = [
  ["exit 0", "passed", "exit code 0"],
  ["exit 1", "failed", "exit code 1"],
  [prints(""), "passed", "exit code 0"],
  [`${prints("too few")} exit 1`, "failed", 'exit code 1: "too few'],
  [prints('{"score": 0.5}'), "passed", "score 0.5"],
  [prints('{"score": 0.4}'), "failed", "score 0.4"],
  [prints('{"score": 0.9, "pass": false}'), "failed", "score 0.9"],
  [`${prints('{"pass": false}')} exit 1`, "failed", "verdict fail"],
  [`${prints('{"pass": false}')} echo no >&2; exit 1`, "failed", 'verdict fail: "no"'],
  // The last verdict decides, whatever is around it.
  [prints("INFO loading", '{"pass": false}'), "failed", "verdict fail"],
  [prints('{"pass": true}', '{"pass": false}', "done"), "failed", "verdict fail"],
  [prints('{"pass": false}', '{"level": 1}', '  {"pass": true}\r'), "passed", "verdict pass"],
  [prints('{"pass": true}', '{"log": {"score": 0}}'), "passed", "verdict pass"],
  [prints("{", '  "pass": false', "}"), "failed", "verdict fail"],
  // Neither yes nor no.
  [prints("FAIL: too few"), "error", "must print"],
  [prints("[INFO] fine"), "error", "must print"],
  [prints('{"passed": false}'), "error", "must print"],
  [prints('{"level": "info"}', "done"), "error", "must print"],
  [prints("INFO", "{", '  "pass": false', "}"), "error", "must print"],
  [prints('{"score": NaN}'), "error", "must print"],
  [prints('{"pass": true}', '{"score": NaN}'), "error", "must print"],
  [prints('{"pass": true, "score": Infinity}'), "error", "must print"],
  [prints('{"score": 1e999}'), "error", "must print"],
  [prints('{"score": 5}'), "error", "must print"],
  [prints('{"score": -0.1}'), "error", "must print"],
  [prints('{"score": "1"}'), "error", "must print"],
  [prints('{"pass": true, "score": null}'), "error", "must print"],
  [prints('{"pass": null, "score": 1}'), "error", "must print"],
  [prints('{"pass": 1}'), "error", "must print"],
  [prints('{"pass": "true"}'), "error", "must print"],
  [prints("{'pass': False}"), "error", "must print"],
  [prints('INFO:check:{"pass": false}'), "error", "must print"],
  [prints("False"), "error", "must print"],
  // A program that broke.
  ["exec node -e 'let = ;'", "error", "ended with exit code 1: "],
  [`${prints("loading")} echo Error: gone >&2; exit 1`, "error", 'code 1: "Error: gone"'],
  [`${prints('{"pass": true}')} exit 1`, "error", "ended with exit code 1"],
  [`${prints('{"pass": 1}')} exit 1`, "error", "must print"],
  [`${prints("loading", "False")} exit 1`, "error", "must print"],
  [`${prints('{"pass": true}')} exit 3`, "error", "ended with exit code 3"],
  [`${prints('{"pass": true}')} kill -9 $$`, "error", "ended with exit code 137"],
  ["head -c 2000000 /dev/zero", "error", "it writes more than 1048576 bytes"],
];

test("a program decides by its last verdict, or says nothing", async () => {
  const scripts = decisions.map(([code], index) => [`decides${index}.sh`, code] as const);
  await write(folder, Object.fromEntries(scripts));
  const tests = scripts.map(([name]) => said("a", { check: { run: ["sh", name] } }));
  const { results, exit } = await run({ tests }, allowed);
  expect(exit).toBe(10);
  for (const [index, [code, status, actual]] of decisions.entries()) {
    const { error, checks, ...result } = results[index] ?? { error: "", checks: [] };
    expect(result, code).toMatchObject({ status });
    expect(error ?? checks.at(-1)?.["actual"], code).toContain(actual);
  }
});

rareTest("a schema that refers to itself costs the other tests nothing: 10", async () => {
  const files = ["saved.json", "tests.xml"].map((name) => join(folder, name));
  const [saved = "", junit = ""] = files;
  const self = { $ref: "#" };
  const tests = [
    said("{}", { schema: self }),
    said("{}", { schema: { allOf: [self] } }),
    said('{"next": {}}', { schema: { type: "object", properties: { next: self } } }),
    said("a", {}),
  ];
  const ran = await run({ tests }, ["--save", saved, "--junit", junit]);
  expect(ran.exit).toBe(10);
  expect(ran.results.map(({ status }) => status)).toEqual(["error", "error", "passed", "passed"]);
  expect(ran.results[0]?.error).toContain("schema refers to itself without an end");
  const [stored, xml] = await Promise.all(files.map((path) => readFile(path, "utf8")));
  expect(JSON.parse(stored ?? "")).toMatchObject({ tests: [{}, {}, {}, { status: "passed" }] });
  expect(xml).toContain('tests="4" failures="0" errors="2"');
  const again = await sandbox.cli(["wf", "test", "score", saved, "-o", "json"]);
  expect(again.exit).toBe(10);
  const endless = { $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } };
  const refused = await run({ tests: [said("{}", { schema: { ...endless, $ref: "#/$defs/a" } })] });
  expect([refused.exit, refused.sent]).toEqual([2, 0]);
  expect(refused.err).toContain("schema refers to itself without an end");
});

test("an interrupt kills the program: 130", async () => {
  const interrupt = new AbortController();
  const server = createServer();
  const address = await listening(server);
  const killed = new Promise((resolve) => {
    server.once("connection", (socket) => {
      socket.on("error", () => {}).once("close", resolve);
      interrupt.abort("SIGINT");
    });
  });
  const line = await program(`await fetch("${address}");`);
  const suite = { tests: [said("a", { check: { run: line } })] };
  const ran = await run(suite, allowed, { signal: interrupt.signal });
  expect(ran.exit).toBe(130);
  await killed;
});

test("a program that is not there, or takes too long, cannot judge: 10", async () => {
  const forever = await program("setInterval(() => {}, 1000);");
  const ran = await run(
    {
      tests: [
        said("a", { check: { run: "no-such-program" } }),
        said("a", { check: { run: forever, timeout: 0.5 } }),
      ],
    },
    allowed,
  );
  expect(ran.exit).toBe(10);
  expect(ran.results.map(({ error }) => error)).toEqual([
    expect.stringContaining("check no-such-program could not be run"),
    expect.stringContaining("took longer than 0.5 s"),
  ]);
});

test("a program with a path is a file of the suite's directory", async () => {
  await write(folder, { "check.sh": "#!/bin/sh\ncat > /dev/null; echo ran; exit 1\n" });
  await chmod(join(folder, "check.sh"), 0o755);
  const { results } = await run({ tests: [said("a", { check: { run: "./check.sh" } })] }, allowed);
  expect(results[0]?.checks.at(-1)).toMatchObject({ passed: false, actual: 'exit code 1: "ran"' });
  const outside = await run({ tests: [said("a", { check: { run: "/bin/sh" } })] }, allowed);
  expect(outside.exit).toBe(2);
  expect(outside.err).toContain("which is outside the directory of that file");
});

test("a test is over its limits, or a suite over its budget: 14", async () => {
  let clock = 0;
  const world = { elapsed: () => (clock += 100) };
  const tests = [said("a", { max_seconds: 3600, max_tokens: 0 }), said("a", { max_seconds: 0 })];
  const ran = await run({ tests }, [], world);
  expect(ran.exit).toBe(14);
  expect(ran.results.map(({ checks }) => checks.slice(1))).toMatchObject([
    [
      { kind: "limits", check: "all turns use at most 0 tokens", passed: true },
      { check: "all turns use at most 3600 seconds", passed: true },
    ],
    [{ passed: false }],
  ]);
  const budget = await run(
    { budget: { seconds: 0, tokens: 5 }, tests: [said("a", {})] },
    [],
    world,
  );
  expect(budget.exit).toBe(14);
  expect(budget.err).toMatch(/over budget: suite suite used [\d.]+ seconds? of at most 0"/);
  expect((await run({ budget: { seconds: 60 }, tests: [said("a", {})] })).exit).toBe(0);
});

test("with score_at_least, the weighted mean of the checks decides", async () => {
  const checks = { answer: "good", compare: "exact", judge: "half" };
  // The run succeeded (1), the answer differs (0), the judge gives 0.5.
  const weights = { expect: 1, answer: 0, judge: 3 };
  const { results } = await run({
    defaults: { weights: { answer: 1, judge: 9 } },
    tests: [
      said("bad", checks),
      said("bad", { ...checks, score_at_least: 0.47, weights: { judge: 1 } }),
      said("bad", { ...checks, score_at_least: 0.51, weights: { judge: 1 } }),
      said("bad", { ...checks, score_at_least: 0.625, weights }),
      said("bad", { ...checks, score_at_least: 0.9, weights: { expect: 0, answer: 0, judge: 0 } }),
    ],
  });
  expect(results.map(({ status, score }) => [status, score])).toEqual([
    ["failed", null],
    ["passed", 0.5],
    ["failed", 0.5],
    ["passed", 0.625],
    ["failed", null],
  ]);
});

const limited = (maxTokens: number, turns: number) =>
  ({ maxTokens, turns: Array.from({ length: turns }, () => ({})) }) as unknown as SuiteTest;
const used = (...tokens: readonly (number | null)[]) =>
  storedRun({
    tokens: 10,
    seconds: 1,
    turns: tokens.map((each) => ({ end: { status: "succeeded", tokens: each } })),
  });

test("a limit is not met by a sum that lacks a turn, and needs turns", () => {
  expect(checkLimits(limited(15, 2), used(5, 5)).checks).toMatchObject([{ passed: true, turn: 2 }]);
  expect(checkLimits(limited(15, 2), used(10, null))).toEqual({ checks: [], unknown: "tokens" });
  expect(checkLimits(limited(15, 0), used())).toEqual({ checks: [], unknown: undefined });
});

test.each([null, { tokens: null }, 5])("a budget of results may be anything: %j", (budget) => {
  const results = [storedRun({ tokens: "5" })];
  const selection = storedSelection({ suites: [{ name: "a", budget }] });
  expect(overBudget([{ suite: "a", results }], selection)).toEqual([]);
});

test("programs of a suite that others can change are not run", async () => {
  const suite = { tests: [said("a", { check: { run: ["true"] } })] };
  await run(suite);
  for (const mode of [0o666, 0o664]) {
    await chmod(join(folder, "suite.yaml"), mode);
    const ran = await run(suite, ["--allow-run"]);
    expect(ran).toMatchObject({ exit: 2, sent: 0 });
    expect(ran.err).toContain("the programs of its checks were not run, because others can change");
  }
  const env = { KB_TRUST_FILES: "1" };
  expect((await run(suite, ["--allow-run"], { env })).sent).toBe(1);
});
