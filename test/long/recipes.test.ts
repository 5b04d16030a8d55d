import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkOut, newMachine, playGithub, playGitlab, registryPackage } from "../lib/ci-player.ts";
import { runScript } from "../lib/pipeline.ts";
import { folder, recipe } from "../lib/recipes.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** A server with an empty knowledge base. */
async function emptyHandbook() {
  const server = await testSandbox({ models: true });
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  return { server, url: server.env["KB_BASE_URL"] ?? "" };
}

const shards = [1, 2, 3, 4, 5, 6, 7, 8].map((shard) => `sync (${shard})`);

/** Plays the workflow of GitHub with a key. */
const playWorkflow = (url: string, key: string) =>
  playGithub(recipe("github-actions.yml"), {
    vars: { KB_BASE_URL: url, KB_WF_PACKAGE: registryPackage },
    secrets: { KB_KEY: key },
  });

test("the workflow of GitHub syncs in eight jobs, prunes and measures", async () => {
  const { server, url } = await emptyHandbook();
  const before = await temporaryDirectory();
  writeFileSync(join(before, "gone.md"), "A page that the repository no longer has.\n");
  await server.done(["kb", "sync", "Handbook", before]);
  const jobs = await playWorkflow(url, "dataset-sandbox");
  expect(jobs.filter(({ exit }) => exit !== 0)).toEqual([]);
  const names = jobs.map(({ name }) => name);
  expect([names[0], names.slice(1, 9), names.slice(9)]).toEqual(["lint", shards, ["prune"]]);
  expect(jobs.at(-1)).toMatchObject({
    output: expect.stringContaining(
      "14 files: 14 unchanged; documents without a file: 1 deleted",
    ) as string,
    artifacts: ["eval.xml"],
  });
});

test("a job of GitHub that needs a failed one does not start", async () => {
  const { url } = await emptyHandbook();
  const jobs = await playWorkflow(url, "dataset-wrong");
  expect(jobs.map(({ name, exit }) => [name, exit])).toEqual([
    ["lint", 0],
    ...shards.map((name) => [name, 4]),
  ]);
});

test("the pipeline of GitLab syncs in eight jobs, then prunes", async () => {
  const { url } = await emptyHandbook();
  const project = { KB_BASE_URL: url, KB_KEY: "dataset-sandbox", KB_WF_PACKAGE: registryPackage };
  const jobs = await playGitlab(recipe("gitlab-ci.yml"), project);
  expect(jobs.map(({ name, exit }) => [name, exit])).toEqual([
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((index) => [`sync ${index}/8`, 0]),
    ["prune", 0],
  ]);
  expect(jobs.at(-1)?.output).toContain("14 files: 14 unchanged");
});

/** A machine with the package and a checkout, and a server with a synced knowledge base and one run. */
async function machineWithHandbook() {
  const { server, url } = await emptyHandbook();
  await server.done(["kb", "sync", "Handbook", "examples/handbook"]);
  const machine = await newMachine();
  checkOut(machine.work);
  const keys = { KB_BASE_URL: url, KB_KEY: "dataset-sandbox", KB_APP_KEY: "app-echo" };
  const run = (script: string) =>
    runScript(script, machine.work, { ...machine.env, ...keys }, ["-e"]);
  const prepared = await run(
    `npm install --global ${registryPackage}\nwf run --input query=x -o name`,
  );
  expect(prepared.exit, prepared.output).toBe(0);
  return { server, run };
}

test.each(readdirSync(folder).filter((name) => name.endsWith(".sh")))(
  "%s passes, on the second night as well",
  async (name) => {
    const { run } = await machineWithHandbook();
    for (const night of [1, 2]) {
      const { exit, output } = await run(`sh examples/ci/${name}`);
      expect(exit, `night ${night}: ${output}`).toBe(0);
    }
  },
);

test("gate.sh fails once the knowledge base differs from the file", async () => {
  const { server, run } = await machineWithHandbook();
  expect((await run("sh examples/ci/gate.sh")).exit).toBe(0);
  await server.done(["kb", "update", "Handbook", "--description", "Changed"]);
  const { exit, output } = await run("sh examples/ci/gate.sh");
  expect(exit, output).toBe(14);
});
