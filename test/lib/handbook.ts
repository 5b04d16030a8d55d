import type { ManualClock } from "./manual-clock.ts";

/** The chunks of the knowledge base that the recorded applications search. */
const chunks = [
  "Everybody has 31 days of paid leave.",
  "Employees have 30 days of paid leave a year. Leave is asked for two weeks ahead.",
  "Parental leave is a year.",
];

/** Adds the knowledge base `HQ handbook` to a sandbox with models, with one indexed document. */
export async function addHandbook(
  origin: string,
  clock: Pick<ManualClock, "advance">,
): Promise<void> {
  const post = async (path: string, body: object): Promise<{ readonly id: string }> => {
    const response = await fetch(`${origin}/v1${path}`, {
      method: "POST",
      headers: { Authorization: "Bearer dataset-sandbox", "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as { id: string }; // of a knowledge base
  };
  const { id } = await post("/datasets", {
    name: "HQ handbook",
    indexing_technique: "high_quality",
    embedding_model: "stub-embed",
    embedding_model_provider: "langgenius/stub/stub",
    retrieval_model: {
      search_method: "semantic_search",
      reranking_enable: false,
      top_k: 3,
      score_threshold_enabled: true,
      score_threshold: 0.2,
    },
  });
  const segmentation = { separator: "\n\n", max_tokens: 500 };
  await post(`/datasets/${id}/document/create-by-text`, {
    name: "leave.md",
    text: chunks.join("\n\n"),
    indexing_technique: "high_quality",
    process_rule: { mode: "custom", rules: { pre_processing_rules: [], segmentation } },
  });
  await clock.advance(1000);
}
