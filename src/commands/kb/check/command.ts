import { listChunks } from "../../../operations/chunks.ts";
import { downloadDocumentsZip, getDocument, listDocuments } from "../../../operations/documents.ts";
import {
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
} from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/pipeline.ts";
import { list, local, onTerminal, textIn, withNamePath } from "../../../operations/operation.ts";
import { task } from "../../task/command-spec.ts";
import { changeResults, transferFlags, transfers } from "../changes/index.ts";
import { chunkChanges, madeThere } from "../snapshot/index.ts";
import { problemFigureNames } from "./findings.ts";

export const checkParams = {
  dataset_id: local.ref("kb", "Knowledge base name or ID", { many: true }),
  all: local.flag("Check all knowledge bases"),
  stuck_after: local.duration("Age from which an unfinished document is stuck (default 1h)"),
  no_chunks: local.flag("Do not ask each document for chunks that are not indexed"),
  no_content: local.flag("Do not download contents to find duplicates and wrong sync marks"),
  fail_if: local.text(
    `Exit with code 14 if true, e.g. 'problems>0' (figures: ${problemFigureNames.join(", ")})`,
    { placeholder: "condition", many: true, names: problemFigureNames },
  ),
};

export const kbCheck = task({
  command: "kb check [kb...]",
  tool: { without: ["fail_if"] },
  action: "check knowledge bases",
  meant: ["audit"],
  summary: "Find what is wrong in knowledge bases, each with its repair",
  about:
    "Finds documents in error, stuck, paused, empty or without chunks, contents that two documents have,\nchunks that are not indexed or gone, files that the server has lost, models that are not active, searches that\nfail or find nothing, and sync marks that contradict the content. Reads only: one request per 100 documents for the\nlist and one for the contents, two per document for chunks, and one search, of economy up to five. What it could\nnot check is a row, too.",
  params: checkParams,
  returns: {
    ...onTerminal(
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
    html: "check of knowledge base {kb}",
    texts: ["openmetrics"],
  },
  output: (_, format) => (format === "openmetrics" ? textIn(format) : undefined),
  sends: [
    listKnowledgeBases,
    getKnowledgeBase,
    listDocuments,
    listChunks,
    getDocument,
    downloadDocumentsZip,
    listModels,
    searchKnowledgeBase,
  ],
  effect: "reads",
  exits: ["gate"],
  examples: [
    "kb check Handbook",
    "kb check --all --fail-if 'problems>0' -o html --output-file check.html",
    "kb check Handbook --stuck-after 30m --no-content",
    "kb check --all -o openmetrics",
  ],
});

export const healParams = {
  dataset_id: local.ref("kb", "Knowledge base name or ID"),
  all: local.flag("Heal all knowledge bases"),
  stuck_after: local.duration("Also replace documents unfinished for longer (default: none)"),
  wait_for_limit: transferFlags.wait_for_limit,
};

const madeInAll = { ...madeThere, columns: ["kb", ...madeThere.columns] } as const;

export const kbHeal = task({
  command: "kb heal [kb]",
  action: "heal knowledge base {kb}",
  meant: ["reindex", "repair"],
  summary: "Re-index what failed: documents in error, without chunks, and single chunks",
  about:
    "Replaces each of these documents with a new one that has its name, and the content that the server\nhas of it. First, whatever its status, its content and chunks are saved on this machine; afterwards,\nchunks that were added, edited, disabled or removed by hand are put back. A document whose chunks\ncannot be read is not replaced. A chunk that was not indexed is added again at the end and then\ndeleted, unless a new one would lack its summary, attachments or edited child chunks. Nothing else\nis deleted, and disabled or archived documents are left as they are. After an interruption, the same\ncommand continues.",
  parallel: true,
  params: healParams,
  returns: onTerminal(changeResults, madeThere),
  output: ({ all }) => (all ? onTerminal(changeResults, madeInAll) : undefined),
  sends: [...transfers, ...chunkChanges],
  effect: "writes",
  plans: true,
  exits: ["partial"],
  examples: ["kb heal Handbook --dry-run", "kb heal Handbook --stuck-after 2h", "kb heal --all"],
});
