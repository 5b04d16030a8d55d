import { left, right } from "../../../output/report-model.ts";
import type { Cell, Detail, Section } from "../../../output/report-model.ts";
import type { QuestionResult, VariantResult } from "./search.ts";

/** All questions, each with what its search found: for pages. */
export function questionSection(results: readonly VariantResult[]): Section {
  const all = results.flatMap(({ variant, ks, answers }) =>
    answers.map((answer) => ({ label: variant.label, k: Math.max(...ks), answer })),
  );
  const isMatrix = results.some(({ variant }) => variant.label !== "");
  return {
    title: "Questions",
    columns: [
      left("question"),
      ...(isMatrix ? [left("settings")] : []),
      left("result"),
      right("rank"),
      right("recall"),
      right("nDCG"),
      right("time"),
    ],
    rows: all.map(({ label, k, answer }): Cell[] => [
      answer.question.question,
      ...(isMatrix ? [label] : []),
      resultCell(answer),
      answer.rank,
      answer.figures[`recall@${k}`]?.toFixed(3) ?? null,
      answer.figures[`ndcg@${k}`]?.toFixed(3) ?? null,
      answer.seconds === null ? null : `${answer.seconds.toFixed(2)} s`,
    ]),
    details: (row) => questionDetails(all[row]?.answer),
  };
}

function resultCell({ missing, rank, error }: QuestionResult): Cell {
  if (error !== null) return { text: "search failed", tone: "bad" };
  if (missing.length === 0) return { text: "all found", tone: "good" };
  return rank === null
    ? { text: "nothing found", tone: "bad" }
    : { text: "partly found", tone: "warn" };
}

function questionDetails(answer: QuestionResult | undefined): Detail[] {
  if (!answer) return [];
  const { error, missing, found } = answer;
  return [
    ...(error === null ? [] : [{ label: "error", value: error, tone: "bad" } as const]),
    ...(missing.length === 0
      ? []
      : [{ label: "missing", value: missing.join("\n"), tone: "bad" } as const]),
    ...(found.length === 0 ? [] : [{ label: "found", ...foundTable(found) }]),
  ];
}

const foundTable = (found: QuestionResult["found"]) => ({
  columns: [right("rank"), left("document"), right("score"), left("expected")],
  rows: found.map(({ rank, document, score, relevant }): Cell[] => [
    rank,
    document,
    typeof score === "number" ? score.toFixed(3) : null,
    relevant ? { text: "yes", tone: "good" } : { text: "no", tone: "dim" },
  ]),
});
