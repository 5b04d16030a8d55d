// The checks that `npm run check` and `npm test` have in common, and how they run.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { root, tool } from "../prepare.mjs";

// The tests do not need the machine's extra certificate authorities, and Node.js 20 spends about 45 ms
// on them at each start.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;

/** Runs an installed program, or Node.js; returns its exit code and what it prints, if that is not inherited. */
export function run(name, args, stdio = "pipe") {
  const isTool = name !== process.execPath;
  const shell = isTool && process.platform === "win32";
  const child = spawn(isTool ? tool(name) : name, args, { cwd: root, env, stdio, shell });
  const output = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text) => output.push(text));
  return new Promise((resolve) => {
    child.on("error", ({ message }) => resolve({ status: 1, text: message }));
    child.on("close", (status) => resolve({ status, text: output.join("") }));
  });
}

/** What the types of the last check were, so that the next one looks at changed files only. */
const types = join(root, "node_modules", ".cache", "types.tsbuildinfo");
const folders = ["src", "test", "scripts", "bin"];

/** Checks of a few seconds: name, program, arguments. */
export const quickChecks = [
  ["types", "tsc", ["-p", ".", "--incremental", "--tsBuildInfoFile", types]],
  ["lint", "oxlint", ["--deny-warnings", ...folders]],
  ["format", "oxfmt", ["--check", ...folders]],
  ["table", process.execPath, [join(root, "scripts", "check", "table.mjs")]],
];

/** Starts checks at the same time. The function that it returns prints them and resolves to the names of those that failed. */
export function start(checks) {
  const started = checks.map(([name, command, args]) => [name, run(command, args)]);
  return async () => {
    const failed = [];
    for (const [name, result] of started) {
      const { status, text } = await result;
      console.log(`${name} … ${status === 0 ? "ok" : `failed\n${text}`}`);
      if (status !== 0) failed.push(name);
    }
    return failed;
  };
}
