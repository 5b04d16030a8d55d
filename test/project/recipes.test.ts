import { expect, test } from "vitest";
import { playGitlab, registryPackage } from "../lib/ci-player.ts";
import { recipe } from "../lib/recipes.ts";
import { testSandbox } from "../lib/sandbox.ts";

// All eight jobs, and the other files: test/long/recipes.test.ts.
test("the pipeline of GitLab syncs in parallel jobs, then prunes", async () => {
  const server = await testSandbox({ models: true });
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  const { KB_BASE_URL = "", KB_KEY = "" } = server.env;
  const jobs = await playGitlab(recipe("gitlab-ci.yml").replace("parallel: 8", "parallel: 2"), {
    KB_BASE_URL,
    KB_KEY,
    KB_WF_PACKAGE: registryPackage,
  });
  expect(jobs.filter(({ exit }) => exit !== 0)).toEqual([]);
  expect(jobs.map(({ name }) => name)).toEqual(["sync 1/2", "sync 2/2", "prune"]);
  expect(jobs.at(-1)?.output).toContain("14 files: 14 unchanged");
});
