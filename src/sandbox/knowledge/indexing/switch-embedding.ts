import { internalServerError } from "../../protocol/errors.ts";
import type { DatasetRow, KnowledgeContext } from "../records/knowledge-store.ts";
import type { Changes } from "../../storage/table.ts";
import { chooseEmbedding, type EmbeddingChoice, isHighQuality } from "./embedding.ts";
import { dropVectors } from "./index-tables.ts";
import { requeueForEmbedding } from "./indexing.ts";

interface SentTechnique extends EmbeddingChoice {
  readonly indexing_technique?: string | null | undefined;
}

/**
 * The technique and model of a knowledge base after an update. Only another model together with the
 * technique embeds the documents again; a model alone is stored, and fits them no longer (server §8).
 */
export function switchEmbedding(
  context: KnowledgeContext,
  dataset: DatasetRow,
  sent: SentTechnique,
): Changes<DatasetRow> {
  const { indexing_technique, embedding_model, embedding_model_provider } = sent;
  const named = { ...(embedding_model && { embedding_model }) };
  if (!indexing_technique) return isHighQuality(dataset) ? named : {};
  if (indexing_technique !== "high_quality") {
    dropVectors(context, dataset);
    return { indexing_technique, embedding_model: null, embedding_model_provider: null };
  }
  if (context.model && (!embedding_model || !embedding_model_provider)) {
    if (!isHighQuality(dataset)) throw internalServerError();
    return named;
  }
  const chosen = chooseEmbedding(context, indexing_technique, sent);
  if (isHighQuality(dataset) && chosen.embedding_model === dataset.embedding_model) return {};
  dropVectors(context, dataset);
  requeueForEmbedding(context, dataset.id);
  return { indexing_technique, ...chosen };
}
