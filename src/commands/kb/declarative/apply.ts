import { isObject, withoutNulls } from "../../../lib/json.ts";
import { createKnowledgeBase } from "../../../operations/knowledge.ts";
import {
  createMetadataField,
  disableBuiltInFields,
  enableBuiltInFields,
} from "../../../operations/metadata.ts";
import { bindTags, createTag, listTags, unbindTags } from "../../../operations/tags.ts";
import { changeSettings } from "../models/index.ts";
import { syncDocuments } from "./documents.ts";
import { readPlan } from "./plan.ts";
import type { ApplyPlan } from "./plan.ts";
import type { ApplyStep } from "./steps.ts";
import type { Context } from "../../command-spec.ts";

/** Makes a knowledge base match a file, and yields each step when it is done. */
export async function* run(
  input: { readonly file: string },
  context: Context,
): AsyncGenerator<ApplyStep> {
  const plan = await readPlan(input.file, context);
  const { file, steps } = plan;
  if (context.options.dryRun) {
    yield* steps;
    if (plan.id !== undefined) yield* syncDocuments(input.file, file, plan.id, context);
    return;
  }
  const dataset_id = plan.id ?? (await createKb(plan, context));
  yield* applySteps(dataset_id, plan, context);
  let count = steps.length;
  for await (const step of syncDocuments(input.file, file, dataset_id, context)) {
    count++;
    yield step;
  }
  await context.notice(
    count === 0
      ? `${file.knowledge_base} matches ${input.file}; nothing to do`
      : `${count} ${count === 1 ? "change" : "changes"} made`,
  );
}

async function* applySteps(
  dataset_id: string,
  plan: ApplyPlan,
  context: Context,
): AsyncGenerator<ApplyStep> {
  const stepsFor = (what: ApplyStep["what"]) => plan.steps.filter((step) => step.what === what);
  yield* stepsFor("knowledge base");
  if (plan.id !== undefined && stepsFor("setting").length > 0)
    await changeSettings({ dataset_id, ...changedSettings(plan) }, context);
  yield* stepsFor("setting");
  for (const step of stepsFor("tag")) {
    await changeTag(dataset_id, step, context);
    yield step;
  }
  for (const step of stepsFor("field")) {
    const type = step.to as "string"; // the file was checked
    await context.call(createMetadataField, { dataset_id, name: step.name, type });
    yield step;
  }
  for (const step of stepsFor("built-in fields")) {
    const operation = step.to === true ? enableBuiltInFields : disableBuiltInFields;
    await context.call(operation, { dataset_id });
    yield step;
  }
}

async function createKb(plan: ApplyPlan, context: Context): Promise<string> {
  const created = await context.call(createKnowledgeBase, {
    name: plan.file.knowledge_base,
    ...changedSettings(plan),
  });
  return created.id;
}

/** The settings that differ, as create and update take them; search settings are sent complete. */
function changedSettings({ file, current, steps }: ApplyPlan) {
  const changes = (name: string) =>
    steps.some((step) => step.what === "setting" && step.name.split(".")[0] === name);
  const slash = file.embedding_model?.lastIndexOf("/") ?? -1;
  const search = current?.settings.retrieval_model;
  return {
    ...(changes("description") && { description: file.description ?? "" }),
    ...(changes("permission") && { permission: file.permission as "only_me" }),
    ...(changes("indexing_technique") && {
      indexing_technique: file.indexing_technique as "economy",
    }),
    ...(changes("embedding_model") && {
      embedding_model_provider: file.embedding_model?.slice(0, slash) ?? "",
      embedding_model: file.embedding_model?.slice(slash + 1) ?? "",
    }),
    ...(changes("retrieval_model") && {
      retrieval_model: withoutNulls({
        ...defaultSearch(file),
        ...(isObject(search) && search),
        ...file.retrieval_model,
      }),
    }),
  };
}

/** The settings that every request must have (server §6.1), as a new knowledge base has them. */
const defaultSearch = ({ indexing_technique }: { readonly indexing_technique?: string }) => ({
  search_method: indexing_technique === "high_quality" ? "semantic_search" : "keyword_search",
  reranking_enable: false,
  top_k: 2,
  score_threshold_enabled: false,
});

/** Binds a tag, which is created if it does not exist, or unbinds it. */
async function changeTag(
  target_id: string,
  { name, action }: ApplyStep,
  context: Context,
): Promise<void> {
  const existing = (await context.call(listTags, {})).find((tag) => tag.name === name);
  if (action === "unbind") {
    if (!existing) return;
    const { id: tag_id } = existing;
    await context.call(unbindTags, { tag_ids: [tag_id], tag_id, target_id });
    return;
  }
  const { id } = existing ?? (await context.call(createTag, { name }));
  await context.call(bindTags, { tag_ids: [id], target_id });
}
