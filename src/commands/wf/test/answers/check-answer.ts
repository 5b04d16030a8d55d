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
import type { Suite, SuiteJudge, SuiteTurn } from "../file/index.ts";

/** What is expected of an answer, and whether it met that. */
export interface AnswerCheck {
  readonly check: string;
  readonly passed: boolean;
  /** The actual state, on one line. */
  readonly actual: string;
  /** From 0 to 1: how similar the answer is, or what its judge gave it. */
  readonly score?: number;
}

/** The checks of an answer. */
export interface CheckedAnswer {
  readonly checks: readonly AnswerCheck[];
  /** Why the answer cannot be judged; null if it can. */
  readonly error: string | null;
  /** Tokens of its judge; null without one. */
  readonly judgeTokens: number | null;
}

const unchecked: CheckedAnswer = { checks: [], error: null, judgeTokens: null };

/** Compares an answer with all that its turn expects, and asks its judge. */
export type CheckAnswer = (answer: SuiteAnswer, turn: SuiteTurn) => Promise<CheckedAnswer>;

type Pause = () => Promise<void>;

/** Opens judges and prepares comparisons. Throws `usage` for a turn that no answer can be checked against. */
export async function openChecker(suite: Suite, context: Context): Promise<CheckAnswer> {
  const comparisons = new Map<SuiteTurn, AnswerComparison>();
  const turns = suite.tests.flatMap((test) => test.turns);
  for (const turn of turns) {
    const { answer, compare } = turn;
    if (answer.length > 0 && compare) comparisons.set(turn, openComparison({ ...turn, compare }));
  }
  const judge = await openJudges(turns, suite.user, context);
  /** Lets Ctrl-C and the end of --timeout arrive, and throws their error. */
  const pause = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    if (context.signal.aborted) throw context.abortError();
  };
  return async (answer, turn) => {
    const error = unjudged(answer, turn);
    if (error !== null) return { ...unchecked, error };
    const checks = await checkedConditions(answer, turn, pause);
    const comparison = comparisons.get(turn);
    if (comparison) checks.push(await checkedText(answer, comparison, pause));
    const judged = turn.judge ? await judgedAnswer(answer, turn, turn.judge, judge) : unchecked;
    return { ...judged, checks: [...checks, ...judged.checks] };
  };
}

/** Why an answer cannot be judged; null if it can. */
function unjudged({ trace }: SuiteAnswer, turn: SuiteTurn): string | null {
  const { expectations, answer, judge } = turn;
  if (trace.status === "paused" && !expectations.flatMap(namedEnds).includes("paused"))
    return "the run is waiting for human input";
  const needsText = answer.length > 0 || judge !== undefined;
  const { missing, actual } = runFields.text.read(trace);
  return needsText && missing === "unknown" ? `the answer is not known: ${actual}` : null;
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
    checks.push({ check: name, passed: result.passed, actual: result.actual });
  }
  return checks;
}

async function checkedText(
  { trace }: SuiteAnswer,
  { check, compare }: AnswerComparison,
  pause: Pause,
): Promise<AnswerCheck> {
  const { value, actual } = runFields.text.read(trace);
  if (typeof value !== "string") return { check, passed: false, actual };
  return { check, ...(await compare(value, pause)) };
}

/** The judge is not asked about a run that has no answer. */
async function judgedAnswer(
  { trace }: SuiteAnswer,
  turn: SuiteTurn,
  by: SuiteJudge,
  judge: Judge,
): Promise<CheckedAnswer> {
  const { app, criteria, atLeast } = by;
  const check = `judge ${app} gives at least ${atLeast}${criteria === undefined ? "" : `: ${quoted(criteria)}`}`;
  const { value, actual } = runFields.text.read(trace);
  if (!isSuccess(trace.status) || typeof value !== "string") {
    const why = typeof value === "string" ? runFields.status.read(trace).actual : actual;
    return { ...unchecked, checks: [{ check, passed: false, actual: why }] };
  }
  const judgement = await judge(by, {
    question: questionOf(turn),
    answer: value,
    criteria,
    expected: turn.answer,
  });
  const { tokens: judgeTokens } = judgement;
  if (judgement.error !== null) return { checks: [], error: judgement.error, judgeTokens };
  const { passed, actual: said, score } = judgement;
  const scored = score === undefined ? {} : { score };
  return { checks: [{ check, passed, actual: said, ...scored }], error: null, judgeTokens };
}

/** The question: the message to a chat, the only input of a workflow, or all of them as JSON. */
function questionOf({ query, inputs: typed, assigned }: SuiteTurn): string {
  const inputs = { ...typed, ...assigned };
  const [only, ...more] = Object.values(inputs);
  return query ?? (typeof only === "string" && more.length === 0 ? only : JSON.stringify(inputs));
}
