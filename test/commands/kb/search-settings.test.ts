/** Null members of search settings from a server are not sent back. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox();

test("search, eval, copy and apply send settings without null members", async () => {
  const folder = await temporaryDirectory();
  await server.cli(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  await server.cli(["kb", "doc", "add", "Handbook", "a.md", "--text", "Parking is free."]);
  await writeFile(join(folder, "questions.csv"), "question,documents\nparking,a.md\n");
  await writeFile(
    join(folder, "kb.yaml"),
    "knowledge_base: Handbook\nretrieval_model:\n  top_k: 4\n",
  );
  server.seen.length = 0;
  for (const line of [
    ["search", "Handbook", "parking"],
    ["eval", "Handbook", join(folder, "questions.csv")],
    ["copy", "Handbook", "--name", "Handbook 2"],
    ["apply", join(folder, "kb.yaml"), "--yes"],
  ]) {
    const ran = await server.cli(["kb", ...line]);
    expect(ran.exit, ran.err).toBe(0);
  }
  const sent = server.seen.flatMap(({ method, path, body }) => {
    const text = new TextDecoder().decode(body);
    if (method === "GET" || !text.includes("retrieval_model")) return [];
    const { retrieval_model: model } = JSON.parse(text) as { retrieval_model: object };
    return [[`${method} ${path.replace(/[0-9a-f-]{36}/, "id")}`, Object.values(model)] as const];
  });
  expect(sent.map(([request]) => request)).toEqual([
    "POST /v1/datasets/id/retrieve",
    "POST /v1/datasets/id/retrieve",
    "POST /v1/datasets",
    "PATCH /v1/datasets/id",
  ]);
  expect(sent.flatMap(([, values]) => values)).not.toContain(null);
});
