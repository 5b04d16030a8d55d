import { isObject, withoutNulls } from "../../../lib/json.ts";
import { createKnowledgeBase } from "../../../operations/knowledge.ts";
import {
  createMetadataField,
  disableBuiltInFields,
  enableBuiltInFields,
} from "../../../operations/metadata.ts";
import { bindTags, createTag, listTags, unbindTags } from "../../../operations/tags.ts";
import { changeSettings } from "../models/embedding-model.ts";
import { documentsOf } from "./documents.ts";
import { planSteps } from "./plan.ts";
import type { PlannedStep } from "./plan.ts";
import type { ApplyStep } from "./steps.ts";
import type { Context } from "../../command-spec.ts";

/**
 * Makes a knowledge base what a file says, and yields each step when it is taken. Applied again it
 * does nothing; what the file leaves out stays as it is.
 */
export async function* run(
  input: { readonly file: string },
  context: Context,
): AsyncGenerator<ApplyStep> {
  const plan = await planSteps(input.file, context);
  if (context.options.dryRun) {
    yield* plan.steps;
    if (plan.id !== undefined) yield* documentsOf(input.file, plan.file, plan.id, context);
    return;
  }
  const dataset_id = plan.id ?? (await create(plan, context));
  const of = (what: ApplyStep["what"]) => plan.steps.filter((step) => step.what === what);
  yield* of("knowledge base");
  if (plan.id !== undefined && of("setting").length > 0) {
    await changeSettings({ dataset_id, ...settingsIn(plan) }, context);
  }
  yield* of("setting");
  for (const step of of("tag")) {
    await changeTag(dataset_id, step, context);
    yield step;
  }
  for (const step of of("field")) {
    const type = step.to as "string"; // the file was checked
    await context.call(createMetadataField, { dataset_id, name: step.name, type });
    yield step;
  }
  for (const step of of("built-in fields")) {
    const row = step.to === true ? enableBuiltInFields : disableBuiltInFields;
    await context.call(row, { dataset_id });
    yield step;
  }
  let documents = 0;
  for await (const step of documentsOf(input.file, plan.file, dataset_id, context)) {
    documents++;
    yield step;
  }
  await context.notice(
    plan.steps.length + documents === 0
      ? `${plan.file.knowledge_base} is as ${input.file} says; nothing to do`
      : `${plan.steps.length + documents} changes made`,
  );
}

async function create(plan: PlannedStep, context: Context): Promise<string> {
  const answer = await context.call(createKnowledgeBase, {
    name: plan.file.knowledge_base,
    ...settingsIn(plan),
  });
  return answer.id;
}

/** The settings that differ, as create and update take them; search settings are sent whole. */
function settingsIn({ file, present, steps }: PlannedStep) {
  const changes = (name: string) =>
    steps.some((step) => step.what === "setting" && step.name.split(".")[0] === name);
  const slash = file.embedding_model?.lastIndexOf("/") ?? -1;
  const search = present?.settings.retrieval_model;
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
        ...usualSearch(file),
        ...(isObject(search) && search),
        ...file.retrieval_model,
      }),
    }),
  };
}

/** The four settings that a request must hold (server §6.1), as a new knowledge base has them. */
const usualSearch = ({ indexing_technique }: { readonly indexing_technique?: string }) => ({
  search_method: indexing_technique === "high_quality" ? "semantic_search" : "keyword_search",
  reranking_enable: false,
  top_k: 2,
  score_threshold_enabled: false,
});

/** Binds a tag, which is made where there is none, or takes it off. */
async function changeTag(dataset_id: string, { name, action }: ApplyStep, context: Context) {
  const there = (await context.call(listTags, {})).find((tag) => tag.name === name);
  if (action === "unbind") {
    const tag_ids = there ? [there.id] : [];
    if (there) await context.call(unbindTags, { tag_ids, tag_id: there.id, target_id: dataset_id });
    return;
  }
  const { id } = there ?? (await context.call(createTag, { name }));
  await context.call(bindTags, { tag_ids: [id], target_id: dataset_id });
}
