import { expect, test } from "vitest";
import { parse } from "yaml";
import { create, linesOf, recipe, runInSandbox } from "../lib/recipes.ts";

// The others: test/long/recipes.test.ts.
test("the GitLab recipe reads its shard from the environment", { timeout: 60_000 }, async () => {
  const [sync = "", ...rest] = linesOf(parse(recipe("gitlab-ci.yml")));
  const shards = [1, 2].map((index) => `CI_NODE_TOTAL=2 CI_NODE_INDEX=${index} ${sync}`);
  const ran = await runInSandbox([create, ...shards, ...rest].join("\n"));
  expect(ran.exit, ran.out).toBe(0);
  expect(ran.out).toContain("14 files: 14 unchanged");
});
