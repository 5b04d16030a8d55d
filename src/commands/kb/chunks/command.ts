import { newestServer } from "../../../lib/version.ts";
import {
  createChunks,
  getChunk,
  listChildChunks,
  listChunks,
  updateChunk,
} from "../../../operations/chunks.ts";
import { getDocument, listDocuments } from "../../../operations/documents.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import { asPage, list, local, onTerminal, withNamePath } from "../../../operations/operation.ts";
import { dataset_id, editedFile, processRuleShape, required } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";

/** Which files of a directory a command reads. */
export const fileFilter = {
  include: local.text("Only files that match a .gitignore pattern", {
    placeholder: "pattern",
    many: true,
  }),
  exclude: local.text("Exclude files that match a .gitignore pattern", {
    placeholder: "pattern",
    many: true,
  }),
};

const ruleFile = { shape: processRuleShape, fromFile: true, placeholder: "file" } as const;

/** How texts are split. */
export const ruleFlags = {
  rule: local.json("Chunking rule in a file", ruleFile),
  process_rule: local.json("Chunking rule (default: the automatic one)", {
    shape: processRuleShape,
  }),
  server_version: local.text(`Version of the server (default ${newestServer})`, {
    placeholder: "version",
  }),
};

export const previewParams = {
  file: local.text("Text file or directory, - for stdin", { required, many: true }),
  ...fileFilter,
  upload: local.flag("Split as kb doc upload and kb doc replace do"),
  like: local.ref("kb", "Knowledge base whose last rule to use, with the version of its server"),
  ...ruleFlags,
  compare: local.json("Compare the figures with those of another rule", ruleFile),
};

const comparedRows = withNamePath(
  "file",
  asPage("chunks of {file}", list("", "file:name figure rule:count compared:count")),
);

export const chunkPreview = task({
  command: "kb chunk preview <file...>",
  action: "split {file}",
  summary: "Show how texts will be split into chunks",
  about:
    "Splits txt, md, markdown and mdx files as servers split the texts that kb sync and kb doc add send.\nServers extract the text of all other files in their own way, so these are named and skipped.\nNothing is sent without --like. A server version that was not tested is treated as one that was; a\nnotice names it.\n\nWith --upload, files are split as servers split those of kb doc upload and kb doc replace: Markdown\nat headings, so that no chunk joins two sections, and without <...> tags and the # of headings; a\nNUL character is deleted. Other texts have the same chunks either way.\n\nThe summary counts chunks that end inside a sentence, that is within a line and not after a\npunctuation mark that ends a sentence; chunks that end inside a Markdown table or code block; words\nthat are glued to the one before because the white space between them is lost; and characters that\nthe server deletes, with --upload those of tags, too. If the rule has child chunks, the first three\nare counted in the child chunks, which searches compare.",
  params: previewParams,
  output: ({ compare }) => (compare === undefined ? undefined : comparedRows),
  returns: onTerminal(
    { form: "chunks" },
    withNamePath(
      "file",
      asPage(
        "chunks of {file}",
        list("", "file:name position length:count overlap:count content children:sparse"),
      ),
    ),
  ),
  sends: [listDocuments, getDocument],
  effect: "reads",
  exits: ["gate"],
  examples: [
    "kb chunk preview welcome.md",
    "kb chunk preview handbook --like Handbook -o json",
    "kb chunk preview handbook --upload --server-version 1.14.2",
    "kb chunk preview handbook --rule rule.yaml --compare longer.yaml",
  ],
});

export const chunkEditParams = { ...getChunk.params, from: editedFile };

export const chunkEdit = task({
  command: "kb chunk edit <kb> <doc> <chunk>",
  action: "edit chunk {chunk}",
  summary: "Edit content, answer and keywords of a chunk in VISUAL or EDITOR",
  about: "They are shown as YAML. Changes and failures are treated as by `kb doc edit`.",
  params: chunkEditParams,
  returns: updateChunk.returns,
  sends: [getChunk],
  wraps: updateChunk,
  effect: "writes",
  exits: ["remote-failed"],
  examples: [
    "kb chunk edit Handbook welcome.md $CHUNK",
    "EDITOR=nano kb chunk edit Handbook welcome.md $CHUNK",
  ],
});

export const chunkExportParams = {
  dataset_id,
  file: local.text("CSV file to write", { required, placeholder: "file", isOutputPath: true }),
  doc: local.text("Only the chunks of this document, name or id", { many: true }),
};

export const chunkExport = task({
  command: "kb chunk export <kb> <file>",
  action: "export the chunks of knowledge base {kb} to {file}",
  summary: "Write chunks to a CSV file for spreadsheets",
  about:
    "One row for each chunk, with the document, the IDs, and one keyword per line of a cell. Cells that a\nspreadsheet would run as formulas get an apostrophe, which kb chunk import removes.",
  params: chunkExportParams,
  returns: withNamePath("file", list("", "document chunks:count")),
  sends: [getKnowledgeBase, listDocuments, listChunks],
  effect: "reads",
  runsToEnd: true,
  examples: [
    "kb chunk export Handbook chunks.csv",
    "kb chunk export Handbook chunks.csv --doc leave.md --doc welcome.md",
  ],
});

export const chunkImportParams = {
  dataset_id,
  file: local.text("CSV file of kb chunk export, as edited", { required, placeholder: "file" }),
  overwrite: local.flag("Also change chunks that were changed since the export"),
};

export const chunkImport = task({
  command: "kb chunk import <kb> <file>",
  action: "import the chunks of {file} into knowledge base {kb}",
  summary: "Change chunks as a CSV file was edited",
  about:
    "Changes content, answer, keywords, enabled and summary of those chunks whose row differs, and appends\na chunk for each row without a chunk_id. Rows that are missing change nothing, and keywords cannot be\nremoved, only replaced. A chunk that was changed since the export is a conflict. --dry-run prints the\nplan. After an interruption, the same command continues.",
  params: chunkImportParams,
  returns: onTerminal(
    {
      form: "results",
      outcome: "action",
      name: "document",
      reason: "note",
      routine: ["update", "create"],
    },
    withNamePath("id", list("", "action document row:count note id:id")),
  ),
  sends: [getKnowledgeBase, listDocuments, listChunks, listChildChunks, createChunks, updateChunk],
  effect: "writes",
  plans: true,
  exits: ["partial"],
  examples: [
    "kb chunk import Handbook chunks.csv --dry-run",
    "kb chunk import Handbook chunks.csv",
  ],
});
