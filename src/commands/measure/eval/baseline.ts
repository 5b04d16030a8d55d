import { usage } from "../../../errors.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Section } from "../../../output/report-model.ts";
import { prefixFor, settingsText } from "./settings.ts";
import { amount, figureLabel, rounded, signed } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import type { SearchVariant } from "./settings.ts";
import type { VariantResult } from "./search.ts";

/** One variant of an earlier evaluation, as far as it is compared; its label is the file. */
type EarlierVariant = ReturnType<typeof readBaseline>[number];

/** Parses the output of --save or `-o json`. Throws usage for anything else. */
export function readBaseline(file: string, text: string) {
  const data = tryParseJson(text);
  const variants = isObject(data) && data["kb_eval"] === 1 ? data["settings"] : undefined;
  if (!Array.isArray(variants)) {
    throw usage(
      `${file} is not the result of an evaluation`,
      "create one with kb eval --save FILE",
    );
  }
  return variants.filter(isObject).map(({ label, retrieval_model, figures: means, questions }) => {
    const settings = isObject(retrieval_model) ? retrieval_model : {};
    const answered = (Array.isArray(questions) ? questions : [])
      .filter(isObject)
      .filter(({ error }) => error === null)
      .map(({ id, question, rank, figures }) => ({
        key: String(id ?? question),
        rank: numberOf(rank),
        figures: figuresOf(figures),
      }));
    return {
      variant: String(label),
      label: file,
      topK: numberOf(settings["top_k"]) ?? undefined,
      settings,
      means: figuresOf(means),
      ranks: new Map(answered.map(({ key, rank }) => [key, rank])),
      figures: new Map(answered.map(({ key, figures }) => [key, figures])),
    };
  });
}

const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

const figuresOf = (value: unknown): Metrics =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).map(([name, each]) => [name, numberOf(each)]),
  );

/** What a baseline has of a variant: that of its label, or the only one if both have just one. */
export const earlierOf = (
  { label }: SearchVariant,
  baseline: readonly EarlierVariant[],
  isSingle: boolean,
): EarlierVariant | undefined =>
  baseline.find(({ variant }) => variant === label) ??
  (isSingle && baseline.length === 1 ? baseline[0] : undefined);

/** Comparison of one variant with the same one in the baseline, as in JSON. */
export type BaselineComparison = ReturnType<typeof compareWithBaseline>;

export function compareWithBaseline(result: VariantResult, before: EarlierVariant) {
  const figures = Object.entries(result.figures).flatMap(([figure, now]) => {
    const change = changeOf(before.means[figure] ?? null, now);
    return change ? [{ figure, ...change }] : [];
  });
  const measure = figures.findLast(({ figure }) => figure.startsWith("ndcg@"))?.figure ?? "mrr";
  const answered = result.answers.filter(({ error }) => error === null);
  const common = answered.filter(({ question }) => before.figures.has(question.key));
  return {
    label: result.variant.label,
    settings_before: before.settings,
    figures,
    /** Questions with a changed nDCG at the largest k that both have. */
    questions: common.flatMap(({ question: { key }, rank, figures: { [measure]: now } }) => {
      const old = before.figures.get(key)?.[measure] ?? null;
      const change = changeOf(old, now === undefined ? null : rounded(now));
      if (!change || change.change === 0) return [];
      return [{ question: key, rank_before: before.ranks.get(key) ?? null, rank, ...change }];
    }),
    /** Number of questions that only one of the two has; metrics of different questions differ. */
    added: answered.length - common.length,
    gone: before.figures.size - common.length,
  };
}

const changeOf = (before: number | null, now: number | null) =>
  before === null || now === null ? undefined : { before, now, change: rounded(now - before) };

/** A baseline, and each variant against it. */
export interface ComparedBaseline {
  readonly file: string;
  readonly compared: readonly (BaselineComparison | undefined)[];
}

/** What changed since an earlier evaluation, figure by figure and question by question. */
export function comparisonSections(
  results: readonly VariantResult[],
  { file, compared }: ComparedBaseline,
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

const verdictCell = (change: number): Cell => {
  return change > 0 ? { text: "better", tone: "good" } : { text: "worse", tone: "bad" };
};
