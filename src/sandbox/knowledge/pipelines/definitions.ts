/**
 * The pipelines of the sandbox, with nodes as exported ones have them. What a node cannot really do here,
 * such as running a program, is below its key `sandbox`.
 */
import { PROVIDER } from "../../models/catalog.ts";
import { fixedId, account } from "../../protocol/ids.ts";
import type { SearchSettings } from "../records/settings.ts";
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
  /** Each one is followed by the next. */
  readonly nodes: readonly PipelineNode[];
  readonly variables: readonly PipelineVariable[];
  readonly index: PipelineNodeOf<"knowledge-index">;
}

/** The last node of each pipeline. */
const index: PipelineNodeOf<"knowledge-index"> = {
  id: "k",
  type: "knowledge-index",
  title: "Knowledge Base",
  chunk_structure: "text_model",
  index_chunk_variable_selector: ["c", "result"],
  indexing_technique: "high_quality",
  embedding_model: "stub-embed",
  embedding_model_provider: PROVIDER,
  retrieval_model: {
    search_method: "semantic_search",
    reranking_enable: false,
    reranking_mode: "reranking_model",
    top_k: 3,
    score_threshold_enabled: false,
    score_threshold: 0.5,
  },
};

function definePipeline(
  {
    icon,
    icon_background,
    nodes,
    ...pipeline
  }: Pick<Pipeline, "name" | "description" | "nodes"> &
    Readonly<Record<"icon" | "icon_background", string>>,
  { variable, ...input }: Omit<PipelineVariable, "type" | "label">,
): Pipeline {
  return {
    ...pipeline,
    id: fixedId("pipeline", pipeline.name),
    dataset_id: fixedId("dataset", pipeline.name),
    icon: { icon_type: "emoji", icon, icon_background },
    nodes: [...nodes, index],
    variables: [{ ...input, variable, type: "text-input", label: variable }],
    index,
  };
}

/** All pipelines. */
export const pipelines: readonly Pipeline[] = [
  definePipeline(
    {
      name: "Files",
      description: "Splits uploaded files at a separator.",
      icon: "📄",
      icon_background: "#FFEAD5",
      nodes: [
        {
          id: "d",
          type: "datasource",
          title: "File",
          plugin_id: "langgenius/file",
          provider_name: "file",
          provider_type: "local_file",
        },
        {
          id: "x",
          type: "document-extractor",
          title: "Extract",
          variable_selector: ["d", "file"],
        },
        {
          id: "c",
          type: "code",
          title: "Chunks",
          variables: [
            { variable: "t", value_selector: ["x", "text"] },
            { variable: "sep", value_selector: ["rag", "shared", "separator"] },
          ],
          sandbox: { split: "t", at: "sep" },
        },
      ],
    },
    {
      belong_to_node_id: "shared",
      variable: "separator",
      max_length: 20,
      default_value: "\n\n",
      required: false,
    },
  ),
  definePipeline(
    {
      name: "Website",
      description: "Keeps each page of a website as one chunk.",
      icon: "🌐",
      icon_background: "#E0F2FE",
      nodes: [
        {
          id: "d",
          type: "datasource",
          title: "Crawler",
          plugin_id: "acme/crawler",
          provider_name: "crawler",
          provider_type: "website_crawl",
          sandbox: {
            pages: 2,
            errors: { "crawl-error": "Rate limit reached for stub-chat: 3 requests per minute" },
          },
        },
        {
          id: "c",
          type: "code",
          title: "Chunks",
          variables: [{ variable: "t", value_selector: ["d", "content"] }],
          sandbox: { split: "t" },
        },
      ],
    },
    {
      belong_to_node_id: "d",
      variable: "url",
      max_length: 100,
      default_value: null,
      required: true,
    },
  ),
];

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
    for (const { dataset_id: id, name, description } of pipelines) {
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
