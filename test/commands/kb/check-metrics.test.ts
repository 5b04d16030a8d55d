import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";

test("kb check prints the number of problems of each knowledge base as OpenMetrics", async () => {
  const server = await testSandbox();
  const create = ["kb", "create", "Hand\\book", "--indexing-technique", "economy"];
  const id = (await server.done([...create, "-o", "name"])).out.trim();
  for (const name of ["a.md", "b.md"])
    await server.done(["kb", "doc", "add", "Hand\\book", name, "--text", "the same"]);
  await server.done(["kb", "doc", "wait", "Hand\\book"]);
  const line = ["kb", "check", "Hand\\book", "-o", "openmetrics", "--fail-if", "problems>0"];
  const { out, exit } = await server.cli(line);
  expect(exit).toBe(14);
  const kb = String.raw`knowledge_base="Hand\\book",id="${id}"`;
  const zero = (problem: string) => `kb_problems{${kb},problem="${problem}"} 0`;
  expect(out.split("\n")).toEqual([
    "# TYPE kb_problems gauge",
    "# HELP kb_problems Problems of a knowledge base by kind; unchecked is what could not be checked.",
    ...["errors", "stuck", "paused", "empty", "without_chunks"].map(zero),
    `kb_problems{${kb},problem="duplicates"} 1`,
    ...["unindexed_chunks", "lost_files", "models", "searches", "sync", "unchecked"].map(zero),
    "# EOF",
    "",
  ]);
});
