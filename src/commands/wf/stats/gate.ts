import { CliError } from "../../../errors.ts";
import { evaluateCondition } from "../../condition.ts";
import type { Condition } from "../../condition.ts";
import { formatFigure } from "./format.ts";
import type { FigureName } from "../stats-fields.ts";
import type { StatsFigures } from "./figures.ts";

/** The result of a condition that must not hold. */
export interface ConditionResult {
  readonly condition: string;
  readonly figure: FigureName;
  /** Undefined without data. */
  readonly value: number | undefined;
  readonly verdict: "passed" | "failed" | "unmeasured";
}

export const evaluateFigureConditions = (
  conditions: readonly Condition[],
  figures: StatsFigures,
): readonly ConditionResult[] =>
  conditions.map((condition) => {
    const figure = condition.field as FigureName; // parseCondition accepts only names of figures
    const value = figures[figure];
    return { condition: condition.text, figure, value, verdict: verdictOf(condition, value) };
  });

function verdictOf(condition: Condition, value: number | undefined): ConditionResult["verdict"] {
  if (value === undefined) return "unmeasured";
  return evaluateCondition(condition, value) ? "failed" : "passed";
}

/**
 * The error for conditions that hold or have no data: a check without data must not pass. Undefined if
 * all conditions pass.
 */
export function failedConditions(
  all: readonly ConditionResult[],
  passWithoutRuns: boolean,
): CliError | undefined {
  const failed = all.filter(
    ({ verdict }) => verdict === "failed" || (verdict === "unmeasured" && !passWithoutRuns),
  );
  if (failed.length === 0) return undefined;
  const reasons = failed.map(({ condition, figure, value }) =>
    value === undefined
      ? `${condition} (no data for ${figure})`
      : `${condition} (${figure} is ${formatFigure(figure, value)})`,
  );
  return new CliError(
    "gate",
    `${failed.length} of ${all.length} checks failed: ${reasons.join(", ")}`,
    {
      isResult: true,
      details: { conditions: all.map((each) => ({ ...each, value: each.value ?? null })) },
      hint: failed.every(({ value }) => value === undefined)
        ? "pass --pass-without-runs to ignore conditions without data"
        : undefined,
    },
  );
}
