import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";

test.each([
  ["60 seeds of each scenario, played twice", ["--twice", "--from", "1", "--seeds", "60"]],
  ["the bug that each guard prevents", ["--guards", "--from", "1", "--seeds", "300"]],
])("the simulator: %s", (_, argv) => {
  const script = join(root, "scripts", "simulate.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...argv], {
    encoding: "utf8",
  });
  expect(status, stdout + stderr).toBe(0);
});
