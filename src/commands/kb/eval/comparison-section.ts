import { left, right } from "../../../output/report-model.ts";
import type { Cell, Section } from "../../../output/report-model.ts";
import type { BaselineComparison } from "./baseline.ts";
import { amount, figureLabel, prefixFor, settingsText, signed } from "./evaluation.ts";
import type { Evaluation } from "./evaluation.ts";
import type { VariantResult } from "./search.ts";

/** What changed since an earlier evaluation, figure by figure and question by question. */
export function comparisonSections(
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
    columns: [left("settings"), left("figure"), right("before"), right("now"), right("change")],
    rows: changed.map(({ label, figure, before, now, change }) => [
      label,
      figureLabel(figure),
      amount(before),
      amount(now),
      signed(change),
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
      verdictCell(change),
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

/** What the settings of a matrix, or before and now, differ in more than by chance. */
export function verdictSection({ comparisons, level, baseline, results }: Evaluation): Section[] {
  if (comparisons.length === 0) return [];
  const isMatrix = results.some(({ variant }) => variant.label !== "");
  const share = `${Number((level * 100).toPrecision(3))} %`;
  const rows = comparisons.map((each): Cell[] => [
    ...(isMatrix ? [each.settings] : []),
    each.against,
    each.measure,
    each.questions,
    each.difference === null ? null : signed(each.difference),
    each.interval ? `${signed(each.interval.low)} to ${signed(each.interval.high)}` : null,
    each.p?.toFixed(4) ?? null,
    { text: each.verdict, tone: verdictTones[each.verdict] },
  ]);
  const open = comparisons.find(({ verdict }) => verdict === "cannot be told");
  const needed = (open?.needed ?? [])
    .flatMap(({ difference, questions }) =>
      questions === null ? [] : [`${difference * 100} points: ${questions}`],
    )
    .join(", ");
  return [
    {
      title: "Comparison",
      columns: [
        ...(isMatrix ? [left("settings")] : []),
        left("against"),
        { ...left("measure"), minor: true },
        { ...right("questions"), minor: true },
        right("difference"),
        { ...left("95 % of samples"), minor: true },
        { ...right("p"), minor: true },
        left("verdict"),
      ],
      rows,
      notes: [
        baseline
          ? `"worse" is wrong in at most ${share}, "better" likewise (paired randomization test, Holm)`
          : `one of the verdicts "better" and "worse" is wrong in at most ${share} (paired randomization test, Holm)`,
        ...(needed === "" ? [] : [`questions that tell a difference of ${needed} (4 of 5 times)`]),
      ],
    },
  ];
}

const verdictTones = {
  better: "good",
  worse: "bad",
  same: "dim",
  "cannot be told": "warn",
  "not comparable": "warn",
} as const;

const verdictCell = (change: number): Cell => {
  return change > 0 ? { text: "better", tone: "good" } : { text: "worse", tone: "bad" };
};
