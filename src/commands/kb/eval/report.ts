import type { Cell, Heading, Report, Section } from "../../../output/report-model.ts";
import { asText } from "../../../operations/operation.ts";
import type { BaselineComparison } from "./baseline.ts";
import { gateSections } from "../../conditions/index.ts";
import type { ConditionResult } from "../../conditions/index.ts";
import { latencies, metricNames, rounded } from "./metrics.ts";
import type { QuestionResult, VariantResult } from "./search.ts";
import type { EvalSettings } from "./matrix.ts";
import type { JUnitCase } from "../../../lib/junit.ts";

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
  const { conditions, baseline, failures } = evaluation;
  const compared = baseline?.compared.filter((each) => each !== undefined) ?? [];
  return {
    data: evaluationData(evaluation),
    sections: [
      figureSection(evaluation),
      ...gateSections(conditions, (_, value) => value.toFixed(3)),
      ...(baseline ? comparedSections(evaluation, baseline.file, compared) : []),
      ...(failures ? [failureSection(evaluation)] : []),
    ],
  };
}

/** The output of `-o json`, which is also the format of a baseline. */
function evaluationData(evaluation: Evaluation) {
  const { kb, file, questions, results, conditions, baseline } = evaluation;
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
          Object.entries(own).map(([name, value]) => [
            name,
            value === null ? null : rounded(value),
          ]),
        ),
      })),
    })),
    best: Object.fromEntries(
      metricNames(unionOf(results)).map((name) => [name, best(name, results)]),
    ),
    conditions,
    baseline: baseline ?? null,
  };
}

/** Names of the metrics of all variants, in display order. */
const namesOf = (results: readonly VariantResult[]): string[] => [
  ...metricNames(unionOf(results)),
  ...latencies,
];

const unionOf = (results: readonly VariantResult[]): number[] =>
  [...new Set(results.flatMap(({ ks }) => ks))].sort((a, b) => a - b);

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

const isLatency = (name: string): boolean => latencies.some((latency) => latency === name);

const left = (label: string): Heading => ({ label });
const right = (label: string): Heading => ({ label, right: true });

const amount = (value: number | null | undefined): string | null =>
  value === null || value === undefined ? null : value.toFixed(3);

/** `+0.050` */
const signed = (value: number): string => `${value < 0 ? "" : "+"}${value.toFixed(3)}`;

const labelOf = (name: string): string => (isLatency(name) ? `${name} (s)` : name);

function figureSection({ kb, questions, results }: Evaluation): Section {
  const [first] = results;
  const single = results.length === 1;
  const rows = namesOf(results).map((name): Cell[] => {
    const values = results.map(({ figures }) => figures[name] ?? null);
    if (single) {
      const [value = null] = values;
      const isShare = value !== null && !isLatency(name);
      return [labelOf(name), amount(value), isShare ? { chart: "bar", value } : null];
    }
    const top = best(name, results);
    return [
      labelOf(name),
      ...results.map(({ variant, figures }): Cell => {
        const text = amount(figures[name]);
        return text !== null && top.includes(variant.label) ? { text, tone: "good" } : text;
      }),
      top.join(", "),
    ];
  });
  const failed = results.filter((result) => result.failed > 0);
  return {
    title: `${kb.name}: ${questions} questions`,
    columns: single
      ? [left("figure"), right("value"), left("share")]
      : [left("figure"), ...results.map(({ variant }) => right(variant.label)), left("best")],
    rows,
    notes: [
      ...(single && first ? [settingsText(first.variant.settings)] : []),
      "@k counts documents; the rank of a document is that of its first chunk",
      ...failed.map(
        ({ variant, failed: count }) =>
          `${prefixFor(variant.label)}${count} of ${questions} searches failed and are not included`,
      ),
    ],
  };
}

const prefixFor = (label: string): string => (label === "" ? "" : `${label}: `);

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

function comparedSections(
  evaluation: Evaluation,
  file: string,
  comparisons: readonly BaselineComparison[],
): Section[] {
  const several = comparisons.some(({ label }) => label !== "");
  const changed = comparisons.flatMap(({ label, questions }) =>
    questions.map((each) => ({ label, ...each })),
  );
  const questions: Section = {
    title: "Questions with a changed nDCG",
    columns: [
      ...(several ? [left("settings")] : []),
      left("question"),
      right("rank before"),
      right("rank"),
      right("nDCG before"),
      right("nDCG"),
      left("verdict"),
    ],
    rows: changed.map((each) => [
      ...(several ? [each.label] : []),
      each.question,
      each.rank_before,
      each.rank,
      amount(each.before),
      amount(each.now),
      verdictCell("ndcg", each.change),
    ]),
  };
  const figures = figureChanges(evaluation, file, comparisons, several);
  return changed.length === 0 ? [figures] : [figures, questions];
}

function figureChanges(
  evaluation: Evaluation,
  file: string,
  comparisons: readonly BaselineComparison[],
  several: boolean,
): Section {
  const all = comparisons.flatMap(({ label, figures }) =>
    figures.map((each) => ({ label, ...each })),
  );
  const changed = all.filter(({ change }) => change !== 0);
  return {
    title: `Compared with ${file}`,
    columns: [
      ...(several ? [left("settings")] : []),
      left("figure"),
      right("before"),
      right("now"),
      right("change"),
      left("verdict"),
    ],
    rows: changed.map(({ label, figure, before, now, change }) => [
      ...(several ? [label] : []),
      labelOf(figure),
      amount(before),
      amount(now),
      signed(change),
      verdictCell(figure, change),
    ]),
    notes: comparisonNotes(evaluation, comparisons, all.length - changed.length),
  };
}

function comparisonNotes(
  { results }: Evaluation,
  comparisons: readonly BaselineComparison[],
  unchanged: number,
): string[] {
  const notes: string[] = [];
  if (comparisons.length === 0) notes.push("nothing to compare: no settings of the same label");
  if (unchanged > 0) notes.push(`${unchanged} figures are the same`);
  for (const { label, settings_before } of comparisons) {
    const now = results.find(({ variant }) => variant.label === label);
    const before = settingsText(settings_before);
    if (now && settingsText(now.variant.settings) !== before)
      notes.push(`${prefixFor(label)}before with ${before}`);
  }
  for (const { label, added, gone } of comparisons) {
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
  const several = results.length > 1;
  const rows = results.flatMap(({ variant, answers }) =>
    answers
      .filter((answer) => !isComplete(answer))
      .map((answer): Cell[] => [
        ...(several ? [variant.label] : []),
        answer.question.line,
        answer.question.key,
        answer.missing.join(", "),
        answer.error === null ? foundInstead(answer) : { text: answer.error, tone: "bad" },
      ]),
  );
  const title = "Questions with missing documents or texts";
  if (rows.length === 0) return { title, columns: [], rows, notes: ["none"] };
  return {
    title,
    columns: [
      ...(several ? [left("settings")] : []),
      right("line"),
      left("question"),
      left("missing"),
      left("found instead"),
    ],
    rows,
  };
}

/** One test case for each question and variant. */
export const junitCases = (results: readonly VariantResult[]): JUnitCase[] =>
  results.flatMap(({ variant, answers }) =>
    answers.map((answer): JUnitCase => {
      const { question, missing, error, seconds } = answer;
      const others = foundInstead(answer) || "nothing";
      return {
        name: variant.label === "" ? question.key : `${question.key} (${variant.label})`,
        ...(seconds !== null && { seconds }),
        ...(!isComplete(answer) && {
          failure: error ?? `not found: ${missing.join(", ")}\nfound instead: ${others}`,
        }),
      };
    }),
  );
