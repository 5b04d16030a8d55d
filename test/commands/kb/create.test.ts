import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";

const server = await testSandbox();
const id = expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown;

test("prints what a new knowledge base has; a terminal, one sentence", async () => {
  const create = (name: string) => ["kb", "create", name, "--indexing-technique", "economy"];
  const { out } = await server.cli(create("Handbook"));
  const rows = out.trimEnd().split("\n");
  expect(rows.map((row) => row.split("\t"))).toEqual([
    ["name", "Handbook"],
    ["indexing", "economy"],
    ["permission", "only_me"],
    ["id", id],
  ]);
  const shown = await server.cli(create("Guide"), { tty: true });
  expect(shown.out).toBe("");
  expect(shown.err).toMatch(/^Created knowledge base Guide \([0-9a-f-]{36}\)$/m);
  const quiet = await server.cli([...create("Quiet"), "-q"], { tty: true });
  expect(quiet.out.trimEnd().split("\n")).toHaveLength(4);
});

test("--quiet leaves a prompt complete", async () => {
  const questions: string[] = [];
  const { err } = await server.cli(["kb", "create", "Silent", "-q"], {
    tty: true,
    questions,
    answers: ["1"],
  });
  expect(questions).toEqual(["Indexing technique (1-2) [economy]: "]);
  expect(err).toBe(
    "How should documents be indexed?\n" +
      "  1  economy: keyword search, without a model\n" +
      "  2  high_quality: needs an embedding model; none is active\n",
  );
});
