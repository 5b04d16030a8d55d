import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";
import { rareTest } from "../lib/sampled.ts";
import { scenarios } from "./scenarios/index.ts";

/** Runs `npm run simulate`. */
function simulate(...argv: readonly string[]) {
  const script = join(root, "scripts", "simulate.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...argv], {
    encoding: "utf8",
  });
  return { status, out: stdout + stderr };
}

test("a seed of each scenario", () => {
  const { status, out } = simulate("--from", "1", "--seeds", "1");
  expect(out).toMatch(/^sync: 1 seeds, [\d.]+ simulated hours, 0 failed\n {2}/m);
  expect(status, out).toBe(0);
});

rareTest("kept cases", () => {
  const { status, out } = simulate("--kept", "--from", "1", "--seeds", "0");
  expect(status, out).toBe(0);
});

test("the text that each guard replaces is once in its file", () => {
  const found = scenarios.flatMap(({ guards }) =>
    guards.map(({ name, file, from }) => {
      const parts = readFileSync(join(root, file), "utf8").split(from);
      return [name, parts.length - 1];
    }),
  );
  expect(found.length).toBeGreaterThan(30);
  expect(found.filter(([, times]) => times !== 1)).toEqual([]);
});
