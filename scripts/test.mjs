// Runs all checks and the quick tests. The last line is `N passed, N failed`.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare, root, tool } from "./prepare.mjs";

prepare();
const folder = mkdtempSync(join(tmpdir(), "kb-wf-test-"));
const report = join(folder, "report.json");
// The tests do not need the machine's extra certificate authorities, and Node.js 20 spends about 45 ms
// on them at each start.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;

/** Runs an installed program, or Node.js; returns its exit code and what it prints, if that is not inherited. */
function run(name, args, stdio) {
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

const checks = [
  ["types", "tsc", ["-p", "."]],
  ["lint", "oxlint", ["--deny-warnings", "src", "test", "scripts", "bin"]],
  ["format", "oxfmt", ["--check", "src", "test", "scripts", "bin"]],
  ["unused code", "knip", []],
  ["package", "publint", ["--strict"]],
  ["planted bugs", process.execPath, ["scripts/planted.mjs", "--sample", "3"]],
];
// The checks run beside the tests, which often wait.
const checked = checks.map(([name, command, args]) => [name, run(command, args, "pipe")]);
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
const { status } = await run("vitest", ["run", "--project", "quick", ...reporters], "inherit");

const failed = [];
for (const [name, result] of checked) {
  const { status: code, text } = await result;
  console.log(`${name} … ${code === 0 ? "ok" : `failed\n${text}`}`);
  if (code !== 0) failed.push(name);
}
let counts = { numPassedTests: 0, numFailedTests: 1 };
try {
  counts = JSON.parse(readFileSync(report, "utf8"));
} catch {
  failed.push("the test runner gave no report");
}
rmSync(folder, { recursive: true, force: true });
const passed = counts.numPassedTests + checks.length - failed.length;
// A test file that fails to load adds no failed test.
const broken =
  counts.numFailedTests + failed.length + (status !== 0 && counts.numFailedTests === 0 ? 1 : 0);
console.log(`${passed} passed, ${broken} failed`);
process.exit(broken === 0 && status === 0 ? 0 : 1);
