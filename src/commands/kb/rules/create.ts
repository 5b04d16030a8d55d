import { CliError, ignoring } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject } from "../../../lib/json.ts";
import { modelName } from "../../../lib/model-names.ts";
import { askChoice, ask } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";
import { activeModels } from "../../models/index.ts";
import { isUuid } from "../../../lib/text.ts";
import { createKnowledgeBase } from "../../../operations/knowledge.ts";

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
  const untold = ignoring("unsupported", "not-found");
  const models = (await activeModels("text-embedding", context).catch(untold)) ?? [];
  const [first] = models;
  // The only one is certainly meant; among several, the workspace has a default.
  const only = models.length === 1 ? first : undefined;
  const model = only ? modelName(only) : "the default embedding model";
  const choice = (indexing_technique: string, note: string, more?: Values) => ({
    label: indexing_technique,
    note,
    names: [indexing_technique],
    value: { indexing_technique, ...more },
  });
  const economy = choice("economy", "keyword search, without a model");
  const highQuality = choice(
    "high_quality",
    first ? `search by meaning, with ${model}` : "needs an embedding model; none is active",
    only && { embedding_model: only.model, embedding_model_provider: only.provider },
  );
  await context.promptLine("How should documents be indexed?");
  const preset = first ? highQuality : economy;
  return {
    ...input,
    ...(await askChoice("Indexing technique", [economy, highQuality], context, preset)),
  };
}

/** Says that a new knowledge base has no technique, and how it gets one. */
export async function noticeOpenTechnique(kb: unknown, context: Context): Promise<void> {
  if (!isObject(kb) || kb["indexing_technique"] !== null || kb["provider"] === "external") return;
  const { id, name } = kb;
  const shown = [name, id].find((each) => typeof each === "string" && each !== "");
  if (typeof shown !== "string") return;
  const update = commandLine("kb update", [shown], { "indexing-technique": "economy" });
  await context.notice(
    `it has no indexing technique yet, which files need: ${update}, or high_quality with a model`,
  );
}

/** Creates the knowledge base that a sync did not find, if that is confirmed; throws the error otherwise. */
export async function createMissing(input: Values, context: Context, error?: unknown) {
  if (!(error instanceof CliError) || error.kind !== "not-found") throw error;
  const { host, options } = context;
  const [name, directory] = [String(input["dataset_id"]), String(input["directory"])];
  const hasFiles = (await host.files.stat(directory))?.isDirectory === true;
  const isName = !isUuid(name) && !/^(id|name):/.test(name);
  if (!hasFiles || !isName || !options.input || options.dryRun) throw error;
  const { hint = "" } = error.info;
  const question = hint.startsWith("did you mean") ? `; ${hint} Create ${name}?` : ". Create it?";
  const reply = await ask(`${error.message}${question} [y/N] `, context);
  if (!/^y(es)?$/i.test(reply)) throw error;
  const values = await chooseTechnique({ name }, context);
  const { id } = await context.api.call(createKnowledgeBase, { name, ...values });
  await context.notice(`created knowledge base ${name}`);
  return { ...input, dataset_id: id };
}
