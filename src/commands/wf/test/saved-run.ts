import { isObject } from "../../../lib/json.ts";
import { isNumber } from "../../../lib/server-event.ts";
import type { CitedChunk } from "../../../runs/trace.ts";
import type { FoundChunks } from "./answers/index.ts";
import { checkKinds } from "./file/index.ts";
import type { Quarantine, SuiteBudget } from "./file/index.ts";
import type { TestSelection } from "./plan-runs.ts";
import type { AskedTurn, TestRun } from "./run-tests.ts";

/** What becomes of a run of a test. */
export const statuses = ["passed", "failed", "error", "not run"] as const;

/** Reads each field of an object from a file that may have anything there, or nothing. */
type Readers<T> = { readonly [Field in keyof T]: (value: unknown) => T[Field] };

const withReaders = <T>(readers: Readers<T>, value: unknown): T => {
  const fields: Readonly<Record<string, unknown>> = isObject(value) ? value : {};
  const read = Object.entries<(value: unknown) => unknown>(readers);
  return Object.fromEntries(read.map(([name, each]) => [name, each(fields[name])])) as T;
};

/** Null for anything but a text. */
export const textIn = (value: unknown) => (typeof value === "string" ? value : null);
const name = (value: unknown) => textIn(value) ?? "";
/** Null for anything but a number that can be computed with. */
export const numberIn = (value: unknown) => (isNumber(value) ? value : null);
const number = (value: unknown) => numberIn(value) ?? undefined;
const flag = (value: unknown) => value === true;
const listOf =
  <T>(read: (value: unknown) => T | null) =>
  (value: unknown): T[] =>
    Array.isArray(value) ? value.flatMap((each) => read(each) ?? []) : [];
const mapping =
  <T>(readers: Readers<T>) =>
  (value: unknown): T | null =>
    isObject(value) ? withReaders(readers, value) : null;

const chunks = (value: unknown): CitedChunk[] =>
  listOf(mapping<CitedChunk>({ document: textIn, content: textIn }))(value);

/** What a run has today; files of earlier versions lack some of it. */
const runReaders = (): Readers<TestRun> => ({
  suite: name,
  path: name,
  test: name,
  tags: listOf(textIn),
  repeat: (value) => numberIn(value) ?? 1,
  side: (value) => (value === "old" ? "old" : "new"),
  app: textIn,
  reused: flag,
  confirms: flag,
  annotated: flag,
  pass: (value) =>
    withReaders(
      { rate: (rate) => numberIn(rate) ?? 1, lower_bound: (bound) => numberIn(bound) ?? 0 },
      value,
    ),
  status: (value) => statuses.find((status) => status === value) ?? "not run",
  checks: listOf(
    mapping<TestRun["checks"][number]>({
      turn: (value) => numberIn(value) ?? 1,
      kind: (value) => checkKinds.find((kind) => kind === value) ?? "expect",
      check: name,
      passed: flag,
      actual: name,
      score: number,
    }),
  ),
  answer: textIn,
  cited: listOf(textIn),
  seconds: numberIn,
  tokens: numberIn,
  judge_tokens: numberIn,
  run: textIn,
  conversation: textIn,
  error: textIn,
  recordings: listOf(textIn),
  turns: listOf(
    mapping<AskedTurn>({
      query: textIn,
      inputs: (value) => (isObject(value) ? value : {}),
      answer: textIn,
      expected: listOf(textIn),
      chunks,
      end: (value) => (isObject(value) ? (value as unknown as AskedTurn["end"]) : null), // read with care
      judge: mapping({ app: name, criteria: (value) => textIn(value) ?? undefined }),
    }),
  ),
  quarantine: (value) => {
    const read = mapping<Quarantine>({ until: name, reason: textIn })(value);
    return read && /^\d{4}-\d\d-\d\d$/.test(read.until) ? read : null;
  },
  found: mapping<FoundChunks>({
    query: name,
    top: numberIn,
    expected: listOf(textIn),
    names: (value) =>
      Object.fromEntries(
        Object.entries(isObject(value) ? value : {}).map(([written, known]) => [
          written,
          textIn(known),
        ]),
      ),
    documents: listOf(textIn),
    chunks,
  }),
  score: numberIn,
});

/** A run of results or of a journal, with all that runs have today. */
export const savedRun = (run: unknown): TestRun => withReaders(runReaders(), run);

const budget = (value: unknown) => mapping<SuiteBudget>({ tokens: number, seconds: number })(value);

/** The suites of results. */
export const savedSuites = (value: unknown) =>
  listOf(
    mapping<TestSelection["suites"][number]>({
      name,
      sha256: name,
      budget: (value) => budget(value) ?? undefined,
    }),
  )(value);
