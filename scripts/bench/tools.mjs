// What all parts of the bench use: processes that are measured, servers beside them, results.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../prepare.mjs";

/** Everything that is written stands here, and goes when the bench ends. */
export const folder = mkdtempSync(join(tmpdir(), "kb-wf-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export const kb = join(root, "bin", "kb.js");
export const wf = join(root, "bin", "wf.js");

/** The environment without what would lead the programs elsewhere. */
export const clean = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(KB_|DIFY_)/.test(name))),
  KB_CONFIG_DIR: join(folder, "none"),
  KB_STATE_DIR: join(folder, "state"),
};

/** Every result of this run, in order. */
export const results = [];

/**
 * Prints a figure and keeps it: what was measured, its value and unit, and what was promised, at most
 * or at least.
 */
export function result(part, what, value, unit, { atMost, atLeast } = {}) {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const kept = atMost === undefined ? value >= (atLeast ?? -Infinity) : value <= atMost;
  const promised =
    atMost === undefined ? (atLeast === undefined ? "" : `≥ ${atLeast}`) : `≤ ${atMost}`;
  results.push({ part, what, value, unit, ...(promised && { promised, kept }) });
  console.log(
    `${what.padEnd(58)} ${value.toFixed(digits).padStart(9)} ${unit.padEnd(12)} ${promised.padEnd(9)}${kept ? "" : " missed"}`.trimEnd(),
  );
}

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** Runs a program to its end: seconds, and the most memory it ever held in MB. */
export async function measured(args, env = clean, stdout = "ignore") {
  const hook = join(folder, "memory.cjs");
  const report = join(folder, "memory.txt");
  writeFileSync(
    hook,
    // On Linux the peak of resource usage begins with that of the process that started this one.
    `const { readFileSync, writeFileSync } = require("node:fs");
     const peak = () =>
       process.platform === "linux"
         ? /VmHWM:\\s*(\\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]
         : String(process.resourceUsage().maxRSS);
     process.on("exit", () => writeFileSync(${JSON.stringify(report)}, peak()));`,
  );
  const start = performance.now();
  const child = spawn(process.execPath, ["--require", hook, ...args], {
    env,
    stdio: ["ignore", stdout, "inherit"],
  });
  const code = await new Promise((resolve) => child.on("exit", resolve));
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}`);
  return {
    seconds: (performance.now() - start) / 1000,
    megabytes: Number(readFileSync(report, "utf8")) / 1024,
  };
}

/** Program text for `node -e`, run where the project's packages are found: `agent` is undici's. */
export const loop = (lines) => `
  const require = module.constructor.createRequire(${JSON.stringify(join(root, "package.json"))});
  const { Agent } = require("undici");
  const agent = new Agent();
  (async () => { ${lines} process.exit(0); })();`;

/** Starts a script that serves and prints its port; gives its address and how to end it. */
export async function serving(script, ...args) {
  const child = spawn(process.execPath, [script, "serve", ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise((resolve) => child.stdout.once("data", resolve));
  return { origin: `http://127.0.0.1:${String(port).trim()}`, stop: () => child.kill() };
}

/** A sandbox that keeps nothing: its address, the ms until it could be used, and how to end it. */
export async function openSandbox() {
  const start = performance.now();
  const child = spawn(process.execPath, [kb, "sandbox", "--ephemeral", "-o", "json"], {
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
        // the rest of the line is still to come
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
