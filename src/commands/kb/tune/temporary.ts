import { join } from "node:path";
import { CliError, refused } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import type { Journal } from "../../../lib/journal.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { deleteKnowledgeBase, getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { ProcessRule } from "../../../splitting/rule.ts";
import type { Context } from "../../task/command-spec.ts";
import { createKb, planSettings } from "../changes/index.ts";
import { sendableRule } from "../documents/index.ts";
import { findKb } from "../knowledge/index.ts";
import { embeddingModel } from "../models/index.ts";
import { exportBundle, importBundle, readManifest } from "../snapshot/index.ts";

/** A temporary knowledge base in the journal: its name before it is created, then its ID, then that it is filled. */
interface NotedBase {
  readonly base: string;
  readonly id: string | undefined;
  readonly filled: boolean;
}

/** The temporary knowledge bases of a journal, by name, as far as they were not removed. */
function notedBases({ entries }: Journal): ReadonlyMap<string, NotedBase> {
  const bases = new Map<string, NotedBase>();
  for (const { base, id, filled, removed } of entries) {
    if (typeof removed === "string") bases.delete(removed);
    if (typeof base !== "string") continue;
    bases.set(base, { base, id: typeof id === "string" ? id : undefined, filled: filled === true });
  }
  return bases;
}

/**
 * The ID of a noted base if it still is the one that a tuning made: by ID and name, or if the response to its
 * creation was lost, the empty one of its name, which has the form of a tuning's.
 */
async function idOf({ base, id }: NotedBase, context: Context): Promise<string | undefined> {
  const found = await findKb(base, context);
  if (found === undefined || id !== undefined) return found === id ? found : undefined;
  const { document_count } = await context.api.call(getKnowledgeBase, { dataset_id: found });
  return document_count === 0 ? found : undefined;
}

/** Removes all temporary knowledge bases that a journal names; returns their number. */
export async function removeBases(journal: Journal, context: Context): Promise<number> {
  let removed = 0;
  for (const noted of notedBases(journal).values()) {
    const dataset_id = await idOf(noted, context);
    if (dataset_id === undefined) continue;
    await context.api.call(deleteKnowledgeBase, { dataset_id });
    await journal.append([{ removed: noted.base }]);
    removed++;
  }
  return removed;
}

/**
 * Where interrupted tunings of a knowledge base are found, whatever they tried, and the directory of the documents
 * that temporary knowledge bases are filled with.
 */
export async function tunePaths(dataset_id: string, { api, host }: Context) {
  const key = sha256([await api.baseUrl(), dataset_id].join("\n")).slice(0, 32);
  const { state, cache } = host.directories;
  return { journal: join(state, `tune-${key}.jsonl`), bundle: join(cache, "tunes", key) };
}

/**
 * The ID of a copy of a knowledge base whose documents are split by a rule. One that an interrupted command
 * created is completed: what it has is not indexed again.
 */
export async function temporaryBase(
  dataset_id: string,
  rule: ProcessRule,
  journal: Journal,
  context: Context,
): Promise<string> {
  const key = sha256(JSON.stringify([await context.api.baseUrl(), dataset_id, rule])).slice(0, 20);
  const known = [...notedBases(journal).values()].find(({ base }) => base.includes(key));
  const existing = known && (await idOf(known, context));
  if (existing !== undefined && known?.filled) return existing;
  const { bundle: directory } = await tunePaths(dataset_id, context);
  const quiet = { ...context, notice: () => Promise.resolve(), summary: () => {} };
  await context.host.files.makeDirectory(join(directory, ".."), 0o700);
  for await (const _row of exportBundle({ dataset_id, directory, no_chunks: true }, quiet)) {
    // progress is shown
  }
  const exported = await readManifest(directory, context.host.files);
  if (!exported) throw refused(`${directory} was removed meanwhile`, "run the same command again");
  const { state } = exported;
  const form = rule.mode === "hierarchical" ? "hierarchical_model" : "text_model";
  const doc_form = state.settings.doc_form === "qa_model" ? "qa_model" : form;
  const documents = state.documents.map((document) => ({ ...document, rule: "tune" }));
  const manifest = {
    ...exported,
    state: { ...state, settings: { ...state.settings, doc_form }, documents },
    rules: { tune: sendableRule(rule) },
  };
  // No other machine has this name, so that an empty knowledge base of it is ours.
  const nonce = Math.floor(context.host.random() * 2 ** 40).toString(36);
  const base = known?.base ?? `tune ${key} ${nonce}`;
  let id = existing;
  if (id === undefined) {
    const { indexing_technique, embedding_model, retrieval_model } = state.settings;
    const isEmbedded = indexing_technique === "high_quality" && embedding_model !== null;
    const model = isEmbedded ? await embeddingModel(embedding_model, context) : undefined;
    const settings = {
      permission: "only_me",
      ...(indexing_technique !== null && { indexing_technique }),
      ...(model && { embedding_model }),
      ...(isObject(retrieval_model) && { retrieval_model }),
    };
    const desired = { name: base, settings };
    await journal.append([{ base }]);
    const plan = { desired, current: undefined, changes: planSettings(desired, undefined), model };
    id = await createKb(plan, context);
    await journal.append([{ base, id }]);
  }
  let why: string | null = null;
  try {
    for await (const { action, note } of importBundle({ directory, into: id, manifest }, quiet))
      if (action === "failed") why ??= note;
  } catch (error) {
    throw error instanceof CliError && why !== null
      ? error.with({}, `${error.message}: ${why}`)
      : error;
  }
  await journal.append([{ base, id, filled: true }]);
  return id;
}
