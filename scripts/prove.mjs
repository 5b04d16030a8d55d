// Runs whole what the long tests sample, which takes hours: `npm run prove -- NAME...`; without a name, the list.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { prepare, root, tool } from "./prepare.mjs";

/** Each is long tests without sampling, with more in their environment, a script with arguments, or both. */
const proofs = {
  torture: { what: "every fault at every call to the host", tests: ["torture"] },
  mutated: {
    what: "every field of every response, damaged in every way",
    tests: ["mutated-responses", "damaged-tasks"],
    env: { MUTATION_SHARE: "1", MUTATION_EACH: "1" },
  },
  hostile: {
    what: "every response with hostile text, in every format",
    tests: ["hostile-responses"],
  },
  fuzz: { what: "a million random inputs for all parsers and printers", tests: ["fuzz"] },
  watchdog: {
    what: "every command against a server that does not respond",
    tests: ["watchdog"],
  },
  splitting: { what: "100,000 generated texts, split as servers do", tests: ["splitting"] },
  verdicts: {
    what: "200 to 1,000 applications for each of 327 ways to run a suite; suites against the sandbox",
    script: ["verdict-rates.mjs"],
    tests: ["suite-gate"],
    env: { GATE_KILLS: "200" },
  },
  tuning: {
    what: "synthetic collections with equal and better arms, also of shared documents, and 100 kills",
    tests: ["tuning-rates", "tune-kills"],
    env: { TUNING_KILLS: "100" },
  },
  simulator: {
    what: "10,000 seeds of each scenario; continues where it stopped",
    script: ["simulate.mjs", "--seeds", "10000"],
  },
  kills: {
    what: "873 kills of exports, imports, copies, backups, prunes, restores, heals, undos and sheets, half of them left as zombies",
    tests: ["backup-kills"],
  },
  "as-is": {
    what: "10,000 seeds of the scenarios `as-is` and `backups`",
    script: ["simulate.mjs", "--seeds", "10000", "--scenario", "as-is,backups"],
  },
  mutants: {
    what: "400 changed operators, conditions and numbers, and whether the nearest tests see them",
    script: ["mutants.mjs"],
  },
  site: {
    what: "1,000 seeds of a site with 8 to 150 pages, and 1,000 of one with 1,000 pages",
    script: ["simulate.mjs", "--seeds", "1000", "--scenario", "site,large-site"],
  },
  guards: {
    what: "the bug that each guard of the simulator prevents, with up to 2,000 seeds",
    script: ["simulate.mjs", "--guards", "--from", "1", "--seeds", "2000"],
  },
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(proofs, name));
if (names.length === 0 || unknown.length > 0) {
  for (const [name, { what }] of Object.entries(proofs)) console.log(`${name.padEnd(10)}  ${what}`);
  process.exit(unknown.length === 0 ? 0 : 2);
}

/** Runs a proof; returns its exit code. */
function prove({ tests, script, env }) {
  const files = (tests ?? []).map((test) => `test/long/${test}.test.ts`);
  const lines = [
    ...(script ? [[process.execPath, [join(root, "scripts", script[0]), ...script.slice(1)]]] : []),
    ...(tests ? [[tool("vitest"), ["run", "--project", "long", ...files]]] : []),
  ];
  const options = { cwd: root, stdio: "inherit", env: { ...process.env, PROVE: "all", ...env } };
  return Math.max(...lines.map(([command, args]) => spawnSync(command, args, options).status ?? 1));
}

prepare();
const failed = names.filter((name) => prove(proofs[name]) !== 0);
console.log(`${names.length - failed.length} passed, ${failed.length} failed`);
process.exit(failed.length === 0 ? 0 : 1);
