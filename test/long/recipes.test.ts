import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { create, folder, linesOf, recipe, runInSandbox } from "../lib/recipes.ts";

test(
  "the GitHub recipe syncs in eight shards, prunes and measures",
  { timeout: 60_000 },
  async () => {
    const [lint, sync = "", ...rest] = linesOf(parse(recipe("github-actions.yml")));
    const shards = Array.from({ length: 8 }, (_, at) =>
      sync.replace("${{ matrix.shard }}", String(at + 1)),
    );
    const ran = await runInSandbox(
      [create, lint, `${shards.join(" &\n")} &\nwait`, ...rest].join("\n"),
    );
    expect(ran.exit, ran.out).toBe(0);
    expect(ran.out).toContain("14 files: 14 unchanged");
  },
);

test("the indexed job reads its shard from Kubernetes", { timeout: 60_000 }, async () => {
  const job = parse(recipe("kubernetes-job.yaml")) as {
    spec: {
      completions: number;
      template: { spec: { containers: { command: string[] }[] } };
    };
  };
  const line = job.spec.template.spec.containers[0]?.command.at(-1) ?? "";
  expect(line).toContain(`auto/${job.spec.completions}`);
  const pods = Array.from({ length: 8 }, (_, index) => `JOB_COMPLETION_INDEX=${index} ${line}`);
  const ran = await runInSandbox(
    [create, ...pods, "kb sync Handbook examples/handbook"].join("\n"),
  );
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
