import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "./support.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "examples", "ci");
const recipe = (name: string) => readFileSync(join(folder, name), "utf8");

/** Runs a script against a sandbox of its own, in a copy of the examples. */
async function runs(script: string) {
  const place = await temporaryFolder();
  cpSync(join(root, "examples"), join(place, "examples"), { recursive: true });
  const child = spawn(
    process.execPath,
    [join(root, "bin", "kb.js"), "sandbox", "--ephemeral", "--", "sh", "-ec", script],
    { cwd: place, env: { PATH: process.env["PATH"], HOME: place } },
  );
  let out = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const [exit] = (await once(child, "close")) as [number | null];
  return { exit, out };
}

const create = "kb create Handbook --indexing-technique economy -o name";

/** Command lines of a pipeline, in their order. */
function linesOf(value: unknown): string[] {
  if (typeof value === "string") return /^(kb|wf) /.test(value) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(linesOf);
}

test(
  "the GitHub recipe syncs in eight shards, prunes and measures",
  { timeout: 60_000 },
  async () => {
    const [lint, sync = "", ...rest] = linesOf(parse(recipe("github-actions.yml")));
    const shards = Array.from({ length: 8 }, (_, at) =>
      sync.replace("${{ matrix.shard }}", String(at + 1)),
    );
    const ran = await runs([create, lint, `${shards.join(" &\n")} &\nwait`, ...rest].join("\n"));
    expect(ran.exit, ran.out).toBe(0);
    expect(ran.out).toContain("14 files: 14 unchanged");
  },
);

test("the GitLab recipe reads its share from the environment", { timeout: 60_000 }, async () => {
  const [sync = "", ...rest] = linesOf(parse(recipe("gitlab-ci.yml")));
  const shards = [1, 2].map((index) => `CI_NODE_TOTAL=2 CI_NODE_INDEX=${index} ${sync}`);
  const ran = await runs([create, ...shards, ...rest].join("\n"));
  expect(ran.exit, ran.out).toBe(0);
  expect(ran.out).toContain("14 files: 14 unchanged");
});

test("the indexed job reads its share from Kubernetes", { timeout: 60_000 }, async () => {
  const job = parse(recipe("kubernetes-job.yaml")) as {
    spec: {
      completions: number;
      template: { spec: { containers: { command: string[] }[] } };
    };
  };
  const line = job.spec.template.spec.containers[0]?.command.at(-1) ?? "";
  expect(line).toContain(`auto/${job.spec.completions}`);
  const pods = Array.from({ length: 8 }, (_, index) => `JOB_COMPLETION_INDEX=${index} ${line}`);
  const ran = await runs([create, ...pods, "kb sync Handbook examples/handbook"].join("\n"));
  expect(ran.exit, ran.out).toBe(0);
  expect(ran.out).toContain("14 files: 14 unchanged");
});

test.each(readdirSync(folder).filter((name) => name.endsWith(".sh")))(
  "%s ends with 0, also the second night",
  { timeout: 60_000 },
  async (name) => {
    const script = recipe(name).replace(/^#.*\n/gm, "");
    const before = `${create}\nkb sync Handbook examples/handbook > sync.tsv\nwf run --input query=x -o name`;
    const again = script.replaceAll("run.jsonl", "again.jsonl");
    const ran = await runs([before, script, again].join("\n"));
    expect(ran.exit, ran.out).toBe(0);
  },
);
