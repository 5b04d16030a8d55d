import {
  body,
  events,
  eventsOrResponse,
  joinTexts,
  list as rows,
  withNamePath,
  kbOperation,
  path,
  query,
  record,
  withFields,
} from "./operation.ts";
import {
  blocking,
  content_type,
  dataset_id,
  fileParam,
  required,
  streaming,
  modelTypes,
} from "./shared.ts";

const datasourceTypes = ["local_file", "online_document", "website_crawl", "online_drive"] as const;

interface DatasourcePlugin {
  readonly credentials: readonly { readonly name: string }[];
}

/** Response of a published pipeline: it continues, and its documents have the progress. */
export interface PublishedRun {
  readonly batch: string;
  readonly documents: readonly {
    readonly id: string;
    readonly name: string;
    readonly error: string | null;
  }[];
}

const inputs = body.json("Values of the pipeline's input variables", {
  required,
  shape: { kind: "object" },
});
const datasource_type = body.choice(datasourceTypes, "Type of data source", {
  required,
});
const is_published = body.flag("Use the published version instead of the draft", {
  required,
});

export const listDatasourcePlugins = kbOperation({
  id: "listDatasourcePlugins",
  command: "kb pipeline plugins <kb>",
  action: "list data sources of knowledge base {kb}",
  summary: "List the data sources of a knowledge base's pipeline",
  route: "GET /datasets/{dataset_id}/pipeline/datasource-plugins",
  params: {
    dataset_id,
    is_published: query.flag("Use the published version instead of the draft", {
      serverDefault: "true",
    }),
  },
  returns: withNamePath(
    "node_id",
    rows<DatasourcePlugin>("", "node_id title datasource_type provider_name ... plugin_id", [
      "credentials",
      ({ credentials }) => joinTexts(credentials.map(({ name }) => name)),
    ]),
  ),
  since: "1.13.0",
  examples: ["kb pipeline plugins Files", "kb pipeline plugins Website --is-published -o json"],
});

export const runDatasourceNode = kbOperation({
  id: "runDatasourceNode",
  action: "run data source {node}",
  route: "POST /datasets/{dataset_id}/pipeline/datasource/nodes/{node_id}/run",
  params: {
    dataset_id,
    node_id: path.text("Node ID from `kb pipeline plugins`", { placeholder: "node" }),
    inputs,
    datasource_type,
    credential_id: body.text("Credential ID from `kb pipeline plugins`"),
    is_published,
  },
  returns: events,
  idleTimeout: 45,
  since: "1.13.0",
});

const pipelineRun = {
  id: "runPipeline",
  action: "run pipeline of knowledge base {kb}",
  route: "POST /datasets/{dataset_id}/pipeline/run",
  params: {
    dataset_id,
    inputs,
    datasource_type,
    datasource_info_list: body.json("List of what to read; fields depend on the type", {
      required,
      shape: { kind: "list", of: { kind: "object" } },
    }),
    start_node_id: body.text("Start node ID from `kb pipeline plugins`", { required }),
    is_published,
  },
  since: "1.13.0",
} as const;

export const runPipeline = kbOperation({
  ...pipelineRun,
  ...streaming,
  returns: eventsOrResponse,
});

export const runPipelineBlocking = kbOperation({
  ...pipelineRun,
  ...blocking,
  returns: record<Readonly<Record<string, unknown>>>(),
});

export const uploadPipelineFile = kbOperation({
  id: "uploadPipelineFile",
  command: "kb pipeline upload <file>",
  action: "upload file {file}",
  summary: "Upload a file for pipeline runs",
  route: "POST /datasets/pipeline/file-upload",
  params: { file: fileParam, content_type },
  returns: record(
    "name size:bytes extension mime_type created=created_at:time id:id ... created_by",
  ),
  since: "1.13.0",
  examples: ["kb pipeline upload welcome.md", "kb pipeline upload welcome.md -o name"],
});

/**
 * A provider with its active models of one type. `provider` and `models[].model` are the values that
 * the API accepts for a model (server §17).
 */
export interface ModelProvider {
  readonly provider: string;
  readonly models: readonly {
    readonly model: string;
    readonly model_type: (typeof modelTypes)[number];
  }[];
}

export const listModels = kbOperation({
  id: "getAvailableModels",
  action: "list models",
  route: "GET /workspaces/current/models/model-types/{model_type}",
  params: { model_type: path.choice(modelTypes, "Model type", { placeholder: "type" }) },
  returns: withFields(
    { provider: "text", models: [{ model: "text" }] },
    withNamePath(
      "provider",
      rows<ModelProvider>(
        "data",
        "provider",
        ["models", ({ models }) => joinTexts(models.map(({ model }) => model))],
        "status",
        ["type", ({ models }) => models[0]?.model_type],
        "... label=label.en_US",
      ),
    ),
  ),
});
