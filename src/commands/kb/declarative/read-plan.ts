import { dirname, isAbsolute, join } from "node:path";
import { usage, refused } from "../../../errors.ts";
import { requireNear } from "../../../host/safe-path.ts";
import { valueAt } from "../../../lib/json.ts";
import { modelName } from "../../../lib/model-names.ts";
import type { Model } from "../../../lib/model-names.ts";
import { planSettings } from "../changes/index.ts";
import type { CurrentState, DesiredState, SettingsPlan } from "../changes/index.ts";
import { readKb } from "../documents/index.ts";
import { activeModels, embeddingModel, weightedWith, withoutModel } from "../../models/index.ts";
import { findKb } from "../knowledge/index.ts";
import { readKbFile } from "./file.ts";
import type { KbFile } from "./file.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";

/** A file, and the changes that it takes except those of documents. */
export interface FilePlan extends SettingsPlan {
  readonly file: KbFile;
  /** Undefined if the knowledge base does not exist. */
  readonly id: string | undefined;
}

/**
 * Compares a file with the knowledge base of its name. Throws what apply would: usage if documents have
 * no indexing technique or no embedding model, refused if a field would have to change its type.
 */
export async function readPlan(path: string, context: Context): Promise<FilePlan> {
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
export const directoryOf = ({ directory }: { readonly directory: string }, path: string): string =>
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
