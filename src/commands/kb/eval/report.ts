import type { Cell, Heading, Report, Section } from "../../../output/report-model.ts";
import { asText } from "../../../operations/operation.ts";
import type { BaselineComparison } from "./baseline.ts";
import type { Verdict } from "./gate.ts";
import { latencies, metricNames, rounded } from "./metrics.ts";
import type { QuestionResult, Result } from "./search.ts";
import type { SearchVariant } from "./matrix.ts";
import type { JUnitCase } from "../../../lib/junit.ts";

/** What a report of an evaluation is made of. */
export interface Evaluation {
  readonly kb: { readonly id: string; readonly name: string };
  /** Name of the file of questions. */
  readonly file: string;
  readonly questions: number;
  readonly results: readonly Result[];
  readonly verdicts: readonly Verdict[];
  readonly baseline:
    | { readonly file: string; readonly compared: readonly (BaselineComparison | undefined)[] }
    | undefined;
  /** List the questions whose documents or texts were not all found? */
  readonly failures: boolean;
}

export function evaluationReport(evaluation: Evaluation): Report {
  const { verdicts, baseline, failures } = evaluation;
  const compared = baseline?.compared.filter((each) => each !== undefined) ?? [];
  return {
    data: evaluationData(evaluation),
    sections: [
      figureSection(evaluation),
      ...(verdicts.length > 0 ? [verdictSection(verdicts)] : []),
      ...(baseline ? comparedSections(evaluation, baseline.file, compared) : []),
      ...(failures ? [failureSection(evaluation)] : []),
    ],
  };
}

/** What `-o json` prints and a later evaluation compares with. */
function evaluationData(evaluation: Evaluation) {
  const { kb, file, questions, results, verdicts, baseline } = evaluation;
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
    conditions: verdicts,
    baseline: baseline ?? null,
  };
}

/** Every figure that any way to search has, in the order in which they are shown. */
const namesOf = (results: readonly Result[]): string[] => [
  ...metricNames(unionOf(results)),
  ...latencies,
];

const unionOf = (results: readonly Result[]): number[] =>
  [...new Set(results.flatMap(({ ks }) => ks))].sort((a, b) => a - b);

/**
 * Labels of the ways to search that are best; none where all are the same. Times are left out: a
 * few milliseconds are chance.
 */
function best(name: string, results: readonly Result[]): string[] {
  if (isLatency(name)) return [];
  const known = results.flatMap(({ figures, variant }) => {
    const value = figures[name] ?? null;
    return value === null ? [] : [{ label: variant.label, value }];
  });
  const top = Math.max(...known.map(({ value }) => value));
  const found = known.filter(({ value }) => value === top);
  return found.length === known.length ? [] : found.map(({ label }) => label);
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
      "@k counts documents: the first chunk of each gives its rank",
      ...failed.map(
        ({ variant, failed: count }) =>
          `${labelled(variant.label)}${count} of ${questions} questions were not answered and are in no figure`,
      ),
    ],
  };
}

const labelled = (label: string): string => (label === "" ? "" : `${label}: `);

/** The settings that decide most, as words. */
const settingsText = (settings: SearchVariant): string =>
  Object.entries({
    search_method: settings["search_method"],
    top_k: settings["top_k"],
    score_threshold: settings["score_threshold_enabled"] ? settings["score_threshold"] : "none",
    reranking_enable: settings["reranking_enable"],
  })
    .map(([name, value]) => `${name} ${asText(value) || "not set"}`)
    .join(", ");

const verdictSection = (verdicts: readonly Verdict[]): Section => {
  const several = verdicts.some(({ label }) => label !== "");
  return {
    title: "Conditions that must not hold",
    columns: [
      left("condition"),
      ...(several ? [left("settings")] : []),
      right("value"),
      left("verdict"),
    ],
    rows: verdicts.map(({ condition, label, value, verdict }) => [
      condition,
      ...(several ? [label] : []),
      amount(value),
      {
        text: verdict,
        tone: verdict === "passed" ? "good" : verdict === "failed" ? "bad" : "warn",
      },
    ]),
  };
};

function comparedSections(
  { results }: Evaluation,
  file: string,
  all: readonly BaselineComparison[],
): Section[] {
  const several = all.some(({ label }) => label !== "");
  const changed = all.flatMap(({ label, figures }) =>
    figures.filter(({ change }) => change !== 0).map((each) => ({ label, ...each })),
  );
  const same = all.reduce((sum, { figures }) => sum + figures.length, 0) - changed.length;
  const sections: Section[] = [
    {
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
      notes: [
        ...(all.length === 0 ? ["nothing to compare: it has no such settings"] : []),
        ...(same > 0 ? [`${same} figures are the same`] : []),
        ...all.flatMap(({ label, settings_before }) => {
          const now = results.find(({ variant }) => variant.label === label);
          const then = settingsText(settings_before);
          return now && settingsText(now.variant.settings) !== then
            ? [`${labelled(label)}before with ${then}`]
            : [];
        }),
        ...all
          .filter(({ added, gone }) => added + gone > 0)
          .map(
            ({ label, added, gone }) =>
              `${labelled(label)}not the same questions: ${added} are new, ${gone} are gone`,
          ),
      ],
    },
  ];
  const moved = all.flatMap(({ label, questions }) =>
    questions.map((each) => ({ label, ...each })),
  );
  if (moved.length === 0) return sections;
  return [
    ...sections,
    {
      title: "Questions that rose or fell",
      columns: [
        ...(several ? [left("settings")] : []),
        left("question"),
        right("rank before"),
        right("rank"),
        right("nDCG before"),
        right("nDCG"),
        left("verdict"),
      ],
      rows: moved.map((each) => [
        ...(several ? [each.label] : []),
        each.question,
        each.rank_before,
        each.rank,
        amount(each.before),
        amount(each.now),
        verdictCell("ndcg", each.change),
      ]),
    },
  ];
}

/** Nothing is said of times: a few milliseconds are chance. */
const verdictCell = (figure: string, change: number): Cell => {
  if (isLatency(figure)) return null;
  return change > 0 ? { text: "better", tone: "good" } : { text: "worse", tone: "bad" };
};

/** Was a question answered as it was to be? */
const isWhole = ({ missing, error }: QuestionResult): boolean =>
  missing.length === 0 && error === null;

/** What stood where the expected was to stand, the best first. */
const instead = ({ found }: QuestionResult): string =>
  found
    .filter(({ relevant }) => !relevant)
    .map(({ document }) => document)
    .join(", ");

function failureSection({ results }: Evaluation): Section {
  const several = results.length > 1;
  const rows = results.flatMap(({ variant, answers }) =>
    answers
      .filter((answer) => !isWhole(answer))
      .map((answer): Cell[] => [
        ...(several ? [variant.label] : []),
        answer.question.line,
        answer.question.key,
        answer.missing.join(", "),
        answer.error === null ? instead(answer) : { text: answer.error, tone: "bad" },
      ]),
  );
  const title = "Questions with something missing";
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

/** A case for each question and each way to search. */
export const junitCases = (results: readonly Result[]): JUnitCase[] =>
  results.flatMap(({ variant, answers }) =>
    answers.map((answer): JUnitCase => {
      const { question, missing, error, seconds } = answer;
      const others = instead(answer) || "nothing";
      return {
        name: variant.label === "" ? question.key : `${question.key} (${variant.label})`,
        ...(seconds !== null && { seconds }),
        ...(!isWhole(answer) && {
          failure: error ?? `not found: ${missing.join(", ")}\nfound instead: ${others}`,
        }),
      };
    }),
  );
