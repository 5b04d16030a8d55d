import { ApiError, CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { listDocuments } from "../../../operations/documents.ts";
import {
  getKnowledgeBase,
  searchKnowledgeBase,
  updateKnowledgeBase,
} from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/models.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { waitForIndexing, isIndexed, standingOf } from "../documents/indexing-status.ts";
import { modelName, modelsNamed } from "../../../lib/model-names.ts";
import type { Model } from "../../../lib/model-names.ts";
import type { DocumentProgress } from "../documents/indexing-status.ts";
import type { Context } from "../../command-spec.ts";

/** The active models of one type. */
export async function activeModels(
  model_type: "text-embedding" | "rerank",
  context: Context,
): Promise<readonly Model[]> {
  const providers: unknown = await context.call(listModels, { model_type });
  return (Array.isArray(providers) ? providers : []).flatMap((each: unknown) => {
    if (!isObject(each) || typeof each["provider"] !== "string") return [];
    const { provider, models: found } = each;
    return (Array.isArray(found) ? found : []).flatMap((entry: unknown) =>
      isObject(entry) && typeof entry["model"] === "string"
        ? [{ provider, model: entry["model"] }]
        : [],
    );
  });
}

/**
 * The active embedding model that a text names: `provider/model`, the provider by its last part
 * too, or the model alone where only one provider has it. Throws not-found for no such model and
 * refused for several.
 */
export async function embeddingModel(text: string, context: Context): Promise<Model> {
  return oneOf(await activeModels("text-embedding", context), "embedding", text);
}

/** The active rerank model that a text names in the same way; the only one where none is named. */
export async function rerankModel(text: string | undefined, context: Context): Promise<Model> {
  const all = await activeModels("rerank", context);
  if (text !== undefined) return oneOf(all, "rerank", text);
  const [only, ...others] = all;
  if (only && others.length === 0) return only;
  throw new CliError("usage", "reranking needs a rerank model", {
    sideEffect: "none",
    details: { active: all.map(modelName) },
    hint: only ? `add --rerank-model ${modelName(only)}` : whichModels("rerank", all),
  });
}

function oneOf(all: readonly Model[], type: string, text: string): Model {
  const found = modelsNamed(text, all);
  if (found.length > 1) throw ambiguous(text, found);
  if (found[0]) return found[0];
  throw new CliError("not-found", `${type} model ${JSON.stringify(text)} not found`, {
    code: "model-not-found",
    sideEffect: "none",
    details: { active: all.map(modelName) },
    hint: whichModels(type, all),
  });
}

const ambiguous = (text: string, found: readonly Model[]) =>
  new CliError("refused", `${found.length} providers have a model ${JSON.stringify(text)}`, {
    code: "ambiguous",
    sideEffect: "none",
    details: { candidates: found },
    hint: `use ${found.map(modelName).join(" or ")}`,
  });

/** A hint that names the models of a workspace. */
const whichModels = (type: string, all: readonly Model[]): string =>
  all.length === 0
    ? `the workspace has no active ${type} model; add one in its settings`
    : `active models: ${all.slice(0, 20).map(modelName).join(", ")}`;

/** What `PATCH /datasets/{id}` takes. */
type Changes = InputOf<typeof updateKnowledgeBase>;

/**
 * Changes settings of a knowledge base. With every embedding model the technique is sent: a model
 * alone is stored and nothing is indexed again, so that every search fails (server §8). Where it is
 * indexed again, waits for all documents and proves by a search that they are found. Throws usage
 * before anything is sent for a technique without a model, remote-failed when the index is broken.
 */
export async function changeSettings(input: Changes, context: Context): Promise<KnowledgeBase> {
  const before = await context.call(getKnowledgeBase, { dataset_id: input.dataset_id });
  const changes = await completed(input, before, context);
  const answer = await context.call(updateKnowledgeBase, changes);
  if (!indexesAgain(changes, before)) return answer;
  await provenIndex(before, context);
  return context.call(getKnowledgeBase, { dataset_id: input.dataset_id });
}

/** The changes as they are to be sent: a model with its provider and its technique. */
async function completed(input: Changes, before: KnowledgeBase, context: Context) {
  const { embedding_model, embedding_model_provider, indexing_technique } = input;
  const technique = indexing_technique ?? before.indexing_technique;
  if (embedding_model === undefined) {
    const missing = indexing_technique === "high_quality" && !before.embedding_model;
    if (missing)
      throw withoutModel("--embedding-model", await activeModels("text-embedding", context));
    // A model that stays is sent with its technique, too: without it the server fails (server §8).
    return indexing_technique === "high_quality" && before.indexing_technique !== "high_quality"
      ? { ...input, ...fieldsOf(before) }
      : input;
  }
  if (indexing_technique === "economy") {
    throw new CliError("usage", "economy indexing takes no embedding model", {
      sideEffect: "none",
      hint: "use --indexing-technique high_quality with --embedding-model",
    });
  }
  const text = embedding_model_provider
    ? `${embedding_model_provider}/${embedding_model}`
    : embedding_model;
  const { provider, model } = await embeddingModel(text, context);
  if (technique !== "high_quality")
    await context.notice("an embedding model takes indexing technique high_quality: it is sent");
  return {
    ...input,
    indexing_technique: "high_quality" as const,
    embedding_model_provider: provider,
    embedding_model: model,
  };
}

const fieldsOf = ({ embedding_model, embedding_model_provider }: KnowledgeBase) => ({
  ...(embedding_model && { embedding_model }),
  ...(embedding_model_provider && { embedding_model_provider }),
});

/** The error for high_quality indexing where no model is named; `place` is where one is given. */
export const withoutModel = (place: string, all: readonly Model[]): CliError =>
  new CliError("usage", "high_quality indexing needs an embedding model", {
    sideEffect: "none",
    hint: all[0] ? `add ${place} ${modelName(all[0])}` : whichModels("embedding", all),
    details: { active: all.map(modelName) },
  });

const indexesAgain = (changes: Changes, before: KnowledgeBase): boolean =>
  changes.indexing_technique === "high_quality" &&
  (before.indexing_technique !== "high_quality" ||
    before.embedding_model !== changes.embedding_model ||
    before.embedding_model_provider !== changes.embedding_model_provider);

/** Looks whether an index that was changed answers, and ms between them: a worker begins late. */
const looks = 15;
const between = 2000;

/** Waits until all documents are indexed and a search of them is answered. */
async function provenIndex({ id, name }: KnowledgeBase, context: Context): Promise<void> {
  const failure = (why: string, details: unknown) =>
    new CliError(
      "remote-failed",
      `failed to index knowledge base ${JSON.stringify(name)}: ${why}`,
      {
        isResult: true,
        sideEffect: "applied",
        details,
        hint: `kb doc list id:${id}`,
      },
    );
  for (let look = 1; ; look++) {
    const { found, failed } = await standings(id, context);
    const [bad] = failed;
    if (bad) {
      const why = `${failed.length} of ${found} documents failed; ${bad.name}: ${bad.error ?? bad.indexing_status}`;
      throw failure(why, { failed });
    }
    if (found === 0) return; // an empty index answers nothing (server §8)
    const problem = await searchProblem(id, context);
    if (problem === undefined) return;
    if (look === looks) throw failure(`searches fail: ${problem}`, {});
    await context.host.sleep(between, context.signal).catch(() => {
      throw context.abortError();
    });
  }
}

async function standings(dataset_id: string, context: Context) {
  let found = 0;
  const failed: DocumentProgress[] = [];
  const look = async () => {
    const all: DocumentProgress[] = [];
    for await (const document of context.each(listDocuments, { dataset_id }))
      if (document.enabled && !document.archived) all.push(standingOf(document));
    return all;
  };
  for await (const standing of waitForIndexing(look, context)) {
    found++;
    if (!isIndexed(standing)) failed.push(standing);
  }
  return { found, failed };
}

/** Why a search by meaning fails; undefined where it is answered. */
async function searchProblem(dataset_id: string, context: Context): Promise<string | undefined> {
  try {
    await context.call(searchKnowledgeBase, {
      dataset_id,
      query: "test",
      retrieval_model: {
        search_method: "semantic_search",
        reranking_enable: false,
        top_k: 1,
        score_threshold_enabled: false,
      },
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.kind !== "refused") throw error;
    return error.message;
  }
}
