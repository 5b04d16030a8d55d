import { usage } from "../../../../errors.ts";
import { readEach } from "../../expect/index.ts";
import type { Files } from "../../../../host/host.ts";
import { rowPlace, unreadable } from "../../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../../lib/formats/rows-file.ts";
import { rowsInFile } from "../file/index.ts";

/** An answer that people have marked. */
export interface LabelledAnswer {
  readonly id: string;
  readonly line: number;
  readonly question: string;
  readonly answer: string;
  /** Expected answers, of which any will do. */
  readonly expected: readonly string[];
  /** Undefined for those of the command line. */
  readonly criteria: string | undefined;
  readonly isGood: boolean;
}

const labels: Readonly<Record<"true" | "false", readonly string[]>> = {
  true: ["pass", "true", "yes", "1"],
  false: ["fail", "false", "no", "0"],
};

/**
 * Reads answers with their marks from CSV or JSON Lines: a label, or a mark from 0 to 1, which is good from
 * 0.5 on. Throws `usage` for a row without an answer or a mark.
 */
export async function readLabels(path: string, files: Files): Promise<LabelledAnswer[]> {
  const { rows } = await rowsInFile(path, files);
  if (rows.length === 0) throw usage(`${path} has no rows`);
  return readEach(rows, (row) => [labelledAnswer(path, row)]);
}

function labelledAnswer(path: string, row: FileRow): LabelledAnswer {
  const cell = (name: string) => {
    const value = row.values[name] ?? "";
    return typeof value === "object" ? JSON.stringify(value) : String(value).trim();
  };
  const [answer, label] = [cell("answer"), cell("label").toLowerCase()];
  const mark = cell("mark") === "" ? Number.NaN : Number(cell("mark"));
  const isGood = label === "" ? mark >= 0.5 : labels.true.includes(label);
  const isMarked = label === "" ? mark >= 0 && mark <= 1 : isGood || labels.false.includes(label);
  if (answer === "" || !isMarked)
    throw unreadable(
      `${path} ${rowPlace(row)}`,
      answer === "" ? "the row has no answer" : "the row has no valid label or mark",
      `a label is one of ${Object.values(labels).flat().join(", ")}; a mark is a number from 0 to 1`,
    );
  const { expected } = row.values;
  const texts = Array.isArray(expected) ? expected.map(String) : [cell("expected")];
  return {
    id: cell("id") || `row ${row.number}`,
    line: row.line,
    question: cell("question"),
    answer,
    expected: texts.filter((text) => text !== ""),
    criteria: cell("criteria") || undefined,
    isGood,
  };
}
