import { groupBy } from "../../../lib/collect.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Report, Section } from "../../../output/report-model.ts";
import type { JUnitCase } from "../../../lib/formats/junit.ts";
import { gateSections } from "../../conditions/index.ts";
import type { ConditionResult } from "../../conditions/index.ts";
import { comparisonSections } from "./baseline.ts";
import type { ComparedBaseline } from "./baseline.ts";
import { verdictSection } from "./comparison.ts";
import type { SettingsComparison } from "./comparison.ts";
import { prefixFor, settingsText } from "./settings.ts";
import { bootstrapInterval } from "../../../lib/statistics/intervals.ts";
import { metricNames } from "../../../lib/statistics/ranking-metrics.ts";
import { amount, costs, figureLabel, isMetric, rounded } from "./metrics.ts";
import { documentOf } from "./questions.ts";
import { stemOf } from "./rating.ts";
import { trecRun } from "./qrels.ts";
import { evaluationPage } from "./page.ts";
import type { QuestionResult, VariantResult } from "./search.ts";

/** The data of a report. */
export interface Evaluation {
  readonly kb: { readonly id: string; readonly name: string };
  readonly file: string;
  readonly questions: number;
  readonly results: readonly VariantResult[];
  readonly conditions: readonly ConditionResult[];
  readonly baseline: ComparedBaseline | undefined;
  /** What can be said about two settings, by their questions. */
  readonly comparisons: readonly SettingsComparison[];
  /** The chance of a false alarm of these comparisons together. */
  readonly level: number;
  readonly failures: boolean;
}

export function evaluationReport(evaluation: Evaluation): Report {
  const { kb, file, conditions, baseline, failures, results } = evaluation;
  const areSeveral = results.length > 1;
  const labelled = (sections: readonly Section[]) =>
    areSeveral ? sections : sections.map(withoutFirstColumn);
  const figures = figureSection(evaluation);
  const gates = gateSections(conditions, (_, value) => value.toFixed(3));
  const verdicts = labelled(verdictSection(evaluation.comparisons, evaluation));
  const compared = labelled(baseline ? comparisonSections(results, baseline) : []);
  const missed = labelled(failures ? [failureSection(evaluation)] : []);
  return {
    data: evaluationData(evaluation),
    title: `Evaluation of ${kb.name}`,
    sections: [figures, ...gates, ...verdicts, ...compared, ...missed],
    page: () =>
      evaluationPage({ "knowledge base": kb.name, ID: kb.id, questions: file }, results, {
        first: [...gates, ...verdicts, ...compared],
        last: [figures],
      }),
    texts: { trec: () => results.map(runText).join("") },
  };
}

/** A run; the documents have the names that the questions use. */
function runText({ variant, answers }: VariantResult): string {
  const written = new Set(answers.flatMap(({ question }) => question.documents));
  const nameOf = (name: string) => [name, stemOf(name)].find((each) => written.has(each)) ?? name;
  const rows = answers.map(({ question, found }) => ({
    question: question.id ?? question.question,
    found: found.map(({ document }) => nameOf(document)),
  }));
  return trecRun(rows, variant.label === "" ? "kb" : variant.label);
}

/** The table without the label of the settings. */
const withoutFirstColumn = ({ columns, rows, ...section }: Section): Section => ({
  ...section,
  columns: columns.slice(1),
  rows: rows.map((row) => row.slice(1)),
});

/** The output of `-o json`, which is also the format of a baseline. */
function evaluationData(evaluation: Evaluation) {
  const { kb, file, questions, results, conditions, comparisons, level, baseline } = evaluation;
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
      intervals: intervalsOf({ answers }, metrics),
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
    conditions,
    comparisons,
    level,
    baseline: baseline ?? null,
  };
}

/** Intervals of the means over the questions, those about one document together, by figure. */
const intervalsOf = ({ answers }: Pick<VariantResult, "answers">, names: readonly string[]) =>
  Object.fromEntries(
    names.flatMap((name) => {
      const known = answers.filter(({ figures }) => figures[name] !== undefined);
      const groups = [...groupBy(known, ({ question }) => documentOf(question)).values()];
      const interval = bootstrapInterval(
        groups.map((same) => same.flatMap(({ figures }) => figures[name] ?? [])),
      );
      return interval ? [[name, { low: rounded(interval.low), high: rounded(interval.high) }]] : [];
    }),
  );

/** Names of the metrics and of all figures of all variants, in display order. */
function namesIn(results: readonly VariantResult[]) {
  const ks = [...new Set(results.flatMap((result) => result.ks))].sort((a, b) => a - b);
  const metrics = metricNames(ks).filter((name) =>
    results.some(({ figures }) => figures[name] !== undefined),
  );
  return { metrics, figures: [...metrics, ...costs] };
}

/** Labels with the highest figure; none for costs, if all are equal, or if they return different numbers of chunks. */
function best(name: string, results: readonly VariantResult[]): string[] {
  if (!isMetric(name) || !hasOneTopK(results)) return [];
  const known = results.flatMap(({ figures, variant }) => {
    const value = figures[name] ?? null;
    return value === null ? [] : [{ label: variant.label, value }];
  });
  const top = Math.max(...known.map(({ value }) => value));
  const leaders = known.filter(({ value }) => value === top);
  return leaders.length === known.length ? [] : leaders.map(({ label }) => label);
}

const hasOneTopK = (results: readonly VariantResult[]): boolean =>
  new Set(results.map(({ variant }) => variant.topK)).size === 1;

function figureSection({ kb, questions, results }: Evaluation): Section {
  const [first, ...others] = results;
  const single = others.length === 0 ? first : undefined;
  const names = namesIn(results);
  const intervals = single ? intervalsOf(single, names.metrics) : {};
  const rows = names.figures.map((name): Cell[] => {
    const top = best(name, results);
    const cells = results.map(({ variant, figures }): Cell => {
      const text = amount(figures[name]);
      return text !== null && top.includes(variant.label) ? { text, tone: "good" } : text;
    });
    if (!single) return [figureLabel(name), ...cells, top.join(", ")];
    const [value, interval] = [single.figures[name] ?? null, intervals[name]];
    return [
      figureLabel(name),
      ...cells,
      interval ? `${amount(interval.low)} to ${amount(interval.high)}` : null,
      value === null || !isMetric(name) ? null : { chart: "bar", value },
    ];
  });
  const ending = single ? [left("95 % of samples"), left("share")] : [left("highest")];
  return {
    title: `${kb.name}: ${questions} questions`,
    columns: [
      left("figure"),
      ...results.map(({ variant }) => right(single ? "value" : variant.label)),
      ...ending,
    ],
    rows,
    notes: [
      ...(single ? [settingsText(single.variant.settings)] : []),
      ...results.flatMap(({ failed, variant: { label } }) =>
        failed > 0
          ? [`${prefixFor(label)}${failed} of ${questions} searches failed and are not included`]
          : [],
      ),
    ],
    footnotes: [
      "@k counts documents; the rank of a document is that of its first chunk",
      ...(single ? [] : ["the highest figure may be chance: see the comparison"]),
      ...(hasOneTopK(results)
        ? []
        : ["settings with different top_k are not compared: more chunks hold more documents"]),
    ],
  };
}

/** What a question expects and its search did not find, or too far below. */
const unmet = ({ missing, late, question }: QuestionResult): string =>
  [
    ...missing,
    ...late.map(
      ({ expected, rank }) => `${expected} (rank ${rank} of at most ${question.maxRank})`,
    ),
  ].join(", ");

/** Names of the documents that were found but not expected, the best first. */
const foundInstead = ({ found }: Pick<QuestionResult, "found">): string =>
  found
    .filter(({ relevant }) => !relevant)
    .map(({ document }) => document)
    .join(", ");

function failureSection({ results }: Evaluation): Section {
  const title = "Questions that failed";
  const rows = results.flatMap(({ variant, answers }) =>
    answers
      .filter(({ passed }) => !passed)
      .map(({ error, ...answer }): Cell[] => [
        variant.label,
        answer.question.line,
        answer.question.question,
        unmet({ error, ...answer }),
        error === null ? foundInstead(answer) : { text: error, tone: "bad" },
      ]),
  );
  if (rows.length === 0) return { title, columns: [], rows, notes: ["none"] };
  const texts = ["question", "missing", "found instead"].map(left);
  return { title, columns: [left("settings"), right("line"), ...texts], rows };
}

/** One test case for each question and variant. */
export const junitCases = (results: readonly VariantResult[]): JUnitCase[] =>
  results.flatMap(({ variant, answers }) =>
    answers.map((answer): JUnitCase => {
      const { question, error, seconds } = answer;
      const wanted = question.hasAnswer ? `not found: ${unmet(answer)}` : "no answer was expected";
      const failure = error ?? `${wanted}\nfound instead: ${foundInstead(answer) || "nothing"}`;
      return {
        name: variant.label === "" ? question.key : `${question.key} (${variant.label})`,
        seconds: seconds ?? undefined,
        failure: answer.passed ? undefined : failure,
      };
    }),
  );
