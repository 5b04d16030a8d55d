import { notFound, refused, usage } from "../../../errors.ts";
import { isProvider, modelName, modelsNamed } from "../../../lib/model-names.ts";
import { shortened } from "../../../lib/text.ts";
import { updateKnowledgeBase } from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/pipeline.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Filling } from "../../task/command-rules.ts";
import type { Context } from "../../task/command-spec.ts";

type Values = Readonly<Record<string, unknown>>;

/**
 * The values with IDs in place of names, and the technique of a model: without it, a model is stored but
 * not used (server §8). Throws usage for another technique, and for a provider without a model.
 */
export async function fillModel(filling: Filling): Promise<Record<string, unknown>> {
  const { input, helpHint } = filling;
  const { embedding_model: model, embedding_model_provider: provider } = input;
  if (provider !== undefined && model === undefined) {
    throw usage("--embedding-model is required with --embedding-model-provider", helpHint);
  }
  const known = await filling.resolved();
  if (model === undefined) return known;
  Object.assign(known, await findModel(String(model), provider, filling));
  known["indexing_technique"] ??= "high_quality";
  if (known["indexing_technique"] === "high_quality") return known;
  throw usage(
    "--embedding-model can only be used with --indexing-technique high_quality",
    helpHint,
  );
}

/** The values of a new knowledge base. Throws usage if its technique needs a model that it lacks. */
export async function fillNew(filling: Filling): Promise<Values> {
  const known = await fillModel(filling);
  await requireEmbeddingModel(known, filling);
  return known;
}

/** Throws for a technique that needs a model if the workspace has no default one. */
export async function requireEmbeddingModel(
  known: Values,
  { input, read }: Filling,
): Promise<void> {
  const isOpen = known["embedding_model"] === undefined;
  if (input["indexing_technique"] !== "high_quality" || !isOpen) return;
  const providers = await read(listModels, { model_type: "text-embedding" });
  if (!Array.isArray(providers) || providers.length > 0) return;
  const { withoutModel } = await import("../models/index.ts");
  throw withoutModel("--embedding-model", []);
}

/** Names that a hint lists. */
const MAX_NAMES = 20;

/** Finds an active model by `provider/model`, or by its name alone. */
async function findModel(
  typed: string,
  provider: unknown,
  { read, entered, trace }: Filling,
): Promise<{ readonly embedding_model: string; readonly embedding_model_provider: string }> {
  const text = typed.replace(/^name:/, "");
  const { modelsIn } = await import("../models/index.ts");
  const all = modelsIn(await read(listModels, { model_type: "text-embedding" }));
  const matches =
    provider === undefined
      ? modelsNamed(text, all)
      : all.filter((each) => isProvider(String(provider), each) && each.model === text);
  const [only] = matches;
  if (!only) {
    const full = provider === undefined ? text : `${String(provider)}/${text}`;
    const names = all.map(modelName);
    throw notFound(
      `embedding model ${JSON.stringify(shortened(full, 100))} not found`,
      modelHint(names),
    );
  }
  if (matches.length > 1) {
    throw refused(
      `embedding model name ${JSON.stringify(text)} is ambiguous (${matches.length} matches)`,
      "set provider and model with separate flags",
      { code: "ambiguous", details: { candidates: matches } },
    );
  }
  await trace(`embedding model ${JSON.stringify(text)} is ${only.model}`);
  entered(only.model, typed);
  await trace(`embedding_model_provider ${JSON.stringify(only.provider)} (from the model)`);
  return { embedding_model: only.model, embedding_model_provider: only.provider };
}

function modelHint(names: readonly string[]): string {
  if (names.length === 0) return "the workspace has no active embedding model";
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return `available: ${names.slice(0, MAX_NAMES).join(", ")}${more}`;
}

/** Settings that make the server index a knowledge base again. */
const indexSettings = ["indexing_technique", "embedding_model", "embedding_model_provider"];

/** Changes settings; waits where that makes the server index the knowledge base again. */
export async function sendSettings(values: Values, context: Context): Promise<unknown> {
  const input = values as InputOf<typeof updateKnowledgeBase>; // checked against its parameters
  if (!input.rewrite && indexSettings.every((name) => values[name] === undefined))
    return context.api.call(updateKnowledgeBase, input);
  const { changeSettings } = await import("../models/index.ts");
  return changeSettings(input, context);
}
