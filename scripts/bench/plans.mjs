// A plan of a suite: simulated comparisons with a baseline of 60 tests with 5 runs each, some of them flaky.
import { readFileSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, measured, result, wf, clean } from "./tools.mjs";

const [tests, repeats] = [60, 5];

export async function plans() {
  const names = Array.from({ length: tests }, (_, index) => `t${index}`);
  const suite = join(folder, "plan-suite.json");
  const baseline = join(folder, "plan-baseline.json");
  const asked = names.map((name) => ({ name, query: name, expect: ["status = succeeded"] }));
  writeFileSync(suite, JSON.stringify({ name: "S", app: "echo", tests: asked }));
  // Every third test misses one of its runs.
  const statusOf = (index, run) => (index % 3 === 2 && run === 0 ? "failed" : "passed");
  const saved = names.map((test, index) => ({
    name: `S: ${test}`,
    path: suite,
    test,
    results: Array.from({ length: repeats }, (_, run) => ({
      status: statusOf(index, run),
      checks: [],
    })),
  }));
  writeFileSync(baseline, JSON.stringify({ wf_test: 1, tests: saved }));
  const out = join(folder, "plan.json");
  const words = ["--baseline", baseline, "--repeat", String(repeats), "-o", "json", "-q"];
  const { seconds, busy } = await measured([wf, "test", "plan", suite, ...words], clean, {
    stdout: openSync(out, "w"),
  });
  const { draws } = JSON.parse(readFileSync(out, "utf8"));
  result(`wf test plan, ${tests} tests x ${repeats}`, seconds, "s");
  result("  processor time", busy, "s", { atMost: 4 });
  result("  draws, each of four runs", draws, "draws", { atLeast: 200 });
}
