import { listChunks } from "../../../operations/chunks.ts";
import { downloadDocumentsZip, listDocuments } from "../../../operations/documents.ts";
import {
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
  updateKnowledgeBase,
} from "../../../operations/knowledge.ts";
import { getMetadataOverview } from "../../../operations/metadata.ts";
import { listModels } from "../../../operations/pipeline.ts";
import {
  list,
  local,
  onTerminal,
  textChunks,
  withNamePath,
} from "../../../operations/operation.ts";
import { dataset_id, required } from "../../../operations/shared.ts";
import { unbindTags } from "../../../operations/tags.ts";
import { changesByPlan, task } from "../../task/command-spec.ts";
import { changeResults, settingChanges, syncRequests, transferFlags } from "../changes/index.ts";

const kbFile = local.text("YAML file that describes a knowledge base", {
  required,
  placeholder: "file",
  meant: ["-f", "--file"],
});

const planRows = withNamePath("name", list("", "action what name:name from to note"));

export const kbPull = task({
  command: "kb pull <kb>",
  action: "pull knowledge base {kb}",
  summary: "Print a knowledge base as a file for plan and apply",
  params: { dataset_id },
  returns: textChunks,
  sends: [getKnowledgeBase, getMetadataOverview],
  effect: "reads",
  examples: ["kb pull Handbook", "kb pull Handbook --output-file handbook.yml"],
});

export const kbPlan = task({
  command: "kb plan <file>",
  action: "plan {file}",
  summary: "Preview the changes that apply would make",
  params: { file: kbFile, exit_code: local.flag("Exit with code 14 if there are changes") },
  namesFiles: true,
  returns: planRows,
  sends: [
    listKnowledgeBases,
    getKnowledgeBase,
    getMetadataOverview,
    listModels,
    listDocuments,
    downloadDocumentsZip,
  ],
  effect: "reads",
  exits: ["partial", "gate"],
  examples: ["kb plan handbook.yml", "kb plan handbook.yml --exit-code -o json"],
});

export const kbApply = task({
  command: "kb apply <file>",
  action: "apply {file}",
  meant: ["deploy"],
  summary: "Create or update a knowledge base from a file",
  about:
    "Creates the knowledge base if it does not exist. Settings that the file omits are kept, and a second\napply changes nothing. Metadata fields are never deleted. Documents are deleted only with prune,\nand more than max_delete (default 20%) only after confirmation. --rewrite asks before it loses\nmanual changes to chunks.",
  parallel: true,
  params: { file: kbFile, rewrite: updateKnowledgeBase.params.rewrite, ...transferFlags },
  namesFiles: true,
  returns: onTerminal(changeResults, planRows),
  sends: [
    listKnowledgeBases,
    updateKnowledgeBase,
    searchKnowledgeBase,
    unbindTags,
    ...settingChanges,
    ...syncRequests,
    listChunks,
  ],
  ...changesByPlan,
  exits: ["remote-failed", "partial"],
  examples: ["kb apply handbook.yml", "kb apply handbook.yml --dry-run"],
});
