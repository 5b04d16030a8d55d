import { verdict, usage, refused } from "../../../errors.ts";
import { counted } from "../../../lib/text.ts";
import { applySettings, createKb, isChange, planSettings } from "../changes/index.ts";
import type {
  Change,
  DocumentFlags,
  CurrentState,
  DesiredState,
  SettingsPlan,
} from "../changes/index.ts";
import { completeRule } from "../chunks/index.ts";
import { brokenIndex, newestRule, repairIndex, splitAgain, readKb } from "../documents/index.ts";
import { syncDirectory } from "../sync/index.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { stringifyJson, valueAt } from "../../../lib/json.ts";
import { dirname, isAbsolute, join } from "node:path";
import { requireNear } from "../../../host/safe-path.ts";
import { modelName } from "../../../lib/model-names.ts";
import type { Model } from "../../../lib/model-names.ts";
import { activeModels, embeddingModel, weightedWith, withoutModel } from "../../models/index.ts";
import { findKb } from "../knowledge/index.ts";
import { readKbFile } from "./file.ts";
import type { KbFile } from "./file.ts";

interface PlanInput extends DocumentFlags {
  readonly file: string;
  readonly exit_code?: boolean | undefined;
  readonly rewrite?: boolean | undefined;
}

/** `kb plan`: yields the changes that apply would make; with --exit-code, throws gate if there are any. */
export async function* plan(
  { file: path, exit_code }: PlanInput,
  context: Context,
): AsyncGenerator<Change> {
  const dryRun = { ...context, options: { ...context.options, dryRun: true } };
  const { name, count } = yield* makeChanges({ file: path }, dryRun);
  if (count === 0) return context.summary(`${name} matches ${path}`);
  context.summary(`${counted(count, "change")}; to apply: ${commandLine("kb apply", [path])}`);
  if (!exit_code) return;
  const message = `${name} differs from ${path}: ${counted(count, "change")}`;
  throw verdict("gate", message, { changes: count });
}

/** `kb apply`: makes a knowledge base match a file, and yields each change when it is made. */
export async function* apply(input: PlanInput, context: Context): AsyncGenerator<Change> {
  if (context.options.dryRun) return yield* plan(input, context);
  const { name, count } = yield* makeChanges(input, context);
  const nothing = `${name} matches ${input.file}; nothing to do`;
  context.summary(count === 0 ? nothing : `${counted(count, "change")} made`);
}

async function* makeChanges(
  { file: path, rewrite = false, ...flags }: PlanInput,
  context: Context,
): AsyncGenerator<Change, { readonly name: string; readonly count: number }> {
  const filePlan = await readPlan(path, context);
  const { file, changes } = filePlan;
  const { knowledge_base: name, documents } = file;
  let { id } = filePlan;
  if (!context.options.dryRun) id ??= await createKb(filePlan, context);
  yield* applySettings(id ?? "", filePlan, context, rewrite);
  await checkIndex(filePlan, rewrite, context);
  await applyRule(path, filePlan, rewrite, context);
  if (id === undefined && documents)
    await context.notice(`every file of ${documents.directory} becomes a document`);
  const synced =
    id === undefined ? 0 : yield* syncDocuments(path, file, { ...flags, dataset_id: id }, context);
  return { name, count: changes.length + synced };
}

/** Says that searches fail since an earlier change of the index, or mends that. A search finds it out. */
async function checkIndex(
  { id, current, desired, changes }: FilePlan,
  rewrite: boolean,
  context: Context,
): Promise<void> {
  const indexSettings = /^(indexing_technique|embedding_model)$/;
  if (changes.some(({ what, name }) => what === "setting" && indexSettings.test(name))) return; // checked after them
  const { name, indexing_technique } = current?.settings ?? {};
  if (id === undefined || name === undefined || indexing_technique !== "high_quality") return;
  const problem = await brokenIndex(id, context);
  if (problem === undefined) return;
  if (rewrite && !context.options.dryRun) return repairIndex({ id, name }, true, context);
  const command = commandLine("kb update", [desired.name], { rewrite: true });
  await context.notice(`searches fail: ${problem}; write each document again: ${command}`);
}

/** Splits existing documents by the rule of a file with --rewrite, or says that they are split by another one. */
async function applyRule(
  path: string,
  { id, file: { knowledge_base: name, process_rule } }: FilePlan,
  rewrite: boolean,
  context: Context,
): Promise<void> {
  if (id === undefined || process_rule === undefined) return;
  const complete = (rule: unknown) => stringifyJson(completeRule(`${path}: process_rule`, rule));
  if (complete(process_rule) === complete(await newestRule(id, context))) return;
  const again = commandLine("kb apply", [path], { rewrite: true });
  if (!rewrite || context.options.dryRun)
    return context.notice(
      `documents of ${name} are split by another rule; to index all again: ${again}`,
    );
  const kept = await splitAgain({ id, name, process_rule }, again, context);
  if (kept.length > 0)
    await context.notice(`without a file on the server, kept: ${kept.join(", ")}`);
}

/** Syncs the directory of a file; returns the number of changes. */
async function* syncDocuments(
  path: string,
  { documents, process_rule }: FilePlan["file"],
  target: DocumentFlags & { readonly dataset_id: string },
  context: Context,
): AsyncGenerator<Change, number> {
  if (!documents) return 0;
  const { directory: _, max_delete, ...rest } = documents;
  const input = {
    ...target,
    ...rest,
    directory: directoryOf(documents, path),
    process_rule,
    ...(max_delete !== undefined && { max_delete: String(max_delete) }),
  };
  let count = 0;
  for await (const row of syncDirectory(input, context)) {
    if (!isChange(row)) continue;
    count++;
    yield row;
  }
  return count;
}

/** A file, and the changes that it takes except those of documents. */
interface FilePlan extends SettingsPlan {
  readonly file: KbFile;
  /** Undefined if the knowledge base does not exist. */
  readonly id: string | undefined;
}

/**
 * Compares a file with the knowledge base of its name. Throws what apply would: usage if documents have
 * no indexing technique or no embedding model, refused if a field would have to change its type.
 */
async function readPlan(path: string, context: Context): Promise<FilePlan> {
  const written = await readKbFile(path, context.host.files);
  const { host, options } = context;
  if (written.documents) {
    const directory = directoryOf(written.documents, path);
    await requireNear(directory, { file: path, allowed: options.flags.allowFiles }, host);
  }
  const id = await findKb(written.knowledge_base, context);
  const current = id === undefined ? undefined : await readKb(id, context);
  const { file, model } = await withModel(written, current, context);
  const technique = file.indexing_technique ?? current?.settings.indexing_technique ?? null;
  if (file.documents && technique === null) {
    throw usage(
      `${path}: documents need an indexing_technique`,
      "set indexing_technique to high_quality or economy",
    );
  }
  const desired = desiredState(file);
  const changes = planSettings(desired, current);
  const impossible = changes.find(({ what, action }) => what === "field" && action === "change");
  if (impossible) {
    throw refused(
      `failed to change field ${impossible.name}: ${impossible.note}`,
      `delete it first: ${commandLine("kb metadata delete", [file.knowledge_base, impossible.name])}`,
    );
  }
  return { file, id, desired, current, changes, model };
}

/** The directory of the documents, which is relative to the file. */
const directoryOf = ({ directory }: { readonly directory: string }, path: string): string =>
  isAbsolute(directory) ? directory : join(dirname(path), directory);

/** The desired state of a file. */
export const desiredState = (described: KbFile): DesiredState => {
  // A rule is of documents.
  const { knowledge_base, tags, metadata, built_in_fields, process_rule: _, ...file } = described;
  const fields = Object.entries(metadata ?? {}).map(([name, type]) => ({ name, type }));
  return { name: knowledge_base, settings: file, tags, fields, built_in_fields };
};

/** The file with the full name of its embedding model and the technique that a model requires; the model. */
async function withModel(file: KbFile, current: CurrentState, context: Context) {
  const { embedding_model: written, indexing_technique } = file;
  const unchanged = { file, model: undefined };
  const existing = current?.settings.embedding_model ?? null;
  if (written === undefined) {
    if (indexing_technique !== "high_quality" || existing !== null) return unchanged;
    const all = await activeModels("text-embedding", context);
    // A new knowledge base gets the default model of the workspace.
    if (!current && all.length > 0) return unchanged;
    throw withoutModel("embedding_model:", all);
  }
  if (written === existing) {
    // Its weights may still name the model before, as the file did when that was changed.
    const now = valueAt(current?.settings.retrieval_model, "weights.vector_setting");
    const [provider, name] = ["embedding_provider_name", "embedding_model_name"].map((key) =>
      String(valueAt(now, key)),
    ) as [string, string];
    const isStored = modelName({ provider, model: name }) === existing;
    return isStored
      ? { file: weighted(file, { provider, model: name }), model: undefined }
      : unchanged;
  }
  if (indexing_technique === "economy") {
    throw usage(
      "economy indexing does not use an embedding model",
      "set indexing_technique to high_quality, or remove embedding_model",
    );
  }
  const model = await embeddingModel(written, context);
  const indexed = {
    embedding_model: modelName(model),
    indexing_technique: "high_quality",
  } as const;
  return { file: weighted({ ...file, ...indexed }, model), model };
}

/** The file with this model in the weights of its search settings, if it has any. */
function weighted(file: KbFile, model: Model): KbFile {
  const retrieval_model = weightedWith(model, file.retrieval_model);
  return retrieval_model ? { ...file, retrieval_model } : file;
}
