// Changes operators, conditions and numbers of the code, each in a run of its own, and tells which of these mutants the
// nearest tests see: `npm run prove -- mutants`. A mutant exists only while the code is loaded for a test.
//   node scripts/mutants.mjs --count 400 --seed 1
//   node scripts/mutants.mjs --only retry.ts    those of files whose paths contain this
// What was played of a commit is kept in a file that git ignores, so it continues where it stopped. A mutant that no test
// that reaches it sees must be in test/mutants.yaml, with the reason why it changes nothing that is promised.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "yaml";
import { isReasonFor, mutantsOf } from "./mutants/find.mjs";
import { nearest } from "./mutants/nearest.mjs";
import { prepare, root } from "./prepare.mjs";

const text = { type: "string" };
const { values: options } = parseArgs({
  options: { count: { ...text, default: "400" }, seed: { ...text, default: "1" }, only: text },
});

/** Directories of src from which mutants are drawn. */
const directories = ["api", "commands/kb/backup", "commands/kb/changes", "commands/measure"];

/** The share that the nearest tests must see. */
const SEEN = 0.85;
/** A mutant can make the code run for ever, which tests see as well. */
const TIMEOUT_MS = 300_000;

/** All mutants of a directory: in its files in their order. */
const allOf = (directory) =>
  readdirSync(join(root, "src", directory), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .toSorted()
    .map((name) => `${directory}/${name}`)
    .flatMap((file) =>
      mutantsOf(readFileSync(join(root, "src", file), "utf8")).map((mutant) => ({
        file,
        ...mutant,
      })),
    );

/** Some of a list: those whose hash with the seed is lowest, so that a change of a file leaves the others drawn. */
const drawn = (mutants, count, seed) => {
  const before = new Map();
  const hash = ({ file, what, from, line }) => {
    const name = [seed, file, what, from, line].join("\n");
    const same = before.get(name) ?? 0; // how many equal ones are before it on its line
    before.set(name, same + 1);
    return createHash("sha256")
      .update(same === 0 ? name : `${name}\n${same}`)
      .digest("hex");
  };
  return mutants
    .map((mutant) => ({ ...mutant, hash: hash(mutant) }))
    .toSorted((one, other) => (one.hash < other.hash ? -1 : 1))
    .slice(0, count);
};

const progressPath = join(root, ".mutants.json");
const { stdout: commit } = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" });
const key = `${commit.trim()} ${options.seed} ${options.count} ${options.only ?? ""}`;

function readPlayed() {
  const saved = existsSync(progressPath) ? JSON.parse(readFileSync(progressPath, "utf8")) : {};
  return saved.key === key ? saved : { key, results: {} };
}

/** Processes under way, each with its workers: a mutant may run for ever, so none may outlive this one. */
const running = new Set();
const end = (pid) => running.delete(pid) && process.kill(-pid, "SIGKILL");
process.once("exit", () => running.forEach(end));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** Runs a script with JSON as its input in a process of its own; resolves with its JSON, or with undefined at a timeout. */
function play(script, input, timeout) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, "scripts", "mutants", script)], {
      cwd: root,
      stdio: ["pipe", "pipe", "ignore"],
      detached: true,
    });
    running.add(child.pid);
    const timer = timeout && setTimeout(end, timeout, child.pid);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (part) => (output += part));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      running.delete(child.pid);
      if (signal !== null) resolve(undefined);
      else if (code === 0) resolve(JSON.parse(output.slice(output.lastIndexOf("\n{") + 1)));
      else reject(new Error(`${script} ended with ${code}`));
    });
    child.stdin.end(JSON.stringify(input));
  });
}

const nameOf = ({ file, line, what, from }) => `${file}:${line}  ${what}: ${from.split("\n")[0]}`;

const reasons = parse(readFileSync(join(root, "test", "mutants.yaml"), "utf8"));
/** The reason that is given for a mutant that no test sees. */
const reasonOf = (mutant) => reasons.find((each) => isReasonFor(each, mutant))?.why;

prepare(); // some tests start the programs
const all = directories.flatMap(allOf).map((mutant, number) => ({ ...mutant, number }));
const chosen = drawn(
  all.filter(({ file }) => file.includes(options.only ?? "")),
  Number(options.count),
  options.seed,
);
if (chosen.length === 0) throw new Error(`no mutant is in ${options.only}`);
const played = readPlayed();
const save = () => writeFileSync(progressPath, `${JSON.stringify(played)}\n`);
if (played.reached === undefined) {
  console.log(`which tests reach ${all.length} mutants…`);
  const folder = mkdtempSync(join(tmpdir(), "kb-wf-mutants-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const found = join(folder, "reached.jsonl");
  const { durations, failed } = await play("reach.mjs", { mutants: all, found });
  if (failed.length > 0) console.log(`not used, they fail without a mutant: ${failed.join(", ")}`);
  const lines = readFileSync(found, "utf8").trim().split("\n");
  const reached = lines.map((line) => JSON.parse(line));
  played.reached = reached.filter(({ test }) => !failed.includes(test));
  played.durations = durations;
  save();
}

const waiting = chosen.filter(({ hash }) => !Object.hasOwn(played.results, hash));
async function work() {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const result = { seen: null, tests: [], isNear: true };
    for (const [group, tests] of nearest(mutant, all, played).entries()) {
      const run = await play("one.mjs", { mutant, tests }, TIMEOUT_MS);
      result.seen = run === undefined ? "does not end" : (run.failed ?? null);
      result.tests.push(...tests);
      result.isNear = group === 0;
      // Only the nearest of one that is known to change nothing.
      if (result.seen !== null || reasonOf(mutant) !== undefined) break;
    }
    played.results[mutant.hash] = result;
    save();
    console.log(`${result.seen === null ? "NOT SEEN" : "seen"}  ${nameOf(mutant)}`);
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, work));

const survivors = chosen.filter(({ hash }) => played.results[hash].seen === null);
const near = chosen.filter(({ hash }) => {
  const { seen, isNear } = played.results[hash];
  return seen !== null && isNear;
});
const share = near.length / chosen.length;
console.log(
  `\nThe nearest tests see ${near.length} of ${chosen.length} mutants (${(100 * share).toFixed(1)} %), others that reach them ${chosen.length - near.length - survivors.length}`,
);
for (const mutant of survivors)
  console.log(
    `NOT SEEN  ${nameOf(mutant)}\n  ${reasonOf(mutant) ?? `no reason; tests: ${played.results[mutant.hash].tests.join(", ")}`}`,
  );
const open = survivors.filter((mutant) => reasonOf(mutant) === undefined);
console.log(`${chosen.length - open.length} passed, ${open.length} failed`);
process.exit(open.length === 0 && share >= SEEN ? 0 : 1);
