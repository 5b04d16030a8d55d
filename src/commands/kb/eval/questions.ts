import { reasonOf } from "../../../errors.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { searchKnowledgeBase } from "../../../operations/knowledge.ts";
import { readRowFile, unreadable } from "../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../lib/formats/rows-file.ts";

/** A question and what its search is expected to find. */
export interface Question {
  /** Identifies it across runs: its ID, or else its text. */
  readonly key: string;
  readonly id: string | null;
  readonly question: string;
  /** Documents as written: name, ID or path. */
  readonly documents: readonly string[];
  /** Texts that found chunks must contain. */
  readonly texts: readonly string[];
  /** `metadata_filtering_conditions` of its search. */
  readonly filter: Readonly<Record<string, unknown>> | undefined;
  /** Line of the file, from 1. */
  readonly line: number;
}

/** The questions of a file in order, and the columns that are not used. */
export interface QuestionFile {
  readonly questions: readonly Question[];
  readonly unused: readonly string[];
}

const knownColumns: readonly string[] = ["id", "question", "documents", "text", "filter"];
/** Limit for the length of a query (server §8). */
const maxLength = searchKnowledgeBase.params.query.length[1];

/** Parses CSV or JSON Lines. Throws usage with the line of the problem. */
export async function parseQuestions(name: string, bytes: Uint8Array): Promise<QuestionFile> {
  if (bytes.length === 0) throw unreadable(name, "no questions: the file is empty", exampleLine);
  const table = await readRowFile(name, bytes);
  if (table.columns && !table.columns.includes("question"))
    throw unreadable(`${name} line 1`, "column question is missing", exampleLine);
  const byKey = new Map<string, Question>();
  const unused = new Set<string>();
  for (const row of table.rows) {
    for (const column of Object.keys(row.values))
      if (!knownColumns.includes(column)) unused.add(column);
    const question = questionOf(row, `${name} line ${row.line}`, table.columns !== undefined);
    const other = byKey.get(question.key);
    if (other) {
      const duplicate = question.id === null ? "duplicate question" : `duplicate id ${question.id}`;
      throw unreadable(
        `${name} line ${row.line}`,
        `${duplicate}, first on line ${other.line}`,
        "questions must differ in their id, or in their text if they have none",
      );
    }
    byKey.set(question.key, question);
  }
  if (byKey.size === 0) throw unreadable(name, "no questions", exampleLine);
  return { questions: [...byKey.values()], unused: [...unused] };
}

const exampleLine = `a line looks like {"question": "How many days of leave?", "documents": ["leave.md"]}`;

function questionOf({ values, line }: FileRow, place: string, isCsv: boolean): Question {
  const textIn = (column: string): string | undefined => {
    const value = values[column] ?? undefined;
    if (typeof value === "number") return String(value);
    if (value === undefined || typeof value === "string") return value?.trim() || undefined;
    throw unreadable(place, `${column} is not a string`);
  };
  const question = textIn("question");
  if (question === undefined) throw unreadable(place, "question is missing", exampleLine);
  const length = [...question].length;
  if (length > maxLength) {
    throw unreadable(place, `the question has ${length} characters; the limit is ${maxLength}`);
  }
  const documents = textsIn("documents", values["documents"], isCsv ? ";" : undefined, place);
  // A sentence may contain a semicolon, so only line breaks separate texts.
  const texts = textsIn("text", values["text"], isCsv ? "\n" : undefined, place);
  if (documents.length + texts.length === 0) {
    throw unreadable(place, "no expected documents or text", "add documents, text or both");
  }
  const id = textIn("id") ?? null;
  const filter = filterIn(values["filter"], isCsv, place);
  return { key: id ?? question, id, question, documents, texts, filter, line };
}

/** One text or a list. In CSV, a list is JSON or split at the separator: `a.md; b.md`. */
function textsIn(column: string, value: unknown, separator: string | undefined, place: string) {
  if (value === undefined || value === null) return [];
  const isSplit = separator !== undefined && typeof value === "string";
  const list: unknown = isSplit ? (listIn(value) ?? value.split(separator)) : value;
  const texts = (Array.isArray(list) ? list : [list]).map((each: unknown) => {
    if (typeof each === "string") return each.trim();
    throw unreadable(place, `${column} is not a string or a list of strings`);
  });
  return [...new Set(texts.filter((each) => each !== ""))];
}

/** Undefined for text that is not a JSON list. */
const listIn = (text: string): unknown =>
  text.trimStart().startsWith("[") ? tryParseJson(text) : undefined;

function filterIn(
  value: unknown,
  isCsv: boolean,
  place: string,
): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const filter = isCsv ? jsonIn(String(value), place) : value;
  const conditions = isObject(filter) ? filter["conditions"] : undefined;
  const isValid =
    Array.isArray(conditions) &&
    conditions.every(
      (each) =>
        isObject(each) &&
        typeof each["name"] === "string" &&
        typeof each["comparison_operator"] === "string",
    );
  if (!isObject(filter) || !isValid) {
    throw unreadable(
      place,
      "filter must have conditions, each with name and comparison_operator",
      `a filter looks like {"logical_operator": "and", "conditions": [{"name": "team", "comparison_operator": "is", "value": "people"}]}`,
    );
  }
  return filter;
}

function jsonIn(text: string, place: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw unreadable(place, `filter is not valid JSON: ${reasonOf(error)}`);
  }
}
