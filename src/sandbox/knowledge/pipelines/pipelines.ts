/** The pipelines of the sandbox, and their runs for one file or page. */
import { valueAt } from "../../../lib/json.ts";
import data from "./pipelines.json" with { type: "json" };
import { HttpError, raise } from "../../protocol/response.ts";
import { type RunEvent, runEvent } from "../../protocol/fill.ts";
import { account, fixedId, signedQuery, tenantId } from "../../protocol/ids.ts";
import { textOfFile } from "../records/knowledge-files.ts";
import type { DatasetRow, DocumentSource, KnowledgeContext } from "../records/knowledge-store.ts";
import { knowledgeError, toResponse, withDefaults } from "../records/responses.ts";

type Values = Readonly<Record<string, unknown>>;

interface NodeResult {
  readonly inputs: Values;
  readonly outputs: Values;
  readonly process?: Values;
  /** Of a data source: what it read. */
  readonly metadata?: Values;
  /** Of a data source of uploads: the file. */
  readonly files?: readonly object[];
}

interface PipelineRun {
  readonly context: KnowledgeContext;
  readonly source: DocumentSource;
  /** Origin for the URLs of files. */
  readonly origin: string;
  /** The inputs of the run, with defaults. */
  readonly inputs: Values;
  /** The outputs of the nodes so far, together: no two have one of the same name. */
  readonly outputs: Record<string, unknown>;
}

interface PipelineNode {
  readonly id: string;
  readonly type: "datasource" | "document-extractor" | "code" | "knowledge-index";
  readonly title: string;
  /** Of a data source: the type of what it reads. */
  readonly provider_type?: string;
  /** Of a program that splits a text: where its inputs are in the run. */
  readonly inputs?: Readonly<Record<string, string>>;
}

/** The first node: what it reads is named by the request. */
export interface Datasource extends PipelineNode {
  readonly type: "datasource";
  readonly plugin_id: string;
  readonly provider_name: string;
  readonly provider_type: string;
  /** A crawler invents its pages; some addresses fail with a text. */
  readonly crawler?: { readonly pages: number; readonly errors: Readonly<Record<string, string>> };
}

/** Types of data sources that the server knows. */
export const DATASOURCE_TYPES: readonly string[] =
  "online_document online_drive website_crawl local_file".split(" ");

/** The icon of uploads in events. */
const FILE_ICON = "https://assets.dify.ai/images/File%20Upload.svg";

/** What nodes report by their type; each throws HttpError with the reason if it fails. */
const executors: Readonly<
  Record<PipelineNode["type"], (run: PipelineRun, node: PipelineNode) => NodeResult>
> = {
  datasource({ context, source: { datasource_info }, origin }, { provider_type: datasource_type }) {
    if (datasource_type !== "local_file") {
      const outputs = { ...datasource_info, datasource_type };
      return { inputs: datasource_info, outputs, metadata: { datasource_info } };
    }
    const id = String(datasource_info["related_id"]);
    const missing = knowledgeError("pipeline file missing", { id, tenant: tenantId });
    const stored = context.files.find({ id }) ?? raise(missing);
    const reference = Buffer.from(JSON.stringify({ record_id: id })).toString("base64");
    const file = toResponse("pipeline_input_file", stored, {
      extension: `.${stored.extension}`,
      reference: `dify-file-ref:${reference}`,
      url: `${origin}/files/${id}/file-preview?${signedQuery(id, context.now())}`,
    });
    const inputs = { ...datasource_info, icon: FILE_ICON };
    const outputs = { file, datasource_type };
    return { inputs, outputs, metadata: { datasource_info: inputs }, files: [file] };
  },

  "document-extractor"({ context, source, outputs: { file: document } }) {
    const id = String(source.datasource_info["related_id"]);
    return {
      inputs: { variable_selector: ["d", "file"] },
      process: { documents: [document] },
      outputs: { text: textOfFile(context.files.find({ id })) },
    };
  },

  /** Imitates a program that splits a text `t` at a separator, or keeps it whole. */
  code(run, { inputs: places = {} }) {
    const entries = Object.entries(places).map(([name, path]) => [name, valueAt(run, path)]);
    const inputs = Object.fromEntries(entries) as { readonly t?: unknown; readonly sep?: unknown };
    const text = String(inputs.t ?? "");
    const separator = String(inputs.sep ?? "");
    const pieces = separator === "" ? [text] : text.split(separator);
    return { inputs, outputs: { result: pieces.map((piece) => piece.trim()).filter(Boolean) } };
  },

  "knowledge-index"({ outputs: { result } }) {
    const chunks = result as readonly string[]; // of the program
    const preview = chunks.map((content) => ({ content }));
    const counted = { preview, qa_preview: [], total_segments: chunks.length };
    return { inputs: { chunks }, outputs: { chunk_structure: CHUNK_STRUCTURE, ...counted } };
  },
};

/** The form of the documents of all pipelines. */
export const CHUNK_STRUCTURE = "text_model";

/** The pipeline of a knowledge base. Its draft and its published version are the same. */
export interface Pipeline {
  readonly name: string;
  readonly description: string;
  readonly icon: string;
  readonly icon_background: string;
  readonly source: Datasource;
  /** Each one follows the one before, the first one the source. */
  readonly nodes: readonly PipelineNode[];
  /** The input of the pipeline, or of its data source. */
  readonly variable: {
    /** The ID of a data source, or `shared`. */
    readonly belong_to_node_id: string;
    readonly variable: string;
    readonly max_length: number;
    /** Null if it is required. */
    readonly default_value: string | null;
  };
}

const pipelines = data.pipelines as unknown as readonly Pipeline[]; // the types of JSON have no literals

const datasetId = ({ name }: Pipeline) => fixedId("dataset", name);

/** The pipeline of a knowledge base; most have none. */
export const findPipeline = (dataset_id: string): Pipeline | undefined =>
  pipelines.find((pipeline) => datasetId(pipeline) === dataset_id);

/**
 * Creates the knowledge bases of the pipelines, which no request can do: on a server they come from
 * templates of the web console. One whose name is taken is not created.
 */
export function addPipelineBases({ store, datasets, now }: KnowledgeContext): void {
  // They are older than those that are created next: the order within a second is random (server §8).
  const created_at = now() - 1000;
  const settings = { provider: "vendor", permission: "only_me", members: [], built_in: false };
  store.transaction(() => {
    for (const pipeline of pipelines) {
      const { name, description } = pipeline;
      const id = datasetId(pipeline);
      if (datasets.find({ id }) ?? datasets.find({ name })) continue;
      const made = { id, name, description, doc_form: CHUNK_STRUCTURE, created_at };
      datasets.insert({ ...made, ...settings, ...data.indexing, updated_at: created_at });
    }
  });
}

/** The fields of a knowledge base that depend on whether it has a pipeline (server §18). */
export function runtimeFields({ id }: DatasetRow, data_source_type: string | null): object {
  const pipeline = findPipeline(id);
  if (!pipeline)
    return { data_source_type, updated_by: account.id, ...withDefaults("runtime", null) };
  const shown = { id: fixedId("pipeline", pipeline.name), chunk_structure: CHUNK_STRUCTURE };
  const runtime = toResponse("pipeline_runtime", pipeline, shown);
  return { data_source_type: null, updated_by: null, ...runtime };
}

/** A node that has ended; without a result, the reason why it failed. */
interface Step {
  readonly node: PipelineNode;
  readonly result?: NodeResult;
  readonly error: string | null;
}

/** Executes the nodes in turn until the last one, or one that fails; none for an unknown start node. */
function executePipeline(
  context: KnowledgeContext,
  { source: first, nodes, variable: { variable, default_value } }: Pipeline,
  source: DocumentSource,
  origin = "",
): readonly Step[] {
  const inputs = { [variable]: source.inputs[variable] ?? default_value };
  const run: PipelineRun = { context, source, origin, inputs, outputs: {} };
  const steps: Step[] = [];
  for (const node of source.start_node_id === first.id ? [first, ...nodes] : []) {
    try {
      const result = executors[node.type](run, node);
      steps.push({ node, result, error: null });
      Object.assign(run.outputs, result.outputs);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      steps.push({ node, error: error.message });
      break;
    }
  }
  return steps;
}

/** Whether a worker runs the pipeline of a document; with an unknown start node it never does. */
export const canRun = (dataset_id: string, { start_node_id }: DocumentSource): boolean =>
  findPipeline(dataset_id)?.source.id === start_node_id;

/** The chunks of a document of a pipeline. Throws HttpError with the reason if a node fails. */
export function pipelineChunks(
  context: KnowledgeContext,
  dataset_id: string,
  source: DocumentSource,
): readonly string[] {
  const pipeline = findPipeline(dataset_id) ?? raise(knowledgeError("pipeline missing"));
  const last = executePipeline(context, pipeline, source).at(-1);
  if (last?.error) throw new HttpError(400, "invalid_param", last.error);
  return (last?.result?.inputs["chunks"] ?? []) as readonly string[]; // of the last node
}

/**
 * Runs the draft of a pipeline: it only shows what a published one would index, is stored nowhere and
 * takes no time. `origin` is that of the URLs of files, `response` for those who want no events.
 */
export function runDraft(
  context: KnowledgeContext,
  pipeline: Pipeline,
  source: DocumentSource,
  origin: string,
) {
  const id = context.newId();
  const task_id = context.newId();
  const now = context.now();
  const app = fixedId("pipeline", pipeline.name);
  const steps = executePipeline(context, pipeline, source, origin);
  const { result, error = null } = steps.at(-1) ?? {};
  const ended = { status: result ? "succeeded" : "failed", outputs: result?.outputs ?? {}, error };
  const counts = { elapsed_time: 0, total_tokens: 0, total_steps: steps.length };
  const user = { end_user_id: account.id, session_id: null, exceptions_count: 0 };
  const run = { id, app, ...ended, ...counts, ...user, finished_at: now };
  const system = toResponse("pipeline_system_inputs", {}, { app, id });
  const { data: end = {} } = runEvent("workflow_finished", { run, since: now });
  const { created_by: _by, exceptions_count: _count, files: _files, ...shown } = end;
  const created_by = { id: account.id, name: account.name, email: "admin@example.com" };
  const inputs = { ...source.inputs, ...system };
  const events = [
    runEvent("workflow_started", { run, inputs, since: now, reason: "initial" }),
    ...steps.flatMap((step) => stepEvents(step, context.newId(), now)),
    { event: "workflow_finished", data: { ...end, created_by } },
  ];
  return {
    events: events.map(({ event, data }) => ({ event, workflow_run_id: id, task_id, data })),
    response: { task_id, workflow_run_id: id, data: shown },
  };
}

/** The events of a node, which takes no time. */
function stepEvents({ node, result, error }: Step, id: string, now: number): RunEvent[] {
  const { inputs = {}, process = {}, outputs = {}, metadata = null, files = [] } = result ?? {};
  const times = { startedAt: now, finishedAt: now, elapsed: 0 };
  const execution = { ...node, id, nodeId: node.id, ...times, iteration: null, loop: null };
  const status = result ? "succeeded" : "failed";
  const reported = { inputs, process, outputs, status, error, metadata };
  const started = runEvent("node_started", { execution });
  const finished = runEvent("node_finished", { execution, result: reported });
  const extras = node.type === "datasource" ? { icon: FILE_ICON } : {};
  return [
    { ...started, data: { ...started.data, extras } },
    { ...finished, data: { ...finished.data, files } },
  ];
}
