import { groupBy } from "../../../lib/collect.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Report, Section } from "../../../output/report-model.ts";
import { asText } from "../../../operations/operation.ts";
import type { JUnitCase } from "../../../lib/formats/junit.ts";
import { gateSections } from "../../conditions/index.ts";
import type { ConditionResult } from "../../conditions/index.ts";
import type { BaselineComparison } from "./baseline.ts";
import { isLatency, latencies, metricNames, rounded } from "./metrics.ts";
import { evaluationPage } from "./page.ts";
import type { QuestionResult, VariantResult } from "./search.ts";
import type { EvalSettings } from "./matrix.ts";

/** The data of a report. */
export interface Evaluation {
  readonly kb: { readonly id: string; readonly name: string };
  /** Name of the file with the questions. */
  readonly file: string;
  readonly questions: number;
  readonly results: readonly VariantResult[];
  readonly conditions: readonly ConditionResult[];
  readonly baseline:
    | { readonly file: string; readonly compared: readonly (BaselineComparison | undefined)[] }
    | undefined;
  /** List the questions with missing documents or texts? */
  readonly failures: boolean;
}

export function evaluationReport(evaluation: Evaluation): Report {
  const { conditions, baseline, failures, results } = evaluation;
  const isMatrix = results.some(({ variant }) => variant.label !== "");
  const labelled = (sections: readonly Section[]) =>
    isMatrix ? sections : sections.map(withoutFirstColumn);
  const figures = figureSection(evaluation);
  const gates = gateSections(conditions, (_, value) => value.toFixed(3));
  const compared = labelled(baseline ? comparisonSections(evaluation, baseline) : []);
  const missed = labelled(failures ? [failureSection(evaluation)] : []);
  return {
    data: evaluationData(evaluation),
    title: `Evaluation of ${evaluation.kb.name}`,
    sections: [figures, ...gates, ...compared, ...missed],
    page: () => evaluationPage(evaluation, { first: [...gates, ...compared], last: [figures] }),
  };
}

/** The table without the settings of a matrix. */
const withoutFirstColumn = ({ columns, rows, ...section }: Section): Section => ({
  ...section,
  columns: columns.slice(1),
  rows: rows.map((row) => row.slice(1)),
});

/** The output of `-o json`, which is also the format of a baseline. */
function evaluationData({ kb, file, questions, results, conditions, baseline }: Evaluation) {
  const { metrics } = namesIn(results);
  return {
    kb_eval: 1,
    knowledge_base: kb,
    file,
    questions,
    settings: results.map(({ variant, ks, answers, figures, failed }) => ({
      label: variant.label,
      retrieval_model: variant.settings,
      k: ks,
      answered: answers.length - failed,
      failed,
      figures,
      questions: answers.map(({ question, figures: own, ...answer }) => ({
        id: question.id,
        question: question.question,
        line: question.line,
        ...answer,
        figures: Object.fromEntries(
          Object.entries(own).map(([name, value]) => [name, rounded(value)]),
        ),
      })),
    })),
    best: Object.fromEntries(metrics.map((name) => [name, best(name, results)])),
    identical: identical(results).map((same) => same.map(({ variant }) => variant.label)),
    conditions,
    baseline: baseline ?? null,
  };
}

/** Names of the metrics and of all figures of all variants, in display order. */
function namesIn(results: readonly VariantResult[]) {
  const ks = [...new Set(results.flatMap((result) => result.ks))].sort((a, b) => a - b);
  const metrics = metricNames(ks);
  return { metrics, figures: [...metrics, ...latencies] };
}

/** Labels of the best variants; none if all are the same, or for latencies, which vary by chance. */
function best(name: string, results: readonly VariantResult[]): string[] {
  if (isLatency(name)) return [];
  const known = results.flatMap(({ figures, variant }) => {
    const value = figures[name] ?? null;
    return value === null ? [] : [{ label: variant.label, value }];
  });
  const top = Math.max(...known.map(({ value }) => value));
  const leaders = known.filter(({ value }) => value === top);
  return leaders.length === known.length ? [] : leaders.map(({ label }) => label);
}

/** Labels of variants that found the same documents in the same order for every question. */
function identical(results: readonly VariantResult[]): VariantResult[][] {
  const found = ({ answers }: VariantResult) =>
    JSON.stringify(answers.map((answer) => answer.found.map(({ document }) => document)));
  const searched = results.filter(({ answers, failed }) => failed < answers.length);
  return [...groupBy(searched, found).values()].filter(({ length }) => length > 1);
}

function identicalText(same: readonly VariantResult[]): string {
  const all = same.map(({ variant: { settings } }) => settings);
  const methods = all.map((settings) => settings["search_method"]);
  const isWeighted = all.some(({ weights, reranking_enable: reranks }) => weights || reranks);
  // Server §6.1.
  const isVectorOnly =
    !isWeighted && methods.includes("hybrid_search") && methods.includes("semantic_search");
  const reason = isVectorOnly
    ? "; hybrid search without weights and reranking returns the scores of semantic search; add --matrix vector_weight=0.5,0.7"
    : "";
  return `identical results for every question: ${same.map(({ variant }) => variant.label).join(", ")}${reason}`;
}

const amount = (value: number | null | undefined): string | null => value?.toFixed(3) ?? null;

/** `+0.050` */
const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(3)}`;

const figureLabel = (name: string): string => (isLatency(name) ? `${name} (s)` : name);

const prefixFor = (label: string): string => (label === "" ? "" : `${label}: `);

function figureSection({ kb, questions, results }: Evaluation): Section {
  const [first, ...others] = results;
  const single = others.length === 0 ? first : undefined;
  const notes = [
    ...(single ? [settingsText(single.variant.settings)] : []),
    "@k counts documents; the rank of a document is that of its first chunk",
    ...results
      .filter(({ failed }) => failed > 0)
      .map(
        ({ variant: { label }, failed }) =>
          `${prefixFor(label)}${failed} of ${questions} searches failed and are not included`,
      ),
    ...identical(results).map(identicalText),
  ];
  const rows = namesIn(results).figures.map((name): Cell[] => {
    const top = best(name, results);
    const cells = results.map(({ variant, figures }): Cell => {
      const text = amount(figures[name]);
      return text !== null && top.includes(variant.label) ? { text, tone: "good" } : text;
    });
    const value = single?.figures[name] ?? null;
    const share: Cell = value === null || isLatency(name) ? null : { chart: "bar", value };
    return [figureLabel(name), ...cells, single ? share : top.join(", ")];
  });
  return {
    title: `${kb.name}: ${questions} questions`,
    columns: [
      left("figure"),
      ...results.map(({ variant }) => right(single ? "value" : variant.label)),
      left(single ? "share" : "best"),
    ],
    rows,
    notes,
  };
}

/** The main settings in one line: `search_method semantic_search, top_k 3, …`. */
const settingsText = (settings: EvalSettings): string =>
  Object.entries({
    search_method: settings["search_method"],
    top_k: settings["top_k"],
    score_threshold: settings["score_threshold_enabled"] ? settings["score_threshold"] : "none",
    reranking_enable: settings["reranking_enable"],
  })
    .map(([name, value]) => `${name} ${asText(value) || "not set"}`)
    .join(", ");

function comparisonSections(
  { results }: Evaluation,
  { file, compared }: NonNullable<Evaluation["baseline"]>,
): Section[] {
  const comparisons = compared.filter((each) => each !== undefined);
  const figures = comparisons.flatMap((each) =>
    each.figures.map((figure) => ({ label: each.label, ...figure })),
  );
  const changed = figures.filter(({ change }) => change !== 0);
  const questions = comparisons.flatMap((each) =>
    each.questions.map((question) => ({ label: each.label, ...question })),
  );
  const figureTable: Section = {
    title: `Compared with ${file}`,
    columns: [
      left("settings"),
      left("figure"),
      right("before"),
      right("now"),
      right("change"),
      left("verdict"),
    ],
    rows: changed.map(({ label, figure, before, now, change }) => [
      label,
      figureLabel(figure),
      amount(before),
      amount(now),
      signed(change),
      verdictCell(figure, change),
    ]),
    notes: comparisonNotes(results, comparisons, figures.length - changed.length),
  };
  const asked = results.flatMap(({ answers }) => answers.map((answer) => answer.question));
  const textOf = new Map(asked.map(({ key, question }) => [key, question]));
  const questionTable: Section = {
    title: "Questions with a changed nDCG",
    columns: [
      left("settings"),
      left("question"),
      right("rank before"),
      right("rank"),
      right("nDCG before"),
      right("nDCG"),
      left("verdict"),
    ],
    rows: questions.map(({ label, question, rank_before, rank, before, now, change }) => [
      label,
      textOf.get(question) ?? question,
      rank_before,
      rank,
      amount(before),
      amount(now),
      verdictCell("ndcg", change),
    ]),
  };
  return questions.length === 0 ? [figureTable] : [figureTable, questionTable];
}

function comparisonNotes(
  results: readonly VariantResult[],
  comparisons: readonly BaselineComparison[],
  unchanged: number,
): string[] {
  const notes: string[] = [];
  if (comparisons.length === 0) notes.push("nothing to compare: no settings of the same label");
  if (unchanged > 0) notes.push(`${unchanged} figures are the same`);
  for (const { label, settings_before, added, gone } of comparisons) {
    const now = results.find(({ variant }) => variant.label === label);
    const before = settingsText(settings_before);
    if (now && settingsText(now.variant.settings) !== before)
      notes.push(`${prefixFor(label)}before with ${before}`);
    if (added + gone > 0)
      notes.push(`${prefixFor(label)}different questions: ${added} added, ${gone} removed`);
  }
  return notes;
}

/** Empty for latencies, which vary by chance. */
const verdictCell = (figure: string, change: number): Cell => {
  if (isLatency(figure)) return null;
  return change > 0 ? { text: "better", tone: "good" } : { text: "worse", tone: "bad" };
};

/** Was everything found? */
const isComplete = ({ missing, error }: QuestionResult): boolean =>
  missing.length === 0 && error === null;

/** Names of the documents that were found but not expected, the best first. */
const foundInstead = ({ found }: QuestionResult): string =>
  found
    .filter(({ relevant }) => !relevant)
    .map(({ document }) => document)
    .join(", ");

function failureSection({ results }: Evaluation): Section {
  const rows = results.flatMap(({ variant, answers }) =>
    answers
      .filter((answer) => !isComplete(answer))
      .map((answer): Cell[] => [
        variant.label,
        answer.question.line,
        answer.question.question,
        answer.missing.join(", "),
        answer.error === null ? foundInstead(answer) : { text: answer.error, tone: "bad" },
      ]),
  );
  const title = "Questions with missing documents or texts";
  if (rows.length === 0) return { title, columns: [], rows, notes: ["none"] };
  const columns = [
    left("settings"),
    right("line"),
    left("question"),
    left("missing"),
    left("found instead"),
  ];
  return { title, columns, rows };
}

/** One test case for each question and variant. */
export const junitCases = (results: readonly VariantResult[]): JUnitCase[] =>
  results.flatMap(({ variant, answers }) =>
    answers.map((answer): JUnitCase => {
      const { question, missing, error, seconds } = answer;
      const others = foundInstead(answer) || "nothing";
      const failure = error ?? `not found: ${missing.join(", ")}\nfound instead: ${others}`;
      return {
        name: variant.label === "" ? question.key : `${question.key} (${variant.label})`,
        seconds: seconds ?? undefined,
        failure: isComplete(answer) ? undefined : failure,
      };
    }),
  );
