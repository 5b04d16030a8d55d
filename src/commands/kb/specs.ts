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
  body,
  events,
  fileContent as bytes,
  list,
  local,
  wideOnly,
  withNamePath,
  noContent,
  record,
  report,
  textChunks,
} from "../../operations/operation.ts";
import { listModels } from "../../operations/models.ts";
import { runDatasourceNode, runPipeline, runPipelineBlocking } from "../../operations/pipeline.ts";
import type { PublishedRun } from "../../operations/pipeline.ts";
import {
  dataset_id,
  modelTypes,
  namedFileParam,
  required,
  retrievalShape,
  searchMethods,
} from "../../operations/shared.ts";
import { bindTags, createTag, listTags, unbindTags } from "../../operations/tags.ts";
import { asEvents } from "../stream-or-wait.ts";
import type { PipelineInput } from "./pipeline-run.ts";
import { itemOutcomes } from "../several.ts";
import { task } from "../command-spec.ts";
import type { Task } from "../command-spec.ts";

const docWait = task({
  command: "kb doc wait <kb> [doc...]",
  action: "wait for documents {doc} in knowledge base {kb}",
  summary: "Wait until documents are indexed",
  about:
    "Waits for the documents named, for those of --batch, or for every document of the knowledge\nbase. --timeout sets the deadline; without one it ends when nothing has moved for 30 minutes. A\ndocument that ends in error ends the command with 9.",
  key: "dataset",
  params: {
    dataset_id,
    document_id: local.ref("document", "Document, name or id", { many: true, placeholder: "doc" }),
    batch: local.text("Batch that an upload or update answered"),
  },
  returns: list("", "id", "name", "indexing_status", "error"),
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

const searchFlags = {
  search_method: local.choice(searchMethods, "How chunks are searched"),
  top_k: local.integer("Chunks at most", { range: [1, 100] }),
  score_threshold: local.number("Only chunks with at least this score", { range: [0, 1] }),
} as const;

const kbSearch = task({
  command: "kb search <kb> <query>",
  summary: "Search a knowledge base for matching chunks",
  about:
    "Searches with the settings of the knowledge base; a flag changes that one setting. On economy\nindexing only keyword search works, so that is what is asked there.",
  key: "dataset",
  params: {
    ...searchKnowledgeBase.params,
    ...searchFlags,
  },
  returns: searchKnowledgeBase.returns,
  sends: [searchKnowledgeBase, getKnowledgeBase],
  wraps: searchKnowledgeBase,
  effect: "reads",
  examples: [
    "kb search Handbook onboarding",
    "kb search Handbook onboarding --top-k 3 -o json",
    "kb search Handbook 'parking at the office' --search-method keyword_search",
  ],
  load: () => import("./search.ts"),
});

const modelList = task({
  command: "kb model list [type]",
  summary: "List the active models by provider",
  key: "dataset",
  params: {
    model_type: local.choice(modelTypes, "What the models do (default: all types)", {
      placeholder: "type",
    }),
  },
  returns: listModels.returns,
  sends: [listModels],
  wraps: listModels,
  pages: true,
  effect: "reads",
  examples: ["kb model list", "kb model list text-embedding", "kb model list rerank -o json"],
  load: () => import("./models/list.ts"),
});

const docReplace = task({
  command: "kb doc replace <kb> <doc> <file>",
  summary: "Replace the file of a document and reindex it",
  about: "A server before 1.14.0 lacks the route and gets the older one by itself.",
  key: "dataset",
  params: { ...replaceDocument.params, file: namedFileParam },
  returns: replaceDocument.returns,
  sends: [replaceDocument, updateDocumentByFile],
  wraps: replaceDocument,
  effect: "writes",
  examples: [
    "kb doc replace Handbook welcome.md welcome.md",
    `kb doc replace Handbook welcome.md welcome.md --process-rule '{"mode":"automatic"}'`,
  ],
  load: () => import("./documents/replace.ts"),
});

const docDownload = task({
  command: "kb doc download <kb> <doc...>",
  summary: "Download the original files of documents",
  about:
    "Writes files below --dir, under the documents' own names, or the ZIP of the server to --zip.",
  key: "dataset",
  params: {
    dataset_id,
    document_id: local.ref("document", "Document, name or id", {
      many: true,
      required,
      placeholder: "doc",
    }),
    dir: local.text("Folder for the files"),
    zip: local.text("File for the ZIP, - for standard output"),
    overwrite: local.flag("Replace files that have other content"),
  },
  output: ({ zip }) => (zip === "-" ? bytes : undefined),
  returns: withNamePath("path", list("", "path", "bytes", "document_id")),
  sends: [downloadDocumentsZip, getDocument],
  wraps: downloadDocumentsZip,
  effect: "reads",
  runsToEnd: true,
  examples: [
    "kb doc download Handbook welcome.md --dir downloads",
    "kb doc download Handbook welcome.md leave.md --zip handbook.zip",
  ],
  load: () => import("./documents/download.ts"),
});

const metadataSet = task({
  command: "kb metadata set <kb> <doc...>",
  summary: "Set metadata values of documents",
  about: "Values not named stay, unless --replace. Numbers and times are typed by their field.",
  key: "dataset",
  params: {
    dataset_id,
    document_id: local.ref("document", "Document, name or id", {
      many: true,
      required,
      placeholder: "doc",
      mustExist: true,
    }),
    set: local.text("One value: field=value", { many: true }),
    unset: local.text("Field to take the value from", { many: true }),
    replace: local.flag("Take away every value that is not set here"),
  },
  returns: setDocumentMetadata.returns,
  sends: [setDocumentMetadata, listMetadataFields, getDocument],
  wraps: setDocumentMetadata,
  effect: "writes",
  examples: [
    "kb metadata set Handbook welcome.md leave.md --set team=people",
    "kb metadata set Handbook welcome.md --unset team",
    "kb metadata set Handbook welcome.md --set team=people --replace",
  ],
  load: () => import("./metadata-set.ts"),
});

/** The answer of a published pipeline. */
const publishedRun = withNamePath(
  "batch",
  record<PublishedRun>(
    "batch",
    ["documents", ({ documents }) => documents?.map(({ name }) => name).join(", ")],
    wideOnly,
    "dataset.name",
  ),
);

const pipelineRun = task({
  command: "kb pipeline run <kb>",
  summary: "Run the pipeline of a knowledge base once",
  about:
    'A published pipeline returns the documents that it creates; the command waits until they are\nindexed and exits with their outcome. A draft creates none; its events are followed.\n\nThe data source list of an uploaded file: [{"reference": "FILE_ID", "related_id": "FILE_ID",\n"name": "guide.md", "size": 53, "type": "md", "extension": "md", "mime_type": "text/markdown",\n"url": "", "transfer_method": "local_file"}]',
  key: "dataset",
  params: {
    ...runPipeline.params,
    blocking: local.flag("Ask the server for one answer instead of events"),
    no_wait: local.flag("Do not wait until the documents are indexed"),
  },
  returns: events,
  output: (input: PipelineInput, format) =>
    input.is_published
      ? publishedRun
      : asEvents(input, format)
        ? undefined
        : runPipelineBlocking.returns,
  sends: [runPipeline, runPipelineBlocking, getIndexingStatus, getDocument],
  wraps: runPipeline,
  effect: "writes",
  exits: ["remote-failed", "deadline", "cut"],
  examples: [
    "kb pipeline run Handbook --datasource-type local_file --datasource-info-list @files.json --start-node-id 1 --is-published",
    "kb pipeline run Handbook --datasource-type local_file --datasource-info-list @files.json --start-node-id 1 --no-is-published --blocking",
  ],
  load: () => import("./pipeline-run.ts"),
});

const pipelineNode = task({
  command: "kb pipeline run-node <kb> <node>",
  summary: "Run one data source of a pipeline and show its events",
  key: "dataset",
  params: runDatasourceNode.params,
  returns: events,
  sends: [runDatasourceNode],
  wraps: runDatasourceNode,
  effect: "writes",
  exits: ["remote-failed", "cut"],
  examples: [
    "kb pipeline run-node Handbook 1 --datasource-type local_file --is-published",
    `kb pipeline run-node Handbook 1 --datasource-type website_crawl --inputs '{"url":"https://example.com"}' --no-is-published`,
  ],
  load: () => import("./pipeline-node.ts"),
});

const switched = record<{ built_in_field_enabled: boolean }>("built_in_field_enabled");

const builtInEnable = task({
  command: "kb metadata built-in enable <kb>",
  summary: "Enable the built-in metadata fields",
  about: "The server answers success whatever happened, so the switch is read afterwards.",
  key: "dataset",
  params: { dataset_id },
  returns: switched,
  sends: [enableBuiltInFields, getMetadataOverview],
  wraps: enableBuiltInFields,
  effect: "writes",
  examples: [
    "kb metadata built-in enable Handbook",
    "kb metadata built-in enable Handbook --jq .built_in_field_enabled",
  ],
  load: async () => (await import("./metadata-built-in.ts")).enable,
});

const builtInDisable = task({
  command: "kb metadata built-in disable <kb>",
  summary: "Disable the built-in metadata fields",
  about: "The server answers success whatever happened, so the switch is read afterwards.",
  key: "dataset",
  params: { dataset_id },
  returns: switched,
  sends: [disableBuiltInFields, getMetadataOverview],
  wraps: disableBuiltInFields,
  effect: "writes",
  examples: [
    "kb metadata built-in disable Handbook",
    "kb metadata built-in disable Handbook --dry-run",
  ],
  load: async () => (await import("./metadata-built-in.ts")).disable,
});

const tagUnbind = task({
  command: "kb tag unbind <kb> <tag...>",
  summary: "Unbind tags from a knowledge base",
  key: "dataset",
  params: {
    target_id: body.ref("kb", "Knowledge base, name or id", { required }),
    tag_ids: body.ref("tag", "Tag, name or id", {
      many: true,
      required,
      placeholder: "tag",
      mustExist: true,
    }),
  },
  returns: noContent,
  output: ({ tag_ids }) => (tag_ids.length > 1 ? itemOutcomes : undefined),
  sends: [unbindTags],
  wraps: unbindTags,
  effect: "writes",
  examples: ["kb tag unbind Handbook published", "kb tag unbind Handbook draft published"],
  load: () => import("./tag-unbind.ts"),
});

const kbSync = task({
  command: "kb sync <kb> <dir>",
  action: "sync {dir} to knowledge base {kb}",
  summary: "Sync a directory to a knowledge base",
  about:
    "Creates documents for new files, updates changed ones in place, leaves unchanged ones alone. Which\nfile a document is and what it holds stands in its own metadata (kb_path, kb_hash, kb_source, kb_file),\nso any machine continues where another one stopped. A document of the same name that no sync made is\na conflict, unless it holds the same. What was changed on the server is updated.\nAn uploaded file has U+2215 for each / of its path in the name of its document, as the server takes\nno / there; kb_path holds the path. Texts are md, markdown, mdx and txt; other kinds are\nuploaded. --dry-run shows the plan. --prune leaves alone what is there and left out or cannot be read.\nShards take a share of the files each; only shard 1 may --prune, after the others.",
  key: "dataset",
  params: {
    dataset_id,
    directory: local.text("Directory; links that lead out of it are not followed", {
      required,
      placeholder: "dir",
    }),
    include: local.text("Only files that match, such as '**/*.md'", { many: true }),
    exclude: local.text("No files that match; .kbignore and .gitignore count too", { many: true }),
    prefix: local.text("Before every path: several directories share a knowledge base"),
    prune: local.flag("Also delete documents of this directory whose file is gone"),
    adopt: local.flag("Replace documents that have the name of a file and were made otherwise"),
    max_delete: local.text("Ask before more is deleted, a number or a share (20% when absent)"),
    metadata_from: local.choice(["front-matter"], "Values from the head of each text"),
    metadata: local.text("Value for each file: field=value, {1} is the first wildcard", {
      many: true,
    }),
    match: local.text("Only files that match get the values of --metadata", { many: true }),
    shard: local.text("A share of the files: 3/8, auto or auto/8"),
    since: local.text("Only files that differ from this git revision"),
    no_wait: local.flag("Do not wait for indexing; the next sync marks what was indexed"),
    wait_for_limit: local.flag("Wait when the knowledge rate limit is reached"),
    watch: local.flag("Go on, and sync after every change"),
    concurrency: local.integer("Uploads at once", {
      range: [1, 10],
      serverDefault: "3, 1 in a shard",
    }),
  },
  returns: withNamePath("document_id", list("", "action", "path", "document_id", "note")),
  sends: [
    getKnowledgeBase,
    getMetadataOverview,
    listMetadataFields,
    createMetadataField,
    setDocumentMetadata,
    listDocuments,
    getDocument,
    downloadDocumentsZip,
    createDocumentByText,
    createDocumentByFile,
    updateDocumentByText,
    replaceDocument,
    updateDocumentByFile,
    deleteDocument,
  ],
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

const directory = local.text("Folder of the export", { required });
const map_model = local.text(
  "Another embedding model at the target: provider/model=provider/model",
  {
    many: true,
  },
);
const to_profile = local.text("Profile of the target");
const madeThere = withNamePath("id", list("", "action", "what", "name", "id", "note"));
const makes = [
  createKnowledgeBase,
  getKnowledgeBase,
  getMetadataOverview,
  createMetadataField,
  listMetadataFields,
  setDocumentMetadata,
  enableBuiltInFields,
  disableBuiltInFields,
  listTags,
  createTag,
  bindTags,
  listDocuments,
  downloadDocumentsZip,
  createDocumentByText,
  createDocumentByFile,
  disableDocuments,
  archiveDocuments,
  listModels,
];
const reads = [
  getKnowledgeBase,
  getMetadataOverview,
  listDocuments,
  getDocument,
  downloadDocumentsZip,
];

const kbExport = task({
  command: "kb export <kb> <dir>",
  action: "export knowledge base {kb}",
  summary: "Export a knowledge base to a directory",
  about:
    "The folder holds the documents and a manifest with settings, metadata, tags and sums. What did\nnot change since the last export into it is not fetched again; what changed is written beside its\nearlier file, which goes last, so an export that is ended early leaves the last one whole. Prints the\nfiles that changed.",
  key: "dataset",
  params: {
    dataset_id,
    directory: local.text("Folder, new or of an earlier export", { required, placeholder: "dir" }),
    chunks: local.flag("Also the chunks of every document, for reading and comparing"),
  },
  returns: withNamePath("file", list("", "action", "document", "file", "bytes")),
  sends: [...reads, listChunks],
  effect: "reads",
  runsToEnd: true,
  exits: ["partial"],
  examples: ["kb export Handbook backup", "kb export Handbook backup --chunks -o jsonl"],
  load: () => import("./snapshot/export.ts"),
});

const kbImport = task({
  command: "kb import <dir>",
  action: "import {dir}",
  summary: "Create a knowledge base from an export",
  about:
    "Checks every file of the folder before anything is sent. Repeated after it was ended early, it\ngoes on: what is there with the same content stays as it is, unless it is in error. What only some\nmembers may see becomes visible to its owner alone.",
  key: "dataset",
  params: {
    directory: { ...directory, placeholder: "dir" },
    name: local.text("Name of the new knowledge base, that of the export when absent"),
    into: local.text("Knowledge base to fill instead, name or id"),
    map_model,
  },
  returns: madeThere,
  sends: makes,
  effect: "writes",
  plans: true,
  exits: ["partial"],
  examples: ["kb import backup --name 'Handbook copy'", "kb import backup --dry-run"],
  load: () => import("./snapshot/import.ts"),
});

const kbCopy = task({
  command: "kb copy <kb>",
  action: "copy knowledge base {kb}",
  summary: "Copy a knowledge base, also to another workspace",
  about: "An export into a folder of our own, then an import with the settings of --to-profile.",
  key: "dataset",
  params: {
    dataset_id,
    to_profile,
    name: local.text("Name of the copy, that of the original when absent"),
    map_model,
  },
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

const kbVerify = task({
  command: "kb verify <a> <b>",
  action: "compare {a} with {b}",
  summary: "Compare two knowledge bases or exports byte by byte",
  about:
    "Each side is a knowledge base or the folder of an export. Lists what differs: documents, content,\nstatus, metadata values, fields, tags, settings; ends with 14 when anything does.",
  key: "dataset",
  params: {
    a: local.text("Knowledge base or folder", { required, placeholder: "a" }),
    b: local.text("Knowledge base or folder", { required, placeholder: "b" }),
    to_profile: local.text("Profile of the second side"),
  },
  returns: withNamePath("name", list("", "what", "name", "a", "b")),
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
const planRows = withNamePath("name", list("", "action", "what", "name", "from", "to", "note"));

const kbPull = task({
  command: "kb pull <kb>",
  action: "pull knowledge base {kb}",
  summary: "Print a knowledge base as a file for plan and apply",
  key: "dataset",
  params: { dataset_id },
  returns: textChunks,
  sends: [getKnowledgeBase, getMetadataOverview, listDocuments],
  effect: "reads",
  examples: ["kb pull Handbook", "kb pull Handbook --output-file handbook.yml"],
  load: () => import("./declarative/pull.ts"),
});

const kbPlan = task({
  command: "kb plan <file>",
  action: "plan {file}",
  summary: "Preview the changes that apply would make",
  key: "dataset",
  params: { file: kbFile, exit_code: local.flag("End with 14 when anything would change") },
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
  load: () => import("./declarative/plan.ts"),
});

const kbApply = task({
  command: "kb apply <file>",
  action: "apply {file}",
  summary: "Create or update a knowledge base from a file",
  about:
    "Creates it when there is none of that name. What the file leaves out stays as it is; applied\nagain it does nothing. Metadata fields are never deleted, documents only with prune;\nof more than max_delete (20% when absent) it asks first.",
  key: "dataset",
  params: { file: kbFile },
  returns: planRows,
  sends: [
    listKnowledgeBases,
    getKnowledgeBase,
    createKnowledgeBase,
    updateKnowledgeBase,
    searchKnowledgeBase,
    listModels,
    getMetadataOverview,
    createMetadataField,
    enableBuiltInFields,
    disableBuiltInFields,
    listTags,
    createTag,
    bindTags,
    unbindTags,
    ...kbSync.sends,
  ],
  effect: "writes",
  plans: true,
  confirms: true,
  exits: ["remote-failed", "partial"],
  examples: ["kb apply handbook.yml", "kb apply handbook.yml --dry-run"],
  load: () => import("./declarative/apply.ts"),
});

const kbEval = task({
  command: "kb eval <kb> <questions>",
  action: "evaluate knowledge base {kb}",
  summary: "Evaluate retrieval against a set of labelled questions",
  about:
    "Questions are JSON Lines or CSV: question, documents (names, ids or paths that are to be found; a\nlist, in CSV parted by ;), text (to stand in a chunk that is found), filter (the conditions on\nmetadata of the search) and id; all but the question and one of documents and text may be left out.\n\nA rank counts documents: the first chunk of a document gives its place. A text stands for the\nfirst document that holds it; one that is not found, for a document that is missing. recall@k is\nthe share of what was expected that is among the first k, precision@k the share of k that was\nexpected, hit_rate@k the share of questions with any of it, ndcg@k its gain by binary relevance and\nlog2 of the rank, mrr the mean of 1/rank of the first that was expected.\n\nConditions of --fail-if are on these, on latency_p50 and latency_p95 and on failed; with --baseline\non a difference as well: 'recall@5.change<-0.02'. One that holds ends the command with 14, after the\nfigures. Without --k, k is 1, 3, 5 and 10 as far as the searches reach.",
  key: "dataset",
  params: {
    dataset_id,
    questions: local.file("Questions and what is to be found, - for standard input", {
      required,
      placeholder: "questions",
    }),
    ...searchFlags,
    retrieval_model: local.json("Search settings instead of those of the knowledge base, JSON", {
      shape: retrievalShape,
    }),
    matrix: local.text(
      "Compare settings, all combinations: search_method, top_k, score_threshold, reranking_enable or vector_weight=value,value",
      { many: true },
    ),
    rerank_model: local.text(
      "Rerank model, provider/model, where searches rerank (default: that of the settings, or the only active one)",
    ),
    k: local.text("How many documents are looked at, by comma: 1,3,5"),
    failures: local.flag("List the questions with something missing, and what was found instead"),
    baseline: local.file("Compare with an earlier evaluation, as --save writes it"),
    save: local.text("File for everything that -o json prints, for --baseline", {
      isOutputPath: true,
    }),
    fail_if: local.text("End with 14 if this holds, as in 'recall@5<0.9'", { many: true }),
    junit: local.text("File for a JUnit report with a case for each question", {
      isOutputPath: true,
    }),
    allow_missing: local.flag("Count documents that are not there as not found"),
    concurrency: local.integer("Questions at a time, 3 when absent", { range: [1, 50] }),
    wait_for_limit: local.flag("Wait a minute at the rate limit of the knowledge base, and go on"),
  },
  returns: report,
  sends: [searchKnowledgeBase, getKnowledgeBase, listModels, listDocuments],
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

const kbLint = task({
  command: "kb lint <dir>",
  action: "check files in {dir}",
  summary: "Check the files of a directory before upload",
  about:
    "Nothing is sent. An error means that a file is refused, cut or not told from another one, a\nwarning that it comes through but not as it should: only errors end the command with 14. What begins\nwith a dot is left out, and so is what .gitignore and .kbignore name.",
  params: {
    directory: local.text("Folder with the files", { required, placeholder: "dir" }),
    include: local.text("Only these files, by a pattern as in .gitignore", { many: true }),
    exclude: local.text("None of these files, by a pattern as in .gitignore", { many: true }),
    max_size: local.text("Largest file that the server takes, 15MiB when absent"),
    strict: local.flag("Warnings end the command with 14 as well"),
  },
  returns: withNamePath("file", list("", "severity", "file", "finding", "problem", "fix")),
  sends: [],
  effect: "reads",
  exits: ["gate"],
  examples: [
    "kb lint handbook",
    "kb lint handbook --include '*.md' --strict -o json",
    "kb lint handbook --exclude drafts/ --max-size 50MB",
  ],
  load: () => import("./lint/lint.ts"),
});

/** Commands of `kb` around operations, or of several. */
export const kbTasks: readonly Task[] = [
  kbSearch,
  modelList,
  docWait,
  docReplace,
  docDownload,
  metadataSet,
  pipelineRun,
  pipelineNode,
  builtInEnable,
  builtInDisable,
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
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
