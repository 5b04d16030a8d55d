// Runs all checks and tests, or the long tests with `--long`. The last line is `N passed, N failed`.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepare, root, tool } from "./prepare.mjs";

prepare();
const long = process.argv.includes("--long");
const folder = mkdtempSync(join(tmpdir(), "kb-wf-test-"));
const report = join(folder, "report.json");

const checks = long
  ? []
  : [
      ["types", "tsc", ["-p", "."]],
      ["lint", "oxlint", ["--deny-warnings", "src", "test", "scripts", "bin"]],
      ["format", "oxfmt", ["--check", "src", "test", "scripts", "bin"]],
      ["unused code", "knip", []],
      ["package", "publint", ["--strict"]],
    ];
const failed = [];
for (const [name, command, args] of checks) {
  process.stdout.write(`${name} … `);
  const { status, stdout, stderr } = spawnSync(tool(command), args, {
    cwd: root,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  console.log(status === 0 ? "ok" : `failed\n${stdout}${stderr}`);
  if (status !== 0) failed.push(name);
}

const project = long ? "long" : "quick";
// The tests do not need the machine's extra certificate authorities, and Node.js 20 spends about 45 ms
// on them at each start.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
const { status } = spawnSync(
  tool("vitest"),
  [
    "run",
    "--project",
    project,
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
  ],
  { cwd: root, env, stdio: "inherit", shell: process.platform === "win32" },
);
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
