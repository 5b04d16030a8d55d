// Plants the bugs of test/planted, each in a run of its own, and tells which of them the tests find:
//   npm run planted                     all; the tests without a bug first
//   npm run planted -- --only NAME      those whose names contain this
//   npm run planted -- --shard 1/2      half of them
//   npm run planted -- --sample 6 --seed 3
// A bug is planted while the code is loaded for a test: no file is changed.
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import config from "../vitest.config.mjs";
import { bugs, fileOf, planted } from "./planted/bugs.mjs";
import { prepare, root } from "./prepare.mjs";
import { runProjects } from "./run-projects.mjs";

const text = { type: "string" };
const { values: options } = parseArgs({
  options: { only: { ...text, multiple: true }, shard: text, sample: text, seed: text },
});

prepare(); // some tests start the programs

/** Bugs that are tested by one start of vitest, each of which keeps all of the code in memory. */
const AT_ONCE = 8;
/** A bug can make a test wait for ever. */
const TIMEOUT_MS = 120_000;

const [{ test: quick }] = config.test.projects;

/** A project of vitest: these test files with all rows of their tables, and the code that `transform` changes. */
const projectOf = (name, tests, transform) => ({
  plugins: [{ name: "plant", enforce: "pre", transform }],
  root,
  test: {
    ...quick,
    name,
    include: tests,
    exclude: [],
    env: { TEST_ROWS: "all" },
    testTimeout: TIMEOUT_MS,
  },
});

/** Runs test files of projects; resolves with the tests by the name of the project. */
async function run(projects, only = new Map()) {
  const select = (file) => {
    const pattern = only.get(file.project.name);
    if (pattern === undefined) return file;
    return file.project.createSpecification(file.moduleId, {
      testNamePattern: new RegExp(pattern),
    });
  };
  const workers = availableParallelism();
  const { testModules: modules } = await runProjects(projects, { workers, select });
  const results = new Map(projects.map(({ test }) => [test.name, { tests: [], errors: [] }]));
  for (const module of modules) {
    const { tests, errors } = results.get(module.project.name);
    tests.push(...module.children.allTests());
    errors.push(...module.errors().map(({ message }) => `${module.relativeModuleId}: ${message}`));
  }
  return results;
}

const namesOf = (tests, state) =>
  tests.filter((test) => test.result().state === state).map(({ fullName }) => fullName);

/** Runs all test files of the bugs without a bug; returns what is wrong with them. */
async function control(chosen) {
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))];
  const { tests, errors } = (await run([projectOf("control", files)])).get("control");
  const passed = namesOf(tests, "passed");
  const unused = chosen.filter(
    ({ only }) => only !== undefined && !passed.some((name) => new RegExp(only).test(name)),
  );
  return [
    ...errors,
    ...namesOf(tests, "failed").map((name) => `fails without a bug: ${name}`),
    ...unused.map(({ name, only }) => `${name}: no test has the name ${only}`),
  ];
}

/** Plants each of these bugs; returns how many were not found. */
async function plantAll(some) {
  const projects = [];
  let missed = 0;
  for (const bug of some) {
    try {
      const file = fileOf(bug);
      const transform = (code, id) => (id.split("?")[0] === file ? planted(bug, code) : null);
      projects.push(projectOf(bug.name, bug.tests, transform));
    } catch (error) {
      missed++;
      console.log(`NOT FOUND  ${bug.name}  (${error.message})`);
    }
  }
  if (projects.length === 0) return missed;
  const results = await run(projects, new Map(some.map(({ name, only }) => [name, only])));
  for (const { name, tests } of some.filter((bug) => results.has(bug.name))) {
    const { tests: all, errors } = results.get(name);
    const [seen] = namesOf(all, "failed");
    if (seen === undefined) missed++;
    const where = seen ?? [...errors, `passed: ${tests.join(", ")}`][0];
    console.log(`${seen === undefined ? "NOT FOUND" : "found"}  ${name}  (${where})`);
  }
  return missed;
}

/** Some of the bugs: every nth from a place that the seed chooses, without those of slow tests. */
function sampled(count, seed) {
  const quickOnes = bugs.filter(({ slow }) => !slow);
  const step = quickOnes.length / count;
  return Array.from({ length: count }, (_, at) => {
    const index = Math.floor(at * step + seed) % quickOnes.length;
    return quickOnes[index];
  });
}

/** A number that the commit decides: each commit plants other bugs, each run of it the same. */
function seedOfCommit() {
  const { stdout } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
  return Number.parseInt(stdout?.slice(0, 6) || "0", 16);
}

/** Every nth bug, so that the slow ones of a file are in all shards. */
function inShard({ shard = "1/1" }, all) {
  const [number, count] = shard.split("/").map(Number);
  return all.filter((_, index) => index % count === number - 1);
}

const { only = [""], sample } = options;
const seed = Number(options.seed ?? seedOfCommit());
const chosen =
  sample === undefined
    ? inShard(
        options,
        bugs.filter(({ name }) => only.some((part) => name.includes(part))),
      )
    : sampled(Number(sample), seed);
// In `npm test`, which plants a sample, the tests run without a bug anyway.
const problems = sample === undefined ? await control(chosen) : [];
for (const problem of problems) console.log(problem);
let missed = 0;
for (let at = 0; at < chosen.length && problems.length === 0; at += AT_ONCE)
  missed += await plantAll(chosen.slice(at, at + AT_ONCE));
const found = problems.length === 0 ? chosen.length - missed : 0;
console.log(`${found} passed, ${missed + problems.length} failed`);
process.exit(missed + problems.length === 0 && chosen.length > 0 ? 0 : 1);
