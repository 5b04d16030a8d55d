// Shared by all parts of the benchmark: measured processes, servers, results.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../prepare.mjs";

/** Directory of all files; deleted when the benchmark ends. */
export const folder = mkdtempSync(join(tmpdir(), "kb-wf-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
process.on("SIGTERM", () => process.exit()); // so ends a server, which has a directory of its own

export const kb = join(root, "bin", "kb.js");
export const wf = join(root, "bin", "wf.js");

/** The environment without variables that configure the programs. */
export const clean = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(KB_|DIFY_)/.test(name))),
  KB_CONFIG_DIR: join(folder, "none"),
  KB_STATE_DIR: join(folder, "state"),
};

/** All results of this run, in order. */
export const results = [];

/**
 * Prints and records a figure: its name, value and unit, and the limit that it should not exceed or
 * fall below.
 */
export function result(what, value, unit, { atMost, atLeast } = {}) {
  const digits = [100, 10].filter((limit) => value < limit).length;
  const kept = value <= (atMost ?? Infinity) && value >= (atLeast ?? -Infinity);
  let promised = "";
  if (atLeast !== undefined) promised = `≥ ${atLeast}`;
  if (atMost !== undefined) promised = `≤ ${atMost}`;
  results.push({ what, value, unit, ...(promised && { promised, kept }) });
  console.log(
    `${what.padEnd(58)} ${value.toFixed(digits).padStart(9)} ${unit.padEnd(12)} ${promised.padEnd(9)}${kept ? "" : " missed"}`.trimEnd(),
  );
}

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Runs a program to its end; returns its ms. */
export const timed = ({ program = process.execPath, args, env, exit = 0 }) =>
  new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(program, args, { env, stdio: "ignore" });
    child.on("exit", (code) => {
      if (code === exit) resolve(performance.now() - start);
      else reject(new Error(`${args.join(" ")} ended with ${code}`));
    });
  });

/** Runs two programs, or one, in turn, 40 times; returns the median ms of each and the median ratio of the second. */
export async function inTurn(one, other) {
  const [first, second, ratios] = [[], [], []];
  for (let round = -2; round < 40; round++) {
    const before = await timed(one);
    const after = other === undefined ? before : await timed(other);
    if (round < 0) continue; // the first two warm the file cache
    first.push(before);
    second.push(after);
    ratios.push(after / before);
  }
  return { first: median(first), second: median(second), ratio: median(ratios) };
}

/**
 * The beginning of a script that node loads before a program: `peak()` is the peak memory of its process in MB. On Linux
 * a process inherits the peak of its parent's resource usage.
 */
export const peakHook = `
  const { readFileSync, writeFileSync } = require("node:fs");
  const peak = () =>
    Number(
      process.platform === "linux"
        ? /VmHWM:\\s*(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]
        : process.resourceUsage().maxRSS,
    ) / 1024;`;

/**
 * Runs a program to its end; returns its seconds, its seconds of processor time and its peak memory in
 * MB. `how` has its stdin, its stdout and its exit code, if they are not the usual ones.
 */
export async function measured(args, env = clean, how = {}) {
  const { stdin = "ignore", stdout = "ignore", exit = 0 } = how;
  const hook = join(folder, "usage.cjs");
  const report = join(folder, "usage.json");
  writeFileSync(
    hook,
    `${peakHook}
     process.on("exit", () => {
       const { user, system } = process.cpuUsage();
       const usage = { busy: (user + system) / 1e6, megabytes: peak() };
       writeFileSync(${JSON.stringify(report)}, JSON.stringify(usage));
     });`,
  );
  const start = performance.now();
  const child = spawn(process.execPath, ["--require", hook, ...args], {
    env,
    stdio: [stdin, stdout, exit === 0 ? "inherit" : "ignore"],
  });
  const code = await new Promise((resolve) => child.on("exit", resolve));
  if (code !== exit) throw new Error(`${args.join(" ")} ended with ${code}`);
  const seconds = (performance.now() - start) / 1000;
  return { seconds, ...JSON.parse(readFileSync(report, "utf8")) };
}

/**
 * Runs a bare loop and a program that do the same work in turn, three times each, and prints how many of
 * `count` things each does in a second, and the medians of their ratios: of the elapsed time, and of the
 * processor time, which says more on a machine with other work. Returns the runs of the program.
 */
export async function compared({ count, unit = "rows/s", bare, ours, name, limit }) {
  const runs = [];
  for (let round = 0; round < 3; round++) runs.push({ bare: await bare(), ours: await ours() });
  const rate = (who) => count / median(runs.map((run) => run[who].seconds));
  const share = (part) => median(runs.map((run) => (100 * run.bare[part]) / run.ours[part]));
  result(`bare loop for ${name}`, rate("bare"), unit);
  result(name, rate("ours"), unit);
  result("  of the bare loop", share("seconds"), "%", limit);
  result("  by processor time", share("busy"), "%");
  return runs.map((run) => run.ours);
}

/**
 * Runs work of two sizes in turn, and prints the time and memory of the larger one, and how both grow: what a unit
 * costs, compared with the smaller one, and the memory of each further unit. `run` returns what `measured` does; the
 * least of `rounds` runs counts, because other work and garbage collection only add to it. Returns the least seconds of
 * the larger one.
 */
export async function grown({ name, unit, units = `${unit}s`, sizes, run, rounds = 2, bytes }) {
  const [few, many] = sizes.map((size) => ({ size, runs: [] }));
  for (let round = 0; round < rounds; round++)
    for (const { size, runs } of [few, many]) runs.push(await run(size));
  const least = ({ runs }, figure) => Math.min(...runs.map((each) => each[figure]));
  const each = (which, figure) => least(which, figure) / which.size;
  const growth = (figure) => each(many, figure) / each(few, figure);
  result(`${name}, ${many.size} ${units}`, least(many, "seconds"), "s");
  result(`  time of each ${unit}, compared with ${few.size}`, growth("seconds"), "×", {
    atMost: 1.3,
  });
  result("  by processor time", growth("busy"), "×", { atMost: 1.3 });
  result("  memory", least(many, "megabytes"), "MB");
  const further = (least(many, "megabytes") - least(few, "megabytes")) / (many.size - few.size);
  result(`  memory of each further ${unit}`, further * 2 ** 20, "bytes", { atMost: bytes });
  return least(many, "seconds");
}

/** Builds a program for `node -e` with the project's packages; `agent` is an undici Agent. */
export const loop = (lines) => `
  const require = module.constructor.createRequire(${JSON.stringify(join(root, "package.json"))});
  const { Agent } = require("undici");
  const agent = new Agent();
  (async () => { ${lines} process.exit(0); })();`;

/** Is a script started as a server, not imported by one? */
export const isServer = (url) =>
  process.argv[2] === "serve" && process.argv[1] === fileURLToPath(url);

/** Starts a server script that prints its port; returns its address and a way to stop it. */
export async function serving(script, ...args) {
  const child = spawn(process.execPath, [script, "serve", ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise((resolve) => child.stdout.once("data", resolve));
  return { origin: `http://127.0.0.1:${String(port).trim()}`, stop: () => child.kill() };
}

/** Starts an ephemeral sandbox with these flags; returns its address, the ms until it was ready, and a way to stop it. */
export async function openSandbox(...flags) {
  const start = performance.now();
  const child = spawn(process.execPath, [kb, "sandbox", "--ephemeral", "-o", "json", ...flags], {
    env: clean,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const address = await new Promise((resolve) => {
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
      try {
        resolve(JSON.parse(text));
      } catch {
        // The line is not complete yet.
      }
    });
  });
  const took = performance.now() - start;
  const stop = () => {
    child.kill("SIGTERM");
    return new Promise((resolve) => child.on("exit", resolve));
  };
  const env = { ...clean, KB_BASE_URL: address.base_url, KB_KEY: address.key };
  return { address, env, took, stop };
}
