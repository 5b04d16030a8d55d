import { isObject } from "../../../../lib/json.ts";
import { isNumber } from "../../../../lib/server-event.ts";
import { RunTrace } from "../../../../runs/trace.ts";
import { checkKinds } from "../../suite-file/index.ts";
import type { CheckKind } from "../../suite-file/index.ts";
import type { SuiteAnswer } from "../../ask/index.ts";

/** Reads each field of an object from a file that may have anything there, or nothing. */
type Readers = Readonly<Record<string, (value: unknown) => unknown>>;

/** What such readers give. */
type ReadBy<R extends Readers> = { readonly [Field in keyof R]: ReturnType<R[Field]> };

const fieldsIn = (value: unknown): Readonly<Record<string, unknown>> =>
  isObject(value) ? value : {};

const readFields = <R extends Readers>(readers: R, value: unknown): ReadBy<R> => {
  const fields = fieldsIn(value);
  const read = Object.entries(readers).map(([name, each]) => [name, each(fields[name])]);
  return Object.fromEntries(read) as ReadBy<R>;
};

/** Null for anything but a text. */
const textIn = (value: unknown) => (typeof value === "string" ? value : null);
const text = (value: unknown) => textIn(value) ?? "";
/** Null for anything but a number that can be computed with. */
const numberIn = (value: unknown) => (isNumber(value) ? value : null);
const numberOr =
  <T>(otherwise: T) =>
  (value: unknown) =>
    numberIn(value) ?? otherwise;
const flag = (value: unknown) => value === true;
const listOf =
  <T>(read: (value: unknown) => T | null) =>
  (value: unknown): readonly T[] =>
    Array.isArray(value) ? value.flatMap((each) => read(each) ?? []) : [];
/** Null for anything but a mapping with a text in the field that is needed. */
const mapping =
  <R extends Readers>(readers: R, needed?: string) =>
  (value: unknown) =>
    isObject(value) && (needed === undefined || typeof value[needed] === "string")
      ? readFields(readers, value)
      : null;

/** What is expected of an answer, and whether it met that. */
export interface AnswerCheck {
  readonly kind: CheckKind;
  readonly check: string;
  readonly passed: boolean;
  /** The actual state, on one line. */
  readonly actual: string;
  /** From 0 to 1: how similar the answer is, or what its judge gave it. */
  readonly score?: number | undefined;
}

/** A check of the answer to one of the turns. */
export interface TurnCheck extends AnswerCheck {
  /** From 1. */
  readonly turn: number;
}

const chunks = listOf(mapping({ document: textIn, content: textIn }));

const askedTurnIn = mapping({
  query: textIn, // the message to a chat; null for a workflow
  inputs: fieldsIn,
  answer: textIn,
  expected: listOf(textIn), // answers, of which any will do
  chunks, // what the answer was made of
  end: mapping(
    {
      status: text,
      error: textIn,
      seconds: numberIn, // by the server, or from the first event to the last
      tokens: numberIn,
      steps: numberIn,
      gaps: numberOr(0),
      outputs: (value): unknown => value ?? null,
    },
    "status",
  ),
  judge: mapping({ app: text, criteria: (value) => textIn(value) ?? undefined }, "app"),
});

/** What becomes of a run of a test; `error`: its answer could not be judged. */
export const statuses = ["passed", "failed", "error", "not run"] as const;

/** A run of a test has these fields; files of earlier versions lack some. */
const runReaders = {
  suite: text,
  path: text, // of the suite, as given
  test: text,
  tags: listOf(textIn),
  repeat: numberOr(1), // its number
  side: (value: unknown): "old" | "new" => (value === "old" ? "old" : "new"), // `old` is that of --against
  app: textIn, // as the server calls it; null if nothing is asked
  reused: flag, // whether the answers are those of an earlier run
  content: textIn, // hash of question and expectations; null in files of version 0.2.0
  confirms: flag, // whether the test was asked again, so that it is not among the planned runs
  second_look: flag, // whether it was asked again with all others, to look at the suite once more
  annotated: flag, // whether an annotation reply was the answer
  /** `stated`: the suite says a rate. */
  pass: (value: unknown) =>
    readFields({ rate: numberOr(1), lower_bound: numberOr(0), stated: flag }, value),
  status: (value: unknown) => statuses.find((status) => status === value) ?? "not run",
  checks: listOf<TurnCheck>(
    mapping({
      turn: numberOr(1),
      kind: (value) => checkKinds.find((kind) => kind === value) ?? "expect",
      check: text,
      passed: flag,
      actual: text,
      score: numberOr(undefined),
    }),
  ),
  answer: textIn, // the last one, and the documents that it cites
  cited: listOf(textIn),
  seconds: numberIn, // from the questions to the ends of the answers
  tokens: numberIn,
  judge_tokens: numberIn, // not part of `tokens`
  run: textIn, // IDs of the last run or message
  conversation: textIn,
  error: textIn,
  recordings: listOf(textIn), // paths, one for each turn
  turns: listOf(askedTurnIn),
  quarantine: (value: unknown) => {
    const read = mapping({ until: text, reason: textIn })(value);
    return read && /^\d{4}-\d\d-\d\d$/.test(read.until) ? read : null;
  },
  found: mapping({
    query: text,
    top: numberIn, // null for the setting of the knowledge base
    expected: listOf(textIn), // documents and texts
    names: (value) => {
      const names = Object.entries(fieldsIn(value));
      return Object.fromEntries(names.map(([written, known]) => [written, textIn(known)]));
    },
    documents: listOf(textIn), // names, the best first
    chunks,
  }),
  score: numberIn, // the mean of the checks, for `score_at_least`
} as const;

/** What became of one run of a test. */
export type TestRun = ReadBy<typeof runReaders>;

/** A question of a run, the expected answers, and the actual one with its end. */
export type AskedTurn = TestRun["turns"][number];

/** What the search of a test found; its names are those of documents by what is written. */
export type FoundChunks = NonNullable<TestRun["found"]>;

/** A run of results or of a journal, with all that runs have today; of nothing, one that was not run. */
export const storedRun = (run: unknown): TestRun => readFields(runReaders, run);

/** Fields of results about the selected tests. */
const selectionReaders = {
  suites: listOf(
    mapping({
      name: text,
      sha256: text, // of the file
      budget: (value) =>
        mapping({ tokens: numberOr(undefined), seconds: numberOr(undefined) })(value) ?? undefined,
    }),
  ),
  only: listOf(textIn), // words of --only
  failed_from: textIn, // the files and numbers of flags, null without them
  first: numberIn,
  repeat: numberOr(1),
  confirm: numberIn, // null without anything to compare with
  against: textIn,
  server: text, // its base URL
  shard: mapping({ index: numberOr(1), count: numberOr(1) }),
} as const;

/** Which tests results belong to: shards of the same selection can be merged. */
export type TestSelection = ReadBy<typeof selectionReaders>;

/** The selection of results. */
export const storedSelection = (data: unknown): TestSelection => readFields(selectionReaders, data);

/** The answer as conditions and judges see it: what is about events is undecided. Undefined if it is not stored. */
export function storedAnswer({ answer, chunks: sources, end }: AskedTurn) {
  if (!end) return undefined;
  const { status, error, seconds, tokens, steps, gaps, outputs } = end;
  const trace: RunTrace = Object.assign(new RunTrace(), {
    status,
    error: error ?? undefined,
    elapsed: seconds ?? undefined,
    tokens: tokens ?? undefined,
    steps: steps ?? undefined,
    gaps,
    outputs: outputs ?? undefined,
    sources,
    storedText: answer ?? undefined,
    unwatched: true,
  });
  return { trace, conversation: undefined } satisfies SuiteAnswer;
}
