/** Executes the nodes of a pipeline for one file or page: a function for each type. */
import { valueAt } from "../../../lib/json.ts";
import { HttpError, raise } from "../../protocol/errors.ts";
import { signedQuery, tenantId, account } from "../../protocol/ids.ts";
import type { DocumentSource, KnowledgeContext } from "../records/knowledge-store.ts";
import { textOfFile } from "../records/knowledge-files.ts";
import { knowledgeError, toResponse } from "../records/responses.ts";
import {
  findDatasource,
  findPipeline,
  type PipelineNodeOf,
  type Pipeline,
  type PipelineNode,
} from "./definitions.ts";
import { runEvent, type RunEvent } from "../../protocol/fill.ts";

type Values = Readonly<Record<string, unknown>>;

/** What a node reported. */
interface NodeResult {
  readonly inputs: Values;
  readonly outputs: Values;
  readonly process?: Values;
  /** Of a data source: what it read. */
  readonly metadata?: Values;
  /** Of a data source of uploads: the file. */
  readonly files?: readonly object[];
}

/** A node that has ended; without a result, the reason why it failed. */
interface Step {
  readonly node: PipelineNode;
  readonly result?: NodeResult;
  readonly error: string | null;
}

/** A run while its nodes are executed. */
interface PipelineRun {
  readonly context: KnowledgeContext;
  readonly source: DocumentSource;
  /** Origin for the URLs of files. */
  readonly origin: string;
  /** Outputs by node, and inputs below `rag`. */
  readonly variables: Readonly<Record<string, Values>>;
}

/** The icon of uploads in events. */
const FILE_ICON = "https://assets.dify.ai/images/File%20Upload.svg";

/** Executes the nodes in turn, from the start node of the source until the last one, or one that fails. */
function executePipeline(
  context: KnowledgeContext,
  pipeline: Pipeline,
  source: DocumentSource,
  origin = "",
): readonly Step[] {
  const steps: Step[] = [];
  const variables: Record<string, Values> = { rag: inputVariables(pipeline, source) };
  const run = { context, source, origin, variables };
  const start = findDatasource(pipeline, source.start_node_id);
  for (const node of start ? pipeline.nodes.slice(pipeline.nodes.indexOf(start)) : []) {
    const step = executeNode(node, run);
    steps.push(step);
    if (!step.result) break;
    variables[node.id] = step.result.outputs;
  }
  return steps;
}

/** Whether a worker runs the pipeline of a document; with an unknown start node it never does. */
export function canRun(dataset_id: string, { start_node_id }: DocumentSource): boolean {
  const pipeline = findPipeline(dataset_id);
  return pipeline !== undefined && findDatasource(pipeline, start_node_id) !== undefined;
}

/** The chunks of a document of a pipeline. Throws HttpError with the reason if a node fails. */
export function pipelineChunks(
  context: KnowledgeContext,
  dataset_id: string,
  source: DocumentSource,
): readonly string[] {
  const pipeline = findPipeline(dataset_id) ?? raise(knowledgeError("pipeline missing"));
  const last = executePipeline(context, pipeline, source).at(-1);
  if (last?.error) throw new HttpError(400, "invalid_param", last.error);
  return chunkTexts(last?.result?.inputs["chunks"]);
}

/** The inputs of a run by the ID of their owner, with defaults. */
function inputVariables({ variables }: Pipeline, { inputs }: DocumentSource): Values {
  const byOwner: Record<string, Record<string, unknown>> = {};
  for (const { belong_to_node_id: owner, variable, default_value } of variables) {
    byOwner[owner] = { ...byOwner[owner], [variable]: inputs[variable] ?? default_value };
  }
  return byOwner;
}

function executeNode(node: PipelineNode, run: PipelineRun): Step {
  try {
    const execute = executors[node.type] as (node: PipelineNode, run: PipelineRun) => NodeResult;
    return { node, result: execute(node, run), error: null };
  } catch (error) {
    if (!(error instanceof HttpError)) throw error;
    return { node, error: error.message };
  }
}

const executors: {
  readonly [Type in PipelineNode["type"]]: (
    node: PipelineNodeOf<Type>,
    run: PipelineRun,
  ) => NodeResult;
} = {
  datasource({ provider_type: datasource_type }, run) {
    const { datasource_info } = run.source;
    if (datasource_type !== "local_file") {
      return {
        inputs: datasource_info,
        outputs: { ...datasource_info, datasource_type },
        metadata: { datasource_info },
      };
    }
    const file = fileOf(run);
    const inputs = { ...datasource_info, icon: FILE_ICON };
    const metadata = { datasource_info: inputs };
    return { inputs, outputs: { file, datasource_type }, metadata, files: [file] };
  },

  "document-extractor"({ variable_selector }, { context, variables }) {
    const document = valueOf(variables, variable_selector);
    const file = context.files.find({ id: String(valueAt(document, "id")) });
    return {
      inputs: { variable_selector },
      process: { documents: [document] },
      outputs: { text: textOfFile(file) },
    };
  },

  code({ variables: declared, sandbox }, { variables }) {
    const inputs = Object.fromEntries(
      declared.map(({ variable, value_selector }) => [
        variable,
        valueOf(variables, value_selector),
      ]),
    );
    const text = String(inputs[sandbox.split] ?? "");
    const separator = String(inputs[sandbox.at ?? ""] ?? "");
    const pieces = separator === "" ? [text] : text.split(separator);
    const result = pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
    return { inputs, outputs: { result } };
  },

  "knowledge-index"({ chunk_structure, index_chunk_variable_selector }, { variables }) {
    const chunks = chunkTexts(valueOf(variables, index_chunk_variable_selector));
    const preview = chunks.map((content) => ({ content }));
    const outputs = { chunk_structure, preview, qa_preview: [], total_segments: chunks.length };
    return { inputs: { chunks }, outputs };
  },
};

const valueOf = (variables: Values, selector: readonly string[]): unknown =>
  valueAt(variables, selector.join("."));

/** Chunks as a node left them: texts only. */
const chunkTexts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(String) : [];

/** The uploaded file that the source names, as events report it. */
function fileOf({ context, source, origin }: PipelineRun): object {
  const id = String(source.datasource_info["related_id"]);
  const file =
    context.files.find({ id }) ??
    raise(knowledgeError("pipeline file missing", { id, tenant: tenantId }));
  const reference = Buffer.from(JSON.stringify({ record_id: id })).toString("base64");
  return toResponse("pipeline_input_file", file, {
    extension: `.${file.extension}`,
    reference: `dify-file-ref:${reference}`,
    url: `${origin}/files/${id}/file-preview?${signedQuery(id, context.now())}`,
  });
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
  const steps = executePipeline(context, pipeline, source, origin);
  const last = steps.at(-1);
  const run = {
    id,
    app: pipeline.id,
    status: last?.result ? "succeeded" : "failed",
    outputs: last?.result?.outputs ?? {},
    error: last?.error ?? null,
    elapsed_time: 0,
    total_tokens: 0,
    total_steps: steps.length,
    end_user_id: account.id,
    session_id: null,
    finished_at: now,
    exceptions_count: 0,
  };
  const inputs = {
    ...source.inputs,
    ...toResponse("pipeline_system_inputs", {}, { pipeline, id }),
  };
  const { data: end = {} } = runEvent("workflow_finished", { run, since: now });
  const { created_by: _by, exceptions_count: _count, files: _files, ...result } = end;
  const created_by = { id: account.id, name: account.name, email: "admin@example.com" };
  const events = [
    runEvent("workflow_started", { run, inputs, since: now, reason: "initial" }),
    ...steps.flatMap((step) => stepEvents(step, context.newId(), now)),
    { event: "workflow_finished", data: { ...end, created_by } },
  ];
  return {
    events: events.map(({ event, data }) => ({ event, workflow_run_id: id, task_id, data })),
    response: { task_id, workflow_run_id: id, data: result },
  };
}

/** The events of a node, which takes no time. */
function stepEvents({ node, result, error }: Step, id: string, now: number): RunEvent[] {
  const { inputs = {}, process = {}, outputs = {}, metadata = null, files = [] } = result ?? {};
  const times = { startedAt: now, finishedAt: now, elapsed: 0 };
  const { id: nodeId, type, title } = node;
  const execution = { id, nodeId, type, title, ...times, iteration: null, loop: null };
  const status = result ? "succeeded" : "failed";
  const reported = { inputs, process, outputs, status, error, metadata };
  const started = runEvent("node_started", { execution });
  const finished = runEvent("node_finished", { execution, result: reported });
  const extras = type === "datasource" ? { icon: FILE_ICON } : {};
  return [
    { ...started, data: { ...started.data, extras } },
    { ...finished, data: { ...finished.data, files } },
  ];
}
