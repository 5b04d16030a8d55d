import { sum } from "../../../lib/numbers.ts";
import { counted } from "../../../lib/text.ts";
import type { AnswerCheck } from "./answers/index.ts";
import type { SuiteBudget, SuiteTest } from "./file/index.ts";

/** What a run of a test used; null if it is not known. */
interface Used {
  readonly tokens: number | null;
  readonly seconds: number | null;
}

/** Checks the limits of a test; `unknown` names one whose figure is not known. */
export function checkLimits(
  { maxTokens, maxSeconds }: SuiteTest,
  { tokens, seconds }: Used,
): { readonly checks: AnswerCheck[]; readonly unknown: string | undefined } {
  const limits = [
    { unit: "tokens", most: maxTokens, used: tokens },
    { unit: "seconds", most: maxSeconds, used: seconds },
  ].filter(({ most }) => most !== undefined);
  return {
    checks: limits.flatMap(({ unit, most = 0, used }) => {
      const check = `all turns use at most ${most} ${unit}`;
      if (used === null) return [];
      return { kind: "limits", check, passed: used <= most, actual: `they used ${used} ${unit}` };
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
  tests: readonly {
    readonly suite: string;
    readonly results: readonly (Used & { readonly judge_tokens: number | null })[];
  }[],
  suites: readonly { readonly name: string; readonly budget?: SuiteBudget | undefined }[],
): string[] {
  return suites.flatMap(({ name, budget = {} }) => {
    const runs = tests.filter(({ suite }) => suite === name).flatMap(({ results }) => results);
    const tokens = sum(runs.map((run) => (run.tokens ?? 0) + (run.judge_tokens ?? 0)));
    const seconds = Math.round(sum(runs.map((run) => run.seconds ?? 0)) * 1000) / 1000;
    const over = (most: number | undefined, used: number, unit: string) =>
      most !== undefined && used > most
        ? [`suite ${name} used ${counted(used, unit)} of at most ${most}`]
        : [];
    return [...over(budget.tokens, tokens, "token"), ...over(budget.seconds, seconds, "second")];
  });
}
