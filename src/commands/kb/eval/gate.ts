import { CliError } from "../../../errors.ts";
import { evaluateCondition, parseCondition } from "../../condition.ts";
import type { Condition, FieldKind } from "../../condition.ts";
import type { BaselineComparison } from "./baseline.ts";
import { latencies, metricNames } from "./metrics.ts";
import type { VariantResult } from "./search.ts";

/** The result of a --fail-if condition for one variant. */
export interface EvalConditionResult {
  readonly condition: string;
  readonly label: string;
  /** Null if nothing was measured. */
  readonly value: number | null;
  readonly verdict: "passed" | "failed" | "unmeasured";
}

/** Suffix of a metric for its difference from the baseline. */
const changeSuffix = ".change";

/** Parses --fail-if. Throws usage with the position of the problem. */
export function parseEvalConditions(
  texts: readonly string[],
  ks: readonly number[],
  withBaseline: boolean,
): Condition[] {
  const fields: Record<string, FieldKind> = {};
  for (const name of metricNames(ks)) fields[name] = "share";
  for (const name of latencies) fields[name] = "seconds";
  const compared = withBaseline ? Object.keys(fields) : [];
  for (const name of compared) fields[`${name}${changeSuffix}`] = "number";
  fields["failed"] = "number";
  return texts.map((text) => parseCondition("--fail-if", text, fields));
}

/** Evaluates each condition for each variant. */
export const evaluateConditions = (
  conditions: readonly Condition[],
  results: readonly VariantResult[],
  comparisons: readonly (BaselineComparison | undefined)[],
): EvalConditionResult[] =>
  conditions.flatMap((condition) =>
    results.map((result, index): EvalConditionResult => {
      const value = valueFor(condition.field, result, comparisons[index]);
      const { label } = result.variant;
      return { condition: condition.text, label, value, verdict: verdictFor(condition, value) };
    }),
  );

function verdictFor(condition: Condition, value: number | null): EvalConditionResult["verdict"] {
  if (value === null) return "unmeasured";
  return evaluateCondition(condition, value) ? "failed" : "passed";
}

function valueFor(
  field: string,
  result: VariantResult,
  comparison: BaselineComparison | undefined,
): number | null {
  if (field === "failed") return result.failed;
  if (!field.endsWith(changeSuffix)) return result.figures[field] ?? null;
  const name = field.slice(0, -changeSuffix.length);
  return comparison?.figures.find(({ figure }) => figure === name)?.change ?? null;
}

/**
 * The error for conditions that hold, and for those that no variant measured: a check without a
 * measurement must not look like one that passed. Undefined if all pass.
 */
export function checkEvalConditions(all: readonly EvalConditionResult[]): CliError | undefined {
  const measured = new Set(
    all.filter(({ verdict }) => verdict !== "unmeasured").map(({ condition }) => condition),
  );
  const failed = all.filter(
    ({ verdict, condition }) => verdict === "failed" || !measured.has(condition),
  );
  if (failed.length === 0) return undefined;
  const details = failed.map(({ condition, label, value }) => {
    const where = label === "" ? "" : `${label}: `;
    return `${condition} (${where}${value === null ? "not measured" : `value ${value}`})`;
  });
  const counts = `${failed.length} of ${all.length} checks failed`;
  return new CliError("gate", `${counts}: ${details.join(", ")}`, {
    isResult: true,
    details: { conditions: all },
  });
}
