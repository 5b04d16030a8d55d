import { invalidParam } from "../../protocol/errors.ts";
import { catalogOf, DIMENSIONS, findProvider, PROVIDER } from "../../models/catalog.ts";
import { hasCredentials } from "../../models/model-access.ts";
import { embed } from "../../models/embedding.ts";
import { ModelError } from "../../models/model-error.ts";
import type { DatasetRow, KnowledgeContext } from "../records/knowledge-store.ts";
import { knowledgeError } from "../records/responses.ts";

/** The embedding model of a request or a knowledge base. */
export interface EmbeddingChoice {
  readonly embedding_model?: string | null | undefined;
  readonly embedding_model_provider?: string | null | undefined;
}

export const isHighQuality = ({ indexing_technique }: Pick<DatasetRow, "indexing_technique">) =>
  indexing_technique === "high_quality";

/**
 * The embedding model that a knowledge base of this technique gets: none, that of the request, or the
 * default one if the request does not name model and provider. The server checks the provider, not the
 * model (server §8). Throws 400.
 */
export function chooseEmbedding(
  { model, models }: Pick<KnowledgeContext, "model" | "models">,
  indexing_technique: string | null | undefined,
  { embedding_model: name, embedding_model_provider: sent }: EmbeddingChoice,
): Partial<Pick<DatasetRow, keyof EmbeddingChoice>> {
  if (indexing_technique !== "high_quality") return {};
  if (!model) throw knowledgeError("no embedding model");
  const embedding_model_provider = name && sent ? findProvider(sent) : PROVIDER;
  if (embedding_model_provider === undefined)
    throw knowledgeError("provider missing", { provider: sent });
  const [first] = catalogOf("text-embedding");
  const embedding_model = name && sent ? name : (first?.model ?? null);
  if (models.withoutCredentials.has(embedding_model_provider))
    throw knowledgeError("provider without credentials", { name: embedding_model });
  return { embedding_model, embedding_model_provider };
}

/** Whether a knowledge base can be used: it has no model, or one that exists and has credentials. */
export const isAvailable = ({ models }: KnowledgeContext, dataset: DatasetRow): boolean =>
  !isHighQuality(dataset) ||
  (Object.hasOwn(DIMENSIONS, dataset.embedding_model ?? "") && hasCredentials(models));

/** Throws an error of the table if the model of a knowledge base lost its credentials (server §8). */
export function requireCredentials(
  { models }: KnowledgeContext,
  dataset: DatasetRow,
  error: Parameters<typeof knowledgeError>[0] = "provider without credentials",
): void {
  if (!isHighQuality(dataset) || hasCredentials(models)) return;
  throw knowledgeError(error, { name: dataset.embedding_model });
}

/** Embeds a text with the model of a knowledge base. Throws ModelError. */
export function embedFor({ embedding_model: name }: EmbeddingChoice, text: string): Float32Array {
  const dimensions = DIMENSIONS[name ?? ""];
  // Recorded: the provider rejects a model that it does not know as a bad request.
  if (dimensions === undefined) throw new ModelError("bad");
  return embed(text, dimensions);
}

/** Runs `work`; a failed model becomes the 400 of knowledge bases, which has the model's text only. */
export function withModelErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ModelError ? invalidParam(error.runText) : error;
  }
}
