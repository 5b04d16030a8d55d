import { account } from "../../protocol/ids.ts";
import type { DatasetRow, KnowledgeContext } from "../records/knowledge-store.ts";
import { toResponse, withDefaults } from "../records/responses.ts";
import { findPipeline, pipelines } from "./definitions.ts";

/**
 * Creates the knowledge bases of the pipelines, which no request can do: on a server they come from
 * templates of the web console. One whose name is taken is not created.
 */
export function addPipelineBases({ store, datasets, now }: KnowledgeContext): void {
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
        created_at: now(),
        updated_at: now(),
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
