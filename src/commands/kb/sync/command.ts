import { createChunks, deleteChunk, listChunks, updateChunk } from "../../../operations/chunks.ts";
import {
  list,
  local,
  onTerminal,
  record,
  textChunks,
  withNamePath,
} from "../../../operations/operation.ts";
import { downloadDocumentsZip, listDocuments } from "../../../operations/documents.ts";
import { createKnowledgeBase, getKnowledgeBase } from "../../../operations/knowledge.ts";
import { getMetadataOverview } from "../../../operations/metadata.ts";
import { dataset_id, encodingParam, required } from "../../../operations/shared.ts";
import { changesByPlan, task } from "../../task/command-spec.ts";
import { changeResults, syncRequests, transferFlags } from "../changes/index.ts";

/** Which files belong to which documents. */
const comparedParams = {
  dataset_id,
  directory: local.text("Directory, or git+URL, rclone:REMOTE, web+URL, exec:PROGRAM", {
    required,
    placeholder: "source",
  }),
  rows: local.flag("Make each row of a sheet (CSV, xlsx) one chunk"),
  map: local.text("Columns: question=Frage,answer=Antwort", { many: true }),
  id_column: local.text("Column that identifies the rows of --rows", { placeholder: "column" }),
  include: local.text("Only files that match, e.g. '**/*.md'", {
    placeholder: "pattern",
    many: true,
  }),
  exclude: local.text("Exclude files, in addition to .kbignore and .gitignore", {
    placeholder: "pattern",
    many: true,
  }),
  prefix: local.text("Prefix of paths, e.g. of a second directory", {
    placeholder: "prefix",
  }),
  prune: local.flag("Delete what has no file or row any more", {
    meant: ["--delete", "--mirror"],
  }),
  adopt: local.flag("Take over documents that have the name of a file"),
  checksum: local.flag("Read every file, also with a known fingerprint"),
  encoding: encodingParam,
  max_size: local.text("Skip larger files, e.g. 5MB", { placeholder: "size" }),
  allow_private: local.flag("Let the name of a site lead to a private address"),
  metadata_from: local.choice(["front-matter"], "Read metadata from each text's front matter"),
  metadata: local.text("field=value; {1} is the first wildcard", {
    placeholder: "field=value",
    many: true,
  }),
  match: local.text("Set --metadata only on files that match", {
    placeholder: "pattern",
    many: true,
  }),
} as const;

export const syncParams = {
  ...comparedParams,
  rewrite: local.flag("Send unchanged files, too, to index them again"),
  max_delete: local.text("Ask before deleting more: number or % (default 20%)"),
  shard: local.text("Sync one share of the files: 3/8, auto or auto/8", { placeholder: "share" }),
  show: local.text("With --dry-run, print the text of this file", {
    placeholder: "path",
  }),
  watch: local.flag("Keep running and sync after each change"),
  ...transferFlags,
};

const syncRows = withNamePath("document_id", list("", "action path:name note document_id:id"));

const sheetRows = onTerminal(
  { ...changeResults, name: "name" },
  withNamePath("id", list("", "action name note chunk_id=id:id")),
);

/** Each change of a watched directory is news. */
const watchedRows = onTerminal(
  { ...changeResults, name: "path", routine: [], live: true },
  syncRows,
);

export const kbSync = task({
  command: "kb sync <kb> <source>",
  action: "sync {source} to knowledge base {kb}",
  meant: ["push", "watch"],
  summary: "Sync a directory or another source to a knowledge base",
  about:
    "Creates documents for new files, updates changed ones in place and skips unchanged ones. The state\nis in document metadata (kb_path …), so any machine can continue. Changes of the server are overwritten.\nA document of a name that no sync of this source has made is a conflict unless its content is the same.\n--rewrite asks before it drops chunks edited by hand.\n\nTexts are sent, other files uploaded, with U+2215 for / in their names. --prune keeps documents of\nexcluded or unreadable files; of shards, only 1 can --prune.\n\nWith --rows, each row of a sheet is a chunk: question and answer, or content.",
  parallel: true,
  params: syncParams,
  output({ watch, show, rows }) {
    if (rows) return sheetRows;
    if (show !== undefined) return textChunks;
    return watch ? watchedRows : undefined;
  },
  returns: onTerminal({ ...changeResults, name: "path" }, syncRows),
  sends: [...syncRequests, listChunks, createChunks, updateChunk, deleteChunk, createKnowledgeBase],
  ...changesByPlan,
  examples: [
    "kb sync Handbook docs",
    "kb sync Handbook docs --dry-run",
    "kb sync Handbook docs --prune --metadata 'team={1}' --match '*/**'",
    "kb sync FAQ faq.csv --rows --map question=Frage,answer=Antwort",
  ],
});

export const syncRunParams = {
  name: local.text("Sources of the file (default: all)", { many: true, placeholder: "name" }),
  config: local.text("File of sources (default sources.yaml)", { placeholder: "file" }),
  allow_run: local.flag("Run the programs that the file names"),
  rewrite: syncParams.rewrite,
  checksum: comparedParams.checksum,
  ...transferFlags,
};

export const kbSyncRun = task({
  command: "kb sync run [name...]",
  chosenBy: "--config",
  action: "sync the sources of a file",
  summary: "Sync the sources of a file, each to its knowledge base",
  about:
    "`kb sync --config FILE` is the same. The file names knowledge bases, sources, filters and metadata;\nsecrets are in variables or come from commands. A source that fails does not stop the others.",
  parallel: true,
  namesFiles: true,
  params: syncRunParams,
  returns: onTerminal(
    { ...changeResults, name: "path" },
    withNamePath("document_id", list("", "source:name action path note document_id:id")),
  ),
  sends: [...syncRequests, listChunks, createChunks, updateChunk, deleteChunk, createKnowledgeBase],
  ...changesByPlan,
  examples: [
    "kb sync run --config sources.yaml",
    "kb sync run handbook --config sources.yaml --dry-run",
  ],
});

export const syncHistoryParams = {
  name: local.text("Only this source of a file, or this knowledge base"),
  source: local.text("Only this source of a file"),
};

export const kbSyncHistory = task({
  command: "kb sync history [name]",
  action: "show earlier syncs",
  summary: "Show earlier runs of `kb sync --config`, latest first",
  about: "Shows the last 1,000 syncs that `kb sync --config` ran on this machine.",
  params: syncHistoryParams,
  returns: list("", "at source:name kb result seconds note"),
  effect: "reads",
  examples: ["kb sync history", "kb sync history Handbook -o json"],
});

export const statusParams = {
  ...comparedParams,
  exit_code: local.flag("Exit with code 14 if a sync would change something"),
};

export const kbStatus = task({
  command: "kb status <kb> <source>",
  action: "compare {source} with knowledge base {kb}",
  summary: "Show what a sync of a directory would do",
  about:
    "Plans the sync with the same flags and shows its size; nothing is changed. `kb sync --dry-run` lists\neach change. Files with unsupported types count as skipped, which is not a difference.",
  params: statusParams,
  output: ({ rows }) =>
    rows ? record("changes unchanged problems ... state rows without_row") : undefined,
  returns: withNamePath("state", record("changes unchanged problems ... state files without_file")),
  sends: [getKnowledgeBase, getMetadataOverview, listDocuments, downloadDocumentsZip, listChunks],
  effect: "reads",
  exits: ["gate"],
  examples: [
    "kb status Handbook docs",
    "kb status Handbook docs --exit-code",
    "kb status Handbook docs -o json --jq .actions",
  ],
});
