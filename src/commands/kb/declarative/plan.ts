import { CliError, usage, refused } from "../../../errors.ts";
import { modelName } from "../../../lib/model-names.ts";
import { shellQuote } from "../../../lib/shell-quote.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import { getMetadataOverview } from "../../../operations/metadata.ts";
import { settingsOf, tagsOf } from "../documents/index.ts";
import { activeModels, embeddingModel, withoutModel } from "../models/index.ts";
import { syncDocuments } from "./documents.ts";
import { readKbFile } from "./file.ts";
import type { KbFile } from "./file.ts";
import { planApply } from "./steps.ts";
import type { ApplyStep, CurrentState } from "./steps.ts";
import type { Context } from "../../command-spec.ts";

/** A file, the current state of its knowledge base, and the steps between them. */
export interface ApplyPlan {
  readonly file: KbFile;
  /** Undefined if the knowledge base does not exist. */
  readonly id: string | undefined;
  readonly current: CurrentState;
  readonly steps: readonly ApplyStep[];
}

/**
 * Compares a file with the knowledge base of its name. Throws what apply would: usage if documents have
 * no indexing technique or no embedding model, refused if a field would have to change its type.
 */
export async function readPlan(path: string, context: Context): Promise<ApplyPlan> {
  const written = await readKbFile(path, context.host.files);
  const id = await findKb(written.knowledge_base, context);
  const current = id === undefined ? undefined : await readCurrent(id, context);
  const file = await withModel(written, current, context);
  const technique = file.indexing_technique ?? current?.settings.indexing_technique ?? null;
  if (file.documents && technique === null) {
    throw usage(
      `${path}: documents need an indexing_technique`,
      "set indexing_technique to high_quality or economy",
    );
  }
  const steps = planApply(file, current);
  const impossible = steps.find(({ what, action }) => what === "field" && action === "change");
  if (impossible) {
    const message = `failed to change field ${impossible.name}: ${impossible.note}`;
    throw refused(
      message,
      `kb metadata delete ${shellQuote(file.knowledge_base)} ${shellQuote(impossible.name)}`,
    );
  }
  return { file, id, current, steps };
}

/** The file with the full name of its embedding model, and the technique that a model requires. */
async function withModel(file: KbFile, current: CurrentState, context: Context): Promise<KbFile> {
  const { embedding_model: written, indexing_technique } = file;
  const existing = current?.settings.embedding_model ?? null;
  if (written === undefined) {
    if (indexing_technique !== "high_quality" || existing !== null) return file;
    const all = await activeModels("text-embedding", context);
    // A new knowledge base gets the default model of the workspace.
    if (!current && all.length > 0) return file;
    throw withoutModel("embedding_model:", all);
  }
  if (written === existing) return file;
  if (indexing_technique === "economy") {
    throw usage(
      "economy indexing does not use an embedding model",
      "set indexing_technique to high_quality, or remove embedding_model",
    );
  }
  const embedding_model = modelName(await embeddingModel(written, context));
  return { ...file, embedding_model, indexing_technique: "high_quality" };
}

async function findKb(name: string, context: Context): Promise<string | undefined> {
  try {
    return await context.resolveId("kb", `name:${name}`);
  } catch (error) {
    if (error instanceof CliError && error.kind === "not-found") return undefined;
    throw error;
  }
}

async function readCurrent(dataset_id: string, context: Context): Promise<CurrentState> {
  const kb = await context.call(getKnowledgeBase, { dataset_id });
  const overview = await context.call(getMetadataOverview, { dataset_id });
  return {
    settings: settingsOf(kb),
    tags: tagsOf(kb),
    fields: overview.doc_metadata.map(({ name, type }) => ({ name, type })),
    built_in_fields: overview.built_in_field_enabled,
  };
}

/** Yields the steps; with --exit-code, throws gate if there are any. */
export async function* run(
  input: { readonly file: string; readonly exit_code?: boolean | undefined },
  context: Context,
): AsyncGenerator<ApplyStep> {
  const { id, file, steps } = await readPlan(input.file, context);
  yield* steps;
  let count = steps.length;
  if (id !== undefined) {
    const dryRun: Context = { ...context, options: { ...context.options, dryRun: true } };
    for await (const step of syncDocuments(input.file, file, id, dryRun)) {
      count++;
      yield step;
    }
  } else if (file.documents) {
    await context.notice(`every file of ${file.documents.directory} becomes a document`);
  }
  if (count === 0) {
    await context.notice(`${file.knowledge_base} matches ${input.file}`);
    return;
  }
  const changes = count === 1 ? "1 change" : `${count} changes`;
  await context.notice(`${changes}; to apply: kb apply ${shellQuote(input.file)}`);
  if (input.exit_code) {
    throw new CliError(
      "gate",
      `${file.knowledge_base} differs from ${input.file}: ${count} changes`,
      {
        isResult: true,
        details: { changes: count },
      },
    );
  }
}
