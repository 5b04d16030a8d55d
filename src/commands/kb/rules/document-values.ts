import { CliError, usage, notFound, refused } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isObject, own, valueAt, stringifyJson } from "../../../lib/json.ts";
import { getChunk } from "../../../operations/chunks.ts";
import { getDocument, listDocuments } from "../../../operations/documents.ts";
import { automaticProcessRule, defaultByForm } from "../../../operations/shared.ts";
import type { CommandRules, Filling } from "../../task/command-rules.ts";
import type { Context } from "../../task/command-spec.ts";
import { changeSettings, nameLosses } from "../documents/index.ts";
import { textProblem, uploadKind, uploadLimit } from "../sources/index.ts";
import { modelsIn, withoutModel } from "../../models/index.ts";
import { isProvider, modelName, modelsNamed } from "../../../lib/model-names.ts";
import { firstNames, keywordOf, shortened } from "../../../lib/text.ts";
import { updateKnowledgeBase } from "../../../operations/knowledge.ts";
import { listModels } from "../../../operations/pipeline.ts";
import type { InputOf } from "../../../operations/operation.ts";

type Values = Readonly<Record<string, unknown>>;

/** Throws usage for directories, which another command takes, and for files that no search would find. */
export async function rejectUnfit(
  { dataset_id, file }: Values,
  stat: Parameters<NonNullable<CommandRules["checkPaths"]>>[1],
): Promise<void> {
  const paths = [file ?? []].flat().map(String);
  for (const path of paths) {
    const found = await stat(path);
    if (found?.isFile && found.size === 0)
      throw usage(`${path} is empty`, "no search would find it; write something into it first");
    if (!found?.isDirectory) continue;
    throw usage(
      `${path}: is a directory`,
      `to upload its files, run ${commandLine("kb sync", [String(dataset_id ?? ""), path])}`,
    );
  }
}

/** Throws usage for a document in the place of a batch, which is a number. */
export async function requireBatch({ input, resolved }: Filling): Promise<Values> {
  const { dataset_id, batch } = input;
  if (/[^\d.]\.\w{1,5}$/.test(String(batch)))
    throw usage(
      `invalid batch: ${stringifyJson(batch)}`,
      `an upload prints its batch; for a document: ${commandLine("kb doc wait", [String(dataset_id), String(batch)])}`,
    );
  return resolved();
}

/** Tells a replacement: the answer to a create still has the number of words of the content before (server §9.1). */
export function tellReplaced(response: unknown): string | undefined {
  if (typeof valueAt(response, "document.word_count") !== "number") return undefined;
  return `Replaced the content of document ${String(valueAt(response, "document.name"))}, which existed`;
}

/** Says that servers guess the encoding of an uploaded text: they may store other characters (server §9.2). */
async function nameUnknownEncoding(file: unknown, { host, notice }: Context): Promise<void> {
  const path = valueAt(file, "path");
  if (typeof path !== "string" || uploadKind(path) !== "text") return;
  const size = (await host.files.stat(path).catch(() => null))?.size;
  if (size === undefined || size > uploadLimit) return; // servers refuse it; an upload is not held in memory
  const problem = textProblem(await host.files.read(path).catch(() => new Uint8Array()));
  if (problem?.finding !== "encoding") return;
  const line = commandLine("kb doc add", ["KB", path], { "text-file": path, encoding: "NAME" });
  await notice(`${path}: ${problem.problem}: the server guesses its encoding; to name it: ${line}`);
}

/** Names what is lost with the document that a change replaces, or a create of its name (server §9.1). */
export async function nameReplaced(values: Values, context: Context): Promise<void> {
  const { document_id, original_document_id, file, name = valueAt(file, "name") } = values;
  const dataset_id = String(values["dataset_id"]);
  const known = document_id ?? original_document_id;
  await nameUnknownEncoding(file, context);
  if (known !== undefined) return nameLosses(dataset_id, [String(known)], context);
  if (values["duplicate"] === false) return;
  const of = { dataset_id, keyword: keywordOf(String(name)) };
  const listed = await collect(context.api.rows(listDocuments, of));
  const replaced = listed.filter((each) => each.name === name && each.enabled !== false);
  const ids = replaced.map(({ id }) => id);
  await nameLosses(dataset_id, ids, context);
}

/** The values of a document that is added by its text. */
export async function fillAdded(filling: Filling): Promise<Values> {
  const known = await fillIndexing(["indexing_technique", "doc_form"], filling);
  return { ...known, ...(await fittingRule(known, filling)) };
}

/** The values of a document that is added by its file; the first one of a knowledge base needs a rule. */
export async function fillUploaded(filling: Filling): Promise<Values> {
  const known = await fillIndexing(["doc_form"], filling);
  const fitting = await fittingRule(known, filling);
  if (fitting !== undefined || known["process_rule"] !== undefined) return { ...known, ...fitting };
  const kb = await filling.object("kb");
  return kb?.["document_count"] === 0 ? { ...known, process_rule: automaticProcessRule } : known;
}

/** The values of a change: a new text requires a name, and a missing form means text_model (server §9.4). */
export const fillUpdated = (filling: Filling): Promise<Values> =>
  fillChanged(["name", "doc_form"], filling);

/** The values of a document whose file is replaced. */
export const fillReplaced = (filling: Filling): Promise<Values> =>
  fillChanged(["doc_form"], filling);

async function fillChanged(names: readonly string[], filling: Filling): Promise<Values> {
  const known = await filling.resolved();
  await fillFrom("document", names, known, filling);
  return { ...known, ...(await fittingRule(known, filling)) };
}

/** The values with those that a new document takes from its knowledge base. */
async function fillIndexing(names: readonly string[], filling: Filling): Promise<Values> {
  const known = await fillModel(filling);
  await rejectIgnored(known, filling);
  await fillFrom("kb", names, known, filling);
  if (filling.input["indexing_technique"] === undefined) return known;
  const technique = (await filling.object("kb"))?.["indexing_technique"] ?? undefined;
  if (technique === undefined) await requireEmbeddingModel(known, filling);
  return known;
}

/** Adds missing values from the object that the command names. */
async function fillFrom(
  noun: "kb" | "document",
  names: readonly string[],
  known: Record<string, unknown>,
  { object, trace }: Filling,
): Promise<void> {
  for (const name of names) {
    if (known[name] !== undefined) continue;
    const value = (await object(noun))?.[name] ?? undefined;
    if (value === undefined) continue;
    known[name] = value;
    await trace(`${name} ${stringifyJson(value)} (from the ${noun})`);
  }
}

/** Values that the server ignores once a knowledge base has a technique. */
const locked = {
  indexing_technique: "--indexing-technique",
  retrieval_model: "--retrieval-model",
  embedding_model: "--embedding-model",
} as const;

/** Throws for a value that the knowledge base has already and that this request would not change. */
async function rejectIgnored(known: Values, { input, object }: Filling): Promise<void> {
  for (const [name, flag] of Object.entries(locked)) {
    if (input[name] === undefined) continue;
    const kb = await object("kb");
    const current = kb?.["indexing_technique"] ?? undefined;
    if (current === undefined || kb?.[name] === known[name]) continue;
    throw usage(
      `${flag} has no effect: the knowledge base already has the indexing technique ${String(current)}`,
      `remove it, or change the knowledge base with ${commandLine("kb update", [], { help: true })}`,
    );
  }
}

/**
 * The chunking rule to send for a document form that requires one: without it, or with another mode,
 * the server creates a document without chunks (server §9.8). Undefined if the form needs none, or
 * the given or stored rule has the mode. Throws usage for a given rule with another mode.
 */
async function fittingRule(known: Values, filling: Filling) {
  const rule = own(defaultByForm, String(known["doc_form"]));
  if (rule === undefined) return undefined;
  const given = known["process_rule"];
  if (given === undefined)
    return (await storedMode(known, filling)) === rule.mode ? undefined : { process_rule: rule };
  if (valueAt(given, "mode") === rule.mode) return undefined;
  throw usage(
    `--process-rule requires the mode ${rule.mode} for ${String(known["doc_form"])} documents`,
    "remove it to use the default rule",
  );
}

/** Mode of the rule that the server uses by default; undefined if unknown. */
async function storedMode({ dataset_id, document_id }: Values, { read }: Filling) {
  try {
    if (document_id !== undefined) {
      const document = await read(getDocument, { dataset_id, document_id });
      return valueAt(document, "document_process_rule.mode");
    }
    // A knowledge base does not include its newest rule, its documents do.
    const listed = await read(listDocuments, { dataset_id });
    const newest: unknown = Array.isArray(listed) ? listed[0] : undefined;
    if (!isObject(newest)) return undefined;
    const one = { dataset_id, document_id: newest["id"] };
    return valueAt(await read(getDocument, one), "dataset_process_rule.mode");
  } catch (error) {
    if (error instanceof CliError && ["not-found", "failure"].includes(error.kind))
      return undefined;
    throw error;
  }
}

/** The values of a change of a chunk: a question loses an answer that is not sent (server §9.8). */
export async function fillChunk({ resolved, read, trace, helpHint }: Filling): Promise<Values> {
  const known = await resolved();
  const given = Object.keys(known).filter(
    (name) => name.startsWith("segment.") && known[name] !== undefined,
  );
  const isOnlyOff = known["segment.enabled"] === false && given.length === 1;
  if (isOnlyOff || known["segment.answer"] !== undefined) return known;
  const current = await read(getChunk, known);
  if (valueAt(current, "doc_form") !== "qa_model") return known;
  const answer = valueAt(current, "data.answer") ?? undefined;
  if (answer === undefined)
    throw usage("--answer is required: there is no current value to keep", helpHint);
  await trace(`segment.answer ${JSON.stringify(answer)} (from the current)`);
  return { ...known, "segment.answer": answer };
}

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
  throw withoutModel("--embedding-model", []);
}

const MAX_NAMES = 20;

/** Finds an active model by `provider/model`, or by its name alone. */
async function findModel(typed: string, provider: unknown, { read, entered, trace }: Filling) {
  const text = typed.replace(/^name:/, "");
  const all = modelsIn(await read(listModels, { model_type: "text-embedding" }));
  const matches =
    provider === undefined
      ? modelsNamed(text, all)
      : all.filter((each) => isProvider(String(provider), each) && each.model === text);
  const [only] = matches;
  if (!only) {
    const full = provider === undefined ? text : `${String(provider)}/${text}`;
    const names = firstNames(all.map(modelName), MAX_NAMES);
    throw notFound(
      `embedding model ${JSON.stringify(shortened(full, 100))} not found`,
      all.length > 0 ? `available: ${names}` : "the workspace has no active embedding model",
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

const indexSettings = ["indexing_technique", "embedding_model", "embedding_model_provider"];

/** Changes settings; waits where that makes the server index the knowledge base again. */
export async function sendSettings(values: Values, context: Context): Promise<unknown> {
  const input = values as InputOf<typeof updateKnowledgeBase>; // checked against its parameters
  if (!input.rewrite && indexSettings.every((name) => values[name] === undefined))
    return context.api.call(updateKnowledgeBase, input);
  return changeSettings(input, context);
}

/** Tells a change of the name alone. */
export function tellRenamed(
  { dataset_id, name, ...others }: Values,
  context: Context,
): string | undefined {
  if (name === undefined || Object.values(others).some((each) => each !== undefined))
    return undefined;
  return `Renamed knowledge base ${context.enteredName(String(dataset_id))} to ${String(name)}`;
}
