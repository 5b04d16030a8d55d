import { listChunks } from "../../../operations/chunks.ts";
import {
  archiveDocuments,
  disableDocuments,
  downloadDocumentsZip,
  getDocument,
  listDocuments,
} from "../../../operations/documents.ts";
import { getKnowledgeBase, listKnowledgeBases } from "../../../operations/knowledge.ts";
import { getMetadataOverview } from "../../../operations/metadata.ts";
import { asPage, list, local, onTerminal, withNamePath } from "../../../operations/operation.ts";
import { dataset_id, required } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";
import {
  changeResults,
  routine,
  settingChanges,
  transferFlags,
  transfers,
} from "../changes/index.ts";

const map_model = local.text("Replace an embedding model: provider/model=provider/model", {
  many: true,
});

const madeThere = onTerminal(
  // A copy has the tags and the built-in fields of its source.
  { ...changeResults, routine: [...routine, "bind", "switch"] },
  withNamePath("id", list("", "action what name:name note id:id")),
);

const makes = [...settingChanges, ...transfers, disableDocuments, archiveDocuments];

export const reads = [
  getKnowledgeBase,
  getMetadataOverview,
  listDocuments,
  getDocument,
  downloadDocumentsZip,
];

export const exportParams = {
  dataset_id,
  directory: local.text("Directory, new or of an earlier export", {
    required,
    placeholder: "dir",
  }),
  chunks: local.flag("Include the chunks of each document"),
};

export const kbExport = task({
  command: "kb export <kb> <dir>",
  action: "export knowledge base {kb}",
  summary: "Export a knowledge base to a directory",
  about:
    "Writes the documents, byte for byte, and a manifest with settings, metadata, tags and checksums.\nUnchanged documents are not downloaded again. Earlier files are removed last, so an interrupted\nexport leaves the previous one intact. Prints the files that changed.",
  params: exportParams,
  returns: onTerminal(
    { form: "results", outcome: "action", name: "document", routine: ["written"] },
    withNamePath("file", list("", "action document:name file bytes:bytes")),
  ),
  sends: [...reads, listChunks],
  effect: "reads",
  runsToEnd: true,
  exits: ["partial"],
  examples: ["kb export Handbook backup", "kb export Handbook backup --chunks -o jsonl"],
});

export const importParams = {
  directory: local.text("Directory of the export", { required, placeholder: "dir" }),
  name: local.text("Name of the new knowledge base (default: as exported)"),
  into: local.text("Existing knowledge base to import into"),
  map_model,
  ...transferFlags,
};

export const kbImport = task({
  command: "kb import <dir>",
  action: "import {dir}",
  summary: "Create a knowledge base from an export",
  about:
    "Checks all files before it sends anything. After an interruption, the same command continues:\ndocuments with the same content are skipped unless they are in error. Permissions for selected members\nare not imported; the copy is private to its owner.",
  parallel: true,
  params: importParams,
  returns: madeThere,
  sends: makes,
  effect: "writes",
  plans: true,
  exits: ["partial"],
  examples: ["kb import backup --name 'Handbook copy'", "kb import backup --dry-run"],
});

export const copyParams = {
  dataset_id,
  to_profile: local.text("Profile of the target"),
  name: local.text("Name of the copy (default: the original's)"),
  map_model,
  ...transferFlags,
};

export const kbCopy = task({
  command: "kb copy <kb>",
  action: "copy knowledge base {kb}",
  summary: "Copy a knowledge base, also to another workspace",
  about: "Exports to a temporary directory, then imports with the settings of --to-profile.",
  parallel: true,
  params: copyParams,
  returns: madeThere,
  sends: [listKnowledgeBases, ...makes, getDocument, listChunks],
  effect: "writes",
  plans: true,
  exits: ["partial"],
  examples: [
    "kb copy Handbook --name 'Handbook copy'",
    "kb copy Handbook --name 'Handbook staging' --to-profile sandbox",
  ],
});

export const verifyParams = {
  a: local.text("Knowledge base or directory of an export", { required, placeholder: "a" }),
  b: local.text("Knowledge base or directory of an export", { required, placeholder: "b" }),
  to_profile: local.text("Profile of the second side"),
};

export const kbVerify = task({
  command: "kb verify <a> <b>",
  action: "compare {a} with {b}",
  summary: "Compare two knowledge bases or exports byte by byte",
  about:
    "Each side is a knowledge base or the directory of an export. Lists differences in documents,\ncontent, status, metadata, fields, tags and settings, and exits with code 14 if there are any.",
  params: verifyParams,
  returns: onTerminal(
    { form: "results", outcome: "what", name: "name", reason: "note", routine: [] },
    withNamePath("name", asPage("comparison of {a} and {b}", list("", "what name:name a b"))),
  ),
  sends: reads,
  effect: "reads",
  exits: ["gate"],
  examples: ["kb verify backup Handbook", "kb verify backup Handbook -o json"],
});
