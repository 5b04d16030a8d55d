/** The comparison of search methods in docs/evaluation.md, in this process. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../lib/paths.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

test("hybrid search finds misspelt questions that full-text search misses", async () => {
  const { done } = await testSandbox({ speed: 200, models: true });
  const folder = await temporaryDirectory();
  const example = (name: string) => join(root, "examples", name);
  await done(["kb", "create", "Staff", "--indexing-technique", "high_quality"]);
  await done(["kb", "sync", "Staff", example("handbook")], { folder });
  const command = ["kb", "eval", "Staff", example("misspelt.jsonl"), "--top-k", "3"];
  const methods = ["--matrix", "search_method=full_text_search,hybrid_search"];
  const weight = ["--matrix", "vector_weight=0.7"];
  const figures = '.settings[] | [.figures["recall@3"], (.questions[] | select(.rank) | .id)]';
  const { out } = await done([...command, ...methods, ...weight, "--jq", figures]);
  const exact = ["as written", "as written, too"];
  const inflected = ["sabaticals", "accepting"];
  const misspelt = ["osciloscope", "pasphrases", "comander", "compny", "Europen", "safty"];
  const found = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as [recall: number, ...ids: string[]])
    .map(([recall, ...ids]) => [recall, ids.sort()]);
  expect(found).toEqual([
    [0.166667, exact],
    [0.916667, [...exact, "by meaning only", ...inflected, ...misspelt].sort()],
  ]);
  const bare = ["--matrix", "search_method=semantic_search,hybrid_search"];
  expect((await done([...command, ...bare])).out).toContain(
    "# identical results for every question: semantic_search, hybrid_search; hybrid search without weights and reranking returns the scores of semantic search; add --matrix vector_weight=0.5,0.7\n",
  );
});
