import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { createCompletion, listMessages, sendMessage } from "../../../operations/chats.ts";
import { listDocuments } from "../../../operations/documents.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/pipeline.ts";
import { local, report } from "../../../operations/operation.ts";
import { dataset_id, retrievalShape } from "../../../operations/shared.ts";
import { runWorkflow } from "../../../operations/workflows.ts";
import { task } from "../../task/command-spec.ts";
import { searchFlags } from "../../kb/knowledge/index.ts";

export const evalParams = {
  dataset_id,
  questions: local.file("File of questions and expectations, - for stdin", {
    placeholder: "questions",
  }),
  queries: local.file("The file of questions, as BEIR names it"),
  qrels: local.file("Grades of documents by question (TREC or BEIR)"),
  document_field: local.text("Metadata field that also names documents"),
  relevant_from: local.integer("Lowest relevant grade (default 1)", {
    range: [1, 1000],
  }),
  ...searchFlags,
  retrieval_model: local.json("Search settings (default: the knowledge base's)", {
    shape: retrievalShape,
  }),
  app: local.text("Also measure what an application finds", { placeholder: "name" }),
  rerank_model: local.text("Rerank model (default: the only one)"),
  k: local.text("Values of k (top documents), e.g. 1,3,5"),
  failures: local.flag("List questions that failed"),
  baseline: local.file("Compare with a file of --save; exit 14 if worse"),
  measure: local.text("Metric to compare (default: nDCG@k)"),
  level: local.number("Rate of false alarms (default 0.05)", {
    range: [0.0001, 0.5],
  }),
  strict: local.flag("Also exit 14 if a decline may be chance"),
  save: local.text("Save the evaluation to this file, for --baseline", {
    isOutputPath: true,
  }),
  fail_if: local.text("Exit 14 if true, e.g. 'recall@5<0.9'", {
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
  command: "kb eval <kb> [questions]",
  action: "evaluate knowledge base {kb}",
  meant: ["evaluate", "benchmark"],
  summary: "Evaluate retrieval against a set of labelled questions",
  about:
    'Questions are JSON Lines, CSV or a YAML list. Each has a question and what to find: documents\n(names, IDs or paths, separated by ; in CSV, or grades: {"a.md": 2}), text (in a chunk) or passages\n(quotes, half of one in a chunk); optional are id, filter and max_rank (the last rank that counts).\n"documents": [] expects no results. BEIR and TREC files and YAML suites that search here also work.\n\nFigures, also for --fail-if: recall@k, precision@k, hit_rate@k, ndcg@k, map, mrr, context_chars,\nlatency_p50, latency_p95, failed (searches), missed (questions); with --baseline also changes:\n\'mrr.change<-0.02\'. By default, --k is 1, 3, 5, 10 and the numbers in conditions.',
  parallel: true,
  params: evalParams,
  returns: { ...report, texts: ["trec"] },
  sends: [
    getKnowledgeBase,
    listModels,
    listDocuments,
    getAppInfo,
    getAppParameters,
    sendMessage,
    listMessages,
    createCompletion,
    runWorkflow,
  ],
  wraps: searchKnowledgeBase,
  effect: "reads",
  runsToEnd: true,
  exits: ["partial", "gate"],
  instead: { "--matrix": `settings are compared by ${commandLine("kb tune")}, with a proof` },
  examples: [
    "kb eval Handbook questions.jsonl --top-k 5 --failures",
    "kb eval Handbook questions.jsonl --search-method full_text_search -o md",
    "kb eval Handbook questions.jsonl --baseline before.json --strict",
  ],
});
