import { getKnowledgeBase, updateKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { activeModels, weightedWith, withoutModel } from "../../models/index.ts";
import type { Context } from "../../task/command-spec.ts";
import { brokenIndex, repairIndex } from "./repair-index.ts";

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

const reindexes = (changes: SettingChanges, before: KnowledgeBase): boolean =>
  changes.indexing_technique === "high_quality" &&
  (before.indexing_technique !== "high_quality" ||
    before.embedding_model !== changes.embedding_model ||
    before.embedding_model_provider !== changes.embedding_model_provider);
