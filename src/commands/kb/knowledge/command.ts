import { listDocuments } from "../../../operations/documents.ts";
import {
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
} from "../../../operations/knowledge.ts";
import { local, onTerminal } from "../../../operations/operation.ts";
import { searchMethods } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";

export const kbOpenParams = {
  dataset_id: local.ref("kb", "Knowledge base name or ID (default: the list of all)"),
  document_id: local.ref("document", "Document name or ID", { placeholder: "doc" }),
  print: local.flag("Print the address instead of opening it"),
};

export const kbOpen = task({
  command: "kb open [kb] [doc]",
  action: "open the page of {kb}",
  summary: "Open a knowledge base or a document in the web console",
  about:
    "Opens the page with the command in BROWSER, or in the default browser. Prints the address if stdout\nis not a terminal, or if there is no browser. The address of the console is console_url in the\nprofile (default: the base URL without its path).",
  params: kbOpenParams,
  returns: { kind: "json" },
  sends: [listKnowledgeBases, listDocuments],
  effect: "reads",
  examples: ["kb open Handbook", "kb open Handbook welcome.md", "kb open --print"],
});

export const searchFlags = {
  search_method: local.choice(searchMethods, "Search method", { meant: ["--method", "--mode"] }),
  top_k: local.integer("Maximum number of chunks", { range: [1, 100], meant: ["--limit", "-n"] }),
  score_threshold: local.number("Minimum score", {
    range: [0, 1],
    meant: ["--threshold", "--min-score"],
  }),
} as const;

export const searchParams = { ...searchKnowledgeBase.params, ...searchFlags };

export const kbSearch = task({
  command: "kb search <kb> <query>",
  meant: ["retrieve", "hit-testing"],
  summary: "Search a knowledge base for matching chunks",
  about:
    "Uses the search settings of the knowledge base; flags override single settings. Economy indexing\nsupports keyword search only.",
  params: searchParams,
  returns: searchKnowledgeBase.returns,
  output: ({ query }) => onTerminal({ form: "hits", query }, searchKnowledgeBase.returns),
  sends: [getKnowledgeBase],
  wraps: searchKnowledgeBase,
  effect: "reads",
  examples: [
    "kb search Handbook onboarding",
    "kb search Handbook onboarding --top-k 3 -o json",
    "kb search Handbook 'parking at the office' --search-method keyword_search",
  ],
});
