import {
  createChildChunk,
  createChunks,
  deleteChildChunk,
  deleteChunk,
  listChildChunks,
  listChunks,
  updateChildChunk,
  updateChunk,
} from "../../../operations/chunks.ts";
import {
  archiveDocuments,
  disableDocuments,
  downloadDocumentsZip,
  enableDocuments,
  getDocument,
  listDocuments,
  unarchiveDocuments,
} from "../../../operations/documents.ts";
import { getKnowledgeBase, listKnowledgeBases } from "../../../operations/knowledge.ts";
import { getMetadataOverview } from "../../../operations/metadata.ts";
import {
  asPage,
  list,
  local,
  onTerminal,
  report,
  withNamePath,
} from "../../../operations/operation.ts";
import { dataset_id, required } from "../../../operations/shared.ts";
import { changesByPlan, task } from "../../task/command-spec.ts";
import {
  changeResults,
  routine,
  settingChanges,
  transferFlags,
  transfers,
} from "../changes/index.ts";

export const map_model = local.text("Replace an embedding model: provider/model=provider/model", {
  many: true,
});

export const madeThere = onTerminal(
  // A copy has the tags and the built-in fields of its source.
  { ...changeResults, routine: [...routine, "bind", "switch"] },
  withNamePath("id", list("", "action what name:name note id:id")),
);

/** What changes chunks; the documents of an interrupted import are enabled meanwhile. */
export const chunkChanges = [
  listChunks,
  listChildChunks,
  createChunks,
  updateChunk,
  deleteChunk,
  createChildChunk,
  updateChildChunk,
  deleteChildChunk,
  getDocument,
  enableDocuments,
  unarchiveDocuments,
];

export const makes = [
  ...settingChanges,
  ...transfers,
  disableDocuments,
  archiveDocuments,
  ...chunkChanges,
];

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
  no_chunks: local.flag("Skip chunks, which saves one request per document"),
};

export const kbExport = task({
  command: "kb export <kb> <dir>",
  action: "export knowledge base {kb}",
  meant: ["dump", "fetch"],
  summary: "Export a knowledge base to a directory",
  about:
    "Writes the documents, byte for byte, their chunks, and a manifest with settings, metadata, tags and\nchecksums. Unchanged documents are not downloaded again. Earlier files are removed last, so an\ninterrupted export leaves the previous one intact. Prints the files of documents that changed.",
  params: exportParams,
  returns: onTerminal(
    { form: "results", outcome: "action", name: "document", routine: ["written"] },
    withNamePath("file", list("", "action document:name file bytes:bytes")),
  ),
  sends: [...reads, listChunks, listChildChunks],
  effect: "reads",
  runsToEnd: true,
  exits: ["partial"],
  examples: ["kb export Handbook backup", "kb export Handbook backup --no-chunks -o jsonl"],
});

const as_is = local.flag("With the chunks as they are, edited ones included");

export const importParams = {
  directory: local.text("Directory of the export", { required, placeholder: "dir" }),
  name: local.text("Name of the new knowledge base (default: as exported)"),
  into: local.text("Existing knowledge base to import into"),
  as_is,
  map_model,
  ...transferFlags,
};

export const kbImport = task({
  command: "kb import <dir>",
  action: "import {dir}",
  summary: "Create a knowledge base from an export",
  about:
    "Checks all files before it sends anything. After an interruption, the same command continues:\ndocuments with the same content are skipped unless they are in error. A document with the same name\nand other content is replaced; if manual changes to its chunks would be lost, the command lists them\nand asks first. Permissions for selected members are not imported; the copy is private to its owner.",
  parallel: true,
  params: importParams,
  returns: madeThere,
  sends: makes,
  ...changesByPlan,
  examples: [
    "kb import backup --name 'Handbook copy'",
    "kb import backup --dry-run",
    "kb import backup --name 'Handbook moved' --as-is --yes",
  ],
});

export const copyParams = {
  dataset_id,
  to_profile: local.text("Profile of the target"),
  name: local.text("Name of the copy (default: the original's)"),
  as_is,
  map_model,
  ...transferFlags,
};

export const kbCopy = task({
  command: "kb copy <kb>",
  action: "copy knowledge base {kb}",
  meant: ["cp", "clone"],
  summary: "Copy a knowledge base, also to another workspace",
  about: "Exports to a temporary directory, then imports with the settings of --to-profile.",
  parallel: true,
  params: copyParams,
  returns: madeThere,
  sends: [listKnowledgeBases, ...makes],
  ...changesByPlan,
  examples: [
    "kb copy Handbook --name 'Handbook copy'",
    "kb copy Handbook --name 'Handbook staging' --to-profile sandbox",
  ],
});

export const verifyParams = {
  a: local.text("Knowledge base or directory of an export", { required, placeholder: "a" }),
  b: local.text("Knowledge base or directory of an export", { required, placeholder: "b" }),
  to_profile: local.text("Profile of the second side"),
  chunks: local.flag("Compare chunk by chunk, too"),
};

export const kbVerify = task({
  command: "kb verify <a> <b>",
  action: "compare {a} with {b}",
  meant: ["diff", "compare"],
  summary: "Compare two knowledge bases or exports byte by byte",
  about:
    "Each side is a knowledge base or the directory of an export. Lists differences in documents,\ncontent, status, metadata, fields, tags and settings, and exits with code 14 if there are any. With\n--chunks, also in content, answers, keywords, order and child chunks; those that no import can remove\nare listed as not importable and do not count. -o html shows the words that differ.",
  params: verifyParams,
  output: (_, format) => (format === "html" ? report : undefined),
  returns: onTerminal(
    { form: "results", outcome: "what", name: "name", reason: "note", routine: [] },
    withNamePath("name", asPage("comparison of {a} and {b}", list("", "what name:name a b"))),
  ),
  sends: [...reads, listChunks, listChildChunks],
  effect: "reads",
  exits: ["gate"],
  examples: ["kb verify backup Handbook", "kb verify backup Handbook --chunks -o json"],
});
