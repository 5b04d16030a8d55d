import { listChunks } from "../../operations/chunks.ts";
import {
  archiveDocuments,
  createDocumentByFile,
  createDocumentByText,
  deleteDocument,
  disableDocuments,
  downloadDocumentsZip,
  getDocument,
  getIndexingStatus,
  listDocuments,
  replaceDocument,
  updateDocumentByFile,
  updateDocumentByText,
} from "../../operations/documents.ts";
import {
  createKnowledgeBase,
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
  updateKnowledgeBase,
} from "../../operations/knowledge.ts";
import {
  createMetadataField,
  disableBuiltInFields,
  enableBuiltInFields,
  getMetadataOverview,
  listMetadataFields,
  setDocumentMetadata,
} from "../../operations/metadata.ts";
import {
  asPage,
  body,
  events,
  fileContent as bytes,
  joinTexts,
  list,
  local,
  onTerminal,
  withNamePath,
  noContent,
  record,
  report,
  textChunks,
} from "../../operations/operation.ts";
import type { TerminalForm } from "../../operations/operation.ts";
import { listModels } from "../../operations/models.ts";
import { runDatasourceNode, runPipeline, runPipelineBlocking } from "../../operations/pipeline.ts";
import type { PublishedRun } from "../../operations/pipeline.ts";
import {
  dataset_id,
  document_id,
  modelTypes,
  namedFileParam,
  required,
  retrievalShape,
  searchMethods,
} from "../../operations/shared.ts";
import { bindTags, createTag, listTags, unbindTags } from "../../operations/tags.ts";
import { asEvents } from "../stream-or-wait.ts";
import { itemOutcomes } from "../several.ts";
import { mcpAddress, mcpClient, mcpConfigSpec } from "../shared/mcp/params.ts";
import { task } from "../command-spec.ts";
import type { Task } from "../command-spec.ts";

export const waitParams = {
  dataset_id,
  document_id: local.ref("document", "Document name or ID", { many: true, placeholder: "doc" }),
  batch: local.text("Batch ID from the response of an upload or update"),
};

const docWait = task({
  command: "kb doc wait <kb> [doc...]",
  tool: {},
  action: "wait for documents {doc} in knowledge base {kb}",
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
  load: () => import("./documents/wait.ts"),
});

export const kbOpenParams = {
  dataset_id: local.ref("kb", "Knowledge base name or ID (default: the list of all)"),
  document_id: local.ref("document", "Document name or ID", { placeholder: "doc" }),
  print: local.flag("Print the address instead of opening it"),
};

const kbOpen = task({
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
  load: () => import("./knowledge/open.ts"),
});

const searchFlags = {
  search_method: local.choice(searchMethods, "Search method"),
  top_k: local.integer("Maximum number of chunks", { range: [1, 100] }),
  score_threshold: local.number("Minimum score", { range: [0, 1] }),
} as const;

export const searchParams = { ...searchKnowledgeBase.params, ...searchFlags };

const kbSearch = task({
  command: "kb search <kb> <query>",
  summary: "Search a knowledge base for matching chunks",
  about:
    "Uses the search settings of the knowledge base; flags override single settings. Economy indexing\nsupports keyword search only.",
  params: searchParams,
  returns: searchKnowledgeBase.returns,
  output: ({ query }) => onTerminal({ form: "hits", query }, searchKnowledgeBase.returns),
  sends: [getKnowledgeBase, getDocument],
  wraps: searchKnowledgeBase,
  effect: "reads",
  examples: [
    "kb search Handbook onboarding",
    "kb search Handbook onboarding --top-k 3 -o json",
    "kb search Handbook 'parking at the office' --search-method keyword_search",
  ],
  load: () => import("./knowledge/search.ts"),
});

const modelList = task({
  command: "kb model list [type]",
  tool: {},
  summary: "List the active models by provider",
  params: {
    model_type: local.choice(modelTypes, "Model type (default: all types)", {
      placeholder: "type",
    }),
  },
  returns: listModels.returns,
  wraps: listModels,
  pages: true,
  effect: "reads",
  examples: ["kb model list", "kb model list text-embedding", "kb model list rerank -o json"],
  load: () => import("./models/list.ts"),
});

const docReplace = task({
  command: "kb doc replace <kb> <doc> <file>",
  summary: "Replace the file of a document and reindex it",
  about: "The document must be available. Servers before 1.14.0 are called with their older route.",
  params: { ...replaceDocument.params, file: namedFileParam },
  returns: replaceDocument.returns,
  sends: [updateDocumentByFile],
  wraps: replaceDocument,
  effect: "writes",
  examples: [
    "kb doc replace Handbook welcome.md welcome.md",
    `kb doc replace Handbook welcome.md welcome.md --process-rule '{"mode":"automatic"}'`,
  ],
  load: () => import("./documents/replace.ts"),
});

export const renameParams = {
  dataset_id,
  document_id,
  name: local.text("New name", { length: [1, 200], required }),
  no_wait: local.flag("Do not wait for indexing"),
};

const docRename = task({
  command: "kb doc rename <kb> <doc> <name>",
  tool: {},
  action: "rename document {kb}/{doc} to {name}",
  summary: "Rename a document and reindex it",
  about:
    "The server takes a new name only together with the content, so the content is downloaded and sent\nagain. Metadata, chunking rule and language are kept. The document is split into chunks again: if\nchunks were edited, added, disabled or removed by hand, the command names them and asks. A document\nfrom a file keeps its extension. With --each, the columns are doc and name.",
  params: renameParams,
  returns: record("name was=previous_name status=indexing_status id"),
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
  each: { load: () => import("./documents/rename.ts") },
  exits: ["unsupported", "remote-failed"],
  examples: [
    "kb doc rename Handbook leave.md holidays.md",
    "kb doc rename Handbook --each names.csv --yes",
  ],
  load: () => import("./documents/rename.ts"),
});

export const downloadParams = {
  dataset_id,
  document_id: local.ref("document", "Document name or ID", {
    many: true,
    required,
    placeholder: "doc",
  }),
  dir: local.text("Directory for the files", { placeholder: "dir" }),
  zip: local.text("ZIP file to write, - for stdout", { placeholder: "file" }),
  overwrite: local.flag("Overwrite files with different content"),
};

const docDownload = task({
  command: "kb doc download <kb> <doc...>",
  summary: "Download the original files of documents",
  about:
    "Writes the files, byte for byte, to --dir under the names of the documents, or as one ZIP to --zip.",
  params: downloadParams,
  output: ({ zip }) => (zip === "-" ? bytes : undefined),
  returns: withNamePath("path", list("", "path bytes:bytes document_id:id")),
  sends: [getDocument],
  wraps: downloadDocumentsZip,
  effect: "reads",
  runsToEnd: true,
  examples: [
    "kb doc download Handbook welcome.md --dir downloads",
    "kb doc download Handbook welcome.md leave.md --zip handbook.zip",
  ],
  load: () => import("./documents/download.ts"),
});

export const metadataSetParams = {
  dataset_id,
  document_id: local.ref("document", "Document name or ID", {
    many: true,
    required,
    placeholder: "doc",
    mustExist: true,
  }),
  set: local.text("Value as field=value", { placeholder: "field=value", many: true }),
  unset: local.text("Field to clear", { placeholder: "field", many: true }),
  replace: local.flag("Remove all other values"),
};

const metadataSet = task({
  command: "kb metadata set <kb> <doc...>",
  tool: {},
  summary: "Set metadata values of documents",
  about:
    "Other values are kept unless --replace is set. The field determines the type of a value.\n\n--each takes a file with the column document and a column for each field; an empty cell keeps the\nvalue. A column unset has the name of a field to clear, and in JSON Lines a list of them. A field\nwith the name of an argument is set in a column set, as field=value.",
  params: metadataSetParams,
  returns: setDocumentMetadata.returns,
  sends: [listMetadataFields, getDocument],
  wraps: setDocumentMetadata,
  effect: "writes",
  examples: [
    "kb metadata set Handbook welcome.md leave.md --set team=people",
    "kb metadata set Handbook welcome.md --unset team",
    "kb metadata set Handbook --each values.csv",
  ],
  each: { columns: "any", load: () => import("./metadata/set.ts") },
  load: () => import("./metadata/set.ts"),
});

/** Response of a published pipeline. */
const publishedRun = withNamePath(
  "batch",
  record<PublishedRun>(
    "batch",
    ["documents", ({ documents }) => joinTexts(documents?.map(({ name }) => name))],
    "... dataset.name",
  ),
);

export const pipelineRunParams = {
  ...runPipeline.params,
  blocking: local.flag("Wait for one response instead of streaming"),
  no_wait: local.flag("Do not wait for indexing"),
};

const pipelineRun = task({
  command: "kb pipeline run <kb>",
  tool: {},
  summary: "Run the pipeline of a knowledge base once",
  about:
    'A published pipeline returns the documents that it creates; the command waits until they are\nindexed and exits with their outcome. A draft creates none; its events are followed.\n\nThe data source list of an uploaded file: [{"reference": "FILE_ID", "related_id": "FILE_ID",\n"name": "guide.md", "size": 53, "type": "md", "extension": "md", "mime_type": "text/markdown",\n"url": "", "transfer_method": "local_file"}]',
  params: pipelineRunParams,
  returns: events,
  output(input, format) {
    if (input.is_published) return publishedRun;
    return asEvents(input, format) ? undefined : runPipelineBlocking.returns;
  },
  sends: [runPipelineBlocking, getIndexingStatus, getDocument],
  wraps: runPipeline,
  effect: "writes",
  exits: ["remote-failed", "deadline", "cut"],
  examples: [
    "kb pipeline run Files --datasource-type local_file --datasource-info-list @files.json --start-node-id d --is-published",
    "kb pipeline run Website --datasource-type website_crawl --datasource-info-list @pages.json --start-node-id d --no-is-published --blocking",
  ],
  load: () => import("./pipelines/run.ts"),
});

const pipelineNode = task({
  command: "kb pipeline run-node <kb> <node>",
  tool: {},
  summary: "Run one data source of a pipeline and show its events",
  params: runDatasourceNode.params,
  returns: events,
  wraps: runDatasourceNode,
  effect: "writes",
  exits: ["remote-failed", "cut"],
  examples: [
    `kb pipeline run-node Website d --datasource-type website_crawl --inputs '{"url":"https://example.com"}' --is-published`,
    `kb pipeline run-node Website d --datasource-type website_crawl --inputs '{"url":"https://example.com"}' --no-is-published -o jsonl`,
  ],
  load: () => import("./pipelines/node.ts"),
});

const switched = record<{ built_in_field_enabled: boolean }>("built_in_field_enabled");

const builtIn = (verb: "enable" | "disable", example: string) =>
  task({
    command: `kb metadata built-in ${verb} <kb>`,
    tool: {},
    summary: `${verb === "enable" ? "Enable" : "Disable"} the built-in metadata fields`,
    about: "The server reports success in any case, so the setting is read again afterwards.",
    params: { dataset_id },
    returns: switched,
    sends: [getMetadataOverview],
    wraps: verb === "enable" ? enableBuiltInFields : disableBuiltInFields,
    effect: "writes",
    examples: [`kb metadata built-in ${verb} Handbook`, example],
    load: async () => (await import("./metadata/built-in.ts"))[verb],
  });

export const tagUnbindParams = {
  target_id: body.ref("kb", "Knowledge base name or ID", { required }),
  tag_ids: body.ref("tag", "Tag name or ID", {
    many: true,
    required,
    placeholder: "tag",
    mustExist: true,
  }),
};

const tagUnbind = task({
  command: "kb tag unbind <kb> <tag...>",
  tool: {},
  summary: "Unbind tags from a knowledge base",
  params: tagUnbindParams,
  returns: noContent,
  output: ({ tag_ids }) => (tag_ids.length > 1 ? itemOutcomes : undefined),
  wraps: unbindTags,
  effect: "writes",
  examples: ["kb tag unbind Handbook published", "kb tag unbind Handbook draft published"],
  load: () => import("./tags/unbind.ts"),
});

/** Flags of every command that sends documents. */
const transferFlags = {
  no_wait: local.flag("Do not wait for indexing"),
  wait_for_limit: local.flag("Wait at the rate limit of the knowledge base"),
} as const;
/** What they read and send. */
const transfers = [
  getKnowledgeBase,
  getMetadataOverview,
  listMetadataFields,
  createMetadataField,
  setDocumentMetadata,
  listDocuments,
  downloadDocumentsZip,
  createDocumentByText,
  createDocumentByFile,
];
/** What a sync reads and sends. */
const syncRequests = [
  ...transfers,
  getDocument,
  updateDocumentByText,
  replaceDocument,
  updateDocumentByFile,
  deleteDocument,
];
/** What changes the rest of a knowledge base. */
const settingChanges = [
  createKnowledgeBase,
  listModels,
  listTags,
  createTag,
  bindTags,
  enableBuiltInFields,
  disableBuiltInFields,
];

export const syncParams = {
  dataset_id,
  directory: local.text("Directory; links that leave it are not followed", {
    required,
    placeholder: "dir",
  }),
  include: local.text("Only files that match, e.g. '**/*.md'", {
    placeholder: "pattern",
    many: true,
  }),
  exclude: local.text("Exclude files, in addition to .kbignore and .gitignore", {
    placeholder: "pattern",
    many: true,
  }),
  prefix: local.text("Path prefix, for several directories in one knowledge base", {
    placeholder: "prefix",
  }),
  prune: local.flag("Delete documents whose file no longer exists"),
  adopt: local.flag("Take over documents that have the name of a file"),
  rewrite: local.flag("Send unchanged files, too, so that they are indexed again"),
  max_delete: local.text("Confirm before deleting more, as number or % (default 20%)"),
  metadata_from: local.choice(["front-matter"], "Read metadata from each text's front matter"),
  metadata: local.text("Metadata as field=value; {1} is the first wildcard", {
    placeholder: "field=value",
    many: true,
  }),
  match: local.text("Set --metadata only on files that match", {
    placeholder: "pattern",
    many: true,
  }),
  shard: local.text("Sync one share of the files: 3/8, auto or auto/8", { placeholder: "share" }),
  since: local.text("Only files that differ from this git revision", { placeholder: "revision" }),
  watch: local.flag("Keep running and sync after each change"),
  ...transferFlags,
};

const syncRows = withNamePath("document_id", list("", "action path:name note document_id:id"));
/** Changes of documents that need no attention. */
const routine = ["create", "update", "adopt", "metadata"];
const changeResults = {
  form: "results",
  outcome: "action",
  name: "name",
  reason: "note",
  routine,
} satisfies TerminalForm;

/** Each change of a watched directory is news. */
const watchedRows = onTerminal(
  { ...changeResults, name: "path", routine: [], live: true },
  syncRows,
);

const kbSync = task({
  command: "kb sync <kb> <dir>",
  action: "sync {dir} to knowledge base {kb}",
  summary: "Sync a directory to a knowledge base",
  about:
    "Creates documents for new files, updates changed ones in place and skips unchanged ones. The state\nis stored as document metadata (kb_path, kb_hash, kb_source, kb_file), so any machine can continue.\nChanges made on the server are overwritten. A document that has the name of a file but was not\nsynced is a conflict unless its content is the same.\n\nmd, markdown, mdx and txt files are sent as text, others are uploaded: their document names have\nU+2215 in place of /. --prune keeps documents of files that are excluded or unreadable. Each shard\nsyncs a share of the files; only shard 1 can --prune, after the others.",
  parallel: true,
  params: syncParams,
  output: ({ watch }) => (watch ? watchedRows : undefined),
  returns: onTerminal({ ...changeResults, name: "path" }, syncRows),
  sends: syncRequests,
  effect: "writes",
  plans: true,
  confirms: true,
  exits: ["partial"],
  examples: [
    "kb sync Handbook docs",
    "kb sync Handbook docs --dry-run",
    "kb sync Handbook docs --prune --include '**/*.md'",
    "kb sync Handbook docs --metadata 'team={1}' --match '*/**'",
  ],
  load: () => import("./sync/sync.ts"),
});

const map_model = local.text("Replace an embedding model: provider/model=provider/model", {
  many: true,
});
const madeThere = onTerminal(
  // A copy has the tags and the built-in fields of its source.
  { ...changeResults, routine: [...routine, "bind", "switch"] },
  withNamePath("id", list("", "action what name:name note id:id")),
);
const makes = [...settingChanges, ...transfers, disableDocuments, archiveDocuments];
const reads = [
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

const kbExport = task({
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
  load: () => import("./snapshot/export.ts"),
});

export const importParams = {
  directory: local.text("Directory of the export", { required, placeholder: "dir" }),
  name: local.text("Name of the new knowledge base (default: as exported)"),
  into: local.text("Existing knowledge base to import into"),
  map_model,
  ...transferFlags,
};

const kbImport = task({
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
  load: () => import("./snapshot/import.ts"),
});

export const copyParams = {
  dataset_id,
  to_profile: local.text("Profile of the target"),
  name: local.text("Name of the copy (default: the original's)"),
  map_model,
  ...transferFlags,
};

const kbCopy = task({
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
  load: () => import("./snapshot/copy.ts"),
});

export const verifyParams = {
  a: local.text("Knowledge base or directory of an export", { required, placeholder: "a" }),
  b: local.text("Knowledge base or directory of an export", { required, placeholder: "b" }),
  to_profile: local.text("Profile of the second side"),
};

const kbVerify = task({
  command: "kb verify <a> <b>",
  action: "compare {a} with {b}",
  summary: "Compare two knowledge bases or exports byte by byte",
  about:
    "Each side is a knowledge base or the directory of an export. Lists differences in documents,\ncontent, status, metadata, fields, tags and settings, and exits with code 14 if there are any.",
  params: verifyParams,
  returns: withNamePath("name", asPage(list("", "what name:name a b"))),
  sends: reads,
  effect: "reads",
  exits: ["gate"],
  examples: ["kb verify backup Handbook", "kb verify backup Handbook -o json"],
  load: () => import("./snapshot/verify.ts"),
});

const kbFile = local.text("YAML file that describes a knowledge base", {
  required,
  placeholder: "file",
});
const planRows = withNamePath("name", list("", "action what name:name from to note"));

const kbPull = task({
  command: "kb pull <kb>",
  action: "pull knowledge base {kb}",
  summary: "Print a knowledge base as a file for plan and apply",
  params: { dataset_id },
  returns: textChunks,
  sends: [getKnowledgeBase, getMetadataOverview],
  effect: "reads",
  examples: ["kb pull Handbook", "kb pull Handbook --output-file handbook.yml"],
  load: () => import("./declarative/pull.ts"),
});

const kbPlan = task({
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
  load: async () => (await import("./declarative/apply.ts")).plan,
});

const kbApply = task({
  command: "kb apply <file>",
  action: "apply {file}",
  summary: "Create or update a knowledge base from a file",
  about:
    "Creates the knowledge base if it does not exist. Settings that the file omits are kept, and a second\napply changes nothing. Metadata fields are never deleted; documents are only with prune, and above\nmax_delete (default 20%) only after confirmation.",
  parallel: true,
  params: { file: kbFile, ...transferFlags },
  namesFiles: true,
  returns: onTerminal(changeResults, planRows),
  sends: [
    listKnowledgeBases,
    updateKnowledgeBase,
    searchKnowledgeBase,
    unbindTags,
    ...settingChanges,
    ...syncRequests,
  ],
  effect: "writes",
  plans: true,
  confirms: true,
  exits: ["remote-failed", "partial"],
  examples: ["kb apply handbook.yml", "kb apply handbook.yml --dry-run"],
  load: async () => (await import("./declarative/apply.ts")).apply,
});

export const evalParams = {
  dataset_id,
  questions: local.file("File of questions and expectations, - for stdin", {
    required,
    placeholder: "questions",
  }),
  ...searchFlags,
  retrieval_model: local.json("Search settings (default: the knowledge base's)", {
    shape: retrievalShape,
  }),
  matrix: local.text(
    "Compare combinations of settings: search_method, top_k, score_threshold, reranking_enable or vector_weight=value,value",
    { many: true },
  ),
  rerank_model: local.text(
    "Rerank model as provider/model (default: the configured one, or the only active one)",
  ),
  k: local.text("Numbers of top documents, e.g. 1,3,5"),
  failures: local.flag("List questions with missing documents"),
  baseline: local.file("Compare with an earlier evaluation from --save"),
  save: local.text("Save the evaluation to this file, for --baseline", {
    isOutputPath: true,
  }),
  fail_if: local.text("Exit with code 14 if true, e.g. 'recall@5<0.9'", {
    placeholder: "condition",
    many: true,
  }),
  junit: local.text("JUnit report to write, one case per question", {
    isOutputPath: true,
  }),
  allow_missing: local.flag("Count missing documents as not found"),
  wait_for_limit: local.flag("Wait at the rate limit of the knowledge base"),
};

const kbEval = task({
  command: "kb eval <kb> <questions>",
  action: "evaluate knowledge base {kb}",
  summary: "Evaluate retrieval against a set of labelled questions",
  about:
    "Questions are JSON Lines or CSV with the fields question, documents (expected names, IDs or paths;\nin CSV separated by ;), text (expected in a chunk), filter (metadata conditions of the search) and\nid. Only question and one of documents or text are required. Of a suite of `wf test run`\n(YAML), the tests with a search in this knowledge base are the questions.\n\nRanks count documents: the first chunk of a document is its rank, and a text counts as the first\ndocument that contains it. recall@k is the share of the expected documents among the first k,\nprecision@k the share of the first k that was expected, hit_rate@k the share of questions with at\nleast one hit, ndcg@k the gain with binary relevance and log2 of the rank, mrr the mean of 1/rank of\nthe first hit.\n\n--fail-if takes these metrics, latency_p50, latency_p95 and failed; with --baseline also changes:\n'recall@5.change<-0.02'. If a condition is true, the exit code is 14. The default of --k is 1, 3, 5\nand 10, up to the number of results; conditions add those that they name.",
  parallel: true,
  params: evalParams,
  returns: report,
  sends: [getKnowledgeBase, listModels, listDocuments],
  wraps: searchKnowledgeBase,
  effect: "reads",
  runsToEnd: true,
  exits: ["partial", "gate"],
  examples: [
    "kb eval Handbook questions.jsonl --top-k 5 --failures",
    "kb eval Handbook questions.jsonl --matrix search_method=keyword_search,full_text_search --matrix top_k=3,5 -o md",
    "kb eval Handbook questions.jsonl --baseline before.json --fail-if 'recall@1<90%' --fail-if 'mrr.change<-0.02' --junit eval.xml",
  ],
  load: () => import("./eval/eval.ts"),
});

export const lintParams = {
  directory: local.text("Directory with the files", { required, placeholder: "dir" }),
  include: local.text("Only files that match a .gitignore pattern", {
    placeholder: "pattern",
    many: true,
  }),
  exclude: local.text("Exclude files that match a .gitignore pattern", {
    placeholder: "pattern",
    many: true,
  }),
  max_size: local.text("Maximum file size (default 15MiB for uploads, none for text)", {
    placeholder: "size",
  }),
  strict: local.flag("Exit with code 14 on warnings, too"),
};

const kbLint = task({
  command: "kb lint <dir>",
  action: "check files in {dir}",
  summary: "Check the files of a directory before upload",
  about:
    "Sends nothing. An error is a file that would be rejected, truncated or confused with another one; a\nwarning is a file that would be imported badly. Errors exit with code 14. Hidden files and those\nof .gitignore and .kbignore are skipped.",
  params: lintParams,
  returns: onTerminal(
    {
      form: "results",
      outcome: "severity",
      name: "file",
      reason: "problem",
      advice: "fix",
      routine: [],
    },
    withNamePath("file", asPage(list("", "severity file:name finding problem fix"))),
  ),
  effect: "reads",
  exits: ["gate"],
  examples: [
    "kb lint handbook",
    "kb lint handbook --include '*.md' --strict -o json",
    "kb lint handbook --exclude drafts/ --max-size 50MB",
  ],
  load: () => import("./lint/lint.ts"),
});

const allowed = {
  allow: local.choice(["write", "delete"], "What clients may do beside reading", { many: true }),
  kb: local.text("Only this knowledge base, name or ID", { many: true, placeholder: "kb" }),
};

export const kbMcpParams = { ...allowed, http: mcpAddress };

const kbMcp = task({
  command: "kb mcp",
  action: "serve clients",
  summary: "Serve knowledge bases to AI assistants (MCP)",
  about:
    "A server for clients of the Model Context Protocol, such as Claude, Cursor, VS Code and Codex:\n`kb mcp config` prints the lines for their files. Its tools search, read and list; its resources are\ndocuments, as kb://Handbook/leave.md. Clients can only read, unless --allow is given. A read-only\nprofile wins over --allow.\n\nstdout belongs to the protocol. --http serves several clients on an address of this machine alone, and\nprints a token that they must send.",
  params: kbMcpParams,
  returns: noContent,
  sends: [listKnowledgeBases, getKnowledgeBase, searchKnowledgeBase, listDocuments, getDocument],
  effect: "reads",
  serves: true,
  examples: ["kb mcp", "kb mcp --kb Handbook --allow write", "kb mcp --http 127.0.0.1:8800"],
  load: () => import("./mcp/mcp.ts"),
});

const mcpConfigParams = { ...allowed, client: mcpClient };

const kbMcpConfig = task({
  ...mcpConfigSpec,
  command: "kb mcp config",
  params: mcpConfigParams,
  examples: [
    "kb mcp config --client claude",
    "kb mcp config --client codex --kb Handbook --allow write",
  ],
  load: () => import("../shared/mcp/client-config.ts"),
});

/** Commands of `kb` that are not a single operation. */
export const kbTasks: readonly Task[] = [
  kbOpen,
  kbSearch,
  modelList,
  docWait,
  docReplace,
  docRename,
  docDownload,
  metadataSet,
  pipelineRun,
  pipelineNode,
  builtIn("enable", "kb metadata built-in enable Handbook --jq .built_in_field_enabled"),
  builtIn("disable", "kb metadata built-in disable Handbook --dry-run"),
  tagUnbind,
  kbSync,
  kbEval,
  kbLint,
  kbExport,
  kbImport,
  kbCopy,
  kbVerify,
  kbPull,
  kbPlan,
  kbApply,
  kbMcp,
  kbMcpConfig,
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
