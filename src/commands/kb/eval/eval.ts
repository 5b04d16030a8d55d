import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { requireField } from "../../../api/response.ts";
import { CliError, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { bytesOf } from "../../../lib/collect.ts";
import { isObject, valueAt } from "../../../lib/json.ts";
import { junitText } from "../../../lib/formats/junit.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { FileInput, Input } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import { prepareOutputs, writeOutput } from "../../task/files.ts";
import { waitOnRateLimit } from "../documents/index.ts";
import { rerankModel } from "../models/index.ts";
import { changedSettings } from "../knowledge/index.ts";
import { compareWithBaseline, readBaseline } from "./baseline.ts";
import { resolveExpected } from "./expected-documents.ts";
import { evaluateGate, failedGate, parseGate } from "../../conditions/index.ts";
import { metricScope } from "./scope.ts";
import { parseMatrix, variantsOf } from "./matrix.ts";
import type { MatrixAxis, EvalSettings, SearchVariant } from "./matrix.ts";
import { averageMetrics } from "./metrics.ts";
import { parseQuestions } from "./questions.ts";
import type { Question } from "./questions.ts";
import { evaluationReport, junitCases } from "./report.ts";
import { evaluateQuestion } from "./search.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import type { EvalSearch, QuestionResult, VariantResult } from "./search.ts";
import type { Context } from "../../task/command-spec.ts";
import type { evalParams } from "./command.ts";

type EvalInput = Input<typeof evalParams>;

const defaultCutoffs = [1, 3, 5, 10];
/** Settings that have a flag of their own. */
const settingFlags = ["search_method", "top_k", "score_threshold"] as const;

/** Flags that name a file to write. */
const fileFlags = ["save", "junit"] as const;

/**
 * Searches for the questions of a file with each variant of the settings and measures the results.
 * Throws gate if a condition of --fail-if holds, and partial if searches failed.
 */
export async function* run(input: EvalInput, context: Context): AsyncGenerator<Report> {
  const { dataset_id } = input;
  const file = input.questions.name;
  const { questions, unused } = await readQuestions(input, context);
  if (unused.length > 0) await context.notice(`${file}: ignored columns: ${unused.join(", ")}`);
  const baseline = await baselineOf(input, context.host);
  const flags = settingFlags.filter((name) => input[name] !== undefined);
  const axes = parseMatrix(input.matrix ?? [], flags);
  await prepareOutputs({ save: input.save, junit: input.junit }, context.host);

  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  const variants = await searchVariants(input, kb, axes, context);
  const ks = parseCutoffs(input, variants);
  const scope = metricScope(ks, baseline !== undefined);
  const conditions = parseGate(input.fail_if ?? [], scope);
  const allowMissing = input.allow_missing === true;
  const expected = await resolveExpected(questions, { dataset_id, file, allowMissing }, context);

  const search = { dataset_id, questions, expected, ks };
  const results = await evaluateVariants(variants, search, input, context);

  const compared = results.map(
    (result) => baseline && compareWithBaseline(result, baseline, results.length === 1),
  );
  const conditionResults = evaluateGate(
    conditions,
    scope,
    results.map((result, index) => ({
      subject: { result, comparison: compared[index] },
      label: result.variant.label,
    })),
  );
  const report = evaluationReport({
    kb: { id: kb.id, name: kb.name },
    file,
    questions: questions.length,
    results,
    conditions: conditionResults,
    baseline: baseline && { file: baseline.file, compared },
    failures: input.failures === true,
  });
  yield report;
  // Written after the report is printed, so that a full disk does not cost it.
  await writeFiles(input, context, {
    save: () => `${JSON.stringify(report.data)}\n`,
    junit: () => junitText(`kb eval ${kb.name}`, junitCases(results)),
  });

  const failed = failedGate(conditionResults);
  const incomplete = failedSearches(results);
  if (failed && incomplete) await context.notice(incomplete.message);
  if (failed ?? incomplete) throw failed ?? incomplete;
}

/** The questions of a file of them, or of the tests of a suite (YAML) that search the knowledge base. */
async function readQuestions({ questions: file, dataset_id }: EvalInput, context: Context) {
  const { host } = context;
  if (!/\.ya?ml$/i.test(file.path)) return parseQuestions(file.name, await readInput(file, host));
  const { suiteQuestions } = await import("./suite-questions.ts");
  const { name } = await context.api.call(getKnowledgeBase, { dataset_id });
  return suiteQuestions(file.path, [name, dataset_id], host.files);
}

/** Writes the texts whose flag names a file. */
async function writeFiles(
  input: EvalInput,
  { host, notice }: Context,
  texts: Readonly<Record<(typeof fileFlags)[number], () => string>>,
): Promise<void> {
  for (const flag of fileFlags) {
    const path = input[flag];
    if (path === undefined) continue;
    await writeOutput(`--${flag}`, path, texts[flag](), host);
    await notice(`wrote ${path}`);
  }
}

async function baselineOf({ baseline }: EvalInput, host: Host) {
  if (!baseline) return undefined;
  return readBaseline(baseline.name, new TextDecoder().decode(await readInput(baseline, host)));
}

async function searchVariants(
  input: EvalInput,
  kb: KnowledgeBase,
  axes: readonly MatrixAxis[],
  context: Context,
): Promise<SearchVariant[]> {
  const stored = isObject(input.retrieval_model)
    ? input.retrieval_model
    : requireField(kb.retrieval_model_dict, "retrieval_model_dict");
  const settings = await withReranker(changedSettings({ ...stored }, input), axes, input, context);
  const variants = variantsOf(settings, axes, {
    embedding_provider_name: kb.embedding_model_provider,
    embedding_model_name: kb.embedding_model,
  });
  requireEffect(input, variants, axes);
  return variants;
}

/** Throws usage for a setting that changes no search (server §6.1): equal figures would look measured. */
function requireEffect(
  { rerank_model }: EvalInput,
  variants: readonly SearchVariant[],
  axes: readonly MatrixAxis[],
): void {
  const values = (setting: string) => variants.map(({ settings }) => settings[setting]);
  const hasAxis = (axis: string) => axes.some(({ name }) => name === axis);
  const noEffect = (flag: string, why: string, hint?: string) =>
    usage(`${flag} has no effect: ${why}`, hint);
  const hybrid = "add --search-method hybrid_search";
  const methods = values("search_method");
  if (hasAxis("vector_weight") && !methods.includes("hybrid_search"))
    throw noEffect("--matrix vector_weight", "only hybrid_search has weights", hybrid);
  const isNamed = rerank_model !== undefined;
  if (!isNamed && !hasAxis("reranking_enable")) return;
  const flag = isNamed ? "--rerank-model" : "--matrix reranking_enable";
  if (methods.every((method) => method === "keyword_search"))
    throw noEffect(flag, "keyword_search does not rerank", `${hybrid}, for example`);
  if (isNamed && !values("reranking_mode").includes("reranking_model"))
    throw noEffect(flag, "--matrix vector_weight ranks with weights instead");
  if (isNamed && !values("reranking_enable").includes(true))
    throw noEffect(flag, "--matrix reranking_enable is only false");
}

/**
 * Settings with a rerank model if a search reranks: without one, the server accepts the request but does
 * not rerank (server §8), so a comparison would be of equal searches.
 */
async function withReranker(
  settings: EvalSettings,
  axes: readonly MatrixAxis[],
  { rerank_model }: EvalInput,
  context: Context,
): Promise<EvalSettings> {
  const axis = axes.find(({ name }) => name === "reranking_enable");
  const isNamed = rerank_model !== undefined;
  const reranks = axis?.values.includes("true") === true || isNamed;
  const storedName = valueAt(settings, "reranking_model.reranking_model_name");
  const isWeighted = settings["reranking_mode"] === "weighted_score";
  const hasModel = typeof storedName === "string" && storedName !== "";
  if (!reranks || (!isNamed && (hasModel || isWeighted))) return settings;
  const { provider, model } = await rerankModel(rerank_model, context);
  return {
    ...settings,
    ...(isNamed && { reranking_enable: true }),
    reranking_mode: "reranking_model",
    reranking_model: { reranking_provider_name: provider, reranking_model_name: model },
  };
}

const readInput = ({ path }: FileInput, { files, stdin }: Host): Promise<Uint8Array> =>
  path === "-" ? bytesOf(stdin.bytes()) : files.read(path);

/**
 * The numbers of top documents to measure: those of --k or the usual ones, and those that conditions
 * name. Throws usage for more than the searches return.
 */
function parseCutoffs(
  { k, fail_if = [] }: EvalInput,
  variants: readonly SearchVariant[],
): number[] {
  const topKs = variants.map(({ topK }) => topK);
  const maxTopK = Math.max(...topKs);
  const required = (flag: string, ks: readonly number[]) => {
    const beyond = ks.find((each) => each > maxTopK);
    if (beyond === undefined) return ks;
    const message = `invalid ${flag}${beyond}: a search returns at most ${maxTopK} chunks`;
    throw usage(message, `add --top-k ${beyond}`);
  };
  const listed = k === undefined ? usualCutoffs(topKs) : required("--k ", parseNumbers(k));
  const named = fail_if.flatMap((text) => [...text.matchAll(/@([1-9]\d{0,2})\b/g)]);
  return ascending([
    ...listed,
    ...required("--fail-if @", ascending(named.map(([, number]) => Number(number)))),
  ]);
}

/** The usual cutoffs up to what the searches return. */
function usualCutoffs(topKs: readonly number[]): number[] {
  const max = Math.max(...defaultCutoffs);
  // A search that returns fewer also gets a cutoff at its end.
  const ends = topKs.map((topK) => Math.min(topK, max));
  return [...defaultCutoffs.filter((k) => k <= Math.max(...ends)), ...ends];
}

/** Parses `1,3,5`. Throws usage. */
function parseNumbers(text: string): number[] {
  const words = text.split(",").map((word) => word.trim());
  const bad = words.find((word) => !/^[1-9]\d{0,2}$/.test(word));
  if (bad !== undefined) {
    throw usage(
      `invalid --k ${JSON.stringify(bad)}: not a positive whole number`,
      "for example --k 1,3,5",
    );
  }
  return ascending(words.map(Number));
}

const ascending = (numbers: readonly number[]): number[] =>
  [...new Set(numbers)].sort((a, b) => a - b);

/** Searches with each variant, one after the other. */
async function evaluateVariants(
  variants: readonly SearchVariant[],
  search: Pick<EvalSearch, "dataset_id" | "questions" | "expected" | "ks">,
  input: EvalInput,
  context: Context,
): Promise<readonly VariantResult[]> {
  const send = waitOnRateLimit(input.wait_for_limit === true, context);
  const results: VariantResult[] = [];
  for (const variant of variants) {
    const ks = search.ks.filter((k) => k <= variant.topK);
    const limiter = context.api.limitConcurrency();
    const each = { ...search, variant, ks, limiter, send };
    results.push(await evaluateVariant(each, results.length, variants.length, context));
  }
  return results;
}

async function evaluateVariant(
  evaluated: EvalSearch,
  variantsDone: number,
  variants: number,
  context: Context,
): Promise<VariantResult> {
  const { variant, ks, questions } = evaluated;
  const answers: QuestionResult[] = [];
  let failures = 0;
  const count = () =>
    context.progress({
      done: variantsDone * questions.length + answers.length,
      total: variants * questions.length,
      unit: "questions",
      failed: failures,
    });
  count();
  const records = new Map<Question, readonly SearchRecord[]>();
  const isKept = context.options.format === "html";
  const search = (question: Question) => {
    const keep = (found: readonly SearchRecord[]) => isKept && records.set(question, found);
    return evaluateQuestion(question, { ...evaluated, keep }, context);
  };
  for await (const answer of mapConcurrent(questions, evaluated.limiter, search)) {
    answers.push(answer);
    if (answer.error !== null) failures++;
    count();
  }
  const successful = answers.filter(({ error }) => error === null);
  const figures = averageMetrics(successful, ks);
  return { variant, ks, answers, figures, failed: answers.length - successful.length, records };
}

/** The error for failed searches; undefined if there are none. */
function failedSearches(results: readonly VariantResult[]): CliError | undefined {
  const failed = results.flatMap(({ variant, answers }) =>
    answers.flatMap(({ question, error }) =>
      error === null
        ? []
        : [{ line: question.line, question: question.key, label: variant.label, error }],
    ),
  );
  const [first] = failed;
  if (!first) return undefined;
  const total = results.reduce((sum, each) => sum + each.answers.length, 0);
  return new CliError(
    "partial",
    `${failed.length} of ${total} searches failed: line ${first.line}: ${first.error}`,
    { isResult: true, details: { failed } },
  );
}
