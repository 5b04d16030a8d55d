import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { contentsOf, write } from "./directory.ts";
import type { TestSandbox } from "./sandbox.ts";
import { temporaryDirectory } from "./support.ts";

/** Runs a command to its end. */
type Run = (
  argv: readonly string[],
  folder: string,
) => Promise<{ readonly exit: number | null; readonly err: string }>;

/**
 * Runs eight shards of a sync and eight of a suite at once. Each must exit with 0; together they must have made
 * all documents, and `wf test merge` must find each test passed.
 */
export async function runShards(
  server: TestSandbox,
  size: { readonly files: number; readonly tests: number },
  run: Run = (argv, folder) => server.cli(argv, { folder }),
): Promise<void> {
  const home = await temporaryDirectory();
  const tree = Object.fromEntries(
    Array.from({ length: size.files }, (_, at) => [`${at % 7}/${at}.md`, `text ${at}`]),
  );
  await write(join(home, "docs"), tree);
  const names = Array.from({ length: size.tests }, (_, at) => `t${at}`);
  const suite = names.map(
    (name) =>
      `  - { name: ${name}, inputs: { query: ${name} }, expect: ['output query is "${name}"'] }\n`,
  );
  await write(home, { "suite.yaml": `name: Echo\ntests:\n${suite.join("")}` });
  const created = ["kb", "create", "Docs", "--indexing-technique", "economy", "-o", "name"];
  const kb = (await server.done(created)).out.trim();
  const shards = Array.from({ length: 8 }, (_, at) => `${at + 1}/8`);
  const saved = shards.map((_, at) => join(home, `${at}.json`));
  const test = ["wf", "--app", "echo", "test"];
  const ends = await Promise.all([
    ...shards.map((shard) => run(["kb", "sync", kb, join(home, "docs"), "--shard", shard], home)),
    ...shards.map((shard, at) =>
      run([...test, "run", join(home, "suite.yaml"), "--shard", shard, "--save", saved[at]!], home),
    ),
  ]);
  for (const [at, { exit, err }] of ends.entries()) expect(exit, `${at}: ${err}`).toBe(0);
  const found = await contentsOf(server.sandbox.origin, kb);
  expect(Object.fromEntries([...found].map(([name, { text }]) => [name, text]))).toEqual(tree);
  const whole = join(home, "whole.json");
  await server.done([...test, "merge", ...saved, "--save", whole]);
  const { tests } = JSON.parse(await readFile(whole, "utf8")) as {
    tests: { name: string; status: string }[];
  };
  expect(tests.map(({ name, status }) => `${name} ${status}`)).toEqual(
    names.map((name) => `Echo: ${name} passed`),
  );
}
