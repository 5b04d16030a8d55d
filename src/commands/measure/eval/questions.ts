import { commandLine } from "../../../lib/command-line.ts";
import { usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { bytesOf } from "../../../lib/collect.ts";
import { isObject, tryParseJson, valueAt } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { readRowFile, unreadable } from "../../../lib/formats/rows-file.ts";
import type { FileRow } from "../../../lib/formats/rows-file.ts";
import { getKnowledgeBase, searchKnowledgeBase } from "../../../operations/knowledge.ts";
import type { FileInput, Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { readSearches } from "../suite-file/index.ts";
import type { evalParams } from "./command.ts";
import { parseQrels } from "./qrels.ts";
import type { Qrels } from "./qrels.ts";
import { isNumeric } from "../../../lib/exact-number.ts";

/** A quotation that a found chunk covers, however the document was split. */
export interface Quotation {
  /** Name, ID or path of its document; undefined for any. */
  readonly document: string | undefined;
  readonly text: string;
  readonly grade: number;
}

/** A question and what its search is expected to find. */
export interface Question {
  /** Identifies it across runs: its ID, or else its text. */
  readonly key: string;
  readonly id: string | null;
  readonly question: string;
  /** Documents as written: name, ID or path. */
  readonly documents: readonly string[];
  /** Grades of these documents, as written; 1 for the others. */
  readonly grades: ReadonlyMap<string, number>;
  /** Texts that found chunks must contain. */
  readonly texts: readonly string[];
  readonly passages: readonly Quotation[];
  /** False if the knowledge base has no answer: then finding nothing is right. */
  readonly hasAnswer: boolean;
  /** The last rank at which what is expected counts as found; Infinity if any will do. */
  readonly maxRank: number;
  /** `metadata_filtering_conditions` of its search. */
  readonly filter: Readonly<Record<string, unknown>> | undefined;
  /** Which part of `kb tune` its document belongs to; undefined if a hash decides. */
  readonly part?: "tune" | "proof" | undefined;
  readonly line: number;
}

/**
 * The document that a question is about, as written: questions about one are alike, so that they count together in a
 * comparison and are in one part of a tuning. Of several documents, it is the first that is relevant. All questions
 * that are connected by documents would be alike more surely, but with a second document in every fifth question,
 * 40 documents make 6 groups, and each new question can move others to the other part. With a second document in every
 * fifth question and strong effects of documents, 5.6 % of comparisons are false alarms in place of 5 %, measured with
 * 10,000 collections as in test/long/tuning-rates.test.ts. Without a document, it is the passage or text, or else the question.
 */
export function documentOf({ documents, grades, passages, texts, key }: Question): string {
  const document = documents.find((each) => grades.get(each) !== 0) ?? passages[0]?.document;
  return document ?? passages[0]?.text ?? texts[0] ?? key;
}

/** The part of `kb tune` of a document whose questions name none. */
export const hashedPart = (document: string): "tune" | "proof" =>
  Number.parseInt(sha256(document).slice(0, 2), 16) < 128 ? "tune" : "proof";

type QuestionInput = Pick<
  Input<typeof evalParams>,
  "questions" | "queries" | "qrels" | "dataset_id"
>;

/**
 * The questions of a file of them, or of the tests of a suite (YAML) that search the knowledge base. Says on stderr
 * what is not used: columns, and judgements of questions that are not there.
 */
export async function readQuestions(input: QuestionInput, context: Context) {
  const { host } = context;
  const { questions, queries, qrels, dataset_id } = input;
  const file = questions ?? queries;
  if (!file || (questions && queries))
    throw usage(
      file ? "the questions are given twice" : "missing argument: <questions>",
      file
        ? "give the file of questions once"
        : `questions for it are made by ${commandLine("kb questions", [context.enteredName(dataset_id), "questions.jsonl"], { app: "APP" })}`,
    );
  const bytes = await readBytes(file, host);
  if (isYaml(file.name) && !(await isList(bytes))) {
    const { name } = await context.api.call(getKnowledgeBase, { dataset_id });
    return {
      file: file.name,
      questions: await suiteQuestions(file.path, [name, dataset_id], host),
    };
  }
  const judged = qrels && parseQrels(qrels.name, await questionText(qrels, host));
  const read = await parseQuestions(file.name, bytes, judged);
  if (read.unused.length > 0)
    await context.notice(`${file.name}: ignored columns: ${read.unused.join(", ")}`);
  const known = new Set(read.questions.map(({ key }) => key));
  const without = [...(judged?.keys() ?? [])].filter((key) => !known.has(key));
  if (without.length > 0)
    await context.notice(
      `${qrels?.name}: ${counted(without.length, "question")} with judgements ${without.length === 1 ? "is" : "are"} not in ${file.name}: ${firstNames(without)}`,
    );
  return { file: file.name, questions: read.questions };
}

const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name);

/** A list is one of questions; a mapping is a suite of tests. */
async function isList(bytes: Uint8Array): Promise<boolean> {
  const yaml = await parseYaml(new TextDecoder().decode(bytes));
  return "value" in yaml && Array.isArray(yaml.value);
}

const readBytes = ({ path }: FileInput, { files, stdin }: Host): Promise<Uint8Array> =>
  path === "-" ? bytesOf(stdin.bytes()) : files.read(path);

/** The text of a file of the line, or of stdin. */
export const questionText = async (file: FileInput, host: Host): Promise<string> =>
  new TextDecoder().decode(await readBytes(file, host));

/** The tests of a suite that search this knowledge base, known by its name or ID. Throws usage if there are none. */
async function suiteQuestions(path: string, names: readonly string[], { files }: Host) {
  const here = (await readSearches(path, files)).filter(({ kb }) => names.includes(kb));
  if (here.length > 0) return here.map(questionOfTest);
  throw usage(
    `${path}: no test searches ${JSON.stringify(names[0])}`,
    "a test that is a question has the key search: { kb: NAME, documents: [NAME] }",
  );
}

/** A test of a suite with a question to a knowledge base. */
export interface SearchingTest extends Pick<Question, "documents" | "texts"> {
  readonly name: string;
  readonly query: string;
  readonly from: { readonly line: number };
}

/** The question of a test; its name identifies it. */
export const questionOfTest = ({
  name,
  query,
  documents,
  texts,
  from,
}: SearchingTest): Question => ({
  key: name,
  id: name,
  question: query,
  documents,
  grades: new Map(),
  texts,
  passages: [],
  hasAnswer: true,
  maxRank: Infinity,
  filter: undefined,
  line: from.line,
});

/** The columns, with the names that they have in BEIR and RAGAS. */
const columns: Readonly<Record<string, string>> = {
  id: "id",
  _id: "id",
  question: "question",
  user_input: "question",
  documents: "documents",
  text: "text",
  passages: "passages",
  reference_contexts: "passages",
  max_rank: "max_rank",
  filter: "filter",
  part: "part",
};

/** Limit for the length of a query (server §8). */
export const MAX_QUERY = searchKnowledgeBase.params.query.length[1];

/**
 * Parses CSV, JSON Lines or a list in YAML; with judgements by question (qrels), the questions are those that have some, and
 * `text` is the question where there is no other. Throws usage with the line of the problem.
 */
export async function parseQuestions(name: string, bytes: Uint8Array, qrels?: Qrels) {
  if (bytes.length === 0) throw unreadable(name, "no questions: the file is empty", exampleLine);
  const table = isYaml(name) ? await yamlRows(name, bytes) : await readRowFile(name, bytes);
  const given = new Map(Object.entries(columns));
  if (qrels) given.set("text", "question");
  if (table.columns && !table.columns.some((column) => given.get(column) === "question"))
    throw unreadable(`${name} line 1`, "column question is missing", exampleLine);
  const byKey = new Map<string, Question>();
  const unused = new Set<string>();
  for (const { values, line } of table.rows) {
    for (const column of Object.keys(values)) if (!given.has(column)) unused.add(column);
    const named = Object.fromEntries(
      Object.entries(values).flatMap(([column, value]) => {
        const known = given.get(column);
        return known === undefined ? [] : [[known, value]];
      }),
    );
    const place = `${name} line ${line}`;
    const question = questionOf({ values: named, line }, place, {
      isCsv: table.columns !== undefined,
      qrels,
    });
    if (!question) continue;
    const other = byKey.get(question.key);
    if (other) {
      const duplicate = question.id === null ? "duplicate question" : `duplicate id ${question.id}`;
      throw unreadable(
        place,
        `${duplicate}, first on line ${other.line}`,
        "questions must differ in their id, or in their text if they have none",
      );
    }
    byKey.set(question.key, question);
  }
  if (byKey.size === 0) throw unreadable(name, "no questions", exampleLine);
  return { questions: [...byKey.values()], unused: [...unused] };
}

/** The items of a list in YAML as rows. Throws usage with the line of the problem. */
async function yamlRows(name: string, bytes: Uint8Array) {
  const yaml = await parseYaml(new TextDecoder().decode(bytes));
  if ("problem" in yaml) throw unreadable(`${name} line ${yaml.line}`, yaml.problem, exampleLine);
  const { document, value, lineAt } = yaml;
  if (!Array.isArray(value)) throw unreadable(name, "expected a list of questions", exampleLine);
  const rows = value.map((values: unknown, index) => {
    const range: unknown = valueAt(document.contents, `items.${index}.range.0`);
    const line = lineAt(Number(range ?? 0));
    if (!isObject(values)) throw unreadable(`${name} line ${line}`, "a question is a mapping");
    return { values, line };
  });
  return { rows, columns: undefined };
}

const exampleLine = `a line looks like {"question": "How many days of leave?", "documents": ["leave.md"]}`;

/** Undefined for a question without judgements where others have them. */
function questionOf(
  { values, line }: Pick<FileRow, "values" | "line">,
  place: string,
  { isCsv, qrels }: { readonly isCsv: boolean; readonly qrels: Qrels | undefined },
): Question | undefined {
  const textIn = (column: string): string | undefined => {
    const value = values[column] ?? undefined;
    if (isNumeric(value)) return String(value);
    if (value === undefined || typeof value === "string") return value?.trim() || undefined;
    throw unreadable(place, `${column} is not a string`);
  };
  const question = textIn("question");
  if (question === undefined) throw unreadable(place, "question is missing", exampleLine);
  const length = [...question].length;
  if (length > MAX_QUERY) {
    throw unreadable(place, `the question has ${length} characters; the limit is ${MAX_QUERY}`);
  }
  const id = textIn("id") ?? null;
  const grades = qrels ? qrels.get(id ?? question) : gradesIn(values["documents"], place);
  if (qrels && !grades) return undefined;
  const separator = isCsv ? ";" : undefined;
  const documents = grades
    ? [...grades.keys()]
    : textsIn("documents", values["documents"], separator, place);
  // A sentence may contain a semicolon, so only line breaks separate texts.
  const texts = textsIn("text", values["text"], isCsv ? "\n" : undefined, place);
  const passages = passagesIn(values["passages"], isCsv, place);
  const hasAnswer = documents.length + texts.length + passages.length > 0;
  const saysNone = Array.isArray(values["documents"]) && values["documents"].length === 0;
  if (!hasAnswer && !saysNone) {
    throw unreadable(
      place,
      "no expected documents or text",
      'add documents, text or passages; "documents": [] for a question that has no answer here',
    );
  }
  const maxRank = Number(textIn("max_rank") ?? Infinity);
  if (!(maxRank >= 1) || (maxRank !== Infinity && !Number.isInteger(maxRank)))
    throw unreadable(place, "max_rank is not 1, 2, 3 …");
  const filter = filterIn(values["filter"], isCsv, place);
  const part = textIn("part");
  if (part !== undefined && part !== "tune" && part !== "proof")
    throw unreadable(place, `part is ${JSON.stringify(part)}, not tune or proof`);
  const judged = { documents, grades: grades ?? new Map<string, number>(), texts, passages };
  const key = id ?? question;
  return { key, id, question, ...judged, hasAnswer, maxRank, filter, part, line };
}

const isGrade = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 0;

/** Graded documents: `{"leave.md": 2, "faq.md": 1, "travel.md": 0}`. */
function gradesIn(value: unknown, place: string): ReadonlyMap<string, number> | undefined {
  if (!isObject(value)) return undefined;
  return new Map(
    Object.entries(value).map(([document, grade]) => {
      if (isGrade(grade)) return [document.trim(), grade];
      throw unreadable(place, `the grade of ${JSON.stringify(document)} is not 0, 1, 2 …`);
    }),
  );
}

/** Quoted texts, or objects of `text`, and if given `document` and `grade`. */
function passagesIn(value: unknown, isCsv: boolean, place: string): Quotation[] {
  if (value === undefined || value === null || value === "") return [];
  const list = isCsv && typeof value === "string" ? (listIn(value) ?? [value]) : value;
  return [list].flat().map((each: unknown): Quotation => {
    const { text, document, grade = 1 } = isObject(each) ? each : { text: each };
    const isText = typeof text === "string" && text.trim() !== "";
    if (!isText || !isGrade(grade) || !(document === undefined || typeof document === "string"))
      throw unreadable(place, "a passage is a text, or has text and if needed document and grade");
    return { text: text.trim(), document, grade };
  });
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
  const filter = isCsv ? tryParseJson(String(value)) : value;
  if (filter === undefined) throw unreadable(place, "filter is not valid JSON");
  const conditions = isObject(filter) ? filter["conditions"] : undefined;
  const hasTexts = (each: unknown) =>
    ["name", "comparison_operator"].every((key) => isObject(each) && typeof each[key] === "string");
  if (isObject(filter) && Array.isArray(conditions) && conditions.every(hasTexts)) return filter;
  throw unreadable(
    place,
    "filter must have conditions, each with name and comparison_operator",
    `a filter looks like {"logical_operator": "and", "conditions": [{"name": "team", "comparison_operator": "is", "value": "people"}]}`,
  );
}
