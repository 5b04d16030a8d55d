import { sum } from "../../../../lib/numbers.ts";
import { isNumber } from "../../../../lib/server-event.ts";
import type { ServerEvent } from "../../../../lib/server-event.ts";
import { counted } from "../../../../lib/text.ts";
import { runFields } from "../../../wf/expect/index.ts";
import {
  answerText,
  checkSearch,
  searchFor,
  storedRun,
  sumOf,
  unjudgedBy,
} from "../answers/index.ts";
import type {
  AnswerCheck,
  AskedTurn,
  FoundChunks,
  SuiteAnswer,
  TestRun,
  TestSelection,
  TurnCheck,
} from "../answers/index.ts";
import type { SuiteTest, SuiteTurn } from "../../suite-file/index.ts";
import type { Tape } from "./keep-recordings.ts";
import type { PlannedRun } from "./plan-runs.ts";

const blank = (run: PlannedRun) => {
  const { suite, test, repeat, side, confirms, content, asker } = run;
  const { status: _, ...others } = storedRun({});
  const { name, tags, pass, quarantine = null } = test;
  const own = {
    suite: suite.name,
    path: suite.path,
    test: name,
    tags,
    repeat,
    side,
    app: asker.app,
    content,
    confirms,
    second_look: run.secondLook,
  };
  return { ...others, ...own, pass, quarantine };
};

/** The result of a run that was not carried out. */
export const testNotRun = (run: PlannedRun): TestRun => ({ ...blank(run), status: "not run" });

/**
 * Asks the turns of a test, one after the other, and checks the answers. Throws what would keep every
 * further test from being asked. A run of a workflow that was `started` before is followed, if that
 * tells enough.
 */
export async function runTest(
  each: PlannedRun,
  tape: Tape | undefined,
  { started, onStart }: { started: string | undefined; onStart: (run: string) => Promise<void> },
): Promise<TestRun> {
  const { test, asker, checkAnswer } = each;
  const { host, abortError } = asker.context;
  const checks: TurnCheck[] = [];
  const turns: AskedTurn[] = [];
  let last: SuiteAnswer | undefined;
  let milliseconds = 0;
  let tokens: number | null = null;
  let judgeTokens: number | null = null;
  let error: string | null = null;
  let found: FoundChunks | null = null;
  try {
    for (const [index, turn] of test.turns.entries()) {
      let start = host.elapsed();
      // The time of a run that was started before is not known.
      let run = test.maxSeconds === undefined ? started : undefined;
      const onEvents = async (events: readonly ServerEvent[] | "again") => {
        tape?.add(index, events);
        if (events === "again") start = host.elapsed();
        const id = events === "again" ? undefined : events[0]?.fields.workflow_run_id;
        // With a query it is a chat, whose answer is more than its run.
        if (id === undefined || id === run || turn.query !== undefined) return;
        await onStart((run = id));
      };
      turns.push(askedTurn(turn));
      last = await asker.ask(turn, last?.conversation, onEvents, run);
      milliseconds += host.elapsed() - start;
      await tape?.endTurn(index, last.trace);
      tokens = sumOf(tokens, last.trace.tokens);
      turns[index] = askedTurn(turn, last);
      const { found: seen, nameOf } = await searchFor(test, each.searches);
      const checked = await checkAnswer(last, turn, { found: seen?.chunks ?? [], nameOf, turns });
      judgeTokens = sumOf(judgeTokens, checked.judgeTokens);
      checks.push(...checked.checks.map((check) => ({ turn: index + 1, ...check })));
      ({ error } = checked);
      if (error !== null) break;
    }
    const search = await searchFor(test, each.searches);
    ({ found } = search);
    if (error === null) checks.push(...checkSearch(test, last, search));
    error ??= search.error;
    const seconds = last && !last.followed ? milliseconds / 1000 : null;
    const limits = checkLimits(test, { tokens, seconds, turns });
    checks.push(...limits.checks);
    if (limits.unknown !== undefined) error ??= `the ${limits.unknown} of its turns are not known`;
  } catch (failure) {
    if (host.signal.aborted) throw abortError();
    error = host.secrets.masked(unjudgedBy(failure));
  }
  const { status, score } = judgedChecks(test, checks, error);
  return {
    ...blank(each),
    annotated: last?.trace.annotated ?? false,
    status,
    checks,
    answer: last ? answerText(last) : null,
    cited: last?.trace.citations ?? [],
    seconds: last && !last.followed ? milliseconds / 1000 : null,
    tokens,
    judge_tokens: judgeTokens,
    run: last?.trace.runId ?? null,
    conversation: last?.conversation ?? null,
    error,
    recordings: (await tape?.keep(status === "passed")) ?? [],
    turns,
    found,
    score,
  };
}

/** What the checks of a run, or the reason why there are not all of them, make of it. */
export function judgedChecks(
  { scoreAtLeast, weights }: SuiteTest,
  checks: readonly AnswerCheck[],
  error: string | null,
): Pick<TestRun, "status" | "score"> {
  const score = scoreAtLeast === undefined ? null : meanScore(checks, weights);
  const passed =
    score === null ? checks.every((check) => check.passed) : score >= (scoreAtLeast ?? 0) - 1e-9;
  const judged = passed ? "passed" : "failed";
  return { status: error === null ? judged : "error", score };
}

/** How an answer ended, to be stored. */
function storedEnd({ trace }: SuiteAnswer): AskedTurn["end"] {
  const { status, error = null, tokens = null, steps = null, gaps, outputs = null } = trace;
  const { value } = runFields.elapsed.read(trace);
  return { status, error, seconds: isNumber(value) ? value : null, tokens, steps, gaps, outputs };
}

/** A turn as results have it. */
export const askedTurn = (
  { query, inputs, assigned, answer: expected, judge }: SuiteTurn,
  answer?: SuiteAnswer,
): AskedTurn => ({
  query: query ?? null,
  inputs: { ...inputs, ...assigned },
  answer: answer ? answerText(answer) : null,
  expected,
  chunks: answer?.trace.sources ?? [],
  end: answer ? storedEnd(answer) : null,
  judge: judge ? { app: judge.app, criteria: judge.criteria } : null,
});

/** What turns ask, as a text that is equal for equal questions. */
export const questionsOf = (turns: readonly Pick<AskedTurn, "query" | "inputs">[]): string =>
  JSON.stringify(turns.map(({ query, inputs }) => [query, Object.entries(inputs).toSorted()]));

/** The same of the first turns of a test. */
export const questionsIn = ({ turns }: SuiteTest, count = turns.length): string =>
  questionsOf(turns.slice(0, count).map((turn) => askedTurn(turn)));

/** Checks the limits of a test with turns; `unknown` names one whose figure is not known. */
export function checkLimits(
  { maxTokens, maxSeconds, turns: { length: turn } }: SuiteTest,
  { tokens, seconds, turns }: Pick<TestRun, "tokens" | "seconds" | "turns">,
): { readonly checks: TurnCheck[]; readonly unknown: string | undefined } {
  // The sum lacks what a turn does not tell.
  const areCounted = turns.every(({ end }) => (end?.tokens ?? null) !== null);
  const limits = [
    { unit: "tokens", most: maxTokens, used: areCounted ? tokens : null },
    { unit: "seconds", most: maxSeconds, used: seconds },
  ].filter(({ most }) => most !== undefined && turn > 0);
  return {
    checks: limits.flatMap(({ unit, most = 0, used }) => {
      const check = `all turns use at most ${most} ${unit}`;
      if (used === null) return [];
      const actual = `they used ${used} ${unit}`;
      return { kind: "limits", turn, check, passed: used <= most, actual };
    }),
    unknown: limits.find(({ used }) => used === null)?.unit,
  };
}

/** The mean score of checks, by the weights of their kinds; null if none has a weight. */
export function meanScore(
  checks: readonly AnswerCheck[],
  weights: SuiteTest["weights"],
): number | null {
  const weightOf = ({ kind }: AnswerCheck) => weights[kind] ?? 1;
  const all = sum(checks.map(weightOf));
  if (all === 0) return null;
  const scores = checks.map((check) => weightOf(check) * (check.score ?? Number(check.passed)));
  return sum(scores) / all;
}

/** What is over the budgets of suites, as texts. Judges count; their time does not. */
export function overBudget(
  tests: readonly { readonly suite: string; readonly results: readonly TestRun[] }[],
  { suites }: Pick<TestSelection, "suites">,
): string[] {
  return suites.flatMap(({ name, budget }) => {
    const runs = tests.filter(({ suite }) => suite === name).flatMap(({ results }) => results);
    const total = (field: "tokens" | "judge_tokens" | "seconds") =>
      sum(runs.map((run) => run[field] ?? 0));
    const over = (unit: "token" | "second", used: number) => {
      const most = budget?.[`${unit}s`] ?? Infinity;
      return used > most ? [`suite ${name} used ${counted(used, unit)} of at most ${most}`] : [];
    };
    const seconds = Math.round(total("seconds") * 1000) / 1000;
    return [...over("token", total("tokens") + total("judge_tokens")), ...over("second", seconds)];
  });
}
