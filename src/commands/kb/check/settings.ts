import { CliError, isFatal } from "../../../errors.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { modelName } from "../../../lib/model-names.ts";
import type { Model } from "../../../lib/model-names.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import { activeModels, brokenIndex } from "../models/index.ts";
import type { Context } from "../../task/command-spec.ts";
import { findingOf } from "./findings.ts";
import type { CheckedKb, Finding } from "./findings.ts";
import type { Problem } from "./figures.ts";

interface KbFindings {
  readonly kb: CheckedKb;
  readonly findings: readonly Finding[];
  /** Its documents are not read. */
  readonly skips: boolean;
}

/** What the settings of a knowledge base and a search say about it. */
export async function kbFindings(given: CheckedKb, context: Context): Promise<KbFindings> {
  const base = await context.api.call(getKnowledgeBase, { dataset_id: given.id });
  const kb = { ...given, name: base.name };
  if (base.provider === "external") {
    const note = "its documents are in an external system";
    return { kb, findings: [kbFinding("not checked", kb, { note })], skips: true };
  }
  const attempt = async (what: string, find: typeof modelFindings): Promise<readonly Finding[]> =>
    find(kb, base, context).catch((error: unknown) => {
      if (!(error instanceof CliError) || isFatal(error)) throw error;
      return [kbFinding("not checked", kb, { note: `${what}: ${error.message}` })];
    });
  const models = await attempt("models", modelFindings);
  const isSearched =
    base.indexing_technique === "high_quality" &&
    models.every(({ problem }) => problem !== "model");
  const searches = isSearched ? await attempt("search", searchFindings) : [];
  return { kb, findings: [...models, ...searches], skips: false };
}

const kbFinding = (problem: Problem, kb: CheckedKb, given: Partial<Finding>): Finding =>
  findingOf(problem, kb, kb, { repair: kb.line("kb show", [kb.id]), ...given });

/** The models of a knowledge base that the workspace does not have active. */
async function modelFindings(
  kb: CheckedKb,
  base: KnowledgeBase,
  context: Context,
): Promise<readonly Finding[]> {
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

async function searchFindings(
  kb: CheckedKb,
  _base: KnowledgeBase,
  context: Context,
): Promise<readonly Finding[]> {
  const problem = await brokenIndex(kb.id, context);
  if (problem === undefined) return [];
  const repair = kb.line("kb update", [kb.id], { rewrite: true });
  return [kbFinding("search", kb, { note: `searches fail: ${problem}`, repair })];
}
