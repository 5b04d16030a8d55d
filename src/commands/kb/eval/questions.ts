import { isObject } from "../../../lib/json.ts";
import { searchKnowledgeBase } from "../../../operations/knowledge.ts";
import { readRowFile, unreadable } from "../../../lib/rows-file.ts";
import type { FileRow } from "../../../lib/rows-file.ts";

/** One question and what a search for it is expected to find. */
export interface Question {
  /** What tells it from all others, in other runs too: its id, else its text. */
  readonly key: string;
  readonly id: string | null;
  readonly question: string;
  /** Documents as they were written: name, id or path. */
  readonly documents: readonly string[];
  /** Texts that the chunks found are to hold. */
  readonly texts: readonly string[];
  /** `metadata_filtering_conditions` of its search. */
  readonly filter: Readonly<Record<string, unknown>> | undefined;
  /** Line of the file, from 1. */
  readonly line: number;
}

/** Questions in the order of a file, and its columns that mean nothing here. */
export interface QuestionFile {
  readonly questions: readonly Question[];
  readonly unused: readonly string[];
}

const columns: ReadonlySet<string> = new Set(["id", "question", "documents", "text", "filter"]);
/** Characters of a query (server §8). */
const longest = searchKnowledgeBase.params.query.length[1];

/** Reads CSV or JSON Lines. Throws usage with the line of what is wrong. */
export async function questionsIn(name: string, bytes: Uint8Array): Promise<QuestionFile> {
  if (bytes.length === 0) throw unreadable(name, "there is no question: it is empty", shape);
  const table = await readRowFile(name, bytes);
  const absent = table.columns && !table.columns.includes("question");
  if (absent) throw unreadable(`${name} line 1`, "there is no column question", shape);
  const byKey = new Map<string, Question>();
  const unused = new Set<string>();
  for (const row of table.rows) {
    for (const [column] of row.cells) if (!columns.has(column)) unused.add(column);
    const question = questionOf(row, `${name} line ${row.line}`, table.columns !== undefined);
    const other = byKey.get(question.key);
    if (other) {
      const problem =
        question.id === null ? "the same question stands" : `the id ${question.id} is used`;
      throw unreadable(
        `${name} line ${row.line}`,
        `${problem} on line ${other.line} already`,
        "questions are told apart by their id, or by their text where they have none",
      );
    }
    byKey.set(question.key, question);
  }
  if (byKey.size === 0) throw unreadable(name, "there is no question", shape);
  return { questions: [...byKey.values()], unused: [...unused] };
}

const shape = `a line is like {"question": "How many days of leave?", "documents": ["leave.md"]}`;

function questionOf({ cells, line }: FileRow, place: string, isCsv: boolean): Question {
  const values = new Map(cells);
  const textIn = (column: string): string | undefined => {
    const value = values.get(column) ?? undefined;
    if (typeof value === "number") return String(value);
    if (value === undefined || typeof value === "string") return value?.trim() || undefined;
    throw unreadable(place, `${column} is no text`);
  };
  const question = textIn("question");
  if (question === undefined) throw unreadable(place, "question is missing", shape);
  const length = [...question].length;
  if (length > longest) {
    throw unreadable(place, `the question has ${length} characters; the server takes ${longest}`);
  }
  const documents = textsIn("documents", values.get("documents"), isCsv ? ";" : undefined, place);
  // A sentence may hold a semicolon, so only line ends part texts.
  const texts = textsIn("text", values.get("text"), isCsv ? "\n" : undefined, place);
  if (documents.length + texts.length === 0) {
    throw unreadable(place, "nothing is expected", "give documents, text or both");
  }
  const id = textIn("id") ?? null;
  const filter = filterIn(values.get("filter"), isCsv, place);
  return { key: id ?? question, id, question, documents, texts, filter, line };
}

/** One text or a list of them. In CSV a list is JSON, or parted by the separator where there is one. */
function textsIn(column: string, value: unknown, separator: string | undefined, place: string) {
  if (value === undefined || value === null) return [];
  const parted = separator !== undefined && typeof value === "string";
  const list: unknown = parted ? (jsonList(value) ?? value.split(separator)) : value;
  const texts = (Array.isArray(list) ? list : [list]).map((each: unknown) => {
    if (typeof each === "string") return each.trim();
    throw unreadable(place, `${column} is neither a text nor a list of texts`);
  });
  return [...new Set(texts.filter((each) => each !== ""))];
}

/** Undefined for a text that only looks like a list, if at all. */
function jsonList(text: string): unknown[] | undefined {
  if (!text.trimStart().startsWith("[")) return undefined;
  try {
    return JSON.parse(text) as unknown[]; // what begins with [ is a list
  } catch {
    return undefined;
  }
}

function filterIn(
  value: unknown,
  isCsv: boolean,
  place: string,
): Readonly<Record<string, unknown>> | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const filter = isCsv ? jsonIn("filter", String(value), place) : value;
  const conditions = isObject(filter) ? filter["conditions"] : undefined;
  const good =
    Array.isArray(conditions) &&
    conditions.every(
      (each) =>
        isObject(each) &&
        typeof each["name"] === "string" &&
        typeof each["comparison_operator"] === "string",
    );
  if (!isObject(filter) || !good) {
    throw unreadable(
      place,
      "filter has no conditions, each with name and comparison_operator",
      `filters look like {"logical_operator": "and", "conditions": [{"name": "team", "comparison_operator": "is", "value": "people"}]}`,
    );
  }
  return filter;
}

function jsonIn(column: string, text: string, place: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw unreadable(place, `${column} is not JSON: ${reason}`);
  }
}
