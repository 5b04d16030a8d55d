import { usage } from "../../../errors.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { left, right } from "../../../output/report-model.ts";
import type { Cell, Section } from "../../../output/report-model.ts";
import type { MeasuredSettings } from "./comparison.ts";
import { prefixFor, settingsText } from "./matrix.ts";
import { amount, figureLabel, rounded, signed } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import type { VariantResult } from "./search.ts";

/** The parts of an earlier evaluation that are compared. */
export type Baseline = ReturnType<typeof readBaseline>;

/** Parses the output of --save or `-o json`. Throws usage for anything else. */
export function readBaseline(file: string, text: string) {
  const data = tryParseJson(text);
  const settings = isObject(data) && data["kb_eval"] === 1 ? data["settings"] : undefined;
  if (!Array.isArray(settings)) {
    throw usage(
      `${file} is not the result of an evaluation`,
      "create one with kb eval --save FILE",
    );
  }
  const variants = settings.filter(isObject).map((each) => ({
    label: String(each["label"]),
    settings: objectOf(each["retrieval_model"]),
    figures: objectOf(each["figures"]),
    questions: new Map(
      (Array.isArray(each["questions"]) ? each["questions"].filter(isObject) : [])
        .filter(({ error }) => error === null)
        .map(({ id, question, rank, figures }) => [
          String(id ?? question),
          { rank: numberOf(rank), figures: figuresOf(figures) },
        ]),
    ),
  }));
  return { file, settings: variants };
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  isObject(value) ? value : {};

const figuresOf = (value: unknown): Metrics =>
  Object.fromEntries(Object.entries(objectOf(value)).map(([name, each]) => [name, numberOf(each)]));

const numberOf = (value: unknown): number | null => (typeof value === "number" ? value : null);

/** Comparison of one variant with the same one in the baseline, as in JSON. */
export type BaselineComparison = NonNullable<ReturnType<typeof compareWithBaseline>>;

/**
 * Compares a variant with that of the same label in the baseline, or with its only one if both have just
 * one. Undefined if there is none.
 */
export function compareWithBaseline(result: VariantResult, baseline: Baseline, isSingle: boolean) {
  const { label } = result.variant;
  const [only, ...others] = baseline.settings;
  const before =
    baseline.settings.find((each) => each.label === label) ??
    (isSingle && others.length === 0 ? only : undefined);
  if (!before) return undefined;
  const figures = Object.entries(result.figures).flatMap(([figure, now]) => {
    const change = changeOf(numberOf(before.figures[figure]), now);
    return change ? [{ figure, ...change }] : [];
  });
  const measure = figures.findLast(({ figure }) => figure.startsWith("ndcg@"))?.figure ?? "mrr";
  const answered = result.answers.filter(({ error }) => error === null);
  const common = answered.flatMap((answer) => {
    const old = before.questions.get(answer.question.key);
    return old ? [{ ...answer, old }] : [];
  });
  const changed = common.flatMap(({ question, rank, figures: exact, old }) => {
    const now = exact[measure];
    // Rounded like the stored one.
    const change =
      now === undefined ? undefined : changeOf(old.figures[measure] ?? null, rounded(now));
    if (!change || change.change === 0) return [];
    return [{ question: question.key, rank_before: old.rank, rank, ...change }];
  });
  return {
    label,
    /** Its figures by question, to be compared with those of now. */
    earlier: {
      label: baseline.file,
      topK: numberOf(before.settings["top_k"]) ?? undefined,
      figures: new Map([...before.questions].map(([key, each]) => [key, each.figures])),
    } satisfies MeasuredSettings,
    /** Search settings in the baseline. */
    settings_before: before.settings,
    figures,
    /** Questions with a changed nDCG at the largest k that both have. */
    questions: changed,
    /** Number of questions that only one of the two has; metrics of different questions differ. */
    added: answered.length - common.length,
    gone: before.questions.size - common.length,
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
