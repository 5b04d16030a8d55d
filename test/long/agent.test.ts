import { expect, test } from "vitest";
import { runInSandbox } from "../lib/recipes.ts";

test("the example of an agent does its jobs with nothing but the lists of commands", async () => {
  const { exit, out } = await runInSandbox("node examples/agent/agent.mjs");
  expect(exit, out).toBe(0);
  expect(out.split("\n").filter((line) => !line.startsWith("  "))).toEqual([
    "Create an empty knowledge base: kb create Handbook --indexing-technique economy",
    "Sync a directory or another source to a knowledge base: kb sync Handbook examples/handbook",
    "Search a knowledge base for matching chunks: kb search Handbook 'stolen laptop' --top-k 1",
    `Run the workflow and follow it: wf run --inputs '{"query":"hello"}'`,
    "Delete documents: kb doc delete Handbook glossary.md",
    "",
  ]);
  expect(out.match(/^ {2}ok: /gm)).toHaveLength(6);
});
