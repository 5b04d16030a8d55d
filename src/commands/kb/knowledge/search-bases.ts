import { mapAll } from "../../../api/concurrent-map.ts";
import { settingsFor } from "../../../config/settings.ts";
import { CliError, isFatal, verdict } from "../../../errors.ts";
import { collect, groupBy, inTurns } from "../../../lib/collect.ts";
import { stringifyJson } from "../../../lib/json.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { getKnowledgeBase, listKnowledgeBases } from "../../../operations/knowledge.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { isBoundKey } from "../../task/read-server.ts";
import type { searchParams } from "./command.ts";
import { searchBase } from "./search.ts";
import type { RequestedKb } from "./search.ts";

/**
 * Yields the results of a search in one knowledge base, or with --all those of all in one list. Throws partial, after
 * the results of the others, if some searches failed.
 */
export async function* run(
  input: Input<typeof searchParams>,
  context: Context,
): AsyncGenerator<SearchRecord> {
  const { dataset_id, all: _, only, ...search } = input;
  if (dataset_id !== undefined)
    return yield* (await searchBase({ ...search, dataset_id }, context)).records;
  const kbs = only ? await namedKbs(only, context) : await openedKbs(context);
  const searched = await mapAll(kbs, context.api.limitConcurrency(), async (kb) => {
    try {
      return await searchOne({ ...search, dataset_id: kb.id }, context);
    } catch (error) {
      const isOfOne = error instanceof CliError && !isFatal(error);
      if (context.host.signal.aborted || !isOfOne) throw error;
      await context.notice(`${kb.name}: ${error.message}`);
      return { kb: kb.name, error: error.message };
    }
  });
  const failed = searched.filter((each) => "error" in each);
  const records = mergeRecords(searched.filter((each) => "records" in each));
  yield* records.slice(0, search.top_k);
  if (failed.length === 0) return;
  throw verdict(
    "partial",
    `failed to search ${failed.length} of ${counted(kbs.length, "knowledge base")}: ${firstNames(failed.map(({ kb }) => kb))}`,
    { failed },
  );
}

/** The knowledge bases of these IDs, with their names if they can be read; otherwise the search says why not. */
const namedKbs = (ids: readonly string[], context: Context): Promise<RequestedKb[]> =>
  mapAll([...new Set(ids)], context.api.limitConcurrency(), (id) =>
    context.api
      .call(getKnowledgeBase, { dataset_id: id })
      .catch(() => ({ id, name: context.enteredName(id) })),
  );

/** All knowledge bases; of a key that may not list them, those that the profile names. Throws auth if it names none. */
async function openedKbs(context: Context): Promise<readonly RequestedKb[]> {
  try {
    return await collect(context.api.rows(listKnowledgeBases, { include_all: true }));
  } catch (error) {
    if (!isBoundKey("dataset", error)) throw error;
    const { flags } = context.options;
    const { bases } = await settingsFor(flags, context.host, { key: "dataset", run: false });
    const names = new Map(Object.entries(bases).map(([name, id]) => [id, name]));
    if (names.size === 0) throw error;
    await context.notice("the key cannot list knowledge bases: searching those that are named");
    return [...names].map(([id, name]) => ({ id, name }));
  }
}

/** What a search in one of several knowledge bases finds, and what its scores depend on. */
async function searchOne(input: Parameters<typeof searchBase>[0], context: Context) {
  const kb = await context.api.call(getKnowledgeBase, { dataset_id: input.dataset_id });
  // It has no vectors to search yet (server §8).
  if (kb.document_count === 0 && kb.provider !== "external") return { kb, scale: "", records: [] };
  const notice = (text: string) => context.notice(`${kb.name}: ${text}`);
  const { records, settings } = await searchBase(input, { ...context, notice }, kb);
  // Scores of others say nothing beside these, and all of economy are 0 (server §6.1).
  const { search_method, reranking_enable, reranking_model, weights } = settings;
  const model = [kb.embedding_model, kb.embedding_model_provider];
  const scale = stringifyJson([search_method, model, reranking_enable, reranking_model, weights]);
  return { kb, scale, records };
}

/**
 * One list of what several knowledge bases have: the first result of each, then the second, and so on; pure. Of one
 * rank, the better score comes first, but only scores of one scale are compared: scales take turns.
 */
function mergeRecords(found: readonly Awaited<ReturnType<typeof searchOne>>[]): SearchRecord[] {
  const lists = [...groupBy(found, ({ scale }) => scale).values()].map((group) =>
    group
      .flatMap(({ kb, records }) =>
        records.map((record, at) => ({ kb: kb.name, kb_id: kb.id, rank: at + 1, ...record })),
      )
      .sort((a, b) => a.rank - b.rank || b.score - a.score),
  );
  return inTurns(lists);
}
