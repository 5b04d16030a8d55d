/**
 * The pipelines of the sandbox, in the shape of exported ones. What a node cannot really do here, such
 * as running a program, is below its key `sandbox`.
 */
import { fixedId, account } from "../../protocol/ids.ts";
import type { SearchSettings } from "../records/settings.ts";
import files from "./files.json" with { type: "json" };
import website from "./website.json" with { type: "json" };
import type { DatasetRow, KnowledgeContext } from "../records/knowledge-store.ts";
import { toResponse, withDefaults } from "../records/responses.ts";

/** The source of a value: the ID of a node (or `rag` and the owner of an input), and a name. */
type Selector = readonly string[];

/** What nodes declare, by their type. */
interface NodeData {
  /** Outputs what the request names: an uploaded file, or a page of a website. */
  readonly datasource: {
    readonly plugin_id: string;
    readonly provider_name: string;
    readonly provider_type: DatasourceType;
    /** A crawler invents its pages; some addresses fail with a text. */
    readonly sandbox?: {
      readonly pages: number;
      readonly errors: Readonly<Record<string, string>>;
    };
  };
  /** Outputs the text of a file. */
  readonly "document-extractor": { readonly variable_selector: Selector };
  /** Imitates a program: splits the variable `split` at the variable `at`, if there is one. */
  readonly code: {
    readonly variables: readonly { readonly variable: string; readonly value_selector: Selector }[];
    readonly sandbox: { readonly split: string; readonly at?: string };
  };
  /** Indexes the chunks of an earlier node; its settings are those of the knowledge base. */
  readonly "knowledge-index": {
    readonly chunk_structure: string;
    readonly index_chunk_variable_selector: Selector;
    readonly indexing_technique: string;
    readonly embedding_model: string;
    readonly embedding_model_provider: string;
    readonly retrieval_model: SearchSettings;
  };
}

type NodeType = keyof NodeData;

/** A node of one type, or of several. */
export type PipelineNodeOf<Type extends NodeType> = {
  readonly [Each in Type]: NodeData[Each] & {
    readonly id: string;
    readonly type: Each;
    readonly title: string;
  };
}[Type];

export type PipelineNode = PipelineNodeOf<NodeType>;

/** Types of data sources that the server knows. */
export const DATASOURCE_TYPES = [
  "online_document",
  "online_drive",
  "website_crawl",
  "local_file",
] as const;

export type DatasourceType = (typeof DATASOURCE_TYPES)[number];

/** An input of a pipeline, or of one of its data sources. */
interface PipelineVariable {
  /** The ID of a data source, or `shared`. */
  readonly belong_to_node_id: string;
  readonly type: string;
  readonly label: string;
  readonly variable: string;
  readonly max_length: number;
  readonly default_value: string | null;
  readonly required: boolean;
}

/** The pipeline of a knowledge base. Its draft and its published version are the same. */
export interface Pipeline {
  readonly id: string;
  /** ID of the knowledge base. */
  readonly dataset_id: string;
  readonly name: string;
  readonly description: string;
  readonly icon: Readonly<Record<"icon_type" | "icon" | "icon_background", string>>;
  readonly nodes: readonly PipelineNode[];
  readonly edges: readonly { readonly source: string; readonly target: string }[];
  readonly variables: readonly PipelineVariable[];
  readonly index: PipelineNodeOf<"knowledge-index">;
}

/** The parts of an exported pipeline that the sandbox uses. */
interface ExportedPipeline {
  readonly rag_pipeline: Pick<Pipeline, "name" | "description"> & Pipeline["icon"];
  readonly workflow: {
    readonly rag_pipeline_variables: readonly PipelineVariable[];
    readonly graph: {
      readonly nodes: readonly { readonly id: string; readonly data: object }[];
      readonly edges: Pipeline["edges"];
    };
  };
}

function definePipeline({ rag_pipeline, workflow }: ExportedPipeline): Pipeline {
  const { name, description, ...icon } = rag_pipeline;
  const nodes = workflow.graph.nodes.map(({ id, data }) => ({ id, ...data }) as PipelineNode);
  const index = nodes.find((node) => node.type === "knowledge-index");
  if (!index) throw new Error(`the pipeline ${name} indexes nothing`);
  return {
    id: fixedId("pipeline", name),
    dataset_id: fixedId("dataset", name),
    name,
    description,
    icon,
    nodes,
    edges: workflow.graph.edges,
    variables: workflow.rag_pipeline_variables,
    index,
  };
}

/** All pipelines. */
export const pipelines: readonly Pipeline[] = [files, website].map(definePipeline);

/** The pipeline of a knowledge base; most have none. */
export const findPipeline = (dataset_id: string): Pipeline | undefined =>
  pipelines.find((pipeline) => pipeline.dataset_id === dataset_id);

/** The data source with this ID. */
export const findDatasource = ({ nodes }: Pipeline, id: string) =>
  nodes.find(
    (node): node is PipelineNodeOf<"datasource"> => node.type === "datasource" && node.id === id,
  );

/**
 * Creates the knowledge bases of the pipelines, which no request can do: on a server they come from
 * templates of the web console. One whose name is taken is not created.
 */
export function addPipelineBases({ store, datasets, now }: KnowledgeContext): void {
  // They are older than those that are created next: the order within a second is random (server §8).
  const created_at = now() - 1000;
  store.transaction(() => {
    for (const { dataset_id: id, name, description, index } of pipelines) {
      if (datasets.find({ id }) ?? datasets.find({ name })) continue;
      datasets.insert({
        id,
        name,
        description,
        provider: "vendor",
        permission: "only_me",
        members: [],
        indexing_technique: index.indexing_technique,
        embedding_model: index.embedding_model,
        embedding_model_provider: index.embedding_model_provider,
        doc_form: index.chunk_structure,
        retrieval_model: index.retrieval_model,
        built_in: false,
        created_at,
        updated_at: created_at,
      });
    }
  });
}

/** The fields of a knowledge base that depend on whether it has a pipeline (server §18). */
export function runtimeFields({ id }: DatasetRow, data_source_type: string | null): object {
  const pipeline = findPipeline(id);
  const uploads = { data_source_type, updated_by: account.id };
  if (!pipeline) return { ...uploads, ...withDefaults("runtime", null) };
  return {
    data_source_type: null,
    updated_by: null,
    ...toResponse("pipeline_runtime", pipeline, {
      chunk_structure: pipeline.index.chunk_structure,
    }),
  };
}
