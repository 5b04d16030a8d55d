import { left, literal, right } from "../../../output/report-model.ts";
import type { Cell, Detail, ReportPage, Section, Tile } from "../../../output/report-model.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import { isLatency } from "./metrics.ts";
import type { QuestionResult, VariantResult } from "./search.ts";

/** The page of an evaluation: the questions stand between the other tables, misses first. */
export function evaluationPage(
  {
    kb,
    file,
    results,
  }: {
    readonly kb: { readonly id: string; readonly name: string };
    readonly file: string;
    readonly results: readonly VariantResult[];
  },
  { first, last }: { readonly first: readonly Section[]; readonly last: readonly Section[] },
): ReportPage {
  return {
    facts: { "knowledge base": kb.name, ID: kb.id, questions: file },
    tiles: tilesOf(results),
    sections: [...first, questionSection(results), ...last],
  };
}

/** How the searches ended, and the metrics of a single variant; those of several are compared in a table. */
function tilesOf(results: readonly VariantResult[]): Tile[] {
  const words = results.flatMap(({ answers }) => answers.map(resultOf));
  const counts = (["all found", "partly found", "nothing found", "search failed"] as const).flatMap(
    (word): Tile[] => {
      const count = words.filter((each) => each === word).length;
      const note = `of ${words.length} searches`;
      return count === 0 && word !== "all found"
        ? []
        : [{ label: word, value: String(count), tone: tones[word], note }];
    },
  );
  const [single, ...others] = results;
  const k = Math.max(...(single?.ks ?? []));
  const shown = [`recall@${k}`, `ndcg@${k}`, "mrr", "latency_p95"];
  const figures =
    others.length > 0 ? [] : shown.map((name) => [name, single?.figures[name]] as const);
  return [
    ...counts,
    ...figures.flatMap(([name, value]): Tile[] => {
      if (value === null || value === undefined) return [];
      return [{ label: name, value: isLatency(name) ? `${value.toFixed(3)} s` : value.toFixed(3) }];
    }),
  ];
}

const tones = {
  "all found": "good",
  "partly found": "warn",
  "nothing found": "bad",
  "search failed": "bad",
} as const;

function resultOf({ missing, rank, error }: QuestionResult): keyof typeof tones {
  if (error !== null) return "search failed";
  if (missing.length === 0) return "all found";
  return rank === null ? "nothing found" : "partly found";
}

/** All questions, each with the chunks that its search found beside the expected documents and texts. */
function questionSection(results: readonly VariantResult[]): Section {
  const order = Object.keys(tones).toReversed();
  const all = results
    .flatMap(({ variant, ks, answers, records }) =>
      answers.map((answer) => {
        const found = records.get(answer.question) ?? [];
        return { label: variant.label, k: Math.max(...ks), answer, found, word: resultOf(answer) };
      }),
    )
    .toSorted((one, other) => order.indexOf(one.word) - order.indexOf(other.word));
  const isMatrix = results.some(({ variant }) => variant.label !== "");
  // A search by keyword gives none.
  const hasScores = all.some(({ found }) => found.some(({ score }) => score > 0));
  return {
    title: "Questions",
    columns: [
      literal("question"),
      ...(isMatrix ? [left("settings")] : []),
      left("result"),
      right("rank"),
      right("recall"),
      right("nDCG"),
      right("time"),
    ],
    rows: all.map(({ label, k, answer, word }): Cell[] => [
      answer.question.question,
      ...(isMatrix ? [label] : []),
      { text: word, tone: tones[word] },
      answer.rank,
      answer.figures[`recall@${k}`]?.toFixed(3) ?? null,
      answer.figures[`ndcg@${k}`]?.toFixed(3) ?? null,
      answer.seconds === null ? null : `${answer.seconds.toFixed(2)} s`,
    ]),
    details: (row) => questionDetails(all[row], hasScores),
    marks: (row) => ({ state: [all[row]?.word ?? ""].filter((word) => word !== "all found") }),
  };
}

function questionDetails(
  row: { readonly answer: QuestionResult; readonly found: readonly SearchRecord[] } | undefined,
  hasScores: boolean,
): Detail[] {
  if (!row) return [];
  const { error, missing, found, question } = row.answer;
  const relevant = new Set(found.flatMap(({ id, relevant: isIt }) => (isIt ? [id] : [])));
  const { documents, grades, passages, texts } = question;
  const wanted = documents.filter((written) => grades.get(written) !== 0);
  const expected = [...wanted, ...passages.map(({ text }) => text), ...texts];
  // Where passages are judged, each chunk has its own result.
  const isExpected = ({ segment }: SearchRecord, index: number) =>
    passages.length > 0
      ? found[index]?.relevant === true
      : relevant.has(segment.document?.id ?? segment.document_id ?? "");
  return [
    ...(error === null ? [] : [{ label: "error", value: error, tone: "bad" } as const]),
    {
      label: "expected",
      columns: [literal("document or text"), left("result")],
      rows: expected.map((written): Cell[] => [
        written,
        missing.includes(written)
          ? { text: "missing", tone: "bad" }
          : { text: "found", tone: "good" },
      ]),
    },
    ...(row.found.length === 0
      ? []
      : [
          {
            label: "found chunks",
            columns: [
              literal("document"),
              left("expected"),
              literal("chunk"),
              ...(hasScores ? [right("score")] : []),
            ],
            rows: row.found.map((record, index): Cell[] => [
              record.segment.document?.name ?? record.segment.document_id ?? "",
              isExpected(record, index)
                ? { text: "yes", tone: "good" }
                : { text: "no", tone: "dim" },
              [record.segment.content, record.segment.answer].filter(Boolean).join("\n"),
              ...(hasScores
                ? [typeof record.score === "number" ? record.score.toFixed(3) : null]
                : []),
            ]),
          },
        ]),
  ];
}
