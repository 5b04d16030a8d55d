import { isSuccess } from "../../../../runs/status.ts";
import type { Context } from "../../../task/command-spec.ts";
import {
  checkExpectation,
  namedEnds,
  quoted,
  runFields,
  runSucceeded,
} from "../../expect/index.ts";
import type { SuiteAnswer } from "./ask.ts";
import { openComparison } from "./compare-answer.ts";
import type { AnswerComparison } from "./compare-answer.ts";
import { openJudges } from "./judge.ts";
import type { Judge } from "./judge.ts";
import type {
  CheckKind,
  Suite,
  SuiteJudge,
  SuiteProgram,
  SuiteSupport,
  SuiteTurn,
} from "../file/index.ts";
import { needsText } from "../file/index.ts";
import { openSchema } from "./check-schema.ts";
import { runProgram } from "./run-program.ts";
import { counted, firstNames } from "../../../../lib/text.ts";
import type { CitedChunk } from "../../../../runs/trace.ts";
import { checkContext } from "./check-context.ts";
import { supportedSentences } from "./supported.ts";

/** What is expected of an answer, and whether it met that. */
export interface AnswerCheck {
  readonly kind: CheckKind;
  readonly check: string;
  readonly passed: boolean;
  /** The actual state, on one line. */
  readonly actual: string;
  /** From 0 to 1: how similar the answer is, or what its judge gave it. */
  readonly score?: number;
}

/** A check of the answer to one of the turns. */
export interface TurnCheck extends AnswerCheck {
  /** From 1. */
  readonly turn: number;
}

/** The checks of an answer. */
interface CheckedAnswer {
  readonly checks: readonly AnswerCheck[];
  /** Why the answer cannot be judged; null if it can. */
  readonly error: string | null;
  /** Tokens of its judge; null without one. */
  readonly judgeTokens: number | null;
}

const unchecked: CheckedAnswer = { checks: [], error: null, judgeTokens: null };

/** What is known beside an answer. */
export interface AnswerBackground {
  /** Chunks that the search of the test found. */
  readonly found: readonly CitedChunk[];
  /** The name of an expected document, as the server calls it. */
  readonly nameOf: (written: string) => string;
  /** All turns of the test so far. */
  readonly turns: readonly object[];
}

/** Compares an answer with all that its turn expects, and asks its judges. */
export type CheckAnswer = (
  answer: SuiteAnswer,
  turn: SuiteTurn,
  background: AnswerBackground,
) => Promise<CheckedAnswer>;

type Pause = () => Promise<void>;

/** Opens judges and prepares comparisons. Throws `usage` for a turn that no answer can be checked against. */
export async function openChecker(suite: Suite, context: Context): Promise<CheckAnswer> {
  const comparisons = new Map<SuiteTurn, AnswerComparison>();
  const schemas = new Map<SuiteTurn, Awaited<ReturnType<typeof openSchema>>>();
  const compiled = new Map<string, Awaited<ReturnType<typeof openSchema>>>();
  const all = suite.tests.flatMap((test) => test.turns);
  for (const turn of all) {
    const { answer, compare } = turn;
    if (turn.schema) {
      const { of, file, schema } = turn.schema;
      // Most tests have that of the defaults, and to compile one takes a tenth of a second.
      const key = JSON.stringify([of, file, schema]);
      const opened = compiled.get(key) ?? (await openSchema(turn.schema, context.host.files));
      compiled.set(key, opened);
      schemas.set(turn, opened);
    }
    if (answer.length > 0 && compare) comparisons.set(turn, openComparison({ ...turn, compare }));
  }
  const judge = await openJudges(all, suite.user, context);
  /** Lets Ctrl-C and the end of --timeout arrive, and throws their error. */
  const pause = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    if (context.signal.aborted) throw context.abortError();
  };
  return async (answer, turn, { found, nameOf, turns }) => {
    const error = unjudged(answer, turn);
    if (error !== null) return { ...unchecked, error };
    const checks = await checkedConditions(answer, turn, pause);
    const comparison = comparisons.get(turn);
    if (comparison) checks.push(await checkedText(answer, comparison, pause));
    const cited = answer.trace.sources ?? [];
    const chunks = cited.length > 0 ? cited : found;
    checks.push(...turn.context.map((each) => checkContext(each, chunks, nameOf)));
    const schema = schemas.get(turn);
    if (schema) checks.push({ kind: "schema", ...schema(answer.trace) });
    const asked = { answer, turn, chunks, judge, turns };
    const judged = [
      turn.supported ? await supportedAnswer(turn.supported, asked, pause) : unchecked,
      turn.judge ? await judgedAnswer(turn.judge, asked) : unchecked,
      turn.program ? await decidedAnswer(turn.program, asked, context) : unchecked,
    ];
    return {
      checks: [...checks, ...judged.flatMap((each) => each.checks)],
      error: judged.find((each) => each.error !== null)?.error ?? null,
      judgeTokens: judged.reduce<number | null>((sum, each) => sumOf(sum, each.judgeTokens), null),
    };
  };
}

/** Why an answer cannot be judged; null if it can. */
function unjudged({ trace }: SuiteAnswer, turn: SuiteTurn): string | null {
  if (trace.status === "paused" && !turn.expectations.flatMap(namedEnds).includes("paused"))
    return "the run is waiting for human input";
  const { missing, actual } = runFields.text.read(trace);
  return needsText(turn) && missing === "unknown" ? `the answer is not known: ${actual}` : null;
}

/** The conditions of a turn; that the run succeeded is one of them unless another names its end. */
async function checkedConditions(
  { trace }: SuiteAnswer,
  { expectations }: SuiteTurn,
  pause: Pause,
): Promise<AnswerCheck[]> {
  const names = expectations.flatMap(namedEnds);
  const all = names.length > 0 ? expectations : [runSucceeded, ...expectations];
  const checks: AnswerCheck[] = [];
  for (const each of all) {
    await pause();
    const { name, result } = checkExpectation(each, trace);
    checks.push({ kind: "expect", check: name, passed: result.passed, actual: result.actual });
  }
  return checks;
}

async function checkedText(
  { trace }: SuiteAnswer,
  { check, compare }: AnswerComparison,
  pause: Pause,
): Promise<AnswerCheck> {
  const { value, actual } = runFields.text.read(trace);
  if (typeof value !== "string") return { kind: "answer", check, passed: false, actual };
  return { kind: "answer", check, ...(await compare(value, pause)) };
}

/** An answer with what its judges are told. */
interface AskedAnswer {
  readonly answer: SuiteAnswer;
  readonly turn: SuiteTurn;
  readonly chunks: readonly CitedChunk[];
  readonly judge: Judge;
  readonly turns: readonly object[];
}

/** The check of a run that has no answer. */
const unanswered = (
  kind: CheckKind,
  check: string,
  { actual }: { readonly actual: string },
): CheckedAnswer => ({ ...unchecked, checks: [{ kind, check, passed: false, actual }] });

/** The text of an answer, or why there is none: no judge is asked about a run that failed. */
function textOf({ trace }: SuiteAnswer): { readonly text: string } | { readonly actual: string } {
  const { value, actual } = runFields.text.read(trace);
  if (typeof value !== "string") return { actual };
  return isSuccess(trace.status) ? { text: value } : runFields.status.read(trace);
}

async function judgedAnswer(
  by: SuiteJudge,
  { answer, turn, chunks, judge }: AskedAnswer,
): Promise<CheckedAnswer> {
  const { app, criteria, atLeast } = by;
  const check = `judge ${app} gives at least ${atLeast}${criteria === undefined ? "" : `: ${quoted(criteria)}`}`;
  const said = textOf(answer);
  if (!("text" in said)) return unanswered("judge", check, said);
  const question = questionOf(turn);
  const given = { question, answer: said.text, criteria, expected: turn.answer, chunks };
  const judgement = await judge(by, given);
  const { tokens: judgeTokens, error } = judgement;
  if (judgement.error !== null) return { checks: [], error, judgeTokens };
  const { passed, actual, score } = judgement;
  const scored = score === undefined ? {} : { score };
  return { checks: [{ kind: "judge", check, passed, actual, ...scored }], error, judgeTokens };
}

/** What a judge of sentences decides, unless its suite says otherwise. */
const supportCriteria =
  "The context states what each sentence of the answer states, or it follows from the context.";

/** How many sentences are quoted. */
const MAX_SENTENCES = 3;

async function supportedAnswer(
  { judge: judging, atLeast, share }: SuiteSupport,
  { answer, turn, chunks, judge }: AskedAnswer,
  pause: Pause,
): Promise<CheckedAnswer> {
  const check = `at least ${atLeast} of the sentences are in the chunks`;
  const said = textOf(answer);
  if (!("text" in said)) return unanswered("supported", check, said);
  await pause();
  const contents = chunks.map(({ content }) => content ?? "");
  const { all, open } = supportedSentences(said.text, contents, { share });
  const asked = judging && open.length > 0 && chunks.length > 0 ? judging : undefined;
  const judgement =
    asked &&
    (await judge(asked, {
      question: questionOf(turn),
      answer: open.join("\n"),
      criteria: asked.criteria ?? supportCriteria,
      expected: [],
      chunks,
    }));
  const judgeTokens = judgement?.tokens ?? null;
  if (judgement && judgement.error !== null)
    return { checks: [], error: judgement.error, judgeTokens };
  const opinion = judgement;
  const left = opinion?.passed ? [] : open;
  const score = all.length === 0 ? 1 : (all.length - left.length) / all.length;
  const actual = [
    `${all.length - left.length} of ${counted(all.length, "sentence")}`,
    ...(chunks.length === 0 ? ["there are no chunks"] : []),
    ...(opinion && asked ? [`judge ${asked.app}: ${opinion.actual}`] : []),
    ...(left.length > 0 ? [`not supported: ${firstNames(left.map(quoted), MAX_SENTENCES)}`] : []),
  ].join("; ");
  return {
    checks: [{ kind: "supported", check, passed: score >= atLeast, score, actual }],
    error: null,
    judgeTokens,
  };
}

/** What a program is given, and what it decides. */
async function decidedAnswer(
  program: SuiteProgram,
  { answer, turn, chunks, turns }: AskedAnswer,
  context: Context,
): Promise<CheckedAnswer> {
  const check = `program ${quoted(program.words.join(" "))} passes the answer`;
  const said = textOf(answer);
  if (!("text" in said)) return unanswered("check", check, said);
  const { inputs, assigned, answer: expected } = turn;
  const { outputs = null } = answer.trace;
  const asked = { question: questionOf(turn), inputs: { ...inputs, ...assigned } };
  const given = { ...asked, answer: said.text, outputs, expected, chunks, turns };
  const decision = await runProgram(program, given, context);
  if ("error" in decision) return { ...unchecked, error: decision.error };
  return { ...unchecked, checks: [{ kind: "check", check, ...decision }] };
}

/** The sum of numbers that may be unknown; null if all are. */
export const sumOf = (sum: number | null, more: number | null = null): number | null =>
  more === null ? sum : (sum ?? 0) + more;

/** The question: the message to a chat, the only input of a workflow, or all of them as JSON. */
function questionOf({ query, inputs: typed, assigned }: SuiteTurn): string {
  const inputs = { ...typed, ...assigned };
  const [only, ...more] = Object.values(inputs);
  return query ?? (typeof only === "string" && more.length === 0 ? only : JSON.stringify(inputs));
}
