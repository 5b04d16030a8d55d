// Runs all checks and the quick tests. The last line is `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quickChecks, run, start } from "./check/run.mjs";
import { prepare } from "./prepare.mjs";

prepare();
const folder = mkdtempSync(join(tmpdir(), "kb-wf-test-"));
const report = join(folder, "report.json");
const checks = [
  ...quickChecks,
  ["unused code", "knip", []],
  ["package", "publint", ["--strict"]],
  ["planted bugs", process.execPath, ["scripts/planted.mjs", "--sample", "2"]],
];
// The checks run beside the tests, which often wait.
const finishChecks = start(checks);
const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
const { status } = await run("vitest", ["run", "--project", "quick", ...reporters], "inherit");

const failed = await finishChecks();
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
