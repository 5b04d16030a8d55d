import { usage, notFound, refused, ApiError } from "../../errors.ts";
import type { CliError } from "../../errors.ts";
import { isObject, valueAt, withoutNulls } from "../../lib/json.ts";
import { listModels } from "../../operations/pipeline.ts";
import type { ModelProvider } from "../../operations/pipeline.ts";
import { modelName, modelsNamed } from "../../lib/model-names.ts";
import type { Model } from "../../lib/model-names.ts";
import type { Context } from "../task/command-spec.ts";
import { modelTypes } from "../../operations/shared.ts";

export const activeModels = async (
  model_type: "text-embedding" | "rerank",
  context: Context,
): Promise<readonly Model[]> => modelsIn(await context.api.call(listModels, { model_type }));

/** The models in a list of providers. */
export const modelsIn = (providers: unknown): readonly Model[] =>
  (Array.isArray(providers) ? providers : []).flatMap((each: unknown) => {
    if (!isObject(each) || typeof each["provider"] !== "string") return [];
    const { provider, models: entries } = each;
    return (Array.isArray(entries) ? entries : []).flatMap((entry: unknown) =>
      isObject(entry) && typeof entry["model"] === "string"
        ? [{ provider, model: entry["model"] }]
        : [],
    );
  });

/**
 * Finds an active embedding model by `provider/model`, where the last part of the provider is enough,
 * or by the model alone if one provider has it. Throws not-found, and refused if it is ambiguous.
 */
export async function embeddingModel(text: string, context: Context): Promise<Model> {
  return oneOf(await activeModels("text-embedding", context), "embedding", text);
}

/** Finds an active rerank model in the same way; without a text, the only one. */
export async function rerankModel(text: string | undefined, context: Context): Promise<Model> {
  const all = await activeModels("rerank", context);
  if (text !== undefined) return oneOf(all, "rerank", text);
  const [only, ...others] = all;
  if (only && others.length === 0) return only;
  throw usage(
    "reranking requires a rerank model",
    only ? `add --rerank-model ${modelName(only)}` : activeModelsHint("rerank", all),
    { details: { active: all.map(modelName) } },
  );
}

function oneOf(all: readonly Model[], type: string, text: string): Model {
  const candidates = modelsNamed(text, all);
  const [match, ...others] = candidates;
  if (match && others.length === 0) return match;
  if (match)
    throw refused(
      `${candidates.length} providers have a model ${JSON.stringify(text)}`,
      `use ${candidates.map(modelName).join(" or ")}`,
      { code: "ambiguous", details: { candidates } },
    );
  throw notFound(`${type} model ${JSON.stringify(text)} not found`, activeModelsHint(type, all), {
    code: "model-not-found",
    details: { active: all.map(modelName) },
  });
}

const activeModelsHint = (type: string, all: readonly Model[]): string =>
  all.length === 0
    ? `the workspace has no active ${type} model; add one in its settings`
    : `active models: ${all.slice(0, 20).map(modelName).join(", ")}`;

/** Search settings whose weights name this model; undefined for settings without weights of vectors. */
export function weightedWith(
  { provider, model }: Model,
  settings: unknown,
): Record<string, unknown> | undefined {
  const weights = valueAt(settings, "weights");
  const vector = valueAt(weights, "vector_setting");
  if (!isObject(settings) || !isObject(weights) || !isObject(vector)) return undefined;
  const names = { embedding_provider_name: provider, embedding_model_name: model };
  const vector_setting = { ...vector, ...names };
  return withoutNulls({ ...settings, weights: { ...weights, vector_setting } });
}

/** The error for high_quality indexing without a model; `place` is where the user can set one. */
export const withoutModel = (place: string, all: readonly Model[]): CliError =>
  usage(
    "high_quality indexing requires an embedding model",
    all[0] ? `add ${place} ${modelName(all[0])}` : activeModelsHint("embedding", all),
    { details: { active: all.map(modelName) } },
  );

type ModelType = (typeof modelTypes)[number];

/** Lists the active models of one type or of all; prints a notice for a type the server rejects. */
export async function* run(
  { model_type }: { readonly model_type?: ModelType | undefined },
  context: Context,
): AsyncGenerator<ModelProvider> {
  let remaining = context.options.rows.limit;
  for (const type of model_type === undefined ? modelTypes : [model_type]) {
    for (const provider of await providersOf(type, model_type === undefined, context)) {
      if (remaining-- > 0) yield provider;
    }
    if (remaining <= 0) return;
  }
}

async function providersOf(model_type: ModelType, isOneOfAll: boolean, context: Context) {
  try {
    return await context.api.call(listModels, { model_type });
  } catch (error) {
    if (!isOneOfAll || !(error instanceof ApiError) || error.kind !== "refused") throw error;
    await context.notice(`skipped model type ${model_type}: the server does not support it`);
    return [];
  }
}
