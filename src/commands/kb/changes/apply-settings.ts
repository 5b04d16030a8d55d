import { isObject, withoutNulls } from "../../../lib/json.ts";
import { createKnowledgeBase } from "../../../operations/knowledge.ts";
import { createMetadataField } from "../../../operations/metadata.ts";
import type { Model } from "../../../lib/model-names.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { bindTags, createTag, listTags, unbindTags } from "../../../operations/tags.ts";
import { changeSettings } from "../documents/index.ts";
import { setBuiltInFields } from "../metadata/index.ts";
import type { Change } from "./change.ts";
import type { CurrentState, DesiredState } from "./plan-settings.ts";
import type { Context } from "../../task/command-spec.ts";

/** The changes of a knowledge base without documents, and the states between which they are. */
export interface SettingsPlan {
  readonly desired: DesiredState;
  readonly current: CurrentState;
  readonly changes: readonly Change[];
  /** The desired embedding model: its full name does not tell where the provider ends. */
  readonly model: Model | undefined;
}

/** Creates the knowledge base of a plan with all of its settings, and returns its ID. */
export async function createKb(plan: SettingsPlan, { api }: Context): Promise<string> {
  const kb = { name: plan.desired.name, ...settingsRequest(plan) };
  return (await api.call(createKnowledgeBase, kb)).id;
}

/**
 * Makes the changes of an existing or just created knowledge base, and yields each when it is made; in a
 * dry run it only yields them. `rewrite` writes documents again where a changed index needs it.
 */
export async function* applySettings(
  dataset_id: string,
  plan: SettingsPlan,
  context: Context,
  rewrite = false,
): AsyncGenerator<Change> {
  if (context.options.dryRun) return yield* plan.changes;
  const of = (what: Change["what"]) => plan.changes.filter((each) => each.what === what);
  for (const created of of("knowledge base")) yield { ...created, id: dataset_id };
  if (plan.current && of("setting").length > 0)
    await changeSettings({ dataset_id, ...settingsRequest(plan), rewrite }, context);
  yield* of("setting");
  yield* applyTags(dataset_id, of("tag"), context);
  for (const field of of("field")) {
    const input = { dataset_id, name: field.name, type: field.to as "string" }; // it was checked
    const { id } = await context.api.call(createMetadataField, input);
    yield { ...field, id };
  }
  for (const fields of of("built-in fields")) {
    await setBuiltInFields(dataset_id, fields.to === true, context);
    yield fields;
  }
}

/** Binds tags, which are created if they do not exist, and unbinds tags. */
async function* applyTags(target_id: string, changes: readonly Change[], context: Context) {
  if (changes.length === 0) return;
  const tags = await context.api.call(listTags, {});
  const existing = new Map(tags.map(({ name, id }) => [name, id]));
  for (const change of changes) {
    const { name, action } = change;
    let tag_id = existing.get(name);
    if (action === "bind") {
      tag_id ??= (await context.api.call(createTag, { name })).id;
      await context.api.call(bindTags, { tag_ids: [tag_id], target_id });
    } else if (tag_id !== undefined) {
      await context.api.call(unbindTags, { tag_ids: [tag_id], tag_id, target_id });
    }
    yield { ...change, id: tag_id ?? null };
  }
}

type SentSettings = InputOf<typeof createKnowledgeBase>;

/** The settings that differ, as create and update take them; search settings are sent complete. */
function settingsRequest({ desired, current, changes, model }: SettingsPlan) {
  const changed = new Set(
    changes.flatMap(({ what, name }) => (what === "setting" ? [name.split(".")[0]] : [])),
  );
  const values = Object.entries(desired.settings).filter(([name]) => changed.has(name));
  const {
    embedding_model: _,
    retrieval_model,
    summary_index_setting,
    ...plain
  } = Object.fromEntries(values) as Readonly<Record<string, unknown>>;
  const search = current?.settings.retrieval_model;
  return {
    ...(plain as Pick<SentSettings, "description" | "permission" | "indexing_technique">),
    ...(changed.has("embedding_model") &&
      model && { embedding_model_provider: model.provider, embedding_model: model.model }),
    ...(isObject(retrieval_model) && {
      retrieval_model: withoutNulls({
        ...defaultSearch(desired.settings.indexing_technique),
        ...(isObject(search) && search),
        ...retrieval_model,
      }),
    }),
    ...(isObject(summary_index_setting) && {
      summary_index_setting: withoutNulls(summary_index_setting),
    }),
  };
}

/** The settings that every request must have (server §6.1), as a new knowledge base has them. */
const defaultSearch = (indexing_technique: unknown) => ({
  search_method: indexing_technique === "high_quality" ? "semantic_search" : "keyword_search",
  reranking_enable: false,
  top_k: 2,
  score_threshold_enabled: false,
});
