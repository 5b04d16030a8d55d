import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { requireField } from "../../../api/response.ts";
import { CliError } from "../../../errors.ts";
import { isObject, stringifyJson } from "../../../lib/json.ts";
import { junitText } from "../../../lib/formats/junit.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import { prepareOutputs, writeOutput } from "../../task/files.ts";
import { evaluateGate, failedGate, gateError, parseGate } from "../../conditions/index.ts";
import { waitOnRateLimit } from "../../kb/documents/index.ts";
import { changedSettings } from "../../kb/knowledge/index.ts";
import { compareWithBaseline, earlierOf, readBaseline } from "./baseline.ts";
import { judgedValues, metricScope, parseCutoffs, requireMeasure } from "./asked.ts";
import {
  comparePairs,
  compareResults,
  DEFAULT_LEVEL,
  documentsIn,
  measured,
} from "./comparison.ts";
import type { SettingsComparison } from "./comparison.ts";
import { averageMetrics } from "./metrics.ts";
import { readQuestions, questionText } from "./questions.ts";
import type { Question } from "./questions.ts";
import { byName, resolveExpected } from "./rating.ts";
import type { RatingRules } from "./rating.ts";
import { evaluationReport, junitCases } from "./report.ts";
import { openAppSearch, ratedAnswer, searchRecords } from "./search.ts";
import type { FoundRecords, VariantResult } from "./search.ts";
import { requireReranking, topKOf, withReranker } from "./settings.ts";
import type { EvalSettings, SearchVariant } from "./settings.ts";
import type { Context } from "../../task/command-spec.ts";
import type { evalParams } from "./command.ts";

type EvalInput = Input<typeof evalParams>;

/**
 * Searches for the questions of a file, asks an application if one is named, and measures the results.
 * Throws gate if a condition of --fail-if holds, and partial if searches failed.
 */
export async function* run(input: EvalInput, context: Context): AsyncGenerator<Report> {
  const { dataset_id } = input;
  const { file, questions } = await readQuestions(input, context);
  const baseline =
    input.baseline &&
    readBaseline(input.baseline.name, await questionText(input.baseline, context.host));
  await prepareOutputs({ save: input.save, junit: input.junit }, context.host);

  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  const settings = await searchSettings(input, kb.retrieval_model_dict, context);
  const topK = topKOf(settings);
  const ks = parseCutoffs(input, topK);
  const scope = metricScope(ks, baseline !== undefined);
  requireMeasure(input.measure, ks);
  const conditions = parseGate(input.fail_if ?? [], scope);
  const allowMissing = input.allow_missing === true;
  const expected = await resolveExpected(
    questions,
    { dataset_id, file, allowMissing, field: input.document_field },
    context,
  );

  const rules = { expected, ks, threshold: input.relevant_from ?? 1 };
  const results = await evaluateAll({ settings, topK, questions, rules }, input, context);
  const { compared, comparisons } = comparedResults(results, baseline, input);
  const conditionResults = evaluateGate(
    conditions,
    scope,
    results.map((result, index) => ({
      subject: judgedValues(result, compared[index]),
      label: result.variant.label,
    })),
  );
  const report = evaluationReport({
    kb: { id: kb.id, name: kb.name },
    file,
    questions: questions.length,
    results,
    conditions: conditionResults,
    baseline: input.baseline && { file: input.baseline.name, compared },
    comparisons,
    level: input.level ?? DEFAULT_LEVEL,
    failures: input.failures === true,
  });
  yield report;
  // Written after the report is printed, so that a full disk does not cost it.
  for (const [flag, path, text] of [
    ["--save", input.save, () => `${stringifyJson(report.data)}\n`],
    ["--junit", input.junit, () => junitText(`kb eval ${kb.name}`, junitCases(results))],
  ] as const) {
    if (path === undefined) continue;
    await writeOutput(flag, path, text(), context.host);
    await context.notice(`wrote ${path}`);
  }

  const failed =
    failedGate(conditionResults) ??
    (baseline && worseThanBaseline(comparisons, input.strict === true));
  const incomplete = failedSearches(results);
  if (failed && incomplete) await context.notice(incomplete.message);
  if (failed ?? incomplete) throw failed ?? incomplete;
}

/** What can be said about the results, and what changed since a baseline. */
function comparedResults(
  results: readonly VariantResult[],
  baseline: ReturnType<typeof readBaseline> | undefined,
  { measure, level = DEFAULT_LEVEL, baseline: file }: EvalInput,
) {
  const earlier = results.map(
    ({ variant }) => baseline && earlierOf(variant, baseline, results.length === 1),
  );
  const compared = results.map((result, index) => {
    const before = earlier[index];
    return before && compareWithBaseline(result, before);
  });
  const unknown = { label: file?.name ?? "", topK: undefined, figures: new Map() };
  const pairs = results.map(
    (result, index) => [earlier[index] ?? unknown, measured(result)] as const,
  );
  const comparisons = baseline
    ? comparePairs(pairs, { measure, level, documentOf: documentsIn(results), sides: "one" })
    : compareResults(results, { measure, level });
  return { compared, comparisons };
}

async function searchSettings(
  input: EvalInput,
  ofKb: object | null | undefined,
  context: Context,
): Promise<EvalSettings> {
  const stored = isObject(input.retrieval_model)
    ? input.retrieval_model
    : requireField(ofKb, "retrieval_model_dict");
  const settings = changedSettings({ ...stored }, input);
  if (input.rerank_model === undefined) return settings;
  requireReranking(settings);
  return withReranker(settings, input.rerank_model, context);
}

/** The questions of an evaluation, and how they are searched for and rated. */
interface EvalSearch {
  readonly settings: EvalSettings;
  readonly topK: number;
  readonly questions: readonly Question[];
  readonly rules: RatingRules;
}

/** Searches for all questions, then asks the application, if there is one. */
async function evaluateAll(
  { settings, topK, questions, rules }: EvalSearch,
  { dataset_id, wait_for_limit, app }: EvalInput,
  context: Context,
): Promise<VariantResult[]> {
  const send = waitOnRateLimit(wait_for_limit === true, context);
  const route = { dataset_id, send };
  const ask = app === undefined ? undefined : await openAppSearch(app, context);
  const total = (ask ? 2 : 1) * questions.length;
  let [done, failed] = [0, 0];
  context.progress({ done, total, unit: "questions", failed });
  const findAll = async (search: (question: Question) => Promise<FoundRecords>) => {
    const found = new Map<Question, FoundRecords>();
    const one = async (question: Question) => [question, await search(question)] as const;
    for await (const [question, searched] of mapConcurrent(
      questions,
      context.api.limitConcurrency(),
      one,
    )) {
      found.set(question, searched);
      if (searched.error !== null) failed++;
      context.progress({ done: ++done, total, unit: "questions", failed });
    }
    return [...found];
  };
  const isPage = context.options.format === "html"; // only a page shows chunks
  const rate = (
    variant: SearchVariant,
    found: readonly (readonly [Question, FoundRecords])[],
    expected = rules.expected,
  ): VariantResult => {
    const ks = rules.ks.filter((k) => k <= variant.topK);
    const own = { ...rules, expected, ks };
    const answers = found.map(([question, each]) => ratedAnswer(question, each, own));
    const successful = answers.filter(({ error }) => error === null);
    return {
      variant,
      ks,
      answers,
      figures: averageMetrics(successful, ks),
      failed: answers.length - successful.length,
      records: new Map(isPage ? found.map(([key, { records }]) => [key, records]) : []),
    };
  };
  const found = await findAll((question) => searchRecords(question, settings, route, context));
  if (!ask) return [rate({ label: "", settings, topK }, found)];
  const answered = await findAll(ask);
  const variant = { label: `app ${app}`, settings: {}, topK: Infinity };
  const result = rate(variant, answered, byName(rules.expected));
  const most = Math.max(...answered.map(([, { records }]) => records.length));
  return [
    rate({ label: "search", settings, topK }, found),
    { ...result, variant: { ...variant, topK: most } },
  ];
}

/** The error for settings that are worse than before, or may be; undefined if there are none. */
function worseThanBaseline(
  comparisons: readonly SettingsComparison[],
  isStrict: boolean,
): CliError | undefined {
  const failed = comparisons.filter(
    ({ verdict, difference }) =>
      verdict === "worse" ||
      (isStrict &&
        (verdict === "not comparable" || (verdict === "inconclusive" && (difference ?? 0) < 0))),
  );
  if (failed.length === 0) return undefined;
  const reasons = failed.map(({ settings, measure, verdict, difference }) =>
    [settings, measure, verdict, difference]
      .filter((each) => each !== null && each !== "")
      .join(" "),
  );
  return gateError(`compared with the baseline: ${reasons.join(", ")}`, { comparisons: failed });
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
