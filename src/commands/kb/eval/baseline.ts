import { CliError } from "../../../errors.ts";
import { isObject } from "../../../lib/json.ts";
import { rounded } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import type { Result } from "./search.ts";
import type { SearchVariant } from "./matrix.ts";

/** An earlier evaluation, as far as it is compared. */
export interface Baseline {
  readonly file: string;
  readonly settings: readonly {
    readonly label: string;
    readonly settings: SearchVariant;
    readonly figures: Metrics;
    readonly questions: ReadonlyMap<string, Before>;
  }[];
}

interface Before {
  readonly rank: number | null;
  readonly figures: Metrics;
}

/** A figure or the place of a question that is another one now; a rank is null where nothing relevant was found. */
export interface RankChange {
  readonly before: number | null;
  readonly now: number | null;
  readonly change: number;
}

/** How one way to search compares with the same one of an earlier evaluation. */
export interface BaselineComparison {
  readonly label: string;
  /** Search settings of the earlier one. */
  readonly settings_before: SearchVariant;
  readonly figures: readonly (RankChange & { readonly figure: string })[];
  /** Questions that rose or fell, by nDCG at the largest k that both have. */
  readonly questions: readonly (RankChange & {
    readonly question: string;
    readonly rank_before: number | null;
    readonly rank: number | null;
  })[];
  /** Questions that only one of the two answered: its figures are of other questions. */
  readonly added: number;
  readonly gone: number;
}

/** Reads what --save or `-o json` wrote. Throws usage for anything else. */
export function readBaseline(file: string, text: string): Baseline {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    // told below
  }
  const settings = isObject(data) && data["kb_eval"] === 1 ? data["settings"] : undefined;
  if (!Array.isArray(settings)) {
    throw new CliError("usage", `${file} is no evaluation`, {
      sideEffect: "none",
      hint: "--save writes one, and so does -o json",
    });
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
          .map(({ id, question, rank, figures: own }) => [
            String(id ?? question),
            { rank: typeof rank === "number" ? rank : null, figures: numbersIn(own) },
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
 * Compares with the way to search of the same label; where both evaluations have one way only, with
 * that one. Undefined where there is none.
 */
export function compareWithBaseline(
  result: Result,
  baseline: Baseline,
  single: boolean,
): BaselineComparison | undefined {
  const { label } = result.variant;
  const before =
    baseline.settings.find((each) => each.label === label) ??
    (single && baseline.settings.length === 1 ? baseline.settings[0] : undefined);
  if (!before) return undefined;
  const figures = Object.entries(result.figures).flatMap(([figure, now]) => {
    const then = before.figures[figure] ?? null;
    return then === null || now === null
      ? []
      : [{ figure, before: then, now, change: rounded(now - then) }];
  });
  const measure = figures.findLast(({ figure }) => figure.startsWith("ndcg@"))?.figure ?? "mrr";
  const questions: BaselineComparison["questions"][number][] = [];
  let added = 0;
  let met = 0;
  for (const { question, rank, figures: own, error } of result.answers) {
    if (error !== null) continue;
    const earlier = before.questions.get(question.key);
    if (!earlier) {
      added++;
      continue;
    }
    met++;
    const [then, exact] = [earlier.figures[measure] ?? null, own[measure] ?? null];
    if (then === null || exact === null) continue;
    const now = rounded(exact); // as the earlier ones were written
    if (then === now) continue;
    questions.push({
      question: question.key,
      rank_before: earlier.rank,
      rank,
      before: then,
      now,
      change: rounded(now - then),
    });
  }
  return {
    label,
    settings_before: before.settings,
    figures,
    questions,
    added,
    gone: before.questions.size - met,
  };
}
