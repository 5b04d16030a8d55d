import { left, literal, right } from "../../../output/report-model.ts";
import type { Cell, Detail, ReportPage, Section, Tile } from "../../../output/report-model.ts";
import type { SearchRecord } from "../../../operations/knowledge.ts";
import { searchedText } from "./rating.ts";
import type { QuestionResult, VariantResult } from "./search.ts";

/** The page of an evaluation: the questions stand between the other tables, misses first. */
export function evaluationPage(
  facts: Readonly<Record<string, string>>,
  results: readonly VariantResult[],
  { first, last }: { readonly first: readonly Section[]; readonly last: readonly Section[] },
): ReportPage {
  const rows = rowsOf(results);
  return {
    facts,
    tiles: tilesOf(rows),
    sections: [...first, questionSection(rows), ...last],
  };
}

/** A search for a question. */
type SearchedRow = ReturnType<typeof rowsOf>[number];

/** All searches, misses first. */
function rowsOf(results: readonly VariantResult[]) {
  const order = Object.keys(tones).toReversed();
  return results
    .flatMap(({ variant: { label }, ks, answers, records }) =>
      answers.map((answer) => {
        const found = records.get(answer.question) ?? [];
        return { label, k: Math.max(...ks), answer, found, word: resultOf(answer) };
      }),
    )
    .toSorted((one, other) => order.indexOf(one.word) - order.indexOf(other.word));
}

/** How the searches ended. */
function tilesOf(rows: readonly SearchedRow[]): Tile[] {
  const note = `of ${rows.length} searches`;
  return Object.entries(tones).flatMap(([label, tone]): Tile[] => {
    const count = rows.filter(({ word }) => word === label).length;
    return count === 0 && label !== "all found"
      ? []
      : [{ label, value: String(count), tone, note }];
  });
}

const tones = {
  "all found": "good",
  "found too low": "warn",
  "partly found": "warn",
  "not rejected": "bad",
  "nothing found": "bad",
  "search failed": "bad",
} as const;

function resultOf(answer: QuestionResult): keyof typeof tones {
  const { question, passed, missing, rank, error } = answer;
  if (error !== null) return "search failed";
  if (passed) return "all found";
  if (!question.hasAnswer) return "not rejected";
  if (missing.length === 0) return "found too low";
  return rank === null ? "nothing found" : "partly found";
}

/** All questions, each with the chunks that its search found beside the expected documents and texts. */
function questionSection(all: readonly SearchedRow[]): Section {
  const areSeveral = all.some(({ label }) => label !== "");
  // A search by keyword gives none.
  const hasScores = all.some(({ found }) => found.some(({ score }) => score > 0));
  return {
    title: "Questions",
    columns: [
      literal("question"),
      ...(areSeveral ? [left("settings")] : []),
      left("result"),
      right("rank"),
      right("recall"),
      right("nDCG"),
      right("time"),
    ],
    rows: all.map(({ label, k, answer, word }): Cell[] => [
      answer.question.question,
      ...(areSeveral ? [label] : []),
      { text: word, tone: tones[word] },
      answer.rank,
      answer.figures[`recall@${k}`]?.toFixed(3) ?? null,
      answer.figures[`ndcg@${k}`]?.toFixed(3) ?? null,
      answer.seconds === null ? null : `${answer.seconds.toFixed(2)} s`,
    ]),
    details: (row) => all.slice(row, row + 1).flatMap((each) => questionDetails(each, hasScores)),
    marks: (row) => ({ state: [all[row]?.word ?? ""].filter((word) => word !== "all found") }),
  };
}

function questionDetails({ answer, found: records }: SearchedRow, hasScores: boolean): Detail[] {
  const { error, missing, late, found, question } = answer;
  const relevant = new Set(found.flatMap(({ id, relevant: isIt }) => (isIt ? [id] : [])));
  const { documents, grades, passages, texts } = question;
  const wanted = documents.filter((written) => grades.get(written) !== 0);
  // Where passages are judged, each chunk has its own result.
  const isExpected = ({ segment }: SearchRecord, index: number) =>
    passages.length > 0
      ? found[index]?.relevant === true
      : relevant.has(segment.document?.id ?? segment.document_id ?? "");
  const expected = {
    label: "expected",
    columns: [literal("document or text"), left("result")],
    rows: [...wanted, ...passages.map(({ text }) => text), ...texts].map((written): Cell[] => {
      const low = late.find(({ expected: each }) => each === written);
      if (low) return [written, { text: `rank ${low.rank}`, tone: "warn" }];
      const isMissing = missing.includes(written);
      return [
        written,
        isMissing ? { text: "missing", tone: "bad" } : { text: "found", tone: "good" },
      ];
    }),
  };
  const chunks = {
    label: "found chunks",
    columns: [
      literal("document"),
      left("expected"),
      literal("chunk"),
      ...(hasScores ? [right("score")] : []),
    ],
    rows: records.map((record, index): Cell[] => [
      record.segment.document?.name ?? record.segment.document_id ?? "",
      isExpected(record, index) ? { text: "yes", tone: "good" } : { text: "no", tone: "dim" },
      searchedText(record),
      ...(hasScores ? [record.score.toFixed(3)] : []),
    ]),
  };
  return [
    ...(error === null ? [] : [{ label: "error", value: error, tone: "bad" } as const]),
    expected,
    ...(records.length === 0 ? [] : [chunks]),
  ];
}
