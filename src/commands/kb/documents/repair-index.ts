/** Finds out whether a changed index works, and mends the one that a server indexed with earlier settings. */
import { ApiError, CliError } from "../../../errors.ts";
import { delays, poll } from "../../../lib/backoff.ts";
import { collect } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { counted, decodeText } from "../../../lib/text.ts";
import { listChunks } from "../../../operations/chunks.ts";
import { getDocument, listDocuments, updateDocumentByText } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import {
  getKnowledgeBase,
  searchKnowledgeBase,
  updateKnowledgeBase,
} from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { readContents, replaceFile } from "./contents.ts";
import { documentStatuses, isIndexed, waitForIndexing } from "./indexing-status.ts";
import { confirmLosses, readLosses } from "./losses.ts";
import { sendableRule } from "./state.ts";
import type { InputOf } from "../../../operations/operation.ts";
import { activeModels, weightedWith, withoutModel } from "../../models/index.ts";

type SettingChanges = InputOf<typeof updateKnowledgeBase>;

/**
 * Changes settings of a knowledge base. A model was looked up before, and is always sent with its
 * technique: alone, it is stored but nothing is indexed again, so every search fails (server §8). If
 * documents are or were to be indexed again, or with `rewrite`, waits for all of them and checks the index with a search;
 * where that fails, writes the documents again with `rewrite` or if confirmed. Throws usage for
 * high_quality without a model before anything is sent, and remote-failed for a broken index.
 */
export async function changeSettings(
  { rewrite = false, ...input }: SettingChanges,
  context: Context,
): Promise<KnowledgeBase> {
  const { dataset_id } = input;
  const before = await context.api.call(getKnowledgeBase, { dataset_id });
  const changes = await withModelAndTechnique(input, before, context);
  const sends = Object.values(changes).some((value) => value !== undefined && value !== dataset_id);
  const updated = sends ? await context.api.call(updateKnowledgeBase, changes) : before;
  if (updated.indexing_technique !== "high_quality" && !rewrite) return updated;
  // A change that is stored already does nothing, also to an index that the first one broke (server §8).
  const isBroken = async () =>
    changes.indexing_technique !== undefined &&
    (await brokenIndex(dataset_id, context)) !== undefined;
  if (!reindexes(changes, before) && !rewrite && !(await isBroken())) return updated;
  await repairIndex(before, rewrite, context);
  return context.api.call(getKnowledgeBase, { dataset_id });
}

/** The changes to send: a model with its technique, high_quality with the current model. */
async function withModelAndTechnique(
  input: SettingChanges,
  before: KnowledgeBase,
  context: Context,
): Promise<SettingChanges> {
  if (input.embedding_model !== undefined) {
    const model = {
      provider: input.embedding_model_provider ?? before.embedding_model_provider ?? "",
      model: input.embedding_model,
    };
    const retrieval_model = weightedWith(model, before.retrieval_model_dict);
    return {
      ...(retrieval_model && { retrieval_model }),
      ...input,
      indexing_technique: "high_quality" as const,
    };
  }
  if (input.indexing_technique !== "high_quality") return input;
  if (!before.embedding_model)
    throw withoutModel("--embedding-model", await activeModels("text-embedding", context));
  // Without the current model, the server fails to change the technique (server §8).
  if (before.indexing_technique === "high_quality") return input;
  const { embedding_model, embedding_model_provider: provider } = before;
  return { ...input, embedding_model, ...(provider && { embedding_model_provider: provider }) };
}

const reindexes = (changes: SettingChanges, before: KnowledgeBase): boolean =>
  changes.indexing_technique === "high_quality" &&
  (before.indexing_technique !== "high_quality" ||
    before.embedding_model !== changes.embedding_model ||
    before.embedding_model_provider !== changes.embedding_model_provider);

type Kb = Pick<KnowledgeBase, "id" | "name">;

/** A knowledge base whose documents get this chunking rule when they are written again; without it, they keep theirs. */
type RewrittenKb = Kb & { readonly process_rule?: unknown };

/** Searches until a changed index must work. */
const maxPolls = 15;

const isSearched = ({ enabled, archived }: Document): boolean => enabled === true && !archived;

/**
 * Waits until the documents of a knowledge base are indexed and a search succeeds. If it does not, the
 * server indexed with the settings from before a change (server §8): writes each document again, with its
 * own content, if `rewrite` is set or confirmed, and changes of chunks by hand that are lost are confirmed.
 * Throws remote-failed for an index that stays broken.
 */
export async function repairIndex(kb: Kb, rewrite: boolean, context: Context): Promise<void> {
  const problem = await indexProblem(kb, context);
  if (problem === undefined) return;
  const command = commandLine("kb update", [kb.id], { rewrite: true });
  const why = `searches fail: ${problem}; the server probably indexed with the earlier settings`;
  const next = `write each document again: ${command}`;
  if (!rewrite) {
    if (!context.options.input) throw failure(kb, why, {}, `the settings are stored; ${next}`);
    await context.promptLine(`${why}\n`);
  }
  const declined = `the settings are stored, and searches fail; ${next}`;
  const { documents, losses } = await confirmedDocuments(kb, declined, context);
  if (!rewrite && losses.length === 0)
    await context.confirm("Write each document again?", { declined });
  if (/dimension/i.test(problem)) await removeVectors(kb, context);
  const left = await rewriteDocuments(kb, documents, next, context);
  const still = await indexProblem(kb, context);
  if (still !== undefined) throw failure(kb, `searches still fail: ${still}`, { left });
  if (left.length === 0) return;
  await context.notice(
    `${counted(left.length, "document")} without a file on the server could not be written again: ${left.join(", ")}`,
  );
}

/** All documents that searches find, after changes of chunks by hand that a rewrite loses are confirmed. */
async function confirmedDocuments(kb: Kb, declined: string, context: Context) {
  const all = await collect(context.api.rows(listDocuments, { dataset_id: kb.id }));
  const documents = all.filter(isSearched);
  const read = await readLosses(kb.id, documents, context);
  const losses = documents.flatMap(({ id, name }) => {
    const found = read.get(id);
    if (found instanceof CliError)
      throw new CliError("partial", `no document was written again: ${name}: ${found.message}`);
    return (found?.lost ?? []).map((loss) => `${name}: ${loss}`);
  });
  const question = (lost: string) => `Write each document again and lose ${lost}?`;
  await confirmLosses(losses, { question, declined }, context);
  return { documents, losses };
}

/**
 * Writes each document again, so that it is split by a rule, and waits for the index. Returns the names of documents
 * without a file, which keep their chunks. Throws remote-failed for documents that are not indexed.
 */
export async function splitAgain(
  kb: Required<RewrittenKb>,
  next: string,
  context: Context,
): Promise<readonly string[]> {
  const { documents } = await confirmedDocuments(kb, "no document was split again", context);
  const left = await rewriteDocuments(kb, documents, next, context);
  await indexProblem(kb, context);
  return left;
}

function failure({ id, name }: Kb, why: string, details: object, hint?: string): CliError {
  const message = `failed to index knowledge base ${JSON.stringify(name)}: ${why}`;
  const list = `see its documents: ${commandLine("kb doc list", [id])}`;
  const result = { isResult: true, sideEffect: "applied", details } as const;
  return new CliError("remote-failed", message, { ...result, hint: hint ?? list });
}

/** Why searches fail once all documents are indexed; undefined if they succeed. Throws for failed documents. */
async function indexProblem(kb: Kb, context: Context): Promise<string | undefined> {
  let problem: string | undefined;
  const check = async () => {
    const { count, failed } = await waitForAll(kb.id, context);
    const [first] = failed;
    if (first) {
      const why = `${failed.length} of ${count} documents failed: ${first.name}: ${first.error ?? first.indexing_status}`;
      throw failure(kb, why, { failed });
    }
    // Searches of an empty index fail (server §8).
    problem = count === 0 ? undefined : await searchProblem(kb.id, context);
    return problem === undefined ? true : undefined;
  };
  await poll(check, { every: delays.search, giveUpAfter: maxPolls, pause: context.pause });
  return problem;
}

async function waitForAll(dataset_id: string, context: Context) {
  const statuses = () => documentStatuses(dataset_id, isSearched, context);
  const all = await collect(waitForIndexing(statuses, context));
  return { count: all.length, failed: all.filter((status) => !isIndexed(status)) };
}

/** Why searches of a knowledge base fail now; undefined if they succeed, or nothing is indexed. */
export async function brokenIndex(
  dataset_id: string,
  context: Context,
): Promise<string | undefined> {
  const available = { dataset_id, status: "available", limit: 1 } as const;
  const [first] = await context.api.call(listDocuments, available);
  return first === undefined ? undefined : searchProblem(dataset_id, context);
}

const oneHit = { top_k: 1, reranking_enable: false, score_threshold_enabled: false };

/** Why a search by the technique of a knowledge base fails; undefined if it succeeds. */
async function searchProblem(dataset_id: string, context: Context): Promise<string | undefined> {
  const { indexing_technique } = await context.api.call(getKnowledgeBase, { dataset_id });
  if (indexing_technique === "economy") return keywordProblem(dataset_id, context);
  try {
    const retrieval_model = { search_method: "semantic_search", ...oneHit } as const;
    await context.api.call(searchKnowledgeBase, { dataset_id, query: "test", retrieval_model });
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.kind !== "refused") throw error;
    return error.message;
  }
}

/** Documents whose keywords are searched for: those set by hand may be words that no search looks up (server §6.1). */
const MAX_PROBES = 5;

/** Names keywords of chunks that no search finds: a lost economy index is an empty one (server §6.1). */
async function keywordProblem(dataset_id: string, { api }: Context): Promise<string | undefined> {
  let sought: string | undefined;
  const available = { dataset_id, status: "available" } as const;
  for await (const { id } of api.rows(listDocuments, available, { limit: MAX_PROBES })) {
    const of = { dataset_id, document_id: id, status: ["completed"] } as const;
    const chunks = await collect(api.rows(listChunks, of, { limit: 20 }));
    const keywords = chunks.find((each) => each.enabled && each.keywords?.length)?.keywords ?? [];
    // At most 249 characters, which a query can have.
    const query = keywords
      .filter(({ length }) => length <= 24)
      .slice(0, 10)
      .join(" ");
    if (query === "") continue;
    const retrieval_model = { search_method: "keyword_search", ...oneHit } as const;
    const found = await api.call(searchKnowledgeBase, { dataset_id, query, retrieval_model });
    if (found.length > 0) return undefined;
    sought ??= query;
  }
  return sought && `they find nothing, not even keywords of chunks: ${sought}`;
}

/** Removes the vectors of an earlier model, which reject others of another length: economy indexing has none (server §8). */
async function removeVectors({ id: dataset_id }: Kb, context: Context): Promise<void> {
  const { api } = context;
  const { embedding_model, embedding_model_provider } = await api.call(getKnowledgeBase, {
    dataset_id,
  });
  if (!embedding_model || !embedding_model_provider) return;
  const indexing_technique = "high_quality";
  const changes = [
    { indexing_technique: "economy" },
    { indexing_technique, embedding_model, embedding_model_provider },
  ] as const;
  try {
    for (const change of changes) {
      await api.call(updateKnowledgeBase, { dataset_id, ...change });
      await waitForAll(dataset_id, context);
    }
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const again = commandLine("kb update", [dataset_id], {
      "indexing-technique": indexing_technique,
      "embedding-model": embedding_model,
      "embedding-model-provider": embedding_model_provider,
      rewrite: true,
    });
    throw error.with({ hint: `it may have economy indexing now; to continue: ${again}` });
  }
}

/** Writes each document again, with the bytes that the server has; returns the names of those without a file. */
async function rewriteDocuments(
  kb: RewrittenKb,
  documents: readonly Document[],
  next: string,
  context: Context,
): Promise<readonly string[]> {
  const { id, name } = kb;
  const left: string[] = [];
  const total = documents.length;
  let done = 0;
  const count = () => context.progress({ verb: "Writing", done, total, unit: "documents" });
  count();
  try {
    for await (const { document, bytes } of readContents(id, documents, context)) {
      if (bytes) await rewriteDocument(kb, document, bytes, context);
      else left.push(document.name);
      done++;
      count();
    }
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const hint = `${done} of ${total} documents of ${JSON.stringify(name)} are written again; to continue, ${next}`;
    throw error.with({ hint });
  }
  return left;
}

/** Updates a document with its own content: texts as text, since their names need no extension. */
async function rewriteDocument(
  { id: dataset_id, process_rule }: RewrittenKb,
  { id: document_id, name, data_source_detail_dict: source }: Document,
  bytes: Uint8Array,
  context: Context,
): Promise<void> {
  const of = { dataset_id, document_id };
  const before = await context.api.call(getDocument, { ...of, metadata: "without" });
  const input = {
    ...of,
    doc_form: (before.doc_form ?? undefined) as "text_model" | undefined,
    doc_language: before.doc_language ?? undefined,
    process_rule: process_rule ?? sendableRule(before.document_process_rule),
  };
  const { extension } = source?.upload_file ?? {};
  const text = extension === "txt" ? decodeText(bytes) : undefined;
  if (text) {
    await context.api.call(updateDocumentByText, { ...input, name, text });
    return;
  }
  const suffix = extension === undefined || name.endsWith(`.${extension}`) ? "" : `.${extension}`;
  const file = { path: name, name: `${name}${suffix}`, bytes };
  await replaceFile({ ...input, file }, context);
}
