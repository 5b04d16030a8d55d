import { listChunks } from "../../../operations/chunks.ts";
import {
  downloadDocumentsZip,
  getDocument,
  getIndexingStatus,
  listDocuments,
  replaceDocument,
  updateDocumentByFile,
  updateDocumentByText,
} from "../../../operations/documents.ts";
import { listKnowledgeBases } from "../../../operations/knowledge.ts";
import {
  getMetadataOverview,
  listBuiltInFields,
  setDocumentMetadata,
} from "../../../operations/metadata.ts";
import {
  fileContent as bytes,
  fileOrText,
  list,
  local,
  onTerminal,
  readColumns,
  record,
  withNamePath,
} from "../../../operations/operation.ts";
import {
  dataset_id,
  document_id,
  editedFile,
  namedFileParam,
  required,
} from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";

export const listParams = {
  ...listDocuments.params,
  where: local.text("Only documents that match a condition on columns and metadata: 'team = hr'", {
    placeholder: "condition",
    many: true,
    names: readColumns(listDocuments.returns.columns).map(({ label }) => label),
  }),
};

export const docList = task({
  command: "kb doc list <kb>",
  tool: {},
  summary: "List the documents of a knowledge base, newest first",
  about:
    "Metadata fields are columns, too. A field with the name of another column is doc_metadata.NAME; in a\ncondition, quote a name with spaces. --where compares numbers and times (in UTC) as such, and\nreads all documents: `wf help conditions` describes it.",
  params: listParams,
  returns: listDocuments.returns,
  pages: true,
  sends: [getMetadataOverview, listBuiltInFields],
  wraps: listDocuments,
  effect: "reads",
  examples: [
    "kb doc list Handbook",
    "kb doc list Handbook --status error --all",
    "kb doc list Handbook --keyword leave -o name",
    "kb doc list Handbook --columns name,team --where 'team = hr and created >= 2026-05-01'",
  ],
});

export const waitParams = {
  dataset_id,
  document_id: local.ref("document", "Document name or ID", { many: true, placeholder: "doc" }),
  batch: local.text("Batch ID from the response of an upload or update"),
};

export const docWait = task({
  command: "kb doc wait <kb> [doc...]",
  tool: {},
  action: "wait for documents {doc} in knowledge base {kb}",
  meant: ["doc watch"],
  summary: "Wait until documents are indexed",
  about:
    "Waits for the given documents, for those of --batch, or for all documents of the knowledge\nbase. --timeout sets a deadline; without one it gives up after 30 minutes without progress.\nExits with code 9 if a document fails.",
  params: waitParams,
  returns: onTerminal(
    { form: "results", outcome: "status", name: "name", reason: "error", routine: ["completed"] },
    list("", "name status=indexing_status error id:id"),
  ),
  sends: [listDocuments, getDocument, getIndexingStatus, listKnowledgeBases],
  effect: "reads",
  exits: ["remote-failed"],
  examples: [
    "kb doc wait Handbook",
    "kb doc wait Handbook welcome.md --timeout 5m",
    "kb doc wait Handbook --batch $BATCH",
  ],
});

export const docReplace = task({
  command: "kb doc replace <kb> <doc> <file>",
  summary: "Replace the file of a document and reindex it",
  about: "The document must be available. Servers before 1.14.0 are called with their older route.",
  params: { ...replaceDocument.params, file: namedFileParam },
  returns: replaceDocument.returns,
  sends: [getDocument, listChunks, updateDocumentByFile],
  wraps: replaceDocument,
  effect: "writes",
  examples: [
    "kb doc replace Handbook welcome.md welcome.md",
    `kb doc replace Handbook welcome.md welcome.md --process-rule '{"mode":"automatic"}'`,
  ],
});

export const renameParams = {
  dataset_id,
  document_id,
  name: local.text("New name", { length: [1, 200], required }),
  no_wait: local.flag("Do not wait for indexing"),
};

export const docRename = task({
  command: "kb doc rename <kb> <doc> <name>",
  tool: {},
  action: "rename document {doc} to {name}",
  summary: "Rename a document and reindex it",
  about:
    "The server takes a new name only together with the content, so the content is downloaded and sent\nagain. Metadata, chunking rule and language are kept. The document is split into chunks again: if\nchunks were edited, added, disabled or removed by hand, the command names them and asks. A document\nfrom a file keeps its extension. With --each, the columns are doc and name.",
  params: renameParams,
  returns: record("name was=previous_name status=display_status id ... indexing_status"),
  sends: [
    getDocument,
    listDocuments,
    listChunks,
    downloadDocumentsZip,
    replaceDocument,
    updateDocumentByFile,
    setDocumentMetadata,
  ],
  wraps: updateDocumentByText,
  effect: "writes",
  confirms: true,
  each: {},
  exits: ["unsupported", "remote-failed"],
  examples: [
    "kb doc rename Handbook leave.md holidays.md",
    "kb doc rename Handbook --each names.csv --yes",
  ],
});

export const docEditParams = { dataset_id, document_id, from: editedFile };

export const docEdit = task({
  command: "kb doc edit <kb> <doc>",
  action: "edit document {kb}/{doc}",
  summary: "Edit the text of a document in VISUAL or EDITOR and reindex it",
  about:
    "Sends nothing if the text is the same, or was changed on the server meanwhile. Unless all goes well,\nthe file with the text is kept and named. Chunks changed by hand are lost: they are named before.",
  params: docEditParams,
  returns: getDocument.returns,
  sends: [getDocument, listChunks, downloadDocumentsZip, replaceDocument, updateDocumentByFile],
  wraps: updateDocumentByText,
  effect: "writes",
  examples: ["kb doc edit Handbook leave.md", "EDITOR='code --wait' kb doc edit Handbook leave.md"],
});

export const downloadParams = {
  dataset_id,
  document_id: local.ref("document", "Document name or ID", {
    many: true,
    required,
    placeholder: "doc",
  }),
  dir: local.text("Directory for the files", {
    placeholder: "dir",
    meant: ["--out", "--output-dir"],
  }),
  zip: local.text("ZIP file to write, - for stdout", { placeholder: "file" }),
  overwrite: local.flag("Overwrite files with different content"),
};

export const docDownload = task({
  command: "kb doc download <kb> <doc...>",
  summary: "Download the original files of documents",
  about:
    "Writes the files, byte for byte, to --dir under the names of the documents, or as one ZIP to --zip.\nDocuments of which the server has no file are named; --dir writes the others.",
  params: downloadParams,
  output: ({ zip }) => (zip === "-" ? bytes : undefined),
  returns: withNamePath("path", list("", "path bytes:bytes document_id:id")),
  sends: [getDocument],
  wraps: downloadDocumentsZip,
  effect: "reads",
  exits: ["partial"],
  runsToEnd: true,
  examples: [
    "kb doc download Handbook welcome.md --dir downloads",
    "kb doc download Handbook welcome.md leave.md --zip handbook.zip",
  ],
});

export const catParams = {
  dataset_id,
  document_id: downloadParams.document_id,
  chunks: local.flag("Print the text as it is indexed: the chunks, which may overlap"),
};

export const docCat = task({
  command: "kb cat <kb> <doc...>",
  action: "read document {kb}/{doc}",
  meant: ["read", "print"],
  summary: "Print the content of documents",
  about:
    "Prints the file of each document, byte for byte, or its chunks in order if the server has no file of\nit. PDF and other binary files are not printed on a terminal; --chunks prints their text.",
  params: catParams,
  returns: fileOrText,
  sends: [listChunks],
  wraps: downloadDocumentsZip,
  effect: "reads",
  examples: [
    "kb cat Handbook welcome.md",
    "kb cat Handbook welcome.md | wc -w",
    "kb cat Handbook welcome.md --chunks",
  ],
});
