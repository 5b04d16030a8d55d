import { listDocuments } from "../../../operations/documents.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/models.ts";
import { local, report } from "../../../operations/operation.ts";
import { dataset_id, required, retrievalShape } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";
import { searchFlags } from "../knowledge/index.ts";

export const evalParams = {
  dataset_id,
  questions: local.file("File of questions and expectations, - for stdin", {
    required,
    placeholder: "questions",
  }),
  ...searchFlags,
  retrieval_model: local.json("Search settings (default: the knowledge base's)", {
    shape: retrievalShape,
  }),
  matrix: local.text(
    "Compare combinations of settings: search_method, top_k, score_threshold, reranking_enable or vector_weight=value,value",
    { many: true },
  ),
  rerank_model: local.text(
    "Rerank model as provider/model (default: the configured one, or the only active one)",
  ),
  k: local.text("Numbers of top documents, e.g. 1,3,5"),
  failures: local.flag("List questions with missing documents"),
  baseline: local.file("Compare with an earlier evaluation from --save"),
  save: local.text("Save the evaluation to this file, for --baseline", {
    isOutputPath: true,
  }),
  fail_if: local.text("Exit with code 14 if true, e.g. 'recall@5<0.9'", {
    placeholder: "condition",
    many: true,
  }),
  junit: local.text("JUnit report to write, one case per question", {
    isOutputPath: true,
  }),
  allow_missing: local.flag("Count missing documents as not found"),
  wait_for_limit: local.flag("Wait at the rate limit of the knowledge base"),
};

export const kbEval = task({
  command: "kb eval <kb> <questions>",
  action: "evaluate knowledge base {kb}",
  summary: "Evaluate retrieval against a set of labelled questions",
  about:
    "Questions are JSON Lines or CSV with the fields question, documents (expected names, IDs or paths;\nin CSV separated by ;), text (expected in a chunk), filter (metadata conditions of the search) and\nid. Only question and one of documents or text are required. Of a suite of `wf test run`\n(YAML), the tests with a search in this knowledge base are the questions.\n\nRanks count documents, by their first chunks; a text counts as the first document with it. recall@k is the share of the expected documents among the first k,\nprecision@k the share of the first k that was expected, hit_rate@k the share of questions with at\nleast one hit, ndcg@k the gain with binary relevance and log2 of the rank, mrr the mean of 1/rank.\n\n--fail-if takes these metrics, latency_p50, latency_p95 and failed; with --baseline also changes:\n'recall@5.change<-0.02'. If one is true, the exit code is 14. --k is 1, 3, 5 and 10 by default;\nconditions add those that they name.",
  parallel: true,
  params: evalParams,
  returns: report,
  sends: [getKnowledgeBase, listModels, listDocuments],
  wraps: searchKnowledgeBase,
  effect: "reads",
  runsToEnd: true,
  exits: ["partial", "gate"],
  examples: [
    "kb eval Handbook questions.jsonl --top-k 5 --failures",
    "kb eval Handbook questions.jsonl --matrix top_k=3,5 -o md",
    "kb eval Handbook questions.jsonl --baseline before.json --fail-if 'mrr.change<-0.02' --junit eval.xml",
  ],
});
