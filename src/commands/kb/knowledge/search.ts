import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { requireField } from "../../../api/response.ts";
import { isObject, withoutNulls } from "../../../lib/json.ts";
import { ApiError } from "../../../errors.ts";
import { getDocument } from "../../../operations/documents.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../../operations/knowledge.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { searchParams } from "./command.ts";

type SearchInput = Input<typeof searchParams>;

/**
 * Searches with complete settings: the server rejects partial ones, and its default for a knowledge base
 * is a semantic search, which fails with economy indexing (server §8, §9.7).
 */
export async function* run(input: SearchInput, context: Context): AsyncGenerator<SearchRecord> {
  const { search_method, top_k, score_threshold, retrieval_model, ...request } = input;
  const given = isObject(retrieval_model) ? retrieval_model : undefined;
  const kb = given
    ? undefined
    : await context.api.call(getKnowledgeBase, { dataset_id: input.dataset_id });
  const stored = given ?? requireField(kb?.retrieval_model_dict, "retrieval_model_dict");
  const settings = changedSettings({ ...stored }, { search_method, top_k, score_threshold });
  const records = await context.api.call(searchKnowledgeBase, {
    ...request,
    retrieval_model: settings,
  });
  await noticeMethod(settings, records.length, kb?.indexing_technique, context);
  yield* showsHits(context) ? await withChunkCounts(records, input.dataset_id, context) : records;
}

/** Whether the results are shown as text with `chunk 3/7`, for which the response lacks the count. */
const showsHits = ({ host, options: { format } }: Context): boolean =>
  host.stdout.isTTY && (format === undefined || format === "wide");

/** The results with the number of chunks of their documents, where the server tells it. */
async function withChunkCounts(
  records: readonly SearchRecord[],
  dataset_id: string,
  context: Context,
): Promise<SearchRecord[]> {
  const ids = new Set(records.flatMap(({ segment }) => segment.document?.id ?? []));
  const counts = new Map<string, number | null | undefined>();
  const read = async (document_id: string) => {
    try {
      const document = await context.api.call(getDocument, { dataset_id, document_id });
      counts.set(document_id, document.segment_count);
    } catch (error) {
      // The results are complete without it.
      if (!(error instanceof ApiError)) throw error;
    }
  };
  for await (const _ of mapConcurrent(ids, context.api.limitConcurrency(), read));
  return records.map((record) => {
    const { document } = record.segment;
    if (!document) return record;
    const segment_count = counts.get(document.id);
    return { ...record, segment: { ...record.segment, document: { ...document, segment_count } } };
  });
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

/** Explains numbers of results that only the search method causes (server §6.1). */
async function noticeMethod(
  { search_method, top_k }: Readonly<Record<string, unknown>>,
  count: number,
  technique: string | null | undefined,
  { notice }: Context,
): Promise<void> {
  if (search_method === "keyword_search" && technique === "high_quality" && count === 0)
    await notice("keyword_search finds nothing with high_quality indexing; use full_text_search");
  if (search_method === "hybrid_search" && count > Number(top_k))
    await notice(
      `hybrid_search without weights or reranking returns up to ${Number(top_k)} results of each of its two searches`,
    );
}
