import { listChunks } from "../../../operations/chunks.ts";
import { downloadDocumentsZip, listDocuments } from "../../../operations/documents.ts";
import {
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
} from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/pipeline.ts";
import { list, local, onTerminal, withNamePath } from "../../../operations/operation.ts";
import { task } from "../../task/command-spec.ts";
import { problemFigureNames } from "./figures.ts";

export const checkParams = {
  dataset_id: local.ref("kb", "Knowledge base name or ID", { many: true }),
  all: local.flag("Check all knowledge bases"),
  stuck_after: local.duration("Age from which an unfinished document is stuck (default 1h)"),
  no_chunks: local.flag("Do not ask each document for chunks that are not indexed"),
  no_content: local.flag("Do not download contents to find duplicates and wrong sync marks"),
  fail_if: local.text(
    `Exit with code 14 if true, e.g. 'problems>0' (figures: ${problemFigureNames.join(", ")})`,
    { placeholder: "condition", many: true },
  ),
};

export const kbCheck = task({
  command: "kb check [kb...]",
  action: "check knowledge bases",
  summary: "Find what is wrong in knowledge bases, each with its repair",
  about:
    "Finds documents in error, stuck, paused, empty or without chunks, contents that two documents have,\nchunks that are not indexed, models that are not active, searches that fail, and sync marks that\ncontradict the content. Reads only: one request per 100 documents for the list and one for the\ncontents, one per document for chunks, and one search. What it could not check is a row, too.",
  params: checkParams,
  returns: onTerminal(
    {
      form: "results",
      outcome: "problem",
      name: "name",
      reason: "note",
      advice: "repair",
      routine: [],
    },
    withNamePath("id", list("", "problem kb name note repair id:id")),
  ),
  sends: [
    listKnowledgeBases,
    getKnowledgeBase,
    listDocuments,
    listChunks,
    downloadDocumentsZip,
    listModels,
    searchKnowledgeBase,
  ],
  effect: "reads",
  exits: ["gate"],
  examples: [
    "kb check Handbook",
    "kb check --all --fail-if 'problems>0' -o json",
    "kb check Handbook --stuck-after 30m --no-content",
  ],
});
