// Runs the long tests, whole or in parts: `npm run test:long [-- --shard 2/4] [--fresh]`. Files that passed on
// this commit, in a clean tree, are not run again unless `--fresh` is given. The last line is the sum of all
// files that were run on this commit: `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { createVitest } from "vitest/node";
import { prepare, root } from "./prepare.mjs";

const { values: options } = parseArgs({
  options: {
    shard: { type: "string", default: "1/1" },
    fresh: { type: "boolean", default: false },
  },
});
const [, index, count] = /^(\d+)\/(\d+)$/.exec(options.shard)?.map(Number) ?? [];
if (!(index >= 1 && index <= count)) {
  console.error(`invalid --shard ${options.shard}: 2/4 is the second of four parts`);
  process.exit(2);
}

/** Seconds of processor time of the files that take long; all others take less than `USUAL`. */
const seconds = {
  "test/cli/examples.test.ts": 60,
  "test/long/examples.test.ts": 240,
  "test/long/following.test.ts": 400,
  "test/long/fuzz.test.ts": 300,
  "test/long/hostile-responses.test.ts": 400,
  "test/long/kills.test.ts": 200,
  "test/long/many-files.test.ts": 120,
  "test/long/mutated-responses.test.ts": 500,
  "test/long/pages.test.ts": 120,
  "test/long/servers.test.ts": 120,
  "test/long/simulator.test.ts": 500,
  "test/long/suite-gate.test.ts": 200,
  "test/long/sync-kills.test.ts": 300,
  "test/long/torture.test.ts": 500,
  "test/long/tune-kills.test.ts": 90,
  "test/long/tuning-rates.test.ts": 60,
  "test/long/watchdog.test.ts": 300,
};
const USUAL = 30;
const secondsOf = (file) => seconds[file] ?? USUAL;

/** Files in parts that take about as long as each other: the longest first, each to the shortest part. */
function partsOf(files) {
  const parts = Array.from({ length: count }, () => ({ files: [], seconds: 0 }));
  for (const file of files.toSorted((a, b) => secondsOf(b) - secondsOf(a) || (a < b ? -1 : 1))) {
    const part = parts.reduce((least, each) => (each.seconds < least.seconds ? each : least));
    part.files.push(file);
    part.seconds += secondsOf(file);
  }
  return parts.map((part) => part.files);
}

const git = (...args) =>
  spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout?.trim() ?? "";

/** Results by file, kept for a commit whose tree is clean. */
class Results {
  #path;
  #files = {};

  constructor() {
    const commit = git("rev-parse", "HEAD");
    if (commit === "" || git("status", "--porcelain") !== "") return;
    const cache = join(root, "node_modules", ".cache");
    mkdirSync(cache, { recursive: true });
    this.#path = join(cache, `kb-wf-long-${commit}-${process.version}.json`);
    if (options.fresh) return;
    try {
      this.#files = JSON.parse(readFileSync(this.#path, "utf8"));
    } catch {
      // nothing was run yet
    }
  }

  hasPassed(file) {
    return this.#files[file]?.failed === 0;
  }

  isKnown(file) {
    return file in this.#files;
  }

  set(file, result) {
    this.#files[file] = result;
    if (this.#path !== undefined) writeFileSync(this.#path, JSON.stringify(this.#files, null, 1));
  }

  sum(name) {
    return Object.values(this.#files).reduce((sum, result) => sum + result[name], 0);
  }
}

prepare();
// The tests do not need them, and Node.js 20 spends about 45 ms on them at each start.
delete process.env.NODE_EXTRA_CA_CERTS;
const results = new Results();
/** Keeps the result of each file as soon as it has ended. */
const keeper = {
  onTestModuleEnd(module) {
    const tests = [...module.children.allTests()];
    const failed = tests.filter((test) => test.result().state === "failed").length;
    const passed = tests.filter((test) => test.result().state === "passed").length;
    // A file that fails to load has no failed test.
    const isBroken = failed === 0 && module.state() === "failed";
    results.set(relative(root, module.moduleId), { passed, failed: isBroken ? 1 : failed });
  },
};
const vitest = await createVitest("test", {
  root,
  watch: false,
  project: ["long"],
  reporters: ["default", keeper],
});
const all = await vitest.globTestSpecifications();
const fileOf = ({ moduleId }) => relative(root, moduleId);
const files = all.map(fileOf);
const part = partsOf(files)[index - 1].filter((file) => !results.hasPassed(file));
console.log(`${part.length} of ${files.length} files are run`);
if (part.length > 0) {
  await vitest.standalone();
  await vitest.runTestSpecifications(all.filter((each) => part.includes(fileOf(each))));
}
await vitest.close();
const unknown = files.filter((file) => !results.isKnown(file));
if (unknown.length > 0)
  console.log(`not run on this commit: ${unknown.length} of ${files.length} files`);
const failed = results.sum("failed");
console.log(`${results.sum("passed")} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
