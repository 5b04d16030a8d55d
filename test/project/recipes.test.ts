import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { create, folder, linesOf, recipe, runInSandbox } from "../lib/recipes.ts";

test("the GitLab recipe reads its shard from the environment", { timeout: 60_000 }, async () => {
  const [sync = "", ...rest] = linesOf(parse(recipe("gitlab-ci.yml")));
  const shards = [1, 2].map((index) => `CI_NODE_TOTAL=2 CI_NODE_INDEX=${index} ${sync}`);
  const ran = await runInSandbox([create, ...shards, ...rest].join("\n"));
  expect(ran.exit, ran.out).toBe(0);
  expect(ran.out).toContain("14 files: 14 unchanged");
});

test.each(readdirSync(folder).filter((name) => name.endsWith(".sh")))(
  "%s exits with 0, on the second night as well",
  { timeout: 60_000 },
  async (name) => {
    const script = recipe(name).replace(/^#.*\n/gm, "");
    const before = `${create}\nkb sync Handbook examples/handbook > sync.tsv\nwf run --input query=x -o name`;
    const ran = await runInSandbox([before, script, script].join("\n"));
    expect(ran.exit, ran.out).toBe(0);
  },
);
