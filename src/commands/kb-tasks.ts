import * as documents from "../operations/documents.ts";
import * as knowledge from "../operations/knowledge.ts";
import * as metadata from "../operations/metadata.ts";
import { body, events, list, local, named, nothing, record } from "../operations/operation.ts";
import * as pipeline from "../operations/pipeline.ts";
import { dataset_id, file, required, searchMethods } from "../operations/shared.ts";
import * as tags from "../operations/tags.ts";
import { asEvents } from "./as-events.ts";
import type { PipelineInput } from "./kb-pipeline-run.ts";
import { task } from "./task.ts";
import type { Task } from "./task.ts";

const docWait = task({
  command: "kb doc wait <kb> [doc...]",
  summary: "Wait until documents are indexed",
  about:
    "Waits for the documents named, for those of --batch, or for every document of the knowledge\nbase. --timeout sets the deadline; a document that ends in error ends the command with 9.",
  key: "dataset",
  params: {
    dataset_id,
    document_id: local.ref("document", "Document, name or id", { many: true, word: "doc" }),
    batch: local.text("Batch that an upload or update answered"),
  },
  returns: list("", "id", "name", "indexing_status", "error"),
  sends: [documents.list, documents.show, documents.indexingStatus, knowledge.list],
  effect: "reads",
  exits: ["remote-failed"],
  examples: [
    "kb doc wait Handbook",
    "kb doc wait Handbook welcome.md --timeout 5m",
    "kb doc wait Handbook --batch $BATCH",
  ],
  load: () => import("./kb-doc-wait.ts"),
});

const kbSearch = task({
  command: "kb search <kb> <query>",
  summary: "Search a knowledge base for the chunks that answer a query",
  about:
    "Searches with the settings of the knowledge base; a flag changes that one setting. On economy\nindexing only keyword search works, so that is what is asked there.",
  key: "dataset",
  params: {
    ...knowledge.search.params,
    search_method: local.choice(searchMethods, "How chunks are searched"),
    top_k: local.integer("Chunks at most", { range: [1, 100] }),
    score_threshold: local.number("Only chunks with at least this score", { range: [0, 1] }),
  },
  returns: knowledge.search.returns,
  sends: [knowledge.search, knowledge.show],
  wraps: knowledge.search,
  effect: "reads",
  examples: [
    "kb search Handbook onboarding",
    "kb search Handbook onboarding --top-k 3 -o json",
    "kb search Handbook 'parking at the office' --search-method keyword_search",
  ],
  load: () => import("./kb-search.ts"),
});

const docReplace = task({
  command: "kb doc replace <kb> <doc> <file>",
  summary: "Replace the file of an available document and index it again",
  about: "A server before 1.14.0 lacks the route and gets the older one by itself.",
  key: "dataset",
  params: { ...documents.replace.params, file },
  returns: documents.replace.returns,
  sends: [documents.replace, documents.updateByFile],
  wraps: documents.replace,
  effect: "writes",
  examples: [
    "kb doc replace Handbook welcome.md welcome.md",
    `kb doc replace Handbook welcome.md welcome.md --process-rule '{"mode":"automatic"}'`,
  ],
  load: () => import("./kb-doc-replace.ts"),
});

const docDownload = task({
  command: "kb doc download <kb> <doc...>",
  summary: "Download documents, byte for byte",
  about:
    "Writes files below --dir, under the documents' own names, or the ZIP of the server to --zip.",
  key: "dataset",
  params: {
    dataset_id,
    document_id: local.ref("document", "Document, name or id", {
      many: true,
      required,
      word: "doc",
    }),
    dir: local.text("Folder for the files"),
    zip: local.text("File for the ZIP"),
  },
  returns: named("path", list("", "path", "bytes", "document_id")),
  sends: [documents.downloadZip, documents.show],
  wraps: documents.downloadZip,
  effect: "reads",
  examples: [
    "kb doc download Handbook welcome.md --dir downloads",
    "kb doc download Handbook welcome.md leave.md --zip handbook.zip",
  ],
  load: () => import("./kb-doc-download.ts"),
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
      word: "doc",
    }),
    set: local.text("One value: field=value", { many: true }),
    unset: local.text("Field to take the value from", { many: true }),
    replace: local.flag("Take away every value that is not set here"),
  },
  returns: metadata.set.returns,
  sends: [metadata.set, metadata.list, documents.show],
  wraps: metadata.set,
  effect: "writes",
  examples: [
    "kb metadata set Handbook welcome.md leave.md --set team=people",
    "kb metadata set Handbook welcome.md --unset team",
    "kb metadata set Handbook welcome.md --set team=people --replace",
  ],
  load: () => import("./kb-metadata-set.ts"),
});

const pipelineRun = task({
  command: "kb pipeline run <kb>",
  summary: "Run the pipeline of a knowledge base and follow its events",
  key: "dataset",
  params: { ...pipeline.run.params, blocking: local.flag("Wait for one answer instead of events") },
  returns: events,
  output: (input: PipelineInput, format) =>
    asEvents(input, format) ? undefined : pipeline.runBlocking.returns,
  sends: [pipeline.run, pipeline.runBlocking],
  wraps: pipeline.run,
  effect: "writes",
  exits: ["remote-failed"],
  examples: [
    `kb pipeline run Handbook --datasource-type local_file --datasource-info-list "[{\\"reference\\":\\"$FILE\\"}]" --start-node-id 1 --is-published`,
    "kb pipeline run Handbook --datasource-type local_file --datasource-info-list @files.json --start-node-id 1 --no-is-published --blocking",
  ],
  load: () => import("./kb-pipeline-run.ts"),
});

const switched = record<{ built_in_field_enabled: boolean }>("built_in_field_enabled");

const builtInEnable = task({
  command: "kb metadata built-in enable <kb>",
  summary: "Switch the built-in metadata fields on",
  about: "The server answers success whatever happened, so the switch is read afterwards.",
  key: "dataset",
  params: { dataset_id },
  returns: switched,
  sends: [metadata.enableBuiltIn, metadata.overview],
  wraps: metadata.enableBuiltIn,
  effect: "writes",
  examples: [
    "kb metadata built-in enable Handbook",
    "kb metadata built-in enable Handbook --jq .built_in_field_enabled",
  ],
  load: async () => (await import("./kb-metadata-built-in.ts")).enable,
});

const builtInDisable = task({
  command: "kb metadata built-in disable <kb>",
  summary: "Switch the built-in metadata fields off",
  about: "The server answers success whatever happened, so the switch is read afterwards.",
  key: "dataset",
  params: { dataset_id },
  returns: switched,
  sends: [metadata.disableBuiltIn, metadata.overview],
  wraps: metadata.disableBuiltIn,
  effect: "writes",
  examples: [
    "kb metadata built-in disable Handbook",
    "kb metadata built-in disable Handbook --dry-run",
  ],
  load: async () => (await import("./kb-metadata-built-in.ts")).disable,
});

const tagUnbind = task({
  command: "kb tag unbind <kb> <tag...>",
  summary: "Take tags off a knowledge base",
  key: "dataset",
  params: {
    target_id: body.ref("kb", "Knowledge base, name or id", { required }),
    tag_ids: body.ref("tag", "Tag, name or id", { many: true, required, word: "tag" }),
  },
  returns: nothing,
  sends: [tags.unbind],
  wraps: tags.unbind,
  effect: "writes",
  examples: ["kb tag unbind Handbook published", "kb tag unbind Handbook draft published"],
  load: () => import("./kb-tag-unbind.ts"),
});

/** Commands of `kb` around operations, or of several. */
export const kbTasks: readonly Task[] = [
  kbSearch,
  docWait,
  docReplace,
  docDownload,
  metadataSet,
  pipelineRun,
  builtInEnable,
  builtInDisable,
  tagUnbind,
] as readonly Task[]; // each is checked where it is declared; a list has one type for all
