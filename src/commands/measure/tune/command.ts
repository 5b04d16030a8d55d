import { listDocuments } from "../../../operations/documents.ts";
import {
  createKnowledgeBase,
  deleteKnowledgeBase,
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
  updateKnowledgeBase,
} from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/pipeline.ts";
import { local, report } from "../../../operations/operation.ts";
import { dataset_id } from "../../../operations/shared.ts";
import { changesByPlan, task } from "../../task/command-spec.ts";
import { transfers } from "../../kb/changes/index.ts";
import { evalParams } from "../eval/index.ts";

/** Figures that rate what fits into the context, and their names without it. */
export const measures = ["recall", "ndcg", "hit_rate", "map", "mrr"] as const;

const { questions, queries, qrels, document_field, relevant_from, rerank_model } = evalParams;

export const tuneParams = {
  dataset_id,
  questions,
  queries,
  qrels,
  document_field,
  relevant_from,
  rerank_model,
  arms: local.text("YAML list of settings to try (default: what the index allows)", {
    placeholder: "file",
  }),
  measure: local.choice(
    measures,
    "Metric to compare at the current context length (default recall)",
  ),
  level: evalParams.level,
  seed: local.integer("Order of the questions (default 1)", { range: [0, 4_294_967_295] }),
  max_requests: local.integer("Maximum number of searches to send", { range: [1, 10_000_000] }),
  max_minutes: local.number("Minutes after which no further search is sent", {
    range: [0.01, 100_000],
  }),
  max_embedded: local.integer(
    "Maximum number of characters to embed in temporary knowledge bases",
    {
      range: [0, 1_000_000_000_000],
    },
  ),
  apply: local.flag("Change the search settings if others are proven better"),
  save: local.text("Write settings that are proven better to this file, for kb apply", {
    isOutputPath: true,
  }),
  allow_missing: evalParams.allow_missing,
  wait_for_limit: evalParams.wait_for_limit,
};

export const kbTune = task({
  command: "kb tune <kb> [questions]",
  action: "tune knowledge base {kb}",
  meant: ["optimize", "improve"],
  summary: "Find better search settings, and prove them on held-out questions",
  about:
    "Questions are those of `kb eval`. Those about half of the documents, chosen by a hash or\nby their field part (tune, proof), find the best settings by successive halving; the others compare\nthese with the current settings: better, keep what you have, or inconclusive. All settings are compared at the same average\nlength of context: each list of results is cut to as many characters as the current settings return.\n\nAn arm combines search settings (search_method, top_k, score_threshold, reranking_enable,\nvector_weight) or parts of a chunking rule: max_tokens, chunk_overlap and separator, also of child chunks\n(child_…). Rules are tried in temporary knowledge\nbases, which are removed at the end. After a kill, the same command continues; any other run of\n`kb tune` for this knowledge base removes them.",
  parallel: true,
  params: tuneParams,
  returns: report,
  sends: [
    updateKnowledgeBase,
    getKnowledgeBase,
    listModels,
    listDocuments,
    listKnowledgeBases,
    createKnowledgeBase,
    deleteKnowledgeBase,
    ...transfers,
  ],
  wraps: searchKnowledgeBase,
  ...changesByPlan,
  runsToEnd: true,
  examples: [
    "kb tune Handbook questions.jsonl --dry-run",
    "kb tune Handbook questions.jsonl --max-requests 500 --yes --apply",
    "kb tune Handbook questions.jsonl --arms arms.yml --save tuned.yml",
  ],
});
