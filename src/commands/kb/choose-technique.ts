import { CliError } from "../../errors.ts";
import { commandLine } from "../../lib/command-line.ts";
import { isObject } from "../../lib/json.ts";
import { modelName } from "../../lib/model-names.ts";
import type { Model } from "../../lib/model-names.ts";
import { activeModels } from "./models/index.ts";
import type { Context } from "../command-spec.ts";

type Values = Readonly<Record<string, unknown>>;

/** Is the technique of a new knowledge base left open? External ones have none. */
const isOpen = (input: Values): boolean =>
  input["indexing_technique"] === undefined &&
  input["embedding_model"] === undefined &&
  input["provider"] !== "external";

/**
 * Asks for the indexing technique of a new knowledge base if it is left open: without one, it takes
 * no files. Enter chooses the better one that the workspace has a model for.
 */
export async function chooseTechnique(input: Values, context: Context): Promise<Values> {
  if (!isOpen(input)) return input;
  const models = await embeddingModels(context);
  const [first] = models;
  const uses = models.length === 1 && first ? modelName(first) : "the default model";
  await context.notice("How should documents be indexed?");
  await context.notice("  1  economy: keyword search, without a model");
  await context.notice(
    first
      ? `  2  high_quality: search by meaning, with ${uses}`
      : "  2  high_quality: search by meaning; it needs an embedding model, and none is active",
  );
  if ((await askForNumber(first ? 2 : 1, context)) === 1)
    return { ...input, indexing_technique: "economy" };
  // The only one is certainly meant; among several, the workspace has a default.
  const model = models.length === 1 && first;
  return {
    ...input,
    indexing_technique: "high_quality",
    ...(model && { embedding_model: model.model, embedding_model_provider: model.provider }),
  };
}

/** The active embedding models; none if the server does not tell. */
const embeddingModels = (context: Context): Promise<readonly Model[]> =>
  activeModels("text-embedding", context).catch((error: unknown) => {
    if (error instanceof CliError && ["unsupported", "not-found"].includes(error.kind)) return [];
    throw error;
  });

/** Asks until 1 or 2 is answered, or Enter for the default. */
async function askForNumber(byDefault: 1 | 2, context: Context): Promise<1 | 2> {
  const { host, signal } = context;
  for (;;) {
    const question = `Technique, 1 (economy) or 2 (high_quality) [${byDefault}]: `;
    const typed = await host.prompt(question, { signal }).catch((error: unknown) => {
      throw signal.aborted ? context.abortError() : error;
    });
    const answer = typed.trim();
    if (answer === "") return byDefault;
    if (answer === "1" || answer === "economy") return 1;
    if (answer === "2" || answer === "high_quality") return 2;
  }
}

/** Says that a new knowledge base has no technique, and how it gets one. */
export async function noticeOpenTechnique(kb: unknown, context: Context): Promise<void> {
  if (!isObject(kb) || kb["indexing_technique"] !== null || kb["provider"] === "external") return;
  const update = commandLine("kb update", [String(kb["name"])], {
    "indexing-technique": "economy",
  });
  await context.notice(
    `it has no indexing technique yet, which files need: ${update}, or high_quality with a model`,
  );
}
