import type * as operations from "../../operations/pipeline.ts";
import { valueAt } from "../../lib/json.ts";
import { noFileUploaded, raise, dataLine } from "../protocol/response.ts";
import { type Clock } from "../protocol/handler.ts";
import { checkFlagParam } from "../protocol/validation.ts";
import {
  type DocumentSource,
  getDataset,
  type KnowledgeContext,
  type KnowledgeHandlers,
} from "./records/knowledge-store.ts";
import { addDocument, newBatch } from "./document-changes.ts";
import { addUpload, onlyFile, rejectedFile } from "./records/knowledge-files.ts";
import { knowledgeError, toResponse } from "./records/responses.ts";
import {
  CHUNK_STRUCTURE,
  DATASOURCE_TYPES,
  findPipeline,
  runDraft,
} from "./pipelines/pipelines.ts";
import type { Datasource, Pipeline } from "./pipelines/pipelines.ts";

/** Pipelines: their data sources, and runs. */
export const pipelineHandlers = {
  listDatasourcePlugins(_context, { dataset_id }, call) {
    checkFlagParam(call, "is_published", "DatasourcePluginsQuery");
    const { source, variable } = requirePipeline(dataset_id);
    const isOwn = variable.belong_to_node_id === source.id;
    const required = variable.default_value === null;
    const shown = toResponse("pipeline_variable", variable, { required });
    const user_input_variables = isOwn ? [shown] : [];
    return { json: [toResponse("datasource_plugin", source, { user_input_variables })] };
  },

  runDatasourceNode({ clock }, input, call) {
    const { source } = requirePipeline(input.dataset_id);
    const node = source.id === input.node_id ? source : undefined;
    return { stream: lines(runDatasource(node, input, clock, call.signal)) };
  },

  runPipeline(context, input, call) {
    const pipeline = requirePipeline(input.dataset_id);
    const error = typeError(input.datasource_type);
    if (error !== undefined) throw knowledgeError("pipeline failed", { error });
    const { datasource_type, start_node_id } = input;
    // Validated with the request.
    const inputs = input.inputs as DocumentSource["inputs"];
    const list = input.datasource_info_list as readonly DocumentSource["datasource_info"][];
    const common = { datasource_type, start_node_id, inputs };
    const sources = list.map((datasource_info) => ({ ...common, datasource_info }));
    if (input.is_published) {
      return { json: addDocuments(context, input.dataset_id, sources), utf8: true };
    }
    // A draft reads the first source; some of the server's texts are Python's.
    const [source] = sources;
    if (!source) throw knowledgeError("pipeline failed", { error: "list index out of range" });
    if (pipeline.source.id !== start_node_id) {
      const text = `Root node id ${start_node_id} not found in the graph`;
      throw knowledgeError("pipeline failed", { error: text });
    }
    const { events, response } = runDraft(context, pipeline, source, call.origin);
    const isStreaming = valueAt(call.body, "response_mode") === "streaming";
    return isStreaming ? { stream: lines(events) } : { json: response, utf8: true };
  },

  uploadPipelineFile(context, _input, call) {
    const file = onlyFile(call.files);
    if (!file) throw noFileUploaded();
    // Any kind is accepted; the error of a file that is too large has no text (server §3).
    const { file_id } = addUpload(context, file, (reason) =>
      reason === "size" ? rejectedFile(reason, call) : undefined,
    );
    const stored = context.files.find({ id: file_id }) ?? {};
    return { status: 201, json: toResponse("pipeline_file", stored) };
  },
} satisfies Partial<KnowledgeHandlers<typeof operations>>;

const requirePipeline = (dataset_id: string): Pipeline =>
  findPipeline(dataset_id) ?? raise(knowledgeError("pipeline missing"));

async function* lines(events: Iterable<object> | AsyncIterable<object>): AsyncGenerator<string> {
  for await (const event of events) yield dataLine(event);
}

/** Creates a document for each source; a worker runs the pipeline for each. Returns the response. */
function addDocuments(
  context: KnowledgeContext,
  dataset_id: string,
  sources: readonly DocumentSource[],
): object {
  const { documents } = context;
  const batch = newBatch(context);
  for (const source of sources)
    addDocument(context, {
      dataset_id,
      batch,
      name: nameOf(source),
      source,
      file_id: "",
      rule_id: "",
      doc_form: CHUNK_STRUCTURE,
      doc_language: "",
      created_from: "rag-pipeline",
    });
  const { id, name, description } = getDataset(context, dataset_id);
  return {
    batch,
    dataset: { id, name, description, chunk_structure: CHUNK_STRUCTURE },
    documents: documents
      .list({ batch, dataset_id }, "position")
      .map((document) => toResponse("pipeline_document", document)),
  };
}

/** Where the name of a document is, by the type of its data source; it is `untitled` without one. */
const NAMES: Readonly<Record<string, string>> = {
  local_file: "name",
  online_drive: "name",
  online_document: "page.page_name",
  website_crawl: "title",
};

const nameOf = ({ datasource_type, datasource_info }: DocumentSource): string =>
  String(valueAt(datasource_info, NAMES[datasource_type] ?? "name") ?? "untitled");

/** ms that a crawler needs for a page. */
const PAGE_DELAY = 200;

/** An event of a data source; the last one is `datasource_completed` or `datasource_error`. */
type DatasourceEvent = Readonly<Record<string, unknown>> & { readonly event: string };

/** Runs one data source: a crawler invents pages, and the others cannot be run (server §18). */
async function* runDatasource(
  node: Datasource | undefined,
  { datasource_type, inputs }: { readonly datasource_type: string; readonly inputs: unknown },
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<DatasourceEvent> {
  const url = String(valueAt(inputs, "url") ?? "");
  const error = typeError(datasource_type) ?? nodeError(node, url);
  const total = node?.crawler?.pages;
  if (error !== undefined || total === undefined) {
    yield { event: "datasource_error", error };
    return;
  }
  const start = clock.now().getTime();
  for (let completed = 0; completed < total; completed++) {
    yield { event: "datasource_processing", total, completed };
    await clock.sleep(PAGE_DELAY, signal);
  }
  const data = Array.from({ length: total }, (_, index) => pageOf(url, index + 1));
  const time_consuming = (clock.now().getTime() - start) / 1000;
  yield { event: "datasource_completed", data, total, completed: total, time_consuming };
}

/** The text for a type that no server has; undefined for others. */
const typeError = (type: string): string | undefined =>
  DATASOURCE_TYPES.includes(type) ? undefined : `'${type}' is not a valid DatasourceProviderType`;

function nodeError(node: Datasource | undefined, url: string): string | undefined {
  if (!node) return "Datasource node data not found";
  if (!node.crawler) return `Unsupported datasource provider: ${node.provider_type}`;
  return node.crawler.errors[url];
}

const pageOf = (url: string, number: number) => ({
  source_url: `${url}/${number}`,
  content: `# Page ${number}\n\nText of page ${number} of ${url}.`,
  title: `Page ${number}`,
  description: "A page",
});
