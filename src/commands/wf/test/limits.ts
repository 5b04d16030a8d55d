import { valueAt } from "../../../lib/json.ts";
import { sum } from "../../../lib/numbers.ts";
import { isNumber } from "../../../lib/server-event.ts";
import { counted } from "../../../lib/text.ts";
import type { AnswerCheck, TurnCheck } from "./answers/index.ts";
import type { SuiteBudget, SuiteTest } from "./file/index.ts";

/** What a run of a test used; a file of results may have anything here. */
interface Used {
  readonly tokens: number | null;
  readonly seconds: number | null;
  readonly judge_tokens: number | null;
  readonly turns: readonly { readonly end: { readonly tokens: number | null } | null }[];
}

/** Checks the limits of a test with turns; `unknown` names one whose figure is not known. */
export function checkLimits(
  { maxTokens, maxSeconds, turns: { length: turn } }: SuiteTest,
  { tokens, seconds, turns }: Omit<Used, "judge_tokens">,
): { readonly checks: TurnCheck[]; readonly unknown: string | undefined } {
  // The sum lacks what a turn does not tell.
  const areCounted = turns.every(({ end }) => isNumber(end?.tokens));
  const limits = [
    { unit: "tokens", most: maxTokens, used: areCounted ? tokens : null },
    { unit: "seconds", most: maxSeconds, used: seconds },
  ].filter(({ most }) => most !== undefined && turn > 0);
  return {
    checks: limits.flatMap(({ unit, most = 0, used }) => {
      const check = `all turns use at most ${most} ${unit}`;
      if (!isNumber(used)) return [];
      const actual = `they used ${used} ${unit}`;
      return { kind: "limits", turn, check, passed: used <= most, actual };
    }),
    unknown: limits.find(({ used }) => !isNumber(used))?.unit,
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
  tests: readonly { readonly suite: string; readonly results: readonly Used[] }[],
  suites: readonly { readonly name: string; readonly budget?: SuiteBudget | undefined }[],
): string[] {
  return suites.flatMap(({ name, budget }) => {
    const runs = tests.filter(({ suite }) => suite === name).flatMap(({ results }) => results);
    const total = (field: "tokens" | "judge_tokens" | "seconds") =>
      sum(runs.map(({ [field]: used }) => (isNumber(used) ? used : 0)));
    const over = (unit: "token" | "second", used: number) => {
      const most = valueAt(budget, `${unit}s`);
      return isNumber(most) && used > most
        ? [`suite ${name} used ${counted(used, unit)} of at most ${most}`]
        : [];
    };
    const seconds = Math.round(total("seconds") * 1000) / 1000;
    return [...over("token", total("tokens") + total("judge_tokens")), ...over("second", seconds)];
  });
}
