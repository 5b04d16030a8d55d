import { join } from "node:path";
import { CliError, refused } from "../../../errors.ts";
import type { Journal } from "../../../lib/journal.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { deleteKnowledgeBase } from "../../../operations/knowledge.ts";
import type { ProcessRule } from "../../../splitting/rule.ts";
import type { Context } from "../../task/command-spec.ts";
import { sendableRule } from "../../kb/documents/index.ts";
import { byName, resolveExpected } from "../eval/index.ts";
import type { RatingRules } from "../eval/index.ts";
import { findKb } from "../../kb/knowledge/index.ts";
import {
  exportBundle,
  importBundle,
  importNotePath,
  readManifest,
} from "../../kb/snapshot/index.ts";
import type { Arm } from "./arms.ts";
import type { TuneInput, TunePlan } from "./plan.ts";
import { stringifyJson } from "../../../lib/json.ts";

/**
 * The temporary knowledge bases of a journal, by name, as far as they were not removed: a name is there before the
 * base is created, and its ID once it is filled.
 */
function notedBases({ entries }: Journal): ReadonlyMap<string, string | undefined> {
  const bases = new Map<string, string | undefined>();
  for (const { base, id, removed } of entries) {
    if (typeof removed === "string") bases.delete(removed);
    if (typeof base === "string") bases.set(base, typeof id === "string" ? id : undefined);
  }
  return bases;
}

/** The ID of a noted base if it still is the one that a tuning made: by its name, and its ID once that is noted. */
async function idOf(base: string, id: string | undefined, context: Context) {
  const found = await findKb(base, context);
  return id === undefined || found === id ? found : undefined;
}

/** Removes the temporary knowledge bases of a journal and the notes of interrupted imports; returns their number. */
export async function removeBases(of: string, journal: Journal, context: Context): Promise<number> {
  let removed = 0;
  for (const [base, id] of notedBases(journal)) {
    const dataset_id = await idOf(base, id, context);
    await context.host.files.remove(await importNotePath(base, of, context));
    if (dataset_id === undefined) continue;
    await context.api.call(deleteKnowledgeBase, { dataset_id });
    await journal.append([{ removed: base }]);
    removed++;
  }
  return removed;
}

/** The journal of all tunings of a knowledge base, and the directory that temporary ones are filled from. */
export async function tunePaths(dataset_id: string, { api, host }: Context) {
  const key = sha256([await api.baseUrl(), dataset_id].join("\n")).slice(0, 32);
  const { state, cache } = host.directories;
  return { journal: join(state, `tune-${key}.jsonl`), bundle: join(cache, "tunes", key) };
}

/** The ID of a copy whose documents are split by a rule. One that was interrupted is completed, not made again. */
async function temporaryBase(
  dataset_id: string,
  rule: ProcessRule,
  journal: Journal,
  context: Context,
): Promise<string> {
  const key = sha256(stringifyJson([await context.api.baseUrl(), dataset_id, rule])).slice(0, 20);
  const [known, noted] = [...notedBases(journal)].find(([name]) => name.includes(key)) ?? [];
  const filled = known && noted && (await idOf(known, noted, context));
  if (filled !== undefined) return filled;
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
  const settings = {
    ...state.settings,
    doc_form,
    permission: "only_me",
    summary_index_setting: null, // summaries cost more than an index
  };
  const manifest = {
    ...exported,
    state: { ...state, settings, documents, tags: [] },
    rules: { tune: sendableRule(rule) },
  };
  // No other machine has this name.
  const nonce = Math.floor(context.host.random() * 2 ** 40).toString(36);
  const base = known ?? `tune ${key} ${nonce}`;
  if (known === undefined) await journal.append([{ base }]);
  let id: string | undefined;
  const noteFilled = async () => {
    id = await findKb(base, context);
    if (id !== undefined) await journal.append([{ base, id, filled: true }]);
  };
  let why: string | null = null;
  try {
    const copy = importBundle({ directory, name: base, manifest }, quiet, noteFilled);
    for await (const { action, note } of copy) if (action === "failed") why ??= note;
  } catch (error) {
    throw error instanceof CliError && why !== null
      ? error.with({}, `${error.message}: ${why}`)
      : error;
  }
  if (id !== undefined) return id;
  throw refused(`${base} was removed meanwhile`, "run the same command again");
}

/** The knowledge base in which an arm is searched. */
interface SearchedBase {
  readonly dataset_id: string;
  readonly expected: RatingRules["expected"];
}

/** Gives the knowledge base of an arm, which is made when it is first needed: one after the other. */
export function searchedBases(
  input: TuneInput,
  { file, questions }: TunePlan,
  { journal, requireTime }: { readonly journal: Journal; readonly requireTime: () => void },
  context: Context,
): (arm: Arm) => Promise<SearchedBase> {
  const { dataset_id, document_field: field, allow_missing = false } = input;
  const place = { dataset_id, file, allowMissing: allow_missing, field };
  let resolved: ReturnType<typeof resolveExpected> | undefined;
  let last = Promise.resolve("");
  const open = async ({ rule }: Arm): Promise<SearchedBase> => {
    const expected = await (resolved ??= resolveExpected([...questions.values()], place, context));
    if (!rule) return { dataset_id, expected };
    // They are filled from one directory.
    last = last.then(() => {
      requireTime();
      return temporaryBase(dataset_id, rule, journal, context);
    });
    return { dataset_id: await last, expected: byName(expected) };
  };
  const bases = new Map<string, Promise<SearchedBase>>();
  return (arm) => {
    const key = stringifyJson(arm.rule ?? null);
    const base = bases.get(key) ?? open(arm);
    bases.set(key, base);
    return base;
  };
}
