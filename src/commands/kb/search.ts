import { requireField } from "../../api/response-fields.ts";
import { isObject, withoutNulls } from "../../lib/json.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../operations/knowledge.ts";
import type { SearchRecord } from "../../operations/knowledge.ts";
import type { Input } from "../../operations/operation.ts";
import type { Context } from "../command-spec.ts";
import type { searchParams } from "./specs.ts";

type SearchInput = Input<typeof searchParams>;

/**
 * Searches with complete settings: the server rejects partial ones, and its default for a knowledge base
 * is a semantic search, which fails with economy indexing (server §8, §9.7).
 */
export async function* run(input: SearchInput, context: Context): AsyncGenerator<SearchRecord> {
  const { search_method, top_k, score_threshold, retrieval_model, ...request } = input;
  const stored = isObject(retrieval_model)
    ? retrieval_model
    : await storedSettings(input.dataset_id, context);
  const settings = changedSettings(stored, { search_method, top_k, score_threshold });
  yield* await context.call(searchKnowledgeBase, { ...request, retrieval_model: settings });
}

/** Search settings, changed by flags. */
export const changedSettings = (
  settings: Readonly<Record<string, unknown>>,
  {
    search_method,
    top_k,
    score_threshold,
  }: Pick<SearchInput, "search_method" | "top_k" | "score_threshold">,
): Record<string, unknown> => ({
  // Servers return null members, but some of them reject them.
  ...withoutNulls(settings),
  ...(search_method !== undefined && { search_method }),
  ...(top_k !== undefined && { top_k }),
  ...(score_threshold !== undefined && { score_threshold, score_threshold_enabled: true }),
});

/** Settings from the detail, which has keyword search if nothing else works. */
async function storedSettings(
  dataset_id: string,
  context: Context,
): Promise<Record<string, unknown>> {
  const { retrieval_model_dict } = await context.call(getKnowledgeBase, { dataset_id });
  return { ...requireField(retrieval_model_dict, "retrieval_model_dict") };
}
