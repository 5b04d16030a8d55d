/** What searches say about results that their method or a changed model explains. */
import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { against, http, say } from "../../lib/raw-server.ts";

const kb = "05c73387-5786-4bbd-a21a-9f26d7facd8a";
const detail = (indexing_technique: string) =>
  http(
    200,
    JSON.stringify({
      id: kb,
      name: "Handbook",
      indexing_technique,
      retrieval_model_dict: {
        search_method: "semantic_search",
        reranking_enable: false,
        top_k: 2,
        score_threshold_enabled: false,
      },
    }),
  );
const hits = (count: number) => {
  const segment = { id: kb, content: "text", document: { id: kb, name: "a.md" } };
  const records = Array.from({ length: count }, () => ({ segment, score: 0.5, child_chunks: [] }));
  return http(200, JSON.stringify({ query: { content: "leave" }, records }));
};
const failure = (message: string) =>
  http(400, JSON.stringify({ code: "invalid_param", message, status: 400 }));
const search = (responses: readonly string[], ...flags: readonly string[]) =>
  against(
    responses.map((response) => say(response)),
    ["kb", "search", kb, "leave", ...flags],
  );

test.each<[string, string, number, string, string]>([
  ["keyword_search", "high_quality", 0, "2", "keyword_search finds nothing with high_quality"],
  ["keyword_search", "economy", 0, "2", ""],
  ["keyword_search", "high_quality", 1, "2", ""],
  ["hybrid_search", "high_quality", 4, "2", "returns up to 2 results of each of its two searches"],
  ["hybrid_search", "high_quality", 2, "2", ""],
])("%s of a base with %s: %d results of %s", async (method, technique, count, top, notice) => {
  const flags = ["--search-method", method, "--top-k", top];
  const ran = await search([detail(technique), hits(count)], ...flags);
  expect(ran.exit, ran.err).toBe(0);
  if (notice === "") expect(ran.err).toBe("");
  else expect(ran.err).toContain(notice);
});

test.each([
  [
    `relation "embedding_vector_index_${kb.replaceAll("-", "_")}_nod" does not exist`,
    "keyword_search",
  ],
  ["different vector dimensions 64 and 256", "another embedding model"],
])("a search that fails with %s says what indexes the documents again", async (message, why) => {
  const ran = await search([detail("high_quality"), failure(message)]);
  expect(ran.exit).toBe(5);
  expect(ran.err).toContain(why);
  expect(ran.err).toContain(`\`kb update ${kb} --rewrite\``);
  expect(ran.err).not.toContain("without an embedding model");
});

test("a document that an earlier change of its status locks", async () => {
  const server = await testSandbox();
  await server.done(["kb", "create", "Docs", "--indexing-technique", "economy"]);
  await server.done(["kb", "doc", "add", "Docs", "s3.md", "--text", "three"]);
  await server.done(["kb", "doc", "add", "Docs", "s4.md", "--text", "four"]);
  await server.done(["kb", "doc", "wait", "Docs"]);
  const { parseFault } = await import("../../../src/sandbox/protocol/faults.ts");
  server.sandbox.setFaults([parseFault("PATCH /datasets/*/documents/status/* stays-locked")]);
  await server.done(["kb", "doc", "disable", "Docs", "s3.md"]);
  for (const action of ["enable", "archive"]) {
    const ran = await server.cli(["kb", "doc", action, "Docs", "s3.md"]);
    expect(ran.exit).toBe(5);
    expect(ran.err).toContain("Document:s3.md is being indexed, please try again later");
    expect(ran.err).toContain("can lock a document for ten minutes");
  }
  await server.done(["kb", "doc", "disable", "Docs", "s4.md"]);
  await server.done(["kb", "doc", "delete", "Docs", "s3.md", "--yes"]);
});
