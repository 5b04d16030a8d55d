import { CliError } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject } from "../../../lib/json.ts";
import { modelName } from "../../../lib/model-names.ts";
import type { Model } from "../../../lib/model-names.ts";
import { askChoice, ask } from "../../task/ask.ts";
import type { Context } from "../../task/command-spec.ts";
import { activeModels } from "../models/index.ts";
import { isUuid } from "../../../lib/text.ts";
import { givenFlags } from "./document-values.ts";
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
  const models = await embeddingModels(context);
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

/** The active embedding models; none if the server does not tell. */
const embeddingModels = (context: Context): Promise<readonly Model[]> =>
  activeModels("text-embedding", context).catch((error: unknown) => {
    if (error instanceof CliError && ["unsupported", "not-found"].includes(error.kind)) return [];
    throw error;
  });

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

/** The error for a knowledge base that is not found, with the right order if the arguments are swapped. */
export async function withOrder(
  error: unknown,
  { dataset_id, directory, ...others }: Values,
  { host, resolveId, options }: Context,
  command: string,
): Promise<CliError> {
  if (!(error instanceof CliError) || error.kind !== "not-found") throw error;
  const isDirectory = async (path: unknown) =>
    (await host.files.stat(String(path)))?.isDirectory === true;
  if ((await isDirectory(directory)) || /^\w+:\/\//.test(String(directory))) return error;
  const isSwapped =
    (await isDirectory(dataset_id)) ||
    (await resolveId("kb", String(directory)).catch(() => undefined)) !== undefined;
  if (!isSwapped) return error;
  // Without --dry-run, the line would make changes.
  const flags = givenFlags({ ...others, ...(options.dryRun && { dry_run: true }) });
  const right = commandLine(command, [String(directory), String(dataset_id)], flags);
  return error.with({ hint: `the knowledge base comes first: ${right}` });
}

/** The error for a knowledge base that is not found, with the right order if the directory is named second. */
export async function withBackupOrder(error: unknown, input: Values, { host }: Context) {
  const [name = "", ...others] = [input["dataset_id"] ?? []].flat().map(String);
  const directory = String(input["directory"]);
  const exists = await host.files.stat(directory);
  const isSwapped = error instanceof CliError && error.kind === "not-found" && !exists;
  if (!isSwapped || others.length > 0) return error;
  return error.with({
    hint: `the directory comes first: ${commandLine("kb backup", [name, directory])}`,
  });
}

/** The error for a knowledge base that is not found, with the right order if the query is one. */
export async function withSearchOrder(error: unknown, input: Values, { resolveId }: Context) {
  if (!(error instanceof CliError) || error.kind !== "not-found") return error;
  const { dataset_id, query } = input;
  const found = await resolveId("kb", String(query)).catch(() => undefined);
  if (found === undefined) return error;
  return error.with({
    hint: `the knowledge base comes first: ${commandLine("kb search", [String(query), String(dataset_id)])}`,
  });
}

/**
 * Creates the knowledge base that a sync did not find, if the prompt on a terminal is confirmed; returns the
 * values with its ID. Throws the error otherwise.
 */
export async function createMissing(thrown: unknown, input: Values, context: Context) {
  const error = await withOrder(thrown, input, context, "kb sync");
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
