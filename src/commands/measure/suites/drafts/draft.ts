import { isObject, stringifyJson } from "../../../../lib/json.ts";
import { shortened, unicodeForm } from "../../../../lib/text.ts";

/** What is said to an application once. */
export interface DraftTurn {
  readonly query?: string | undefined;
  readonly inputs?: Readonly<Record<string, unknown>> | undefined;
}

/** A test as a source has it. */
export interface TestDraft {
  /** Its name (default: the question). */
  readonly name?: string | undefined;
  /** The messages of a conversation, or a single one. */
  readonly turns: readonly [DraftTurn, ...DraftTurn[]];
  /** Answers to the last one. */
  readonly answers: readonly string[];
  /** Outputs of the run that are expected again. */
  readonly outputs: Readonly<Record<string, unknown>>;
  /** Further keys of the test, as a suite has them. */
  readonly keys?: Readonly<Record<string, unknown>>;
}

/** What a source yields: a test, or why something did not become one. */
export type DraftOrReason = TestDraft | string;

/** A test with a name of its own. */
export type NamedDraft = TestDraft & { readonly name: string };

/** The tests of a source. */
export type DraftedTests = Awaited<ReturnType<typeof collectDrafts>>;

/** Longest answer of a test, in characters. */
export const MAX_ANSWER = 20_000;

/**
 * Collects up to `limit` tests. Those that ask the same, after white space and case, become one: any of
 * their answers will do, and only the outputs that all of them have are expected.
 */
export async function collectDrafts(
  source: AsyncIterable<DraftOrReason> | Iterable<DraftOrReason>,
  limit: number,
) {
  const byQuestion = new Map<string, TestDraft>();
  /** Why others did not become tests, and how many. */
  const skipped = new Map<string, number>();
  let duplicates = 0;
  /** Whether the source may have more. */
  let isCut = false;
  for await (const each of source) {
    const draft = typeof each === "string" ? each : (problemOf(each) ?? each);
    if (typeof draft === "string") {
      skipped.set(draft, (skipped.get(draft) ?? 0) + 1);
      continue;
    }
    const question = stringifyJson([draft.turns.map(normalized), draft.keys]);
    const known = byQuestion.get(question);
    if (known) duplicates++;
    else if (byQuestion.size === limit) {
      isCut = true;
      break;
    }
    byQuestion.set(question, known ? merged(known, draft) : draft);
  }
  return { drafts: withNames([...byQuestion.values()]), duplicates, skipped, isCut };
}

/** Why a draft cannot be a test; undefined if it can. */
function problemOf({ turns, answers, keys }: TestDraft): string | undefined {
  const values = turns.flatMap(({ inputs = {} }) => Object.values(inputs));
  if (values.some((value) => typeof value === "string" && value.startsWith("@")))
    return "with an input that starts with @, which a suite takes for a file";
  if (values.some(hasFile)) return "with files as inputs";
  const all = [answers, keys?.["answer"]].flat(2);
  if (all.some((answer) => typeof answer === "string" && answer.length > MAX_ANSWER))
    return `with an answer of more than ${MAX_ANSWER} characters`;
  return undefined;
}

/** Whether a value is or contains a file of the server. */
const hasFile = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.some(hasFile)
    : isObject(value) && ("transfer_method" in value || "dify_model_identity" in value);

/** The same for questions that differ in white space, case or Unicode form alone. */
const normalized = ({ query, inputs }: DraftTurn): unknown => [
  query === undefined ? null : plainText(query),
  Object.entries(inputs ?? {})
    .map(([name, value]) => [name, typeof value === "string" ? plainText(value) : value])
    .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
];

const plainText = (text: string): string =>
  unicodeForm(text).trim().replace(/\s+/gu, " ").toLowerCase();

function merged(one: TestDraft, other: TestDraft): TestDraft {
  const outputs = Object.entries(one.outputs).filter(
    ([name, value]) => stringifyJson(value) === stringifyJson(other.outputs[name]),
  );
  return {
    ...one,
    answers: [...new Set([...one.answers, ...other.answers])],
    outputs: Object.fromEntries(outputs),
  };
}

const MAX_NAME = 80;

/** Each test with a name that no other one has. */
function withNames(drafts: readonly TestDraft[]): NamedDraft[] {
  /** The last number of each name that is taken. */
  const last = new Map<string, number>();
  return drafts.map((draft) => {
    const start = nameOf(draft);
    let name = start;
    while (last.has(name)) {
      const number = (last.get(start) ?? 1) + 1;
      last.set(start, number);
      name = `${start} (${number})`;
    }
    last.set(name, 1);
    return { ...draft, name };
  });
}

function nameOf({ name, turns }: TestDraft): string {
  const { query, inputs = {} } = turns.at(-1) ?? {};
  const values = Object.entries(inputs).map(([input, value]) => [
    input,
    typeof value === "string" ? value : stringifyJson(value),
  ]);
  const [only, ...others] = values;
  const ofInputs = only && others.length === 0 ? only[1] : values.map((pair) => pair.join("="));
  const text = [name, query, String(ofInputs ?? "")].find((each) => each && onOneLine(each) !== "");
  return shortened(onOneLine(text ?? ""), MAX_NAME) || "test";
}

/** A text without characters that would not be seen in a name. */
const onOneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cs}\p{Cf}\s]+/gu, " ").trim();

/** A question as a source has it, which may be anything. */
interface Question {
  readonly query: unknown;
  readonly inputs?: unknown;
}

/** What is asked; undefined without a question. */
export function draftTurn({ query, inputs }: Question): DraftTurn | undefined {
  const question = trimmed(query);
  if (question === "") return undefined;
  return { query: question, ...(isObject(inputs) && Object.keys(inputs).length > 0 && { inputs }) };
}

/** A draft of a question and its answer, or which of them is missing; `before` are earlier turns. */
export function questionDraft(
  question: Question,
  answer: unknown,
  { name, before = [] }: { readonly name?: string | undefined; before?: readonly DraftTurn[] } = {},
): DraftOrReason {
  const asked = draftTurn(question);
  const expected = trimmed(answer);
  if (!asked) return "without a question";
  if (expected === "") return "without an answer";
  const [first = asked, ...others] = [...before, asked];
  return { name, turns: [first, ...others], answers: [expected], outputs: {} };
}

/** A text without white space around it; empty for any other value. */
const trimmed = (value: unknown): string => (typeof value === "string" ? value.trim() : "");
