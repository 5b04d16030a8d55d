/** The comparison of search methods in docs/evaluation.md, in this process. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../lib/paths.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

test("vectors find misspelt questions that full-text search misses, and words the others", async () => {
  const { done } = await testSandbox({ speed: 200, models: true });
  const folder = await temporaryDirectory();
  const example = (name: string) => join(root, "examples", name);
  await done(["kb", "create", "Staff", "--indexing-technique", "high_quality"]);
  await done(["kb", "sync", "Staff", example("handbook")], { folder });
  const evaluated = async (...flags: readonly string[]) => {
    const figures = '.settings[] | [.figures["recall@3"], (.questions[] | select(.rank) | .id)]';
    const command = ["kb", "eval", "Staff", example("misspelt.jsonl"), "--top-k", "3", ...flags];
    const { out } = await done([...command, "--jq", figures]);
    const [recall, ...ids] = JSON.parse(out) as [recall: number, ...ids: string[]];
    return [recall, ids.sort()];
  };
  const exact = ["as written", "as written, too"];
  expect(await evaluated("--search-method", "full_text_search")).toEqual([0.166667, exact]);
  const vectors = await evaluated("--search-method", "semantic_search");
  expect(vectors[0]).toBe(0.666667);
  // Server §6.1: without weights and reranking, the scores are those of the vectors.
  expect(await evaluated("--search-method", "hybrid_search")).toEqual(vectors);
  const model = await done([
    "kb",
    "show",
    "Staff",
    "--jq",
    "[.embedding_model_provider, .embedding_model]",
  ]);
  const [embedding_provider_name, embedding_model_name] = JSON.parse(model.out) as string[];
  const weighted = {
    search_method: "hybrid_search",
    reranking_enable: false,
    reranking_mode: "weighted_score",
    top_k: 3,
    score_threshold_enabled: false,
    weights: {
      weight_type: "customized",
      vector_setting: { vector_weight: 0.7, embedding_provider_name, embedding_model_name },
      keyword_setting: { keyword_weight: 0.3 },
    },
  };
  const inflected = ["sabaticals", "accepting"];
  const misspelt = ["osciloscope", "pasphrases", "comander", "compny", "Europen", "safty"];
  expect(await evaluated("--retrieval-model", JSON.stringify(weighted))).toEqual([
    0.916667,
    [...exact, "by meaning only", ...inflected, ...misspelt].sort(),
  ]);
});
