import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";

/** Runs `npm run simulate`. */
function simulate(...argv: readonly string[]) {
  const script = join(root, "scripts", "simulate.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...argv], {
    encoding: "utf8",
  });
  return { status, out: stdout + stderr };
}

test.each([
  [
    "kept cases and 60 seeds of each scenario, played twice",
    ["--kept", "--twice", "--from", "1", "--seeds", "60"],
  ],
  ["the bug that each guard prevents", ["--guards", "--from", "1", "--seeds", "2000"]],
])("the simulator: %s", (_, argv) => {
  const { status, out } = simulate(...argv);
  expect(status, out).toBe(0);
});

test("a bug is found, reduced to its faults and repeated with them alone", () => {
  const guard = "profiles are changed without a lock";
  const { status, out } = simulate("--guard", guard, "--from", "1", "--seeds", "10");
  expect(out).toMatch(
    /^state: profiles are changed without a lock: \{"scenario":"state","seed":\d+,"faults":\[/m,
  );
  expect(status, out).toBe(0);
});
