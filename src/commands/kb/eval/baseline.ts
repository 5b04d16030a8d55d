import { usage } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { rounded } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import type { QuestionResult, VariantResult } from "./search.ts";
import type { EvalSettings } from "./matrix.ts";

/** The parts of an earlier evaluation that are compared. */
export interface Baseline {
  readonly file: string;
  readonly settings: readonly {
    readonly label: string;
    readonly settings: EvalSettings;
    readonly figures: Metrics;
    readonly questions: ReadonlyMap<string, BaselineQuestion>;
  }[];
}

interface BaselineQuestion {
  readonly rank: number | null;
  readonly figures: Metrics;
}

/** A changed value; null for a question without a relevant result. */
export interface ValueChange {
  readonly before: number | null;
  readonly now: number | null;
  readonly change: number;
}

/** Comparison of one variant with the same one in the baseline. */
export interface BaselineComparison {
  readonly label: string;
  /** Search settings in the baseline. */
  readonly settings_before: EvalSettings;
  readonly figures: readonly (ValueChange & { readonly figure: string })[];
  /** Questions with a changed nDCG at the largest k that both have. */
  readonly questions: readonly (ValueChange & {
    readonly question: string;
    readonly rank_before: number | null;
    readonly rank: number | null;
  })[];
  /** Number of questions that only one of the two has; metrics of different questions differ. */
  readonly added: number;
  readonly gone: number;
}

/** Parses the output of --save or `-o json`. Throws usage for anything else. */
export function readBaseline(file: string, text: string): Baseline {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    // reported below
  }
  const settings = isObject(data) && data["kb_eval"] === 1 ? data["settings"] : undefined;
  if (!Array.isArray(settings)) {
    throw usage(
      `${file} is not the result of an evaluation`,
      "create one with kb eval --save FILE",
    );
  }
  return {
    file,
    settings: settings.filter(isObject).map(({ label, retrieval_model, figures, questions }) => ({
      label: String(label),
      settings: isObject(retrieval_model) ? retrieval_model : {},
      figures: numbersIn(figures),
      questions: new Map(
        (Array.isArray(questions) ? questions.filter(isObject) : [])
          .filter(({ error }) => error === null)
          .map(({ id, question, rank, figures }) => [
            String(id ?? question),
            { rank: typeof rank === "number" ? rank : null, figures: numbersIn(figures) },
          ]),
      ),
    })),
  };
}

const numbersIn = (value: unknown): Metrics =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).map(([name, figure]) => [
      name,
      typeof figure === "number" ? figure : null,
    ]),
  );

/**
 * Compares a variant with that of the same label in the baseline, or with its only one if both have just
 * one. Undefined if there is none.
 */
export function compareWithBaseline(
  result: VariantResult,
  baseline: Baseline,
  isSingle: boolean,
): BaselineComparison | undefined {
  const { label } = result.variant;
  const before =
    baseline.settings.find((each) => each.label === label) ??
    (isSingle && baseline.settings.length === 1 ? baseline.settings[0] : undefined);
  if (!before) return undefined;
  const figures = Object.entries(result.figures).flatMap(([figure, now]) => {
    const old = before.figures[figure] ?? null;
    if (old === null || now === null) return [];
    return [{ figure, before: old, now, change: rounded(now - old) }];
  });
  const measure = figures.findLast(({ figure }) => figure.startsWith("ndcg@"))?.figure ?? "mrr";
  const answered = result.answers.filter(({ error }) => error === null);
  const common = answered.filter(({ question }) => before.questions.has(question.key));
  return {
    label,
    settings_before: before.settings,
    figures,
    questions: common.flatMap((each) => questionChange(each, measure, before.questions) ?? []),
    added: answered.length - common.length,
    gone: before.questions.size - common.length,
  };
}

function questionChange(
  { question, rank, figures }: QuestionResult,
  measure: string,
  baseline: ReadonlyMap<string, BaselineQuestion>,
): BaselineComparison["questions"][number] | undefined {
  const old = baseline.get(question.key);
  const before = old?.figures[measure] ?? null;
  const exact = figures[measure] ?? null;
  if (!old || before === null || exact === null) return undefined;
  const now = rounded(exact); // like the stored one
  if (before === now) return undefined;
  const change = rounded(now - before);
  return { question: question.key, rank_before: old.rank, rank, before, now, change };
}
