import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { pipelineDirectory, runPipeline } from "../lib/pipeline.ts";
import { recipe } from "../lib/recipes.ts";

test("the GitHub recipe compares a pull request with main", async () => {
  const { jobs } = parse(recipe("github-answers.yml")) as {
    readonly jobs: Readonly<
      Record<string, { readonly steps: readonly { readonly run?: string }[] }>
    >;
  };
  const scriptsOf = (job: string, key: string) =>
    (jobs[job]?.steps ?? []).flatMap(({ run: script }) => (script ? [{ script, key }] : []));
  // The fifth argument is the file of the comment.
  const place = await pipelineDirectory({ gh: 'cp "$5" comment.md' });
  const { exits, out } = await runPipeline(
    place,
    [
      ...scriptsOf("main", "app-answers"),
      ...scriptsOf("pull-request", "app-answers"),
      ...scriptsOf("pull-request", "app-chat"),
    ],
    { GITHUB_STEP_SUMMARY: "summary.md", PULL_REQUEST: "7" },
  );
  // Two steps of main, three of each pull request.
  expect(exits, out).toEqual([0, 0, 0, 0, 0, 0, 14, 0]);
  const noted = (name: string) => readFile(join(place, name), "utf8");
  expect(await noted("summary.md")).toMatch(/days of leave`? \| 10\/10 .*\| passes \|/);
  expect(await noted("comment.md")).toMatch(/days of leave`? \| 0\/10 .*\| broken \|/);
  expect(await noted("npm.txt")).toBe("install --global kb-wf.tgz\n".repeat(3));
  expect(await noted("gh.txt")).toBe(
    "pr comment 7 --body-file report.md --edit-last --create-if-none\n".repeat(2),
  );
});
