import { requireField } from "../../../api/response.ts";
import { isObject, withoutNulls } from "../../../lib/json.ts";
import { ignoring, usage } from "../../../errors.ts";
import {
  getKnowledgeBase,
  searchKnowledgeBase,
  listKnowledgeBases,
} from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { Input, InputOf } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { kbOpenParams, searchFlags } from "./command.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { isPath } from "../../../lib/text.ts";
import { openPage } from "../../task/open-page.ts";

/**
 * Searches with complete settings: the server rejects partial ones, and its default for a knowledge base
 * is a semantic search, which fails with economy indexing (server §8, §9.7). `known` was read before.
 */
export async function searchBase(
  input: InputOf<typeof searchKnowledgeBase> & Input<typeof searchFlags>,
  context: Context,
  known?: KnowledgeBase,
) {
  const { search_method, top_k, score_threshold, retrieval_model, ...request } = input;
  const { dataset_id } = input;
  const given = isObject(retrieval_model) ? retrieval_model : undefined;
  const kb = given ? known : (known ?? (await context.api.call(getKnowledgeBase, { dataset_id })));
  const stored = given ?? requireField(kb?.retrieval_model_dict, "retrieval_model_dict");
  const settings = changedSettings({ ...stored }, { search_method, top_k, score_threshold });
  const records = await context.api.call(searchKnowledgeBase, {
    ...request,
    retrieval_model: settings,
  });
  await noticeMethod(settings, records.length, kb?.indexing_technique, context);
  return { records, settings };
}

/** Search settings, changed by flags. */
export const changedSettings = (
  settings: Readonly<Record<string, unknown>>,
  { search_method, top_k, score_threshold }: Input<typeof searchFlags>,
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

/** The ID of the knowledge base of a name; undefined if there is none. Throws refused if several have it. */
export const findKb = (name: string, context: Context): Promise<string | undefined> =>
  context.resolveId("kb", `name:${name}`).catch(ignoring("not-found"));

/** A knowledge base by its ID, with its name or the text that was entered for it. */
export interface RequestedKb {
  readonly id: string;
  readonly name: string;
}

/** The knowledge bases that a line names, or with --all those of the list. Throws usage for neither and both. */
export async function* requestedKbs(
  { command, args = [] }: { readonly command: string; readonly args?: readonly string[] },
  input: {
    readonly dataset_id?: readonly string[] | undefined;
    readonly all?: boolean | undefined;
  },
  context: Context,
): AsyncGenerator<RequestedKb> {
  const { dataset_id = [], all = false } = input;
  if (dataset_id.length > 0 === all) {
    const every = commandLine(command, args, { all: true });
    const [dir] = all ? [] : args;
    const name = commandLine(command, isPath(dir) ? [...args, "KB"] : ["DIR", ...args]);
    const meant = isPath(dir)
      ? `one: ${name}, all: ${every}`
      : `if that is a knowledge base: ${name}`;
    const both = "use either named knowledge bases or --all, not both";
    throw usage(
      all ? both : "name knowledge bases, or pass --all",
      dir === undefined ? every : meant,
    );
  }
  if (all) yield* context.api.rows(listKnowledgeBases, { include_all: true });
  else for (const id of new Set(dataset_id)) yield { id, name: context.enteredName(id) };
}

/** `kb open`: the page of all knowledge bases, of one, or of a document. */
export async function* open(
  { dataset_id, document_id, print }: Input<typeof kbOpenParams>,
  context: Context,
): AsyncGenerator<string> {
  const inside = dataset_id === undefined ? [] : [dataset_id, "documents"];
  const document = document_id === undefined ? [] : [document_id];
  yield* openPage({ kind: "dataset", path: ["datasets", ...inside, ...document], print }, context);
}
