import { CliError } from "../../../errors.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import { getMetadataOverview } from "../../../operations/metadata.ts";
import { activeModels, embeddingModel, withoutModel } from "../models/embedding-model.ts";
import { modelName } from "../../../lib/model-names.ts";
import { documentsOf } from "./documents.ts";
import { readKbFile } from "./file.ts";
import type { KbFile } from "./file.ts";
import { settingsOf, tagsOf } from "../snapshot/state.ts";
import { planApply } from "./steps.ts";
import type { Present, ApplyStep } from "./steps.ts";
import type { Context } from "../../command-spec.ts";

/** What a file describes, what is there, and the way from here to there. */
export interface PlannedStep {
  readonly file: KbFile;
  /** Undefined where there is no such knowledge base yet. */
  readonly id: string | undefined;
  readonly present: Present;
  readonly steps: readonly ApplyStep[];
}

/**
 * Compares a file with the knowledge base of its name. Throws what apply would meet: usage where
 * documents are to go into one that does not say how to index them, or where there is no embedding
 * model for it; refused for a field that would have to change its type.
 */
export async function planSteps(path: string, context: Context): Promise<PlannedStep> {
  const read = await readKbFile(path, context.host.files);
  const id = await idOf(read.knowledge_base, context);
  const present = id === undefined ? undefined : await presentOf(id, context);
  const file = await withModel(read, present, context);
  const technique = file.indexing_technique ?? present?.settings.indexing_technique ?? null;
  if (file.documents && technique === null) {
    throw new CliError("usage", `${path}: its documents are indexed in no way`, {
      sideEffect: "none",
      hint: "give indexing_technique: high_quality or economy",
    });
  }
  const found = planApply(file, present);
  const impossible = found.find(({ what, action }) => what === "field" && action === "change");
  if (impossible) {
    throw new CliError("refused", `the field ${impossible.name}: ${impossible.note}`, {
      sideEffect: "none",
      hint: `kb metadata delete ${file.knowledge_base} ${impossible.name}`,
    });
  }
  return { file, id, present, steps: found };
}

/** The file with its embedding model named in full, and with the technique that a model needs. */
async function withModel(file: KbFile, present: Present, context: Context): Promise<KbFile> {
  const { embedding_model: wanted, indexing_technique } = file;
  const there = present?.settings.embedding_model ?? null;
  if (wanted === undefined) {
    if (indexing_technique !== "high_quality" || there !== null) return file;
    const all = await activeModels("text-embedding", context);
    // A new one takes the model that the workspace has as its default.
    if (!present && all.length > 0) return file;
    throw withoutModel("embedding_model:", all);
  }
  if (wanted === there) return file;
  if (indexing_technique === "economy") {
    throw new CliError("usage", "economy indexing takes no embedding model", {
      sideEffect: "none",
      hint: "write indexing_technique: high_quality, or remove embedding_model",
    });
  }
  const embedding_model = modelName(await embeddingModel(wanted, context));
  return { ...file, embedding_model, indexing_technique: "high_quality" };
}

async function idOf(name: string, context: Context): Promise<string | undefined> {
  try {
    return await context.resolveId("kb", `name:${name}`);
  } catch (error) {
    if (error instanceof CliError && error.kind === "not-found") return undefined;
    throw error;
  }
}

/** What is there, documents aside. */
async function presentOf(dataset_id: string, context: Context): Promise<Present> {
  const kb = await context.call(getKnowledgeBase, { dataset_id });
  const overview = await context.call(getMetadataOverview, { dataset_id });
  return {
    settings: settingsOf(kb),
    tags: tagsOf(kb),
    fields: overview.doc_metadata.map(({ name, type }) => ({ name, type })),
    built_in_fields: overview.built_in_field_enabled,
  };
}

/** Yields the steps; throws gate when there are any and --exit-code asks for it. */
export async function* run(
  input: { readonly file: string; readonly exit_code?: boolean | undefined },
  context: Context,
): AsyncGenerator<ApplyStep> {
  const plan = await planSteps(input.file, context);
  yield* plan.steps;
  let count = plan.steps.length;
  if (plan.id !== undefined) {
    const dry: Context = { ...context, options: { ...context.options, dryRun: true } };
    for await (const step of documentsOf(input.file, plan.file, plan.id, dry)) {
      count++;
      yield step;
    }
  } else if (plan.file.documents) {
    await context.notice(`every file of ${plan.file.documents.directory} becomes a document`);
  }
  if (count === 0) {
    await context.notice(`${plan.file.knowledge_base} is as ${input.file} says`);
    return;
  }
  await context.notice(`${count} changes; kb apply ${input.file} makes them`);
  if (input.exit_code) {
    throw new CliError("gate", `${plan.file.knowledge_base} differs in ${count} points`, {
      isResult: true,
      details: { changes: count },
    });
  }
}
