import { usage, notFound, refused, ApiError } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import { isObject, valueAt, withoutNulls } from "../../../lib/json.ts";
import { getKnowledgeBase, updateKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/pipeline.ts";
import type { ModelProvider } from "../../../operations/pipeline.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { modelName, modelsNamed } from "../../../lib/model-names.ts";
import type { Model } from "../../../lib/model-names.ts";
import type { Context } from "../../task/command-spec.ts";
import { modelTypes } from "../../../operations/shared.ts";

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

type SettingChanges = InputOf<typeof updateKnowledgeBase>;

/**
 * Changes settings of a knowledge base. A model was looked up before, and is always sent with its
 * technique: alone, it is stored but nothing is indexed again, so every search fails (server §8). If
 * documents are or were to be indexed again, or with `rewrite`, waits for all of them and checks the index with a search;
 * where that fails, writes the documents again with `rewrite` or if confirmed. Throws usage for
 * high_quality without a model before anything is sent, and remote-failed for a broken index.
 */
export async function changeSettings(
  { rewrite = false, ...input }: SettingChanges,
  context: Context,
): Promise<KnowledgeBase> {
  const { dataset_id } = input;
  const before = await context.api.call(getKnowledgeBase, { dataset_id });
  const changes = await withModelAndTechnique(input, before, context);
  const sends = Object.values(changes).some((value) => value !== undefined && value !== dataset_id);
  const updated = sends ? await context.api.call(updateKnowledgeBase, changes) : before;
  if (updated.indexing_technique !== "high_quality" && !rewrite) return updated;
  const { brokenIndex, repairIndex } = await import("./repair-index.ts");
  // A change that is stored already does nothing, also to an index that the first one broke (server §8).
  const isBroken = async () =>
    changes.indexing_technique !== undefined &&
    (await brokenIndex(dataset_id, context)) !== undefined;
  if (!reindexes(changes, before) && !rewrite && !(await isBroken())) return updated;
  await repairIndex(before, rewrite, context);
  return context.api.call(getKnowledgeBase, { dataset_id });
}

/** The changes to send: a model with its technique, high_quality with the current model. */
async function withModelAndTechnique(
  input: SettingChanges,
  before: KnowledgeBase,
  context: Context,
): Promise<SettingChanges> {
  if (input.embedding_model !== undefined) {
    const model = {
      provider: input.embedding_model_provider ?? before.embedding_model_provider ?? "",
      model: input.embedding_model,
    };
    const retrieval_model = weightedWith(model, before.retrieval_model_dict);
    return {
      ...(retrieval_model && { retrieval_model }),
      ...input,
      indexing_technique: "high_quality" as const,
    };
  }
  if (input.indexing_technique !== "high_quality") return input;
  if (!before.embedding_model)
    throw withoutModel("--embedding-model", await activeModels("text-embedding", context));
  // Without the current model, the server fails to change the technique (server §8).
  if (before.indexing_technique === "high_quality") return input;
  const { embedding_model, embedding_model_provider: provider } = before;
  return { ...input, embedding_model, ...(provider && { embedding_model_provider: provider }) };
}

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

const reindexes = (changes: SettingChanges, before: KnowledgeBase): boolean =>
  changes.indexing_technique === "high_quality" &&
  (before.indexing_technique !== "high_quality" ||
    before.embedding_model !== changes.embedding_model ||
    before.embedding_model_provider !== changes.embedding_model_provider);

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
