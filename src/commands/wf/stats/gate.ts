import { CliError } from "../../../errors.ts";
import { evaluateCondition } from "../../condition.ts";
import type { Condition } from "../../condition.ts";
import { amount } from "./format.ts";
import type { FigureName } from "../stats-fields.ts";
import type { StatsFigures } from "./figures.ts";

/** What became of a condition that must not hold. */
export interface ConditionResult {
  readonly condition: string;
  readonly figure: FigureName;
  /** Undefined where nothing was measured. */
  readonly value: number | undefined;
  readonly verdict: "passed" | "failed" | "unmeasured";
}

export const judgeConditions = (
  conditions: readonly Condition[],
  figures: StatsFigures,
): readonly ConditionResult[] =>
  conditions.map((condition) => {
    const figure = condition.field as FigureName; // parseCondition takes the names of figures only
    const value = figures[figure];
    const verdict =
      value === undefined
        ? "unmeasured"
        : evaluateCondition(condition, value)
          ? "failed"
          : "passed";
    return { condition: condition.text, figure, value, verdict };
  });

/**
 * The error for conditions that hold, and for those that nothing can be said about: a check that
 * measured nothing must not look like one that passed. Undefined when all is well.
 */
export function checkStatsConditions(
  all: readonly ConditionResult[],
  passWithoutRuns: boolean,
): CliError | undefined {
  const closed = all.filter(
    ({ verdict }) => verdict === "failed" || (verdict === "unmeasured" && !passWithoutRuns),
  );
  if (closed.length === 0) return undefined;
  const info = closed.map(({ condition, figure, value }) =>
    value === undefined
      ? `${condition} (no run tells ${figure})`
      : `${condition} (${figure} is ${amount(figure, value)})`,
  );
  return new CliError(
    "gate",
    `${closed.length} of ${all.length} checks failed: ${info.join(", ")}`,
    {
      isResult: true,
      details: { conditions: all.map((each) => ({ ...each, value: each.value ?? null })) },
      hint: closed.every(({ value }) => value === undefined)
        ? "--pass-without-runs lets pass what was not measured"
        : undefined,
    },
  );
}
