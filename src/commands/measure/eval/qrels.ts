import { unreadable } from "../../../lib/formats/rows-file.ts";

/** Grades of documents by question: `{"q1" → {"d7" → 2, "d9" → 0}}`. */
export type Qrels = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * Parses judgements as TREC writes them (`q1 0 d7 2`, question, iteration, document and grade), or BEIR
 * (`q1<tab>d7<tab>2` below a header). Grades below 0 count as 0, as in trec_eval. Throws usage with the line.
 */
export function parseQrels(name: string, text: string): Qrels {
  const qrels = new Map<string, Map<string, number>>();
  for (const [index, line] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    if (line.trim() === "") continue;
    const cells = line.includes("\t") ? line.split("\t") : line.split(/\s+/);
    const [question = "", document = "", grade = ""] =
      cells.length === 4 ? [cells[0], cells[2], cells[3]] : cells;
    if (index === 0 && /^[a-z_ -]+$/i.test(grade)) continue; // the header
    if (cells.length < 3 || cells.length > 4 || !/^-?\d+$/.test(grade.trim()))
      throw unreadable(
        `${name} line ${index + 1}`,
        "not a judgement",
        "a line has a question, a document and a grade, separated by tabs",
      );
    const grades = qrels.get(question.trim()) ?? new Map<string, number>();
    grades.set(document.trim(), Math.max(0, Number(grade)));
    qrels.set(question.trim(), grades);
  }
  if (qrels.size === 0) throw unreadable(name, "no judgements");
  return qrels;
}

/** What one question found, for a run. */
interface RunRows {
  readonly question: string;
  /** Names of documents, the best first. */
  readonly found: readonly string[];
}

/**
 * A run as TREC writes it: `q1 Q0 leave.md 1 5 kb`. Its readers order by the score, in single precision, in which close
 * scores are equal: ranks counted from the end take their place.
 */
export function trecRun(rows: readonly RunRows[], tag: string): string {
  return rows
    .flatMap(({ question, found }) =>
      found.map((document, index) => {
        const fields = [word(question), "Q0", word(document), index + 1, found.length - index];
        return `${[...fields, word(tag)].join(" ")}\n`;
      }),
    )
    .join("");
}

/** Fields of a run are separated by spaces. */
const word = (text: string): string => text.trim().replace(/\s+/g, "_") || "kb";
