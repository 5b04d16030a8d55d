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

export const searchParams = {
  ...searchKnowledgeBase.params,
  dataset_id: local.ref("kb", "Knowledge base name or ID"),
  all: local.flag("Search all knowledge bases"),
  only: local.ref("kb", "With --all, only this one", { many: true, placeholder: "kb" }),
  ...searchFlags,
};

const { returns } = searchKnowledgeBase;
const inAll = { ...returns, columns: ["kb", ...returns.columns, "rank", "kb_id"] } as const;

export const kbSearch = task({
  command: "kb search [kb] <query>",
  meant: ["retrieve", "hit-testing"],
  summary: "Search a knowledge base, or all, for matching chunks",
  about:
    "Uses the search settings of the knowledge base; flags override single settings. Economy indexing\nsupports keyword search only. With --all, the results of all knowledge bases that the key opens become\none list, which --top-k limits: the first result of each, then the second of each, and so on. Scores\norder those of one rank, but only between knowledge bases with the same model and search method.",
  parallel: true,
  params: searchParams,
  returns,
  output: ({ query, all }) => onTerminal({ form: "hits", query }, all ? inAll : returns),
  sends: [getKnowledgeBase, listKnowledgeBases],
  wraps: searchKnowledgeBase,
  effect: "reads",
  exits: ["partial"],
  examples: [
    "kb search Handbook onboarding",
    "kb search --all 'parental leave' --top-k 5 -o json",
    "kb search --all 'parental leave' --only Handbook --only FAQ",
    "kb search Handbook 'parking at the office' --search-method keyword_search",
  ],
});
