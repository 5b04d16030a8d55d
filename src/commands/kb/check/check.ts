import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { newCounter, requireComplete } from "../../../api/pages.ts";
import { CliError, isFatal } from "../../../errors.ts";
import { commandLine, shellQuote } from "../../../lib/command-line.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted, nameWord } from "../../../lib/text.ts";
import { listDocuments, getDocument } from "../../../operations/documents.ts";
import type { Document } from "../../../operations/documents.ts";
import type { Input, InputOf } from "../../../operations/operation.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { modelName } from "../../../lib/model-names.ts";
import type { Model } from "../../../lib/model-names.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { Context } from "../../task/command-spec.ts";
import { evaluateGate, failedGate, parseGate } from "../../conditions/index.ts";
import {
  brokenIndex,
  indexingStatusOf,
  isDone,
  readContents,
  isIndexed,
} from "../documents/index.ts";
import { requestedKbs } from "../knowledge/index.ts";
import { activeModels } from "../../models/index.ts";
import type { checkParams } from "./command.ts";
import {
  checkMetrics,
  contentFindings,
  findingOf,
  isInUse,
  listFindings,
  pathFindings,
  unindexed,
  problemScope,
  countProblems,
} from "./findings.ts";
import type { CheckedKb, Finding, KbCounts, Seen, Problem } from "./findings.ts";
import { listChunks } from "../../../operations/chunks.ts";

/** Age in ms from which an unfinished document is stuck, by default. */
const defaultStuckAge = 3_600_000;

type CheckInput = Input<typeof checkParams>;

/** Lists the problems of knowledge bases; of each document only name and hash are kept. Throws gate for --fail-if. */
export async function* run(input: CheckInput, context: Context): AsyncGenerator<Finding | string> {
  const isMetrics = context.options.format === "openmetrics";
  const counts: KbCounts[] = [];
  const gate = parseGate(input.fail_if ?? [], problemScope);
  const problems: Problem[] = [];
  let checked = 0;
  for await (const { id, name } of requestedKbs({ command: "kb check" }, input, context)) {
    checked++;
    const kb = { id, name, line: lineFor(context) };
    const found: Finding[] = [];
    const seen: Seen = { names: new Map(), contents: new Map(), paths: new Map() };
    const word = input.all ? nameWord(name) : name;
    try {
      // Which names are unique, only the last page tells.
      for await (const finding of checkKb(kb, input, seen, context)) found.push(finding);
    } catch (error) {
      if (!input.all && error instanceof CliError && error.kind === "not-found") throw error;
      found.push(unchecked(kb, messageOf(error), "kb show"));
      seen.names.clear();
    }
    for (const { problem } of found) problems.push(problem);
    if (!isMetrics) yield* found.map((each) => withNames(each, { id, word }, seen));
    counts.push({ id, name, problems: countProblems(found.map(({ problem }) => problem)) });
  }
  if (isMetrics) yield checkMetrics(counts);
  const figures = countProblems(problems);
  const others = figures.unchecked > 0 ? `; not checked: ${figures.unchecked}` : "";
  context.summary(
    `${counted(checked, "knowledge base")}: ${counted(figures.problems, "problem")}${others}`,
  );
  const failed = failedGate(evaluateGate(gate, problemScope, [{ subject: figures }]));
  if (failed) throw failed;
}

/** Makes command lines for the server of this line; rows are data, so nothing adds it to them later. */
function lineFor({ options: { flags } }: Context): CheckedKb["line"] {
  const server = { p: flags.profile, "base-url": flags.baseUrl };
  return (command, args, own) => commandLine(command, args, { ...own, ...server }).slice(1, -1);
}

/** The finding with names in its repair: the word of the knowledge base, and a name that only one document has. */
function withNames(
  finding: Finding,
  kb: { readonly id: string; readonly word: string },
  { names }: Seen,
): Finding {
  const { id, name } = finding;
  const repair = finding.repair.replaceAll(kb.id, () => shellQuote(kb.word));
  if (names.get(name) !== 1) return { ...finding, repair };
  return { ...finding, repair: repair.replaceAll(id, () => shellQuote(nameWord(name))) };
}

async function* checkKb(given: CheckedKb, input: CheckInput, seen: Seen, context: Context) {
  const { kb, findings, skips } = await kbFindings(given, context);
  yield* findings;
  if (skips) return;
  const limits = {
    stuckAfter: input.stuck_after ?? defaultStuckAge,
    now: context.host.now().getTime(),
  };
  const counter = newCounter();
  const pages = context.api.pages(listDocuments, { dataset_id: kb.id }, { counter });
  for await (const page of pages) {
    const { shown: done, total } = counter;
    context.progress({ verb: "Checking", done, total, unit: "documents" });
    for (const document of page) {
      seen.names.set(document.name, (seen.names.get(document.name) ?? 0) + 1);
      yield* listFindings(kb, document, limits);
      yield* pathFindings(kb, document, seen);
    }
    if (!input.no_chunks) yield* checkChunks(kb, page, context);
    if (!input.no_content) yield* checkContents(kb, page, seen, context);
  }
  requireComplete(counter);
  if (input.no_chunks) yield unchecked(kb, "chunks (--no-chunks)");
  if (input.no_content) yield unchecked(kb, "duplicates and sync marks (--no-content)");
}

/** What of a knowledge base was not checked, and why. */
const unchecked = (kb: CheckedKb, what: string, command = "kb check"): Finding =>
  findingOf("not checked", kb, kb, { note: what, repair: kb.line(command, [kb.id]) });

/** Why something is not checked. Throws what every further request would fail with, too. */
function messageOf(error: unknown): string {
  // Servers before 1.13.1 return no contents (server §19); the rest is checked.
  const ends = error instanceof CliError && error.kind !== "unsupported" && isFatal(error);
  if (!(error instanceof CliError) || ends) throw error;
  return error.message;
}

/** Asks indexed documents for chunks that are not, or for any: chunks of others are being made. */
async function* checkChunks(kb: CheckedKb, documents: readonly Document[], context: Context) {
  const isCompleted = (each: Document) => indexingStatusOf(each).indexing_status === "completed";
  const check = async (document: Document): Promise<Finding[]> => {
    let count: number;
    try {
      const of = { dataset_id: kb.id, document_id: document.id, status: unindexed };
      count = await countChunks(of, context);
      if (count === 0 && (await recounted(kb.id, document, context)) !== document) {
        const repair = kb.line("kb heal", [kb.id]);
        return [findingOf("no chunks", kb, document, { note: "its chunks are gone", repair })];
      }
    } catch (error) {
      return [findingOf("not checked", kb, document, { note: messageOf(error) })];
    }
    if (count === 0) return [];
    const note = `no search finds ${counted(count, "chunk")}`;
    const repair = isInUse(document) ? { repair: kb.line("kb heal", [kb.id]) } : {};
    return [findingOf("unindexed chunks", kb, document, { note, ...repair })];
  };
  const limit = context.api.limitConcurrency();
  for await (const found of mapConcurrent(documents.filter(isCompleted), limit, check))
    yield* found;
}

/** Compares the contents of documents with those before and with the marks of a sync. */
async function* checkContents(
  kb: CheckedKb,
  page: readonly Document[],
  seen: Seen,
  context: Context,
): AsyncGenerator<Finding> {
  const stored = page.filter((each) => isDone(indexingStatusOf(each)));
  try {
    for await (const { document, bytes, lost } of readContents(kb.id, stored, context)) {
      if (bytes) yield* contentFindings(kb, document, sha256(bytes), seen);
      else if (lost)
        yield findingOf("lost file", kb, document, {
          note: "its file does not arrive, though the server answers; its chunks are there",
          // A new file repairs it: the server has no content to index again.
          repair: `${kb.line("kb doc replace", [kb.id, document.id])} <file>`,
        });
      else yield findingOf("not checked", kb, document, { note: "the server has no file of it" });
    }
  } catch (error) {
    yield unchecked(kb, `contents: ${messageOf(error)}`);
  }
}

/** What the settings of a knowledge base and a search say about it; `skips` if its documents cannot be read. */
async function kbFindings(given: CheckedKb, context: Context) {
  const base = await context.api.call(getKnowledgeBase, { dataset_id: given.id });
  const kb = { ...given, name: base.name };
  if (base.provider === "external") {
    const note = "its documents are in an external system";
    return { kb, findings: [kbFinding("not checked", kb, { note })], skips: true };
  }
  const attempt = async (what: string, found: Promise<readonly Finding[]>) =>
    found.catch((error: unknown) => {
      if (!(error instanceof CliError) || isFatal(error)) throw error;
      return [kbFinding("not checked", kb, { note: `${what}: ${error.message}` })];
    });
  const models = await attempt("models", modelFindings(kb, base, context));
  const isSearched =
    base.indexing_technique === "economy" ||
    (base.indexing_technique === "high_quality" &&
      models.every(({ problem }) => problem !== "model"));
  const searches = isSearched ? await attempt("search", searchFindings(kb, context)) : [];
  return { kb, findings: [...models, ...searches], skips: false };
}

const kbFinding = (problem: Problem, kb: CheckedKb, given: Partial<Finding>): Finding =>
  findingOf(problem, kb, kb, { repair: kb.line("kb show", [kb.id]), ...given });

/** The models of a knowledge base that the workspace does not have active. */
async function modelFindings(kb: CheckedKb, base: KnowledgeBase, context: Context) {
  const { embedding_model: model, embedding_model_provider: provider } = base;
  const findings: Finding[] = [];
  if (base.indexing_technique === "high_quality" && model) {
    const active = await activeModels("text-embedding", context);
    const [first] = active;
    const repair = first
      ? kb.line("kb update", [kb.id], { "embedding-model": modelName(first) })
      : kb.line("kb model list", ["text-embedding"]);
    const note = `embedding model ${modelName({ provider: provider ?? "", model })} is not active`;
    if (!has(active, provider, model)) findings.push(kbFinding("model", kb, { note, repair }));
  }
  const rerank = valueAt(base.retrieval_model_dict, "reranking_model");
  const isReranked = valueAt(base.retrieval_model_dict, "reranking_enable") === true;
  const name = isObject(rerank) ? rerank["reranking_model_name"] : undefined;
  if (isReranked && typeof name === "string" && name !== "") {
    const of = valueAt(rerank, "reranking_provider_name");
    if (!has(await activeModels("rerank", context), of, name))
      findings.push(kbFinding("model", kb, { note: `rerank model ${name} is not active` }));
  }
  return findings;
}

/** Is a model active? A provider may be stored in its short form (server §8). */
const has = (active: readonly Model[], provider: unknown, model: string): boolean =>
  active.some(
    (each) =>
      each.model === model &&
      (typeof provider !== "string" ||
        each.provider === provider ||
        each.provider.endsWith(`/${provider}`)),
  );

async function searchFindings(kb: CheckedKb, context: Context): Promise<readonly Finding[]> {
  const problem = await brokenIndex(kb.id, context);
  if (problem === undefined) return [];
  const repair = kb.line("kb update", [kb.id], { rewrite: true });
  return [kbFinding("search", kb, { note: `searches fail: ${problem}`, repair })];
}

/** How many chunks a document has, or how many of some statuses. */
async function countChunks(of: InputOf<typeof listChunks>, { api }: Context): Promise<number> {
  const counter = newCounter();
  for await (const _ of api.rows(listChunks, of, { limit: 1, counter }));
  return Math.max(counter.total ?? 0, counter.shown);
}

/** The document as its chunks show it. One that is written again has none meanwhile, so its status is read again. */
export async function recounted(
  dataset_id: string,
  document: Document,
  context: Context,
): Promise<Document> {
  if (!isIndexed(indexingStatusOf(document)) || !isInUse(document)) return document;
  const of = { dataset_id, document_id: document.id };
  if (document.word_count === 0 || (await countChunks(of, context)) > 0) return document;
  const now = await context.api.call(getDocument, { ...of, metadata: "without" });
  const isEmpty = now.indexing_status === "completed" && !now.segment_count;
  return isEmpty ? { ...document, word_count: 0 } : document;
}
